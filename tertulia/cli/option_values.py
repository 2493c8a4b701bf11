"""Read the values of options: `--set KEY=VALUE`, a seed, a model, the changes of a fork."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tertulia.runs.access.model_names import REHEARSAL
from tertulia.runs.planning.starting import DEFAULT_MODEL
from tertulia.state.errors import SettingError, UsageError

if TYPE_CHECKING:
    from tertulia.runs.planning.forking import StartChanges


def read_settings(settings: Iterable[str] | None, **options: Any) -> dict[str, Any]:
    """Return the parameters of `--set` with the given options over them; `UsageError` if one is not `KEY=VALUE`."""
    chosen: dict[str, Any] = dict(read_pair("--set", setting, "temperature=1.0") for setting in settings or [])
    return chosen | {name: value for name, value in options.items() if value is not None}


def read_pair(option: str, given: str, example: str) -> tuple[str, str]:
    """Return the two sides of `KEY=VALUE`, or raise `UsageError`."""
    name, separator, value = given.partition("=")
    if not separator or not name.strip():
        raise UsageError(f"{option} {given}: write KEY=VALUE, as in {option} {example}")
    return name.strip(), value.strip()


def read_seed(settings: dict[str, Any], otherwise: int) -> int:
    """Remove `seed` from the settings and return it, or `otherwise`; `SettingError` if it is not an integer."""
    value = settings.pop("seed", otherwise)
    try:
        return int(value)
    except ValueError:
        raise SettingError("seed", value, ": a seed is an integer") from None


def read_model(model: str | None, rehearse: bool) -> str:
    """Return the name of the model that `--model` and `--rehearse` ask for."""
    return REHEARSAL if rehearse else model or DEFAULT_MODEL


def read_changes(
    person: Iterable[str] | None, remember: Iterable[str] | None, forget: Iterable[str] | None, mechanisms: str | None
) -> "StartChanges":
    """Return the changes of a fork to its parent's start; `UsageError` if one is not `NAME=VALUE`."""
    from tertulia.runs.planning.forking import StartChanges

    return StartChanges(
        person=tuple(read_pair("--person", given, "'NAME.emotion=annoyed'") for given in person or ()),
        remember=tuple(read_pair("--remember", given, "'NAME=The key is under the mat.'") for given in remember or ()),
        forget=tuple(read_pair("--forget", given, "NAME=memory_3") for given in forget or ()),
        mechanisms=None if mechanisms is None else [name.strip() for name in mechanisms.split(",") if name.strip()],
    )
