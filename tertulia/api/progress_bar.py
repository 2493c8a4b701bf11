"""A progress bar in a terminal or a notebook for runs that are driven from Python."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tertulia.runs.driving.events import Event, RunEnded, RunStarted, StepStarted, TurnFinished
from tertulia.state.parameters import Parameters

if TYPE_CHECKING:
    from tqdm import tqdm

    from tertulia.lab.experiments.progress import ExperimentProgress


#: The bar of an experiment: the rate and the time that is left are its own.
_BAR = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt} of about {total_fmt} utterances{postfix}"


class ProgressBar:
    """Shows the turns so far, of the most that there can be, and the current step."""

    def __init__(self, shown: bool) -> None:
        self._shown = _is_shown(shown)
        self._bar: tqdm[None] | None = None

    def show(self, event: Event) -> None:
        """Show an event."""
        if not self._shown:
            return
        if isinstance(event, RunStarted):
            from tqdm import tqdm

            total = Parameters.model_validate(event.record.parameters).max_turns
            self._bar = tqdm(desc=f"run {event.run}", initial=len(event.turns), total=total, unit="turn")
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


class TrialBar:
    """Shows the utterances of an experiment, of those that are expected, its trials, and the time that is left."""

    def __init__(self, shown: bool, experiment: str, counts: "ExperimentProgress") -> None:
        self.is_shown, self._experiment, self._counts = _is_shown(shown), experiment, counts
        self._bar: tqdm[None] | None = None

    def show(self, event: Event) -> None:
        """Show an event that was counted."""
        if not self.is_shown:
            return
        if self._bar is None:
            from tqdm import tqdm

            label, total = f"experiment {self._experiment}", self._counts.expected
            self._bar = tqdm(desc=label, total=total, unit="utterance", bar_format=_BAR)
        self._bar.total = self._counts.expected
        self._bar.set_postfix_str(self._counts.text.partition(", ")[2], refresh=False)
        self._bar.update(self._counts.utterances - self._bar.n)
        self._bar.refresh()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _is_shown(wanted: bool) -> bool:
    return wanted and (sys.stderr.isatty() or "ipykernel" in sys.modules)
