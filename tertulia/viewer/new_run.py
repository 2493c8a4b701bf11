"""A conversation that the page asks for: read from a request, checked field by field, as a file and words of `run`.

Its people come from a shipped scenario, from files that were brought, or were typed on the page; the last two may meet.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tertulia.models.served.chat_names import is_chat_name
from tertulia.runs.planning.request import DEFAULT_MODEL
from tertulia.state.errors import UsageError
from tertulia.state.language_model import REHEARSAL
from tertulia.state.text import clean
from tertulia.viewer.documents.people import VISITOR, PeopleFile
from tertulia.viewer.fork_changes import LONGEST_TEXT
from tertulia.worlds.characters.draft import ImportedPerson
from tertulia.worlds.characters.reading import joined
from tertulia.worlds.characters.scenario import after_memories, scenario_of, scenario_text
from tertulia.worlds.characters.writing import file_name
from tertulia.worlds.scenario_parts import duplicate_names, read_time

#: The most people that are typed, characters of a name or a place, memories of a person, and rounds.
_MOST_TYPED, _LONGEST_NAME, _MOST_MEMORIES, _MOST_ROUNDS = 6, 80, 200, 10_000

#: Each field of a typed person, as the page calls it.
_TYPED = ("name", "who", "memories")


class FieldError(UsageError):
    """Fields of the page have values that they can't have.

    Attributes:
        fields: By a field's name in the request (`time`, `typed.0.name`), the reason.
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__("; ".join(fields.values()))
        self.fields = fields


class _Fields:
    """Fields that are read one by one, so that all wrong ones are told at once."""

    def __init__(self) -> None:
        self._wrong: dict[str, str] = {}

    def refuse(self, field: str, words: str) -> None:
        """Note why a field is wrong; of several reasons the first."""
        self._wrong.setdefault(field, words)

    @property
    def are_right(self) -> bool:
        """Whether no field is wrong."""
        return not self._wrong

    def check(self) -> None:
        """Raise `FieldError` if a field is wrong."""
        if self._wrong:
            raise FieldError(self._wrong)

    def text(self, field: str, what: str, text: str | None, most: int) -> Any:
        """Return a text on one line; `None` stays."""
        if text is not None and len(text) > most:
            self.refuse(field, f"{what} has {len(text):,} characters, and may have {most:,}")
        return text if text is None else clean(text)

    def lines(self, field: str, text: str) -> list[str]:
        """Return the lines of a text that aren't blank."""
        self.text(field, "this text", text, LONGEST_TEXT)
        lines = [line for line in map(clean, text.splitlines()) if line]
        if len(lines) > _MOST_MEMORIES:
            self.refuse(field, f"this has {len(lines)} lines; at most {_MOST_MEMORIES} are taken")
        return lines

    def time(self, text: str | None) -> datetime | None:
        """Return the time of the field `time`."""
        try:
            return read_time(clean(text)) if text else None
        except ValueError as error:
            self.refuse("time", f"the date {clean(text or '')!r}: {error}")
            return None


@dataclass(frozen=True)
class NewRun:
    """A conversation that is asked for.

    Attributes:
        scenario: The name of a shipped one; empty for one of the user's own people.
        text: That of the scenario's file; empty for a shipped one.
        name: A name for the file, without its ending.
        visitor: The name of the page's reader, if they take part.
    """

    scenario: str = ""
    text: str = ""
    name: str = ""
    visitor: str | None = None

    @property
    def words(self) -> list[str]:
        """The option that gives the reader a seat."""
        return [] if self.visitor is None else [f"--seat={self.visitor}"]


def read_conversation(
    given: Mapping[str, Any], files: Mapping[str, PeopleFile], shipped: Collection[str], models: Sequence[str]
) -> tuple[NewRun, list[str]]:
    """Return the conversation that a request asks for, and the options of `run`.

    Args:
        given: `people` (see `read_people`); `lambda`, a number; `model`, a name; `seed` and `rounds`, texts, `rounds`
            perhaps empty.
        files, shipped: As of `read_people`.
        models: Those that may be asked for.

    Raises:
        FieldError: Fields have values that they can't have: all of them are told.
        UsageError: The request has another form, or the people make no scenario.
    """
    fields = _Fields()
    options = _options(fields, given, models)
    return _people(fields, given["people"], files, shipped), options


def read_people(given: object, files: Mapping[str, PeopleFile], shipped: Collection[str]) -> NewRun:
    """Return the conversation of a request's people.

    Args:
        given: `{"scenario": NAME}`, or `{"files": [ID, …], "typed": [{"name", "who", "memories"}, …], "situation",
            "place", "time", "visitor"}`, whose other values are texts; a situation, place or time that is `None` is
            that of the files. Lines of `who` and `memories` are facts and memories.
        files: Those that were brought, by id.
        shipped: The names of the scenarios that may be asked for.

    Raises:
        FieldError: A field has a value that it can't have.
        UsageError: The request has another form, or the people make no scenario.
    """
    return _people(_Fields(), given, files, shipped)


