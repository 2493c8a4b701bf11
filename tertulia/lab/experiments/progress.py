"""The progress of an experiment while it runs, and the estimated time that is left."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tertulia.lab.experiments.reached import Progress
from tertulia.runs.driving.events import Event, RunEnded, RunStarted, TurnFinished
from tertulia.state.text import counted


@dataclass
class ExperimentProgress:
    """Counts the events of an experiment's runs since a command asked for it; failed trials have their error."""

    before: Progress
    clock: Callable[[], float] = time.monotonic
    new: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.begin(self.before)

    def begin(self, before: Progress) -> None:
        """Count from here on: the shards of an earlier command are in the store now."""
        self.before = before
        self._left = self.before.missing
        self.total = len([*self.before.experiment.places()])
        self._begun = self.clock()
        self._turns: Counter[str] = Counter()
        self._ended: set[str] = set()

    def note(self, event: Event) -> None:
        """Take an event."""
        match event:
            case RunStarted():
                self.failed.pop(event.run, None)
            case TurnFinished():
                self._turns[event.run] += 1
            case RunEnded():
                self._ended.add(event.run)
                self.new += event.status == "finished"
                if event.status == "failed":
                    self.failed[event.run] = str(event.error)
            case _:
                pass

    @property
    def finished(self) -> int:
        """Trials that have finished, those of before among them."""
        return self.total - self._left + self.new

    @property
    def ended(self) -> int:
        """Trials that have ended since then, whichever way."""
        return len(self._ended)

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the rest would take at the pace until now; `None` before each of a cohort has said a line."""
        utterances = self._turns.total()
        if utterances < min(self.before.experiment.cohort_size, self._left or 1):
            return None
        return (self.clock() - self._begun) / utterances * max(0.0, self._expected - utterances)

    @property
    def _expected(self) -> float:
        """The expected utterances of all trials of this command: others are as long as those that have ended."""
        ended = [self._turns[run] for run in self._ended]
        longest = self.before.experiment.rounds or max(self._turns.values(), default=1)
        each = sum(ended) / len(ended) if any(ended) else longest
        return sum(ended) + each * (self._left - len(ended))

    @property
    def text(self) -> str:
        """How far it is, in a line."""
        parts = [f"{self.finished} of {counted(self.total, 'trial')}", counted(self._turns.total(), "utterance")]
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        if (left := self.seconds_left) is not None:
            parts.append(f"about {duration(left)} left")
        return ", ".join(parts)


def duration(seconds: float) -> str:
    """Return a time in words: `40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
