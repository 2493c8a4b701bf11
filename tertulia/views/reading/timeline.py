"""A conversation along the simulated clock, with the thoughts behind every turn. Source: ChatAgents Fig. 4."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta

from tertulia.state.cognition import Assessment, Bid
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.meeting import AttendanceChange, Meeting, Start
from tertulia.state.records import Case, RunRecord, Turn, order_of
from tertulia.state.store import Store
from tertulia.views.reading.exchanges import spoken_turns
from tertulia.views.reading.rewritten import rewritten_turns
from tertulia.views.reading.shared_turns import settings_of_turns


@dataclass(frozen=True)
class Thought:
    """A thought of an agent, and whether they were willing and won in the race for the turn."""

    agent: str
    thought: str
    willing: bool
    won: bool


@dataclass(frozen=True)
class TimelineTurn:
    """A turn with the thoughts of its round, whether a person rewrote its line, and the length of a silence then."""

    turn: Turn
    thoughts: tuple[Thought, ...]
    edited: bool
    silence_s: float


def read_timeline(store: Store, run: str, start: Start, agents: Sequence[str] = ()) -> list[TimelineTurn]:
    """Return every turn, and the opening of a meeting, with its thoughts.

    Args:
        agents: All thoughts of these are returned; if empty, those of whoever spoke or was willing.
    """
    settings = settings_of_turns(store, store.run(run))
    if not isinstance(start, Meeting):
        turns = spoken_turns(store, run, start)
        edited = rewritten_turns(store, run, turns) if isinstance(start, Case) else ()
        return [TimelineTurn(turn, (), turn.turn in edited, settings(turn.turn).silence_s) for turn in turns]
    turns = turns_with_opening(store, run, start)
    edited = rewritten_turns(store, run, turns)
    thoughts: dict[int, list[Thought]] = {}
    bids = store.steps(run, "bid", Bid)
    assessments = store.steps(run, "assess", Assessment)
    for round in {turn.round for turn in turns if turn.turn}:
        for name in start.names:
            assessment, bid = assessments.get((round, name)), bids.get((round, name))
            if assessment is None or bid is None:
                continue
            if name in agents if agents else bid.willing or bid.won:
                thoughts.setdefault(round, []).append(Thought(name, assessment.thought, bid.willing, bid.won))
    return [
        TimelineTurn(
            turn,
            tuple(sorted(thoughts.get(turn.round, ()), key=lambda thought: not thought.won)),
            turn.turn in edited,
            settings(turn.turn).silence_s,
        )
        for turn in turns
    ]


def turns_with_opening(store: Store, run: str, start: Start) -> list[Turn]:
    """Return the turns of a run; the opening of a meeting, if it has one, comes first as turn 0."""
    opening = start.opening_turn if isinstance(start, Meeting) else None
    return [*([opening] if opening is not None else []), *store.turns(run)]


def attendance_changes(start: Start, turns: Sequence[Turn]) -> tuple[AttendanceChange, ...]:
    """Return the people that came after the start of a meeting and those that left, up to the last turn, in order."""
    if not isinstance(start, Meeting) or not turns:
        return ()
    return start.attendance_changes(0.0, turns[-1].sim_time_s)


def changes_before(turns: Sequence[Turn], changes: Sequence[AttendanceChange]) -> Iterator[list[AttendanceChange]]:
    """Yield for each turn the changes since the previous turn."""
    waiting = list(changes)
    for turn in turns:
        due = [change for change in waiting if change.sim_time_s <= turn.sim_time_s]
        waiting = waiting[len(due) :]
        yield due


def timeline_document(run: RunRecord, start: Start, timeline: Sequence[TimelineTurn]) -> Document:
    """Return the timeline as JSON."""
    changes = attendance_changes(start, [entry.turn for entry in timeline])
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run.run,
        "scenario": run.scenario,
        "order": order_of(run),
        "turns": [
            {
                **entry.turn.model_dump(mode="json"),
                **({"edited": True} if entry.edited else {}),
                "time": (start.time + timedelta(seconds=entry.turn.sim_time_s)).isoformat(timespec="seconds"),
                "thoughts": [*map(asdict, entry.thoughts)],
            }
            for entry in timeline
        ],
        "joined": [_change_document(change) for change in changes if change.joined],
        "left": [_change_document(change) for change in changes if not change.joined],
    }


def _change_document(change: AttendanceChange) -> Document:
    return {"agent": change.agent, "sim_time_s": change.sim_time_s, "reason": change.reason}
