"""Errors that speak to people: the fault, the value, the remedy.

Every error that a user can cause is a `TertuliaError`; the command line prints it as one line and maps its
class to an exit code. Anything else is a bug and keeps its traceback.
"""

import difflib
import re
import traceback
from collections.abc import Iterable
from pathlib import Path

from tertulia.state.text import clean, one_line


class TertuliaError(Exception):
    """Base of all errors that the user sees as one line.

    Messages quote servers, files and stores of other people: each is cleaned here, before Python shows it, a run stores
    it, or a page has it.
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(clean(argument) if isinstance(argument, str) else argument for argument in arguments))


class UsageError(TertuliaError):
    """A value given by the user is not acceptable."""


class SettingError(UsageError):
    """The value of one parameter is not acceptable; the message is `setting=value` and the problem."""

    def __init__(self, setting: str, value: object, problem: str) -> None:
        super().__init__(f"{setting}={value}{problem}")
        self.setting, self.value, self.problem = setting, value, problem

    def __reduce__(self) -> tuple[type["SettingError"], tuple[str, object, str]]:
        """Return how it is made again in another process."""
        return type(self), (self.setting, self.value, self.problem)


class NotFoundError(TertuliaError):
    """Something named by the user does not exist."""


class ScenarioError(UsageError):
    """A scenario file or a log folder can't be read as one; the message is about the first problem.

    Attributes:
        further: Messages about the other problems of a file.
    """

    further: tuple[str, ...] = ()


class ModelError(TertuliaError):
    """A model failed, or can't do its task."""


class AttentionUnavailableError(ModelError):
    """A model's attention is not exactly known, so that its prompts can't be scored by Eq. 1."""


class ContextWindowError(ModelError):
    """A prompt does not fit the context window of the model; nothing is ever cut silently."""


class StorageError(TertuliaError):
    """The store can't be read or written."""


class MissingPackageError(UsageError):
    """An optional package is not installed; the message has the command that installs it."""


class ExtensionError(UsageError):
    """A user's nodes or mechanisms can't be loaded, or are declared wrongly."""


class TrustError(UsageError):
    """A file alone sets code, hosts or keys: an extension, a server; the user has not (SECURITY.md)."""


class LeftError(TertuliaError):
    """The person in a seat has left; the run goes on from there when it is resumed."""


class HandedOverError(LeftError):
    """A person has left their seat for good; the turn under way begins again, and the model speaks for them."""


class StoppedError(TertuliaError):
    """A run, a simulation or an experiment was stopped as by an interrupt; its results are kept, and it can be resumed.

    Attributes:
        reason: The cause that stopped it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"stopped by {reason}")
        self.reason = reason

    def __reduce__(self) -> tuple[type["StoppedError"], tuple[str]]:
        """Return how it is made again in another process."""
        return type(self), (self.reason,)


class BudgetError(StoppedError):
    """A budget is spent: of calls, tokens, money or minutes."""


class NodeError(TertuliaError):
    """A user's node failed, or broke its declaration."""


#: A number with a decimal comma.
_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+")


def meant_number(given: object) -> str | None:
    """Return a number that was given with a comma, with a point instead; `None` for anything else."""
    return given.replace(",", ".") if isinstance(given, str) and _COMMA.fullmatch(given.strip()) else None


def nearest_of(name: str, names: Iterable[str], cutoff: float = 0.5) -> str | None:
    """Return the name that is spelt most like `name`, or `None` if none is."""
    names = list(names)
    close = difflib.get_close_matches(name.casefold(), [n.casefold() for n in names], n=1, cutoff=cutoff)
    return next(n for n in names if n.casefold() == close[0]) if close else None


def nearest_hint(name: str, names: Iterable[str], otherwise: str | None = None) -> str:
    """Return ` (did you mean 'x'?)` for the name that is spelt most like `name`; if none is, all the names.

    Args:
        otherwise: The return value instead of names that are too many to be read in a line.
    """
    names = list(names)
    if (nearest := nearest_of(name, names)) is not None:
        return f" (did you mean {nearest!r}?)"
    if otherwise is not None:
        return otherwise
    return f" (known: {', '.join(names)})" if names else ""


def extra_hint(extra: str) -> str:
    """Return the command that installs an optional part: in a checkout that of its files, else that of the package."""
    if (Path(__file__).resolve().parents[1] / "pyproject.toml").exists():
        return f"pip install --editable '.[{extra}]' (in Tertulia's checkout)"
    return f"pip install 'tertulia[{extra}]'"


def failure_text(error: Exception) -> str:
    """Return on one line an error of a model or a node that is not one of the project's own, and its place."""
    place, message = traceback.extract_tb(error.__traceback__)[-1], one_line(error)
    return f"{type(error).__name__}{f': {message}' if message else ''} (in {place.filename}, line {place.lineno})"
