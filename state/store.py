"""The contract of the store, in which runs live, part by part. Nothing here knows SQLite."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tertulia.state.annotation import Annotation, Instrument
from tertulia.state.cognition import Call, Trace
from tertulia.state.meeting import Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import (
    Candidate,
    EndedBy,
    Extension,
    Prompt,
    Record,
    Remembered,
    RunRecord,
    RunStatus,
    Stream,
    Turn,
    TurnRecord,
)

AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(frozen=True)
class Recollection:
    """The memories of a stream that may be recalled: `C` memories, scored for each of `P` focal points.

    Attributes:
        numbers: Their numbers in the stream, ascending.
        created_s: When each was made, in seconds; only differences mean anything.
        importance: Of each, from 0 to 10.
        relevance: By point, the cosine of each.
        relevance_spans: By point, the lowest and the highest cosine found.
        created_span_s, importance_span: The lowest and the highest of the whole stream.
    """

    numbers: Sequence[int]
    created_s: Sequence[float]
    importance: Sequence[float]
    relevance: Sequence[Sequence[float]]
    relevance_spans: Sequence[tuple[float, float]]
    created_span_s: tuple[float, float]
    importance_span: tuple[float, float]


@dataclass(frozen=True)
class Dependents:
    """The forks of a run, of all generations, oldest first, and the simulation, that would be incomplete without it."""

    forks: tuple[str, ...] = ()
    simulation: str | None = None


class ContentStore(Protocol):
    """Texts and prompts, by the hash of their content."""

    def save_text(self, text: str) -> str:
        """Store a text once and return its content hash."""

    def text(self, content: str) -> str:
        """Return the text of a content hash; `StorageError` if it is missing or damaged."""

    def save_prompt(self, prompt: Prompt) -> str:
        """Store a prompt, each unit's text once, and return its content hash."""

    def prompt(self, content: str) -> Prompt:
        """Return the prompt of a content hash; `StorageError` if it is missing or damaged."""


class PictureStore(Protocol):
    """Pictures, by the hash of their bytes."""

    def save_picture(self, picture: bytes) -> str:
        """Store the bytes of a picture's file once and return their content hash."""

    def picture(self, content: str) -> bytes:
        """Return the bytes of the picture of a content hash; `StorageError` if it is missing or damaged."""


class RunStore(Protocol):
    """Runs, and their starting points."""

    def create_run(self, run: RunRecord, start: Start) -> None:
        """Store a new run and its start; `StorageError` if another run has taken its id in the meantime."""

    def run(self, run: str) -> RunRecord:
        """Return a run.

        Args:
            run: Its id, a unique beginning of it, or `@last` for the newest.

        Raises:
            NotFoundError: There is none.
            UsageError: Several ids begin like that.
        """

    def runs(
        self,
        scenario: str | None = None,
        status: RunStatus | None = None,
        label: str | None = None,
        limit: int | None = None,
        experiment: str | None = None,
    ) -> list[RunRecord]:
        """Return the runs that match all that is given, newest first."""

    def start(self, run: str) -> Start:
        """Return the start of a run; `NotFoundError` if there is no such run."""

    def set_status(
        self, run: str, status: RunStatus, error: str | None = None, ended_by: EndedBy | None = None
    ) -> None:
        """Set the status of a run, why it failed, and why it ended; `NotFoundError` if there is no such run."""

    def set_label(self, run: str, label: str | None) -> None:
        """Set the label of a run, `None` for no label; `NotFoundError` if there is no such run."""

    def set_extensions(self, run: str, extensions: Sequence[Extension]) -> None:
        """Replace the extensions of a run; `NotFoundError` if there is no such run."""

    def dependents_of(self, run: str) -> Dependents:
        """Return the things that would be incomplete without a run."""

    def remove_run(self, run: str, with_forks: bool = False) -> tuple[str, ...]:
        """Delete a run with all that belongs to it alone, and return the ids of the runs that are gone.

        Args:
            with_forks: Whether its forks, of all generations, are deleted too.

        Raises:
            NotFoundError: There is no such run.
            UsageError: It has forks, and they were not to be deleted; or it is a conversation of a simulation.
            StorageError: A process drives it, or one of its forks.
        """


class TurnStore(Protocol):
    """Turns, and how each came about.

    A turn has an utterance, and may have further ones before and behind it, each under the name of its part: in an
    album chat `plan` and `answer`. The turn's own is the part without a name.
    """

    def save_candidate(self, run: str, turn: int, candidate: Candidate, part: str = "") -> None:
        """Store a candidate of a turn's utterance, or of a part of it, or its later judgement."""

    def candidates(self, run: str, turn: int, part: str = "") -> list[Candidate]:
        """Return the candidates of a turn's utterance, or of a part of it, in the order of their attempts."""

    def save_turn(self, run: str, record: TurnRecord, parts: Mapping[str, TurnRecord] | None = None) -> None:
        """Store a turn with how it came about, in one transaction; a turn that is stored already stays as it is."""

    def parts(self, run: str, turn: int) -> dict[str, TurnRecord]:
        """Return the further utterances of a turn by part, and how each came about, in the order of their names."""

    def part_turns(
        self, run: str, first: int = 1, last: int | None = None, of: Sequence[Turn] | None = None
    ) -> dict[tuple[int, str], Turn]:
        """Return the further utterances of the turns `first` to `last`, by turn and part, without how they came.

        Args:
            of: These turns, if they were read already.
        """

    def turns(self, run: str, first: int = 1, last: int | None = None) -> list[Turn]:
        """Return the turns `first` to `last` (inclusive; to the end if `None`).

        Raises:
            StorageError: One of them is missing, or has not all that was stored with it.
        """

    def turn_record(self, run: str, turn: int) -> TurnRecord:
        """Return how a turn came about; `NotFoundError` if there is no such turn."""


