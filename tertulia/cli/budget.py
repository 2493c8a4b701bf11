"""The options of a budget, which all commands that drive conversations have (docs/runs.md)."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any

import typer

from tertulia.cli.options import PriceOption
from tertulia.runs.driving.limits import Limits
from tertulia.state.budget import Budget
from tertulia.state.errors import SettingError, UsageError
from tertulia.views.measuring.costs import read_prices

#: The limits of a command that is called without options.
NO_LIMITS = Limits()

#: The options by the names of their values. `max_minutes` would be the parameter of simulated time, `--minutes`.
_OPTIONS: dict[str, Any] = {
    "max_calls": Annotated[
        int | None, typer.Option(metavar="N", help="Stop, to be resumed, before more than so many calls of models.")
    ],
    "max_tokens": Annotated[
        int | None,
        typer.Option(metavar="N", help="Stop after the call with which so many tokens are read or written."),
    ],
    "max_cost": Annotated[
        float | None, typer.Option(metavar="X", help="Stop after the call with which so much is spent, at --price.")
    ],
    "real_minutes": Annotated[
        float | None,
        typer.Option("--max-minutes", metavar="M", help="Stop after so many minutes of real, not of simulated time."),
    ],
    "price": PriceOption,
}


def with_budget(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that also has the options of a budget, and gets their values as `limits`."""
    own = signature(command)

    @wraps(command)
    def called(**given: Any) -> None:
        budget = {name: given.pop(name, None) for name in _OPTIONS}
        command(**given, limits=_limits(budget.pop("price") or [], **budget))

    parameters = []
    for parameter in own.parameters.values():
        parameters += [parameter] if parameter.name != "limits" else _added(parameter)
    called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _added(limits: Parameter) -> list[Parameter]:
    return [limits.replace(name=name, annotation=option, default=None) for name, option in _OPTIONS.items()]


def _limits(
    prices: list[str], max_calls: int | None, max_tokens: int | None, max_cost: float | None, real_minutes: float | None
) -> Limits:
    """Return the limits that the options set; `UsageError` if one is no limit, or a price is none."""
    if prices and max_cost is None:
        raise UsageError("--price says what tokens cost; give --max-cost with it")
    try:
        return Limits(Budget(max_calls, max_tokens, max_cost, real_minutes, read_prices(prices)))
    except SettingError as error:
        if error.setting != "max_minutes":
            raise
        raise UsageError(f"--max-minutes {error.value:g}{error.problem}") from None
