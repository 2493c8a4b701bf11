"""A progress bar in a terminal or a notebook for runs that are driven from Python."""

import sys
from typing import TYPE_CHECKING

from tertulia.driving.events import Event, RunEnded, RunStarted, StepStarted, TurnFinished
from tertulia.state.parameters import Parameters

if TYPE_CHECKING:
    from tqdm import tqdm


class ProgressBar:
    """Shows the turns so far, of the most that there can be, and the current step."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown and (sys.stderr.isatty() or "ipykernel" in sys.modules)
        self._bar: tqdm[None] | None = None

    def show(self, event: Event) -> None:
        """Show an event."""
        if not self._shown:
            return
        if isinstance(event, RunStarted):
            from tqdm import tqdm

            total = Parameters.model_validate(event.run.parameters).max_turns
            self._bar = tqdm(desc=f"run {event.run.run}", initial=len(event.turns), total=total, unit="turn")
        if self._bar is None:
            return
        match event:
            case StepStarted():
                self._bar.set_postfix_str(event.step.replace("_", " "), refresh=True)
            case TurnFinished():
                self._bar.update()
            case RunEnded():
                self._bar.set_postfix_str(event.status)
                self._bar.close()

    def close(self) -> None:
        """Close the bar as it is."""
        if self._bar is not None:
            self._bar.close()
