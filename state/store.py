"""The contract of the store, in which runs live. Nothing here knows SQLite."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from state.cognition import Call, Trace
from state.meeting import Start
from state.parameters import Parameters
from state.records import (
    Candidate,
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
    """What of a memory stream is worth a closer look: `C` memories, for each of `P` focal points.

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


class Store(Protocol):
    """Where runs live. Every write has a deterministic key: written again, it changes nothing.

    A fork has its parent's turns, and all that belongs to them, up to the turn at which it was forked: whoever reads a
    run reads those too.
    """

    def save_text(self, text: str) -> str:
        """Store a text once and return its content hash."""

    def text(self, content: str) -> str:
        """Return the text of that content hash."""

    def save_prompt(self, prompt: Prompt) -> str:
        """Store a prompt, each unit's text once, and return its content hash."""

    def prompt(self, content: str) -> Prompt:
        """Return the prompt of that content hash."""

    def create_run(self, run: RunRecord, start: Start) -> None:
        """Store a new run and what it starts from."""

    def run(self, run: str) -> RunRecord:
        """Return a run by its id, a unique beginning of it, or `@last`; raise `NotFoundError` otherwise."""

    def runs(self) -> list[RunRecord]:
        """Return all runs, newest first."""

    def start(self, run: str) -> Start:
        """Return the case, or the meeting, that a run starts from."""

    def set_status(self, run: str, status: RunStatus, error: str | None = None) -> None:
        """Note how a run stands."""

    def save_candidate(self, run: str, turn: int, candidate: Candidate) -> None:
        """Store a candidate of a turn, or what was judged of it since."""

    def candidates(self, run: str, turn: int) -> list[Candidate]:
        """Return the candidates of a turn in the order of their attempts."""

    def save_turn(self, run: str, record: TurnRecord) -> None:
        """Store a turn with how it came about, in one transaction."""

    def turns(self, run: str, first: int = 1, last: int | None = None) -> list[Turn]:
        """Return the turns `first` to `last` (inclusive; to the end if `None`)."""

    def turn_record(self, run: str, turn: int) -> TurnRecord:
        """Return how a turn came about; raise `NotFoundError` if there is no such turn."""

    def save_step(self, run: str, round: int, agent: str, node: str, record: Record) -> None:
        """Store what a step of an agent's cognition came to (agent empty: of the whole group's), replacing it."""

    def step(self, run: str, round: int, agent: str, node: str, kind: type[AnyRecord]) -> AnyRecord | None:
        """Return what that step came to, read as a record of that kind; `None` if it was not taken."""

    def steps(self, run: str, node: str, kind: type[AnyRecord]) -> dict[tuple[int, str], AnyRecord]:
        """Return what a step came to wherever it was taken, by round and agent, in their order."""

    def save_trace(self, run: str, turn: int, trace: Trace) -> None:
        """Store what was executed in a turn, in place of what was stored of it."""

    def trace(self, run: str, turn: int) -> Trace | None:
        """Return what was executed in a turn; `None` if nothing is known of it."""

    def save_calls(self, run: str, calls: Sequence[Call]) -> None:
        """Store calls of models, all of them or none; one whose key is stored takes that one's place."""

    def call(self, run: str, round: int, agent: str, node: str, attempt: int) -> Call | None:
        """Return the call of that key that the run itself has made; `None` if it has not."""

    def calls(self, run: str, round: int | None = None, own: bool = False) -> list[Call]:
        """Return the calls of a run, or of one of its rounds; `own`: without those that a fork has in common."""

    def recollect(self, stream: Stream, points: Sequence[Sequence[float]], parameters: Parameters) -> Recollection:
        """Return what of a stream is worth a closer look; a long one is not searched whole.

        Args:
            stream: The stream.
            points: Focal points, `P` vectors of unit length.
            parameters: What counts how much.
        """

    def remembered(self, stream: Stream, numbers: Sequence[int] | None = None) -> list[Remembered]:
        """Return memories of a stream in their order: those of these numbers, or all."""
