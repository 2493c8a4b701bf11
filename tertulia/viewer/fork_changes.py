"""The changes of a fork from the page besides parameters: read from a request, checked, and as arguments of `fork`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tertulia.runs.planning.forking import NO_MECHANISM, StartChanges, check_fork_of, is_of_model
from tertulia.state.errors import SettingError, UsageError
from tertulia.state.meeting import Meeting, Start
from tertulia.state.records import RunRecord
from tertulia.storage.store import SqlStore

#: The most characters of a text that the page hands to a fork: a line, a memory, a value.
LONGEST_TEXT = 10_000

#: The most changes of each kind in one fork.
_MOST_CHANGES = 50

#: The fields of a request, by the form of their values: a text, pairs of texts, or names.
_TEXTS, _PAIRS, _NAMES = ("say", "label"), ("person", "remember", "forget"), ("mechanisms",)

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ForkChanges:
    """The changes of a fork besides its parameters, as the options of `fork` take them.

    Attributes:
        say: The words of the speaker of the fork's first turn.
        label: The name of the fork.
        person: Fields of people, as `(NAME.FIELD, value)`.
        remember: Added memories, as `(NAME, text)`.
        forget: Removed memories, as `(NAME, memory id)`.
        mechanisms: The mechanisms that agents of a meeting may switch on; `None`: no change.
    """

    say: str | None = None
    label: str | None = None
    person: Pairs = ()
    remember: Pairs = ()
    forget: Pairs = ()
    mechanisms: tuple[str, ...] | None = None

    @property
    def words(self) -> list[str]:
        """The options and their values, each in one word: a value may begin with a dash."""
        words = [f"--{name}={value}" for name in _TEXTS if (value := getattr(self, name)) is not None]
        words += [f"--{option}={name}={value}" for option in _PAIRS for name, value in getattr(self, option)]
        if self.mechanisms is None:
            return words
        return [*words, f"--mechanisms={','.join(self.mechanisms) or NO_MECHANISM}"]

    @property
    def of_the_start(self) -> StartChanges:
        """The changes of the parent's start."""
        return StartChanges(self.person, self.remember, self.forget, self.mechanisms)


NO_CHANGES = ForkChanges()


def known_mechanisms(start: Start) -> list[str]:
    """Return the mechanisms that the agents of a meeting may switch on: the shipped ones and its own; else none."""
    from tertulia.nodes.mechanisms.registry import MECHANISMS

    return list(dict.fromkeys([*MECHANISMS, *start.mechanisms])) if isinstance(start, Meeting) else []


def texts_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return values by parameter name; `UsageError` unless each is a text of one line, and none is too long."""
    return {name: _text(f"the value of {name}", value) for name, value in settings.items()}


def read_changes(given: object) -> ForkChanges:
    """Return the changes that a request describes.

    Args:
        given: A dictionary: `say` and `label` are texts, `person`, `remember` and `forget` lists of pairs, `mechanisms`
            is a list of names; each may be left out.

    Raises:
        UsageError: It describes none, a text is too long or of several lines, or a field names a model.
    """
    if not isinstance(given, dict) or given.keys() - {*_TEXTS, *_PAIRS, *_NAMES}:
        raise UsageError("the changes of a fork are say, label, person, remember, forget and mechanisms")
    texts = {name: _text(_SPOKEN[name], given[name]) for name in _TEXTS if given.get(name) is not None}
    pairs = {name: tuple(_pair(name, pair) for pair in _several(name, given.get(name, ()))) for name in _PAIRS}
    for path, _ in pairs["person"]:
        if is_of_model(path):
            raise UsageError(f"{path}: a model is given on the command line alone")
    names = given.get("mechanisms")
    mechanisms = None if names is None else tuple(_text("a mechanism", name) for name in _several("mechanisms", names))
    if mechanisms is not None and any("," in name for name in mechanisms):
        raise UsageError("the name of a mechanism has no comma")
    return ForkChanges(**texts, **pairs, mechanisms=mechanisms)  # type: ignore[arg-type]


def check_fork(store: SqlStore, parent: RunRecord, at: int, settings: Mapping[str, str], changes: ForkChanges) -> None:
    """Raise the errors of `fork`, as far as they can be told without opening a model or code of an extension.

    Raises:
        TertuliaError: No such fork can be made.
    """
    chosen = dict(settings)
    seed = chosen.pop("seed", "0")
    if not seed.strip().removeprefix("-").isdecimal():
        raise SettingError("seed", seed, ": a seed is an integer")
    available = known_mechanisms(store.start(parent.run))
    check_fork_of(store, parent, at, chosen, changes.of_the_start, changes.say, available)


#: Texts as a message names them.
_SPOKEN = {"say": "what is said", "label": "the label"}


def _several(name: str, given: object) -> list[Any]:
    if not isinstance(given, list | tuple) or len(given) > _MOST_CHANGES:
        raise UsageError(f"{name} is a list of at most {_MOST_CHANGES}")
    return list(given)


def _pair(option: str, given: object) -> tuple[str, str]:
    if not isinstance(given, list) or len(given) != 2:
        raise UsageError(f"{option} is a list of pairs, of whom and what")
    name = _text(f"a name of {option}", given[0])
    if "=" in name:
        raise UsageError(f"{name!r} has an equals sign, which ends a name on a command line; change it there, in YAML")
    return name, _text(f"what {option} gives {name}", given[1])


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{what} is a text of one line, as the command takes it")
    if len(value) > LONGEST_TEXT:
        raise UsageError(f"{what} has {len(value):,} characters; it may have at most {LONGEST_TEXT:,}")
    if odd := next((char for char in value if not char.isprintable()), None):
        where = "a line break" if odd in "\r\n\u2028\u2029" else f"the character U+{ord(odd):04X}, which can't be seen"
        raise UsageError(f"{what} is a text of one line; it has {where}, leave that out")
    return value
