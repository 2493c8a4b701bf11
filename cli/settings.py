"""What `--set KEY=VALUE` and the options beside it come to."""

from collections.abc import Iterable
from math import inf, nan
from typing import Any

from state.errors import UsageError


def read_settings(settings: Iterable[str] | None, **options: Any) -> dict[str, Any]:
    """Return parameters by name: those of `--set`, and over them the options that were given.

    Raises:
        UsageError: Something is not `KEY=VALUE`.
    """
    chosen: dict[str, Any] = dict(read_pair("--set", setting, "temperature=1.0") for setting in settings or [])
    return chosen | {name: value for name, value in options.items() if value is not None}


def read_pair(option: str, given: str, example: str) -> tuple[str, str]:
    """Return the two sides of `KEY=VALUE`.

    Raises:
        UsageError: There is no key, or no `=`.
    """
    name, separator, value = given.partition("=")
    if not separator or not name.strip():
        raise UsageError(f"{option} {given}: write KEY=VALUE, for example {option} {example}")
    return name.strip(), value.strip()


def read_prices(given: Iterable[str] | None) -> dict[str, tuple[float, float]]:
    """Return by model what a million tokens read, and a million written, cost.

    Raises:
        UsageError: Something is not `MODEL=READ,WRITTEN`.
    """
    prices: dict[str, tuple[float, float]] = {}
    for one in given or []:
        name, _, figures = one.rpartition("=")
        try:
            read, written = map(float, figures.split(","))
        except ValueError:
            read = written = nan
        if not name or not (0 <= read < inf and 0 <= written < inf):
            raise UsageError(f"--price {one}: write MODEL=READ,WRITTEN, for example --price openai:NAME=2.50,10")
        prices[name] = read, written
    return prices


def read_seed(settings: dict[str, Any], otherwise: int) -> int:
    """Take `seed` out of the settings and return it; `otherwise` where it is not among them.

    Raises:
        UsageError: It is not an integer.
    """
    value = settings.pop("seed", otherwise)
    try:
        return int(value)
    except ValueError:
        raise UsageError(f"seed={value} is not an integer") from None
