"""Days of a town: its people, their meetings, and the prompts of these. Source: Park et al. 2023; APP §2."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol

from pydantic import Field

from tertulia.state.agreements import Entries, Entry
from tertulia.state.context import Context
from tertulia.state.language_model import Embedder
from tertulia.state.records import (
    Appointment,
    Dialogue,
    EndedBy,
    Extension,
    HasWithheld,
    Persona,
    Record,
    Remembered,
    RunRecord,
    RunStatus,
    Stream,
)
from tertulia.state.store import Store

#: How the ids of memories begin that are formed in a simulation; the number of the day follows.
FORMED = "day_"
#: The end of the ids of observed acts of the other, behind the day and the number of the encounter.
SEEN = "event"
#: How the ids of insights go on behind the day and the number of the encounter; their own number follows.
INSIGHT = "insight_"

#: The step of a conversation, behind its last turn, that has the agreements made in it; and the step before its first
#: turn that has the agreement for which the two meet.
AGREED, KEPT = "agreed", "kept"

#: Encounters begin between these hours.
FIRST_HOUR, LAST_HOUR = 8, 21

#: Earlier dialogues of a pair that are kept (a prompt shows three: APP Table 1).
PAST_KEPT = 10


class Habit(Record):
    """The activity of a resident from a time of day on.

    Attributes:
        minute: Minutes after midnight.
        asleep: Whether they sleep: nobody meets them then.
    """

    minute: int = Field(ge=0, lt=24 * 60)
    activity: str
    place: str | None
    asleep: bool = False


class Resident(Record):
    """A person that lives in a town, and their acts on each day of its log, oldest first."""

    persona: Persona
    days: tuple[tuple[Habit, ...], ...]


class PastDialogue(Record):
    """A dialogue of two people from before the simulation."""

    pair: tuple[str, str]
    dialogue: Dialogue


class Encounter(Record):
    """Two people meet: the key is (day, number), both from 1.

    Attributes:
        initiator, partner: The first speaker, and the other.
        run: The id of the run that is their conversation; empty until it starts.
        appointment: Their agreement, if they meet for it.
    """

    day: int = Field(ge=1)
    number: int = Field(ge=1)
    time: datetime
    place: str | None
    initiator: str
    partner: str
    activities: tuple[str | None, str | None]
    run: str = ""
    appointment: Appointment | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether nothing that people said or remember has led to it."""
        return self.appointment is None

    @property
    def pair(self) -> tuple[str, str]:
        """The names of the two, the initiator's first."""
        return self.initiator, self.partner

    def memory_id(self, what: str) -> str:
        """Return the id of a memory that this encounter leaves."""
        return f"{FORMED}{self.day}_{self.number}_{what}"


class Town(HasWithheld):
    """A town as a simulation finds it.

    Attributes:
        name: The name under which a user runs it again.
        begins: Midnight before the first day.
        past: Their talks with each other before, oldest first; of every pair the last few.
        plan_seed: Of the days of its people, which are composed from those of its log; `None`: these are repeated.
        logged: The encounters of its log by day, if they are the schedule; empty if encounters are drawn.
        extensions: Those from which the conversations have nodes, as the simulation began.
    """

    name: str
    begins: datetime
    residents: tuple[Resident, ...]
    plan_seed: int | None = Field(default=None, exclude_if=lambda seed: seed is None)
    past: tuple[PastDialogue, ...] = ()
    logged: tuple[tuple[Encounter, ...], ...] = ()
    extensions: tuple[Extension, ...] = Field(default=(), exclude_if=lambda extensions: not extensions)

    def day_of(self, time: datetime) -> int:
        """Return the number of the simulated day of a time, from 1 on."""
        return (time.date() - self.begins.date()).days + 1

    def resident(self, name: str) -> Resident:
        """Return the resident of that name (`KeyError` if there is none)."""
        return self._by_name[name]

    def past_of(self, pair: tuple[str, str]) -> Sequence[Dialogue]:
        """Return the talks of two people before the simulation, oldest first."""
        return self._past_by_pair.get(frozenset(pair), ())

    @cached_property
    def _by_name(self) -> dict[str, Resident]:
        return {resident.persona.name: resident for resident in self.residents}

    @cached_property
    def _past_by_pair(self) -> dict[frozenset[str], list[Dialogue]]:
        found: dict[frozenset[str], list[Dialogue]] = {}
        for past in self.past:
            found.setdefault(frozenset(past.pair), []).append(past.dialogue)
        return found


