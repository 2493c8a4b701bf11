"""What an experiment would take on many cores or GPUs, reckoned from parts that were measured or are given.

Nothing is measured here. A table is R runs of U utterances, driven in cohorts of C by W workers, whose stores one
driver merges:

    T(W) = start + max(⌈R / C / W⌉ · C · U · u,  R · g) + C · g

with u a worker's seconds for an utterance (the model's, and Tertulia's beside it), and g the driver's for a run (merge
and progress). While workers compute, the driver merges; the last cohort is merged when they are done. Two things bound
the speedup: workers come in whole cohorts, so R / C of them are the most that have any work; and there is one driver,
so that from W* = U · u / g workers on, more change nothing.
"""

from dataclasses import dataclass
from math import ceil

HOUR_S = 3600


@dataclass(frozen=True)
class TableSize:
    """The size of a table of results.

    Attributes:
        cases, trials, settings: Their product is the number of runs.
        utterances: Of a run.
        cohort: Runs that are driven side by side.
    """

    cases: int = 20
    trials: int = 10
    settings: int = 10
    utterances: int = 16
    cohort: int = 10

    @property
    def runs(self) -> int:
        """How many runs the table has."""
        return self.cases * self.trials * self.settings


@dataclass(frozen=True)
class Parts:
    """Seconds of one core, or of one GPU, for each part.

    Attributes:
        model_s: The model's, for an utterance, with all that is asked for it.
        own_s: Tertulia's, for an utterance.
        start_s: Until a worker has started and loaded its models.
        merge_s: The driver's, for a run.
    """

    model_s: float
    own_s: float
    start_s: float
    merge_s: float

    @property
    def utterance_s(self) -> float:
        """Seconds of a worker for an utterance."""
        return self.model_s + self.own_s


def work_s(table: TableSize, parts: Parts) -> float:
    """Return the seconds that all workers take together, without their start."""
    return table.runs * table.utterances * parts.utterance_s


def wall_s(table: TableSize, parts: Parts, workers: int) -> float:
    """Return how long a table takes by the clock with so many workers (T(W) above)."""
    cohorts = ceil(table.runs / table.cohort)
    of_cohort = table.cohort * table.utterances * parts.utterance_s
    computing = ceil(cohorts / workers) * of_cohort
    return parts.start_s + max(computing, table.runs * parts.merge_s) + table.cohort * parts.merge_s


def speedup(table: TableSize, parts: Parts, workers: int) -> float:
    """Return how many times sooner a table is done than with one worker."""
    return wall_s(table, parts, 1) / wall_s(table, parts, workers)


def workers_of_driver(table: TableSize, parts: Parts) -> float:
    """Return the number of workers that one driver keeps up with (W* above)."""
    return table.utterances * parts.utterance_s / parts.merge_s


def gpu_s(prompt_tokens: float, reply_tokens: float, read_per_s: float, written_per_s: float) -> float:
    """Return the seconds of a GPU for so many tokens, as if it read and wrote one after the other.

    Args:
        prompt_tokens, reply_tokens: Read, and written.
        read_per_s, written_per_s: The tokens a second that it reads and writes, over all requests in flight.
    """
    return prompt_tokens / read_per_s + reply_tokens / written_per_s


def town_s(encounters: int, utterances: int, utterance_s: float, encounter_s: float) -> float:
    """Return how long days of a town take: encounters follow one another, so that more workers change nothing.

    Args:
        encounters: In all.
        utterances: Of a conversation.
        utterance_s: For an utterance, all that is asked for it included.
        encounter_s: For what an encounter takes besides: what is remembered, rated, and reflected on.
    """
    return encounters * (utterances * utterance_s + encounter_s)
