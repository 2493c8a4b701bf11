"""A stored run in Python: its records, read on demand, and its methods."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Literal, get_args

from tertulia.api.cell_page import CellPage
from tertulia.api.checking import Checking
from tertulia.api.driven_run import DrivenRun
from tertulia.api.exporting import Exported
from tertulia.api.questioning import Questioned
from tertulia.api.stored_turn import StoredTurn
from tertulia.api.tables import Records
from tertulia.runs.access.engines import ModelAccess
from tertulia.state.album import Population
from tertulia.state.errors import UsageError, nearest_hint
from tertulia.state.meeting import Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import EndedBy, RunRecord, RunStatus, Turn
from tertulia.state.wrong_arguments import check_argument, whole_number, with_named_arguments
from tertulia.storage.store import SqlStore
from tertulia.views.reading.documents import conversation_document, turn_document
from tertulia.views.reading.exchanges import RecordedExchange, read_exchanges, spoken_turns
from tertulia.views.reading.shared_turns import settings_of_turns
from tertulia.views.reading.turns import LineDetails, read_turn
from tertulia.views.wording.phrases import clock, made_with, people_line, silence

if TYPE_CHECKING:
    from pandas import DataFrame

    from tertulia.metrics.participation import Participation
    from tertulia.views.reading.comparing import RunComparison

#: The kinds of a run's data frames: docs/data.md has their columns.
FrameOf = Literal["turns", "parts", "units", "agent_rounds", "calls"]


class Run(DrivenRun, Questioned, Checking, Exported):
    """A run of a store.

    Everything is read from the store when it is asked for, so a run that goes on elsewhere shows how far it is.

    Attributes:
        id: Its id.
        store: The store file that it lies in.
    """

    @property
    def status(self) -> RunStatus:
        """`running`, `interrupted`, `failed` or `finished`."""
        return self.record.status

    @property
    def ended_by(self) -> EndedBy | None:
        """Why it finished or was interrupted: `schedule`, `said goodbye`, `budget`, …; `None`: it runs, or failed."""
        return self.record.ended_by

    @property
    def scenario(self) -> str:
        """The name under which its scenario is run again."""
        return self.record.scenario

    @property
    def seed(self) -> int:
        """The seed of all its draws."""
        return self.record.seed

    @property
    def label(self) -> str | None:
        """Its user's name for it."""
        return self.record.label

    @property
    def parent(self) -> tuple[str, int] | None:
        """The run, and the turn of it, from which it was forked."""
        return self.record.parent

    @property
    def parameters(self) -> Parameters:
        """Its parameters; `removal_factor` is λ."""
        return Parameters.model_validate(self.record.parameters)

    @property
    def turns(self) -> Records[StoredTurn]:
        """All turns, silences among them; a fork's parent's turns come first. Each has all that `turn` has of it."""
        with self.store.opened() as store:
            turns = store.turns(store.run(self.id).run)
        return Records(self._stored(turn, partial(self._details, turn.turn)) for turn in turns)

    @property
    def exchanges(self) -> Records[RecordedExchange]:
        """All exchanges of an album chat; none of another conversation."""
        with self._opened() as (store, run, start):
            return Records(read_exchanges(store, run.run, start) if isinstance(start, Population) else ())

    @with_named_arguments
    def turn(self, number: int) -> StoredTurn:
        """Return a turn and how it came about: units with their scores, the units removed, candidates, cognition.

        Raises:
            NotFoundError: There is no such turn.
        """
        return self._turn(number, None)

    @with_named_arguments
    def what_if(self, turn: int, removal_factor: float) -> StoredTurn:
        """Return a turn with the units removed that another λ would have removed, on its recorded scores.

        Raises:
            NotFoundError: There is no such turn, or it has no recorded scores.
            UsageError: λ is outside [0, 1].
        """
        return self._turn(turn, removal_factor)

    def _turn(self, number: int, removal_factor: float | None) -> StoredTurn:
        details = self._details(whole_number("turn", number, "a turn is an integer"), removal_factor=removal_factor)
        return self._stored(details.record.turn, lambda: details)

    def _checked(
        self, number: int, reader: str | None, agent: str | None, calls: int, access: ModelAccess
    ) -> StoredTurn:
        """Return a turn whose line, or the thought of an agent, was checked, with that reader's measures."""
        self._check(number, reader, agent, calls, access)
        details = self._details(number, reader=reader)
        return self._stored(details.record.turn, lambda: details)

    def _details(self, number: int, *, removal_factor: float | None = None, reader: str | None = None) -> LineDetails:
        with self._opened() as (store, run, start):
            return read_turn(store, run, start, number, removal_factor=removal_factor, reader=reader)

    def _stored(self, turn: Turn, read: Callable[[], LineDetails]) -> StoredTurn:
        return StoredTurn(turn, read, self._turn_document, partial(self._checked, turn.turn))

    @contextmanager
    def _opened(self) -> Iterator[tuple[SqlStore, RunRecord, Start]]:
        with self.store.opened() as store:
            run = store.run(self.id)
            yield store, run, store.start(run.run)

    def _turn_document(self, details: LineDetails) -> dict[str, Any]:
        with self.store.opened() as store:
            return turn_document(store, details)

    @with_named_arguments
    def frame(self, of: FrameOf = "turns") -> "DataFrame":
        """Return stored records as a pandas data frame; docs/data.md has the columns.

        Args:
            of: A row per turn, part of one, unit of a prompt, agent and round, or call of a model.

        Raises:
            UsageError: There is no such frame, or pandas is not installed.
        """
        from tertulia.storage import frames

        self.store.check_open()
        check_argument("of", of, str, "a frame is named by a text: frame('units')", optional=False)
        if of not in get_args(FrameOf):
            raise UsageError(f"there is no frame of {of!r}{nearest_hint(of, get_args(FrameOf))}")
        return getattr(frames, of)(self.store.path, self.id)

    def participation(self) -> "Participation":
        """Return each agent's share in the run, as in ChatAgents' Table II."""
        from tertulia.views.measuring.participation import read_participation

        with self._opened() as opened:
            return read_participation(*opened)

    @with_named_arguments
    def measure(self, *metrics: str, embedder: str | None = None) -> dict[str, float | None]:
        """Return metrics of this run by itself, by name: the figures that `tertulia metrics` has of it.

        ::

            run.measure("dist1", "len")

        Args:
            metrics: Names of metrics, such as `dist3`, `len`, `without_sense` (docs/laboratory.md lists them, with
                ranges in docs/measuring.md); those of `tertulia lab compare` if none is given.
            embedder: The embedder of texts: minilm (embedded), a folder, or a Hugging Face id; of a rehearsed run,
                without one, a stand-in.

        Returns:
            By metric its value; `None` if a metric needs several dialogues (`sim`), or has nothing to measure.

        Raises:
            UsageError: There is no such metric, or nobody speaks.
        """
        from tertulia.api.measuring import chosen_metrics, figures_of_runs

        run, chosen = self.record, chosen_metrics(metrics)
        if not any(turn.speaker is not None for turn in self.turns) and not self.exchanges:
            raise UsageError(f"nobody speaks in run {run.run}; there is nothing to measure")
        (figures,) = figures_of_runs(self.store, [(run, run.scenario)], chosen, embedder)
        return figures

    @with_named_arguments
    def transcript(self, thoughts: bool = False) -> str:
        """Return the run as a Markdown document, with thoughts, bids and removed units under every turn if wanted."""
        from tertulia.views.wording.transcript import transcript

        with self._opened() as opened:
            return "\n".join(transcript(*opened, thoughts))

    def document(self) -> dict[str, Any]:
        """Return the document that `tertulia show RUN --json` prints."""
        with self._opened() as opened:
            return conversation_document(*opened)

    @with_named_arguments
    def view(self, height: int = 720) -> CellPage:
        """Return the page of the run, which a notebook shows offline in a cell of `height` pixels.

        Raises:
            UsageError: The height is no number of pixels.
        """
        return CellPage(self.store, self.id, height)

    @with_named_arguments
    def diff(self, other: "Run") -> "RunComparison":
        """Return how this run and another differ, to the last record; ids, lineage and wall-clock times do not count.

        Raises:
            UsageError: They lie in two stores.
        """
        from tertulia.views.reading.comparing import compare

        check_argument("other", other, Run, "a run is expected; open_store(…).run(ID) returns one", optional=False)
        if self.store != other.store:
            stores = f"{self.id} lies in {self.store.path} and {other.id} in {other.store.path}"
            raise UsageError(f"{stores}; compare runs of one store")
        with self.store.opened() as store:
            return compare(store, self.id, other.id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and (self.store, self.id) == (other.store, other.id)

    def __hash__(self) -> int:
        return hash((self.store, self.id))

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        heading, *lines = self._lines()
        body = "".join(f"<div>{escape(line)}</div>" for line in lines)
        return f'<div style="font-family: monospace; white-space: pre-wrap"><b>{escape(heading)}</b>{body}</div>'

    def _lines(self) -> Iterator[str]:
        with self._opened() as (store, run, start):
            turns, settings_of = spoken_turns(store, run.run, start), settings_of_turns(store, run)
        yield f"run {run.run} ({run.status}) · {run.scenario} · {people_line(start)} · {', '.join(made_with(run))}"
        for turn in turns:
            words = (
                silence(settings_of(turn.turn).silence_s) if turn.speaker is None else f"{turn.speaker}: {turn.text}"
            )
            yield f"{turn.turn:>3}  {clock(turn.sim_time_s, start)}  {words}"