class Simulation(Record):
    """A simulation of days of a town, in the store.

    Attributes:
        encounters_per_day: How many are drawn; `None` if they are those of the log.
        parameters: Those of every conversation.
    """

    simulation: str
    status: RunStatus
    town: str
    model: str
    embedder: str
    rehearsed: bool
    seed: int
    days: int = Field(ge=1)
    encounters_per_day: int | None = Field(ge=1)
    parameters: dict[str, object]
    error: str | None = None
    ended_by: EndedBy | None = None
    created: datetime


class Diary:
    """The agreements so far in a simulation, by conversation, and by the day on which two are to meet."""

    def __init__(self, town: Town, agreed: Mapping[str, tuple[Entry, ...]]) -> None:
        """Take the agreements made before, by conversation."""
        self._town = town
        self._by_run: dict[str, tuple[Entry, ...]] = {}
        self._by_day: dict[int, list[Entry]] = {}
        for run, entries in agreed.items():
            self.enter(run, entries)

    def enter(self, run: str, entries: tuple[Entry, ...]) -> None:
        """Enter the agreements of a conversation, in place of those entered for it before."""
        for entry in filter(_meets, self._by_run.get(run, ())):
            self._by_day[self._day(entry)].remove(entry)
        self._by_run[run] = entries
        for entry in filter(_meets, entries):
            self._by_day.setdefault(self._day(entry), []).append(entry)

    def of(self, run: str) -> tuple[Entry, ...]:
        """Return the agreements of a conversation."""
        return self._by_run.get(run, ())

    def meetings(self, day: int) -> Sequence[Entry]:
        """Return the agreements by which two are to meet on a day, in the order in which they were made."""
        return self._by_day.get(day, ())

    def _day(self, entry: Entry) -> int:
        assert entry.meets_at is not None
        return self._town.day_of(entry.meets_at)


def _meets(entry: Entry) -> bool:
    return entry.meets_at is not None


class TownStore(Protocol):
    """A store of simulations, beside their runs; every write has a deterministic key."""

    def save_encounter(self, simulation: str, encounter: Encounter) -> None:
        """Store an encounter; if it is stored already, it stays as it is."""

    def encounter(self, simulation: str, day: int, number: int) -> Encounter | None:
        """Return an encounter; `None` if it is not stored."""

    def save_agreed(self, run: str, round: int, entries: Entries) -> None:
        """Store the agreements of a conversation, behind its last round; those stored already stay."""

    def diary(self, simulation: str) -> dict[str, tuple[Entry, ...]]:
        """Return the agreements so far by conversation, in their order."""

    def last_encounters(self, simulation: str, before: Encounter, limit: int) -> list[Encounter]:
        """Return the last encounters of the same two people before an encounter, oldest first."""

    def save_memories(
        self,
        simulation: str,
        agent: str,
        after: int,
        memories: Sequence[Remembered],
        vectors: Sequence[Sequence[float]],
    ) -> None:
        """Store memories after the first `after` of a stream, all or none; those that are stored stay."""

    def stream(self, simulation: Simulation, agent: str) -> Stream:
        """Return an agent's memory stream as it is now."""


@dataclass(frozen=True)
class TownContext:
    """The runtime context of a node of the town's graph.

    Attributes:
        record_of: Returns the record of a new run for an encounter's conversation, by its id and its seed.
        context_of: Returns the context in which the nodes of a run work, by its id.
        planned: By day the encounters that are planned, kept: a day of a large town takes seconds to draw.
        diary: The agreements so far.
        schedule: By day and the number of its agreements, its encounters with those that were agreed on; kept.
        gathered: By resident, how long their stream was when it was looked at last, and the importance that had
            gathered; kept, so that a stream is not read from its beginning again.
    """

    simulation: Simulation
    town: Town
    store: Store = field(repr=False)
    simulations: TownStore = field(repr=False)
    embedder: Embedder = field(repr=False)
    record_of: Callable[[str, int], RunRecord] = field(repr=False)
    context_of: Callable[[str], Context] = field(repr=False)
    drive_conversation: Callable[[Context], Coroutine[Any, Any, None]] = field(repr=False)
    diary: Diary = field(repr=False)
    planned: dict[int, tuple[Encounter, ...]] = field(default_factory=dict, repr=False)
    schedule: dict[tuple[int, int], tuple[Encounter, ...]] = field(default_factory=dict, repr=False)
    gathered: dict[str, tuple[int, float]] = field(default_factory=dict, repr=False)
