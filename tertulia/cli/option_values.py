"""Read the values of options: `--set KEY=VALUE`, a seed, a model."""

from collections.abc import Iterable
from typing import Any

from tertulia.runs.planning.request import DEFAULT_MODEL
from tertulia.state.errors import SettingError, UsageError
from tertulia.state.language_model import REHEARSAL


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


def read_seed(settings: dict[str, Any]) -> int | None:
    """Remove `seed` from the settings and return it, if it is there; `SettingError` if it is not an integer."""
    value = settings.pop("seed", None)
    try:
        return None if value is None else int(value)
    except ValueError:
        raise SettingError("seed", value, ": a seed is an integer") from None


def named_model(model: str | None, rehearse: bool) -> str | None:
    """Return the name of the model that `--model` or `--rehearse` asks for, `None` if neither does."""
    if rehearse and model not in (None, REHEARSAL):
        raise UsageError(f"--rehearse and --model {model}: give one of them")
    return REHEARSAL if rehearse else model


def read_model(model: str | None, rehearse: bool) -> str:
    """Return `named_model`, or the model that speaks by default."""
    return named_model(model, rehearse) or DEFAULT_MODEL
