"""The options of a budget, which all commands that drive conversations have (docs/runs.md)."""

from dataclasses import dataclass
from typing import Annotated

import typer

from tertulia.cli.options import PriceOption
from tertulia.runs.driving.limits import Limits
from tertulia.state.budget import Budget
from tertulia.state.errors import SettingError, UsageError
from tertulia.views.measuring.costs import read_prices


@dataclass(frozen=True)
class BudgetOptions:
    """The options of a budget. `max_minutes` would be the parameter of simulated time, `--minutes`."""

    max_calls: Annotated[
        int | None, typer.Option(metavar="N", help="Stop, to be resumed, before more than so many calls of models.")
    ] = None
    max_tokens: Annotated[
        int | None,
        typer.Option(metavar="N", help="Stop after the call with which so many tokens are read or written."),
    ] = None
    max_cost: Annotated[
        float | None, typer.Option(metavar="X", help="Stop after the call with which so much is spent, at --price.")
    ] = None
    real_minutes: Annotated[
        float | None,
        typer.Option("--max-minutes", metavar="M", help="Stop after so many minutes of real, not of simulated time."),
    ] = None
    price: PriceOption = None

    def limits(self) -> Limits:
        """Return the limits that the options set; `UsageError` if one is no limit, or a price is none."""
        if self.price and self.max_cost is None:
            raise UsageError("--price says what tokens cost; give --max-cost with it")
        prices = read_prices(self.price)
        try:
            return Limits(Budget(self.max_calls, self.max_tokens, self.max_cost, self.real_minutes, prices))
        except SettingError as error:
            if error.setting != "max_minutes":
                raise
            raise UsageError(f"--max-minutes {self.real_minutes:g}{error.problem}") from None