def _people(fields: _Fields, given: object, files: Mapping[str, PeopleFile], shipped: Collection[str]) -> NewRun:
    match given:
        case {"scenario": str(scenario), **more} if not more:
            if scenario not in shipped:
                fields.refuse("scenario", f"there is no shipped scenario {scenario!r}; choose one of the list")
            fields.check()
            return NewRun(scenario=scenario)
        case {
            "files": list(ids),
            "typed": list(typed),
            "situation": str() | None as situation,
            "place": str() | None as place,
            "time": str() | None as time,
            "visitor": str(visitor),
            **more,
        } if not more:
            scene = _Scene(
                fields.text("situation", "the situation", situation, LONGEST_TEXT),
                fields.text("place", "the place", place, _LONGEST_NAME),
                fields.time(time),
                fields.text("visitor", "your name", visitor, _LONGEST_NAME) or VISITOR,
            )
            return _of_own_people(fields, _found(fields, ids, files), _typed_people(fields, typed), scene)
    raise UsageError("the people of a conversation are a scenario, or files and typed people")


def _options(fields: _Fields, given: Mapping[str, Any], models: Sequence[str]) -> list[str]:
    """Return the options of `run` that a request asks for; none if a field is wrong."""
    factor, model, seed, rounds = (given[name] for name in ("lambda", "model", "seed", "rounds"))
    if type(factor) not in (int, float) or not 0 <= factor <= 1:
        fields.refuse("lambda", f"λ is a number from 0 to 1, not {factor!r}")
    if model not in models:
        fields.refuse("model", f"the page may not use the model {model!r}; name it at: tertulia view --model")
    if not isinstance(seed, str) or not _is_whole(seed.removeprefix("-")):
        fields.refuse("seed", f"the seed is a whole number, not {seed!r}")
    if not isinstance(rounds, str) or (rounds and not (_is_whole(rounds) and 1 <= int(rounds) <= _MOST_ROUNDS)):
        fields.refuse("rounds", f"rounds are a whole number from 1 to {_MOST_ROUNDS:,}, not {rounds!r}")
    if not fields.are_right:
        return []
    words = [f"--lambda={factor}", f"--seed={seed}"]
    words += [f"--rounds={rounds}"] if rounds else []
    words += ["--rehearse"] if model == REHEARSAL else [f"--model={model}"]
    # A served model shows no attention: the embedded one scores in its place.
    return [*words, "--set", f"surrogate={DEFAULT_MODEL}"] if factor > 0 and is_chat_name(model) else words


@dataclass(frozen=True)
class _Scene:
    """The situation, place and time of a conversation, `None` for those of the files; and a visitor's name."""

    situation: str | None
    place: str | None
    time: datetime | None
    visitor: str


def _of_own_people(
    fields: _Fields, files: Sequence[PeopleFile], typed: Sequence[ImportedPerson], scene: _Scene
) -> NewRun:
    if len(files) == 1 and not typed and files[0].scenario is not None:
        fields.check()
        time = None if scene.time is None else str(scene.time)
        given = {"description": scene.situation, "place": scene.place, "time": time}
        values = {**files[0].scenario, **{name: value for name, value in given.items() if value}}
        return NewRun(text=scenario_text(values), name=_file_stem(values["name"]))
    brought = joined([person for file in files for person in file.people])
    people: Sequence[ImportedPerson] = (*brought, *typed)
    names = [str(person.values["name"]) for person in people]
    for number, words in duplicate_names(names):
        if number >= len(brought) and names[number]:
            fields.refuse(f"typed.{number - len(brought)}.name", words)
    if not people:
        fields.refuse("typed.0.name", "give the first person a name")
    if len(people) < 2 and not brought:
        fields.refuse("typed.1.name", "it takes two to talk: give the second person a name")
    user = scene.visitor if len(people) == 1 else None
    for _ in duplicate_names([*names, user] if user else ()):
        fields.refuse("visitor", f"{names[0]} is already the card's name; take another")
    fields.check()
    if scene.situation is not None:
        people = [replace(person, situation=None) for person in people]
        people[0] = replace(people[0], situation=scene.situation or None)
    begins = scene.time or after_memories(people) or datetime.now().replace(minute=0, second=0, microsecond=0)
    return NewRun(text=scenario_of(people, user, scene.place, begins), name=_file_stem(names[0]), visitor=user)


def _file_stem(name: object) -> str:
    return file_name(str(name).casefold())


def _found(fields: _Fields, ids: Sequence[Any], files: Mapping[str, PeopleFile]) -> list[PeopleFile]:
    """Return files by their ids; without one of them, the people can't be checked."""
    if any(not isinstance(id, str) or id not in files for id in ids):
        fields.refuse("files", "The server does not have these files any more. Bring them again.")
        fields.check()
    return [files[id] for id in dict.fromkeys(ids)]


def _typed_people(fields: _Fields, given: Sequence[Any]) -> list[ImportedPerson]:
    """Return the people who were typed on the page."""
    if len(given) > _MOST_TYPED:
        raise UsageError(f"at most {_MOST_TYPED} people are typed on the page; import more from a file")
    return [_typed_person(fields, number, person) for number, person in enumerate(given)]


def _typed_person(fields: _Fields, number: int, given: object) -> ImportedPerson:
    if not isinstance(given, dict) or {*given} != {*_TYPED} or not all(isinstance(v, str) for v in given.values()):
        raise UsageError(f"a typed person has {', '.join(_TYPED)}, each a text")
    at = f"typed.{number}"
    name = fields.text(f"{at}.name", "the name", given["name"], _LONGEST_NAME)
    if not name:
        fields.refuse(f"{at}.name", "give this person a name")
    who, memories = (fields.lines(f"{at}.{field}", given[field]) for field in ("who", "memories"))
    values = {"background": who, "memories": memories}
    kept = {field: value for field, value in values.items() if value}
    return ImportedPerson({"name": name, **kept}, file="the page", kind="typed")


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 15
