"""Read a YAML file into a pydantic model; an error names file, line and field."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import yaml
from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic_core import PydanticCustomError

from tertulia.state.errors import NotFoundError, ScenarioError, UsageError, nearest_hint
from tertulia.state.files import read_text
from tertulia.state.wrong_values import problems_of, shown, wrong_value
from tertulia.worlds.person_fields import field_named

#: A path to a value in the file: keys of mappings and indices of lists.
Location = tuple[str | int, ...]

#: An inconsistency: its location, and its description in words.
Problem = tuple[Location, str]

Model = TypeVar("Model", bound=BaseModel)

#: The largest scenario file that is read, and the most values in it, counted again whenever an alias or a merge key
#: repeats them: 200 people with 16 memories each are 500 KB and 30,000 values, and take a second.
MOST_BYTES, MAX_VALUES = 2 * 10**6, 50_000

#: The deepest nesting of values that is read; a scenario has seven levels.
MAX_DEPTH = 32

#: The longest number that is read; a float has 25 characters at most.
_MAX_DIGITS = 100

#: Characters of a parser's message that an error shows: it may quote a key, an anchor or a tag of any length.
_SHOWN = 300


#: Other names of a field; no spelling leads from these to it.
_MEANT = dict.fromkeys(("people", "persons", "agents", "characters", "speakers", "cast"), "participants")


def read_source(path: Path, most_bytes: int, kind: str) -> str:
    """Return the text of a file of a kind; `NotFoundError` if there is none, `ScenarioError` if it can't be read."""
    try:
        return read_text(path, most_bytes)
    except FileNotFoundError:
        raise NotFoundError(f"there is no {kind} {str(path)!r}") from None
    except OSError as error:
        raise ScenarioError(f"{path}: can't be read: {error.strerror}") from None


@dataclass(frozen=True)
class YamlFile:
    """A parsed YAML file: its path, its values, and the nodes that know the lines.

    Attributes:
        root: The root node; `None` for an empty file.
        values: The plain values; an empty mapping for an empty file.
        has_lines: Whether an error names the line; it can't if the values are not of YAML.
    """

    path: Path
    root: yaml.Node | None
    values: Any
    has_lines: bool = True

    @classmethod
    def read(cls, path: Path, kind: str = "scenario file") -> "YamlFile":
        """Read a file of a kind; `NotFoundError` if there is none, `ScenarioError` if it is not YAML."""
        return cls.of_text(path, read_source(path, MOST_BYTES, kind))

    @classmethod
    def of_text(cls, path: Path, text: str) -> "YamlFile":
        """Parse the text of a file with the path for messages; `ScenarioError` if it is not YAML."""
        try:
            root = yaml.compose(text, Loader=_Loader)
            values = _Loader("").construct_document(root) if root else {}
        except yaml.MarkedYAMLError as error:
            line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
            what = "" if isinstance(error, _RepeatedKey) else "not YAML: "
            raise ScenarioError(f"{path}{line}: {what}{(error.problem or '')[:_SHOWN]}") from None
        except (yaml.YAMLError, ValueError, LookupError, RecursionError) as error:
            raise ScenarioError(f"{path}: not YAML: {str(error)[:_SHOWN]}") from None
        return cls(path, root, values)

    def parse(self, model: type[Model], others: Mapping[str, type[BaseModel]]) -> Model:
        """Return the values as a model.

        Args:
            others: The models of other kinds of file, by the remark on a field that only that model has.

        Raises:
            ScenarioError: Values do not fit.
        """
        try:
            return model.model_validate(self.values)
        except ValidationError as error:
            raise self.unfit(error, model, others) from None

    def unfit(
        self, error: ValidationError, model: type[BaseModel], others: Mapping[str, type[BaseModel]]
    ) -> ScenarioError:
        """Return in words how values do not fit a model (see `parse`)."""
        problems = problems_of(error.errors(), self.values).items()
        # A name that is spelt wrongly is told before the one that is missing for it, on the same line.
        ordered = sorted(problems, key=lambda each: (_line(self.root, each[0]), each[1]["type"] != "extra_forbidden"))
        return self._errors(
            [(place, _in_words({**details, "loc": place}, model, others)) for place, details in ordered]
        )

    def check(self, problems: Iterable[Problem]) -> None:
        """Raise a `ScenarioError` about these problems; return if there is none.

        A check that an earlier problem prevents (a `UsageError`) is left out.
        """
        found: list[Problem] = []
        try:
            for problem in problems:
                found.append(problem)
        except UsageError:
            if not found:
                raise
        if found:
            raise self._errors(found)

    def _errors(self, problems: Sequence[Problem]) -> ScenarioError:
        """Return an error about all problems, one a line at most; none about values that hold others, as it follows.

        Of values that are not of YAML each problem is told.
        """
        inner = {location[:length] for location, _ in problems for length in range(len(location))}
        by_line: dict[int | Location, Problem] = {}
        for problem in problems:
            if problem[0] not in inner:
                by_line.setdefault(_line(self.root, problem[0]) if self.root else problem[0], problem)
        error, *further = map(self.error, by_line.values())
        error.further = tuple(map(str, further))
        return error

    def error(self, problem: Problem) -> ScenarioError:
        """Return a problem as an error that names file, line and field."""
        location, words = problem
        field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")
        line = f":{_line(self.root, location)}" if self.has_lines else ""
        words = f"{field[:_SHOWN]}: " * bool(field) + words
        return ScenarioError(f"{self.path}{line}: {words}")


