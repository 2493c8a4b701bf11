"""The progress of an experiment while it runs, in utterances, and the estimated time that is left."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tertulia.lab.experiments.reached import Progress
from tertulia.runs.driving.events import STEP_PHRASES, Event, Noted, RunEnded, RunStarted, StepStarted, TurnFinished
from tertulia.state.text import counted

#: Seconds between two lines of progress in a file.
_HEARTBEAT_S = 60.0


@dataclass
class ExperimentProgress:
    """Counts the events of an experiment's runs since a command asked for it; failed trials have their error."""

    before: Progress
    clock: Callable[[], float] = time.monotonic
    new: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._noted: set[str] = set()
        self.begin(self.before)

    def begin(self, before: Progress) -> None:
        """Count from here on: the shards of an earlier command are in the store now."""
        self.before = before
        self._left = self.before.missing
        self.total = len([*self.before.experiment.places()])
        self._begun = self.clock()
        self._turns: Counter[str] = Counter()
        self._ended: set[str] = set()
        self._step = ""
        self._forecast: tuple[int, float | None] | None = None

    def expect(self, utterances: int, seconds: float | None) -> None:
        """Take a forecast of the utterances and the time of all missing trials."""
        self._forecast = utterances, seconds

    def note(self, event: Event) -> bool:
        """Take an event; return whether it is news: a note that another trial had is none."""
        match event:
            case Noted():
                is_news = event.text not in self._noted
                self._noted.add(event.text)
                return is_news
            case RunStarted():
                self.failed.pop(event.run, None)
            case StepStarted():
                self._step = STEP_PHRASES.get(event.step, self._step)
            case TurnFinished():
                self._turns[event.run] += 1
            case RunEnded():
                self._ended.add(event.run)
                self.new += event.status == "finished"
                if event.status == "failed":
                    self.failed[event.run] = str(event.error)
            case _:
                pass
        return True

    @property
    def finished(self) -> int:
        """Trials that have finished, those of before among them."""
        return self.total - self._left + self.new

    @property
    def ended(self) -> int:
        """Trials that have ended since then, whichever way."""
        return len(self._ended)

    @property
    def utterances(self) -> int:
        """Utterances since then."""
        return self._turns.total()

    @property
    def expected(self) -> int | None:
        """The expected utterances of all trials since then: others are as long as those that have ended.

        `None` if no trial has ended and there is no forecast.
        """
        ended = [self._turns[run] for run in self._ended]
        if any(ended):
            of_others = sum(ended) / len(ended) * (self._left - len(ended))
        elif self._forecast is not None:
            of_others = float(self._forecast[0])
        elif self.before.experiment.rounds is not None:
            of_others = float(self.before.experiment.rounds * self._left)
        else:
            return None
        return max(round(sum(ended) + of_others), self.utterances)

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the rest would take at the pace until now; before each of a cohort has said a line, as forecast.

        `None` without a forecast.
        """
        utterances, expected, spent = self.utterances, self.expected, self.clock() - self._begun
        if expected is not None and utterances >= min(self.before.experiment.cohort_size, self._left or 1):
            return spent / utterances * (expected - utterances)
        if self._forecast is None or self._forecast[1] is None:
            return None
        return max(0.0, self._forecast[1] - spent)

    @property
    def text(self) -> str:
        """How far it is, in a line."""
        expected = f" of about {self.expected:,}" if self.expected is not None and self._left > self.ended else ""
        noun = "utterances" if expected or self.utterances != 1 else "utterance"
        parts = [f"{self.utterances:,}{expected} {noun}", f"{self.finished} of {counted(self.total, 'trial')}"]
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        if (left := self.seconds_left) is not None and self._left > self.ended:
            parts.append(f"about {duration(left)} left")
        if self._step and not self.utterances:
            parts.append(self._step)
        return ", ".join(parts)


@contextmanager
def each_minute(show: Callable[[], None]) -> Iterator[None]:
    """Show progress each minute while inside, for an output that has no line of its own for it."""
    ended = threading.Event()

    def show_it() -> None:
        while not ended.wait(_HEARTBEAT_S):
            show()

    threading.Thread(target=show_it, daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def duration(seconds: float) -> str:
    """Return a time in words: `40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