class StepsOfRound(Protocol):
    """The results of the steps of a round."""

    def step(self, agent: str, node: str, kind: type[AnyRecord]) -> AnyRecord | None:
        """Return the result of that step, read as a record of that kind; `None` if it was not taken."""


class CognitionStore(Protocol):
    """Steps of agents' cognition, and the trace of every node."""

    def save_step(self, run: str, round: int, agent: str, node: str, record: Record) -> None:
        """Store the result of a step of an agent's cognition, in place of the result stored under its key.

        Args:
            agent: The agent; empty for a step of the whole group's.

        Raises:
            ValueError, TypeError: The record holds a value that JSON can't, such as NaN.
        """

    def step(self, run: str, round: int, agent: str, node: str, kind: type[AnyRecord]) -> AnyRecord | None:
        """Return the result of that step, read as a record of that kind; `None` if it was not taken."""

    def steps_of_round(self, run: str, round: int) -> "StepsOfRound":
        """Return the results of all steps of a round, read at once."""

    def steps(
        self,
        run: str,
        node: str,
        kind: type[AnyRecord],
        first: int = 0,
        last: int | None = None,
        agent: str | None = None,
    ) -> dict[tuple[int, str], AnyRecord]:
        """Return the results of a step in the rounds `first` to `last`, by round and agent, in their order.

        Args:
            first: The first round; 0 is the time before the first.
            last: The last round (inclusive); `None` for the last that there is.
            agent: The only agent whose results are returned; `None` for everybody's.

        Raises:
            StorageError: A turn in these rounds has not all that was stored with it.
        """

    def save_trace(self, run: str, turn: int, trace: Trace) -> None:
        """Store the executed steps of a turn, in place of those stored before."""

    def trace(self, run: str, turn: int) -> Trace | None:
        """Return the executed steps of a turn; `None` if nothing is known of it."""


class CallStore(Protocol):
    """The journal of model calls; the key of each is (run, round, agent, node, attempt)."""

    def save_calls(self, run: str, calls: Sequence[Call]) -> None:
        """Store calls of models, all of them or none, each in place of the call stored under its key."""

    def call(self, run: str, round: int, agent: str, node: str, attempt: int) -> Call | None:
        """Return the call of that key that the run itself has made; `None` if it has not."""

    def calls(self, run: str, round: int | None = None, without_shared: bool = False) -> list[Call]:
        """Return the calls of a run in the order of storing; `without_shared` leaves out those of its parent."""

    def calls_between(
        self, run: str, first: int, last: int, without_shared: bool = False, agent: str | None = None
    ) -> list[Call]:
        """Return those of the rounds `first` to `last`, of one agent if it is named."""

    def calls_in_brief(self, run: str, first: int, last: int | None = None, without_shared: bool = False) -> list[Call]:
        """Return those of the rounds `first` to `last` without arguments, replies and values: a tenth of the time."""

    def unsent(self, run: str) -> dict[str, frozenset[str]]:
        """Return by model the parameters of sampling that its server did not take (`Reply.unsent`), in any round."""


class AnnotationStore(Protocol):
    """Models' answers about stored conversations; nothing of a run depends on it."""

    def annotations_of_turn(self, run: str, turn: int, *instruments: Instrument) -> list[Annotation]:
        """Return the annotations by these instruments that begin with a turn; a fork has those of shared turns."""


class StreamStore(Protocol):
    """Memory streams, as their owners read them."""

    def recollect(self, stream: Stream, points: Sequence[Sequence[float]], parameters: Parameters) -> Recollection:
        """Return the part of a stream that is worth a closer look, for `P` focal points: vectors of unit length."""

    def remembered(self, stream: Stream, numbers: Sequence[int] | None = None) -> list[Remembered]:
        """Return memories of a stream in their order: those of these numbers, or all."""


class Store(
    ContentStore,
    PictureStore,
    RunStore,
    TurnStore,
    CognitionStore,
    CallStore,
    AnnotationStore,
    StreamStore,
    Protocol,
):
    """The place of runs. Every write has a deterministic key: written again, it changes nothing.

    A fork has its parent's turns, and all that belongs to them, up to the turn at which it was forked: whoever reads a
    run reads those too.
    """

    def transaction(self) -> AbstractContextManager[None]:
        """Store all that is written inside, or nothing of it if that fails; stored records are flushed once."""
