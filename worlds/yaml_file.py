"""Reading a YAML file into a model of pydantic; whatever is wrong is told with file, line and field."""

import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import yaml
from pydantic import BaseModel, BeforeValidator, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from state.errors import NotFoundError, ScenarioError, nearest_hint

#: A place in the file: keys of mappings and indices of lists.
Location = tuple[str | int, ...]

#: An inconsistency: where it stands, and what is wrong in words.
Problem = tuple[Location, str]

Model = TypeVar("Model", bound=BaseModel)

_shortened = reprlib.Repr()
_shortened.maxstring = _shortened.maxother = _shortened.maxlong = 60
_shortened.maxlevel = 2


@dataclass(frozen=True)
class YamlFile:
    """A YAML file as read: where it is, its values, and the nodes that know the lines.

    Attributes:
        at: Its path.
        root: The root node; `None` for an empty file.
        values: The plain values; an empty mapping for an empty file.
    """

    at: Path
    root: yaml.Node | None
    values: Any

    @classmethod
    def read(cls, at: Path) -> "YamlFile":
        """Read a file.

        Raises:
            NotFoundError: There is no such file.
            ScenarioError: It is not YAML.
        """
        try:
            text = at.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise NotFoundError(f"there is no scenario file {str(at)!r}") from None
        except (OSError, ValueError) as error:
            raise ScenarioError(f"{at}: can't be read as text: {error}") from None
        try:
            root = yaml.compose(text, Loader=_Loader)
            values = _Loader("").construct_document(root) if root else {}
        except yaml.MarkedYAMLError as error:
            line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
            raise ScenarioError(_one_line(f"{at}{line}: not YAML: {error.problem}")) from None
        except (yaml.YAMLError, ValueError, LookupError, RecursionError) as error:
            raise ScenarioError(_one_line(f"{at}: not YAML: {error}")) from None
        return cls(at, root, values)

    def parse(self, model: type[Model], others: Mapping[str, type[BaseModel]]) -> Model:
        """Return the values as a model.

        Args:
            model: The model.
            others: What else a file can be, by what is to be said of a field that only that one has.

        Raises:
            ScenarioError: For the first thing that does not fit.
        """
        try:
            return model.model_validate(self.values)
        except ValidationError as error:
            details = error.errors()[0]
            raise self.complaint((details["loc"], _in_words(details, model, others))) from None

    def check(self, problems: Iterable[Problem]) -> None:
        """Raise the first of these problems, if there is one, as `ScenarioError`."""
        for problem in problems:
            raise self.complaint(problem)

    def complaint(self, problem: Problem) -> ScenarioError:
        """Return an error that names file, line and field."""
        location, words = problem
        field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")
        return ScenarioError(f"{self.at}:{_line(self.root, location)}: {_one_line(f'{field}: ' * bool(field) + words)}")


def shown(value: Any) -> str:
    """Return a value of the file as it stands in a message: quoted, and never long."""
    return _shortened.repr(value)


def one_of(what: str, known: Iterable[str]) -> BeforeValidator:
    """Return a validator, for an annotation, that takes these names only.

    Args:
        what: What the names are names of, in the message.
        known: The names.
    """
    names = tuple(known)

    def check(value: Any) -> Any:
        if value not in names:
            raise complete_problem(unknown(what, value, names))
        return value

    return BeforeValidator(check, json_schema_input_type=Literal.__getitem__(names))


def unknown(what: str, name: Any, known: Iterable[str]) -> str:
    """Return the complaint about a name that is not known, with the nearest that is."""
    return f"unknown {what} {shown(name)}{hint(name, known)}"


def hint(name: Any, known: Iterable[str]) -> str:
    """Return `nearest_hint` for what stands in a file in the place of a name, be it ever so long."""
    return nearest_hint(name[:100] if isinstance(name, str) else "", known)


def complete_problem(words: str) -> PydanticCustomError:
    """Return an error for a validator to raise whose message needs no value after it."""
    return PydanticCustomError("complete", "{words}", {"words": words})


class _Loader(yaml.SafeLoader):
    """Leaves times as text, so that they are checked with the line they stand on; refuses a key that stands twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} stands twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_text(self, node: yaml.ScalarNode) -> Any:
        """Return what stands there, as text."""
        return self.construct_scalar(node)

    def construct_int(self, node: yaml.ScalarNode) -> Any:
        """Return a whole number; `15:30`, which YAML 1.1 takes for one to the base of 60, is a time of day."""
        text = self.construct_scalar(node)
        return text if ":" in text else self.construct_yaml_int(node)

    def construct_float(self, node: yaml.ScalarNode) -> Any:
        """Return a number; see `construct_int`."""
        text = self.construct_scalar(node)
        return text if ":" in text else self.construct_yaml_float(node)


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_text)
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_float)


def _in_words(problem: ErrorDetails, model: type[BaseModel], others: Mapping[str, type[BaseModel]]) -> str:
    match problem["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            *above, name = problem["loc"]
            elsewhere = next((words for words, other in others.items() if name in fields_at(other, above)), None)
            return f"is not a field here{elsewhere or hint(name, fields_at(model, above))}"
        case "too_short":
            return f"needs {problem['ctx']['min_length']} or more, not {len(problem['input'])}"
        case "too_long":
            return f"takes {problem['ctx']['max_length']} at most, not {len(problem['input'])}"
        case "complete":
            return problem["msg"]
        case "literal_error":
            return f"{shown(problem['input'])} is none of {problem['ctx']['expected']}"
        case "model_type" | "dict_type":
            return f"takes fields, each with its value: {shown(problem['input'])}"
        case "tuple_type":
            return f"takes a list: {shown(problem['input'])}"
        case "string_type" if isinstance(problem["input"], bool | int | float):
            return f"takes a text; if this is one, put it in quotes: {shown(problem['input'])}"
    return f"{problem['msg'].removeprefix('Value error, ')}: {shown(problem['input'])}"


def fields_at(model: type[BaseModel], location: Iterable[str | int]) -> list[str]:
    """Return the names that fields have in a file at some place of a model; none where there is no model."""
    at: type[BaseModel] | None = model
    for part in location:
        if isinstance(part, str) and at is not None:
            by_name = {field.alias or name: field for name, field in at.model_fields.items()}
            at = _model_in(by_name[part].annotation) if part in by_name else None
    return [field.alias or name for name, field in at.model_fields.items()] if at is not None else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for one in get_args(annotation) if (found := _model_in(one)) is not None), None)


def _line(node: yaml.Node | None, location: Location) -> int:
    """Return the line, from 1, of the deepest part of a location that the file holds."""
    line = node.start_mark.line if node else 0
    for part in location:
        if isinstance(node, yaml.MappingNode):
            key, node = next(((k, v) for k, v in node.value if k.value == str(part)), (None, None))
            line = key.start_mark.line if key else line
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line
        else:
            break
    return line + 1


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())