def one_of(kind: str, known: Iterable[str]) -> BeforeValidator:
    """Return a validator, for an annotation, that accepts only these names."""
    names = tuple(known)

    def check(value: Any) -> Any:
        if value not in names:
            raise complete_problem(unknown(kind, value, names))
        return value

    return BeforeValidator(check, json_schema_input_type=Literal.__getitem__(names))


def unknown(kind: str, name: Any, known: Iterable[str], otherwise: str | None = None) -> str:
    """Return the message about an unknown name, with the nearest known name."""
    return f"unknown {kind} {shown(name)}{hint(name, known, otherwise)}"


def hint(name: Any, known: Iterable[str], otherwise: str | None = None) -> str:
    """Return `nearest_hint` for a value of a file, of any type and length."""
    return nearest_hint(name[:100] if isinstance(name, str) else "", known, otherwise)


def complete_problem(words: str) -> PydanticCustomError:
    """Return an error for a validator to raise; its message is shown without the value."""
    return PydanticCustomError("complete", "{words}", {"words": words})


class _RepeatedKey(yaml.constructor.ConstructorError):
    """A mapping has two values of one key."""


class _Loader(yaml.SafeLoader):
    """A YAML loader that leaves times as text, to be checked with their line, and refuses a repeated key.

    A value that is nested too deeply is refused at its beginning, as composing it takes time by the square of its
    depth. So is a value with too many others in it: aliases and merge keys of a few lines can repeat them billions of
    times.
    """

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.depth = 0
        #: How many values there are so far, those that aliases repeat among them; and how many of them a node has.
        self.values = 0
        self.values_of: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if self.depth == MAX_DEPTH:
            raise _refused(f"a value lies more than {MAX_DEPTH} levels deep", event)
        self.depth += 1
        before = self.values
        try:
            node = super().compose_node(parent, index)
        finally:
            self.depth -= 1
        if not isinstance(event, yaml.AliasEvent):
            self.values += 1
            self.values_of[id(node)] = self.values - before
        elif id(node) in self.values_of:
            self.values += self.values_of[id(node)]
        else:
            raise _refused("a value contains itself", event)
        if self.values > MAX_VALUES:
            raise _refused(f"there are more than {MAX_VALUES:,} values, those that aliases repeat among them", event)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise _RepeatedKey(None, None, f"{shown(key.value)} stands twice; keep one of them", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_text(self, node: yaml.ScalarNode) -> Any:
        """Return the scalar as text."""
        return self.construct_scalar(node)

    def construct_int(self, node: yaml.ScalarNode) -> Any:
        """Return an integer, or text with a colon as it is: YAML 1.1 reads `15:30` as a number to the base of 60."""
        return self.construct_scalar(node) if _is_text(node) else self.construct_yaml_int(node)

    def construct_float(self, node: yaml.ScalarNode) -> Any:
        """Return a float; see `construct_int`."""
        return self.construct_scalar(node) if _is_text(node) else self.construct_yaml_float(node)


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_text)
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_float)


def _refused(message: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.composer.ComposerError(None, None, message, event.start_mark)


def _is_text(node: yaml.ScalarNode) -> bool:
    """Return whether a scalar that looks like a number is text, as it has a colon; refuse one of too many digits."""
    if len(node.value) > _MAX_DIGITS:
        message = f"a number takes {_MAX_DIGITS} characters at most, not {len(node.value):,}"
        raise yaml.constructor.ConstructorError(None, None, message, node.start_mark)
    return ":" in node.value


def _in_words(problem: Mapping[str, Any], model: type[BaseModel], others: Mapping[str, type[BaseModel]]) -> str:
    if problem["type"] == "extra_forbidden":
        *above, name = problem["loc"]
        elsewhere = next((words for words, other in others.items() if name in fields_at(other, above)), None)
        known = fields_at(model, above)
        meant = _MEANT.get(name.casefold()) if isinstance(name, str) else None
        return f"{wrong_value(problem)}{elsewhere or hint(meant if meant in known else name, known)}"
    return wrong_value(problem)


def fields_at(model: type[BaseModel], location: Iterable[str | int]) -> list[str]:
    """Return the names of the fields at a location of a model, as in a file; empty if there is no model."""
    current: type[BaseModel] | None = model
    for part in location:
        if isinstance(part, str) and current is not None:
            by_name = {field.alias or name: field for name, field in current.model_fields.items()}
            current = _model_in(by_name[part].annotation) if part in by_name else None
    return [field.alias or name for name, field in current.model_fields.items()] if current is not None else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part)) is not None), None)


def _line(node: yaml.Node | None, location: Location) -> int:
    """Return the line, from 1, of the deepest part of a location that the file has."""
    line = node.start_mark.line if node else 0
    for part in location:
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if key.value == str(part)]
            found += [(key, value) for key, value in node.value if field_named(str(key.value)) == part]
            key, node = found[0] if found else (None, None)
            line = key.start_mark.line if key else line
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line
        else:
            break
    return line + 1
