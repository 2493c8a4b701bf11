"""A seat in the page: its person's perceptions, and their answers.

The others' minds are not in these documents: they have the lines that the person has heard, the facts about themselves,
and of the past races the time until the first word.
"""

from collections.abc import Hashable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from tertulia.nodes.shared.hearing import came_s, was_there
from tertulia.runs.planning.seats import role_of, seated
from tertulia.state.album import Population
from tertulia.state.cognition import Bid, Floor
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import UsageError
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import Record, RunRecord, Turn
from tertulia.state.seat import ANSWERED, ASKED, LEFT, LONGEST, PATIENCE_S, Answer, Asked, Left, in_one_line
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.spoken import spoken
from tertulia.viewer.documents.titles import title_of
from tertulia.views.reading.actions import lines_with_actions
from tertulia.views.wording.phrases import clock

#: The lines that are shown, and the past rounds from which it is told how long one has.
_LINES, _ROUNDS = 200, 12

#: The steps that a seat's page shows.
_STEPS: Mapping[str, type[Record]] = {ASKED: Asked, ANSWERED: Answer, LEFT: Left}

#: The version of the program; a page that is left open tells when it is another one.
_VERSION = version("tertulia")


class Sent(NamedTuple):
    """The message of the person in a seat: words for the turn that they answer, or that they leave it for good.

    Attributes:
        seconds: How long they took, by their browser's clock; used if the run's clock runs, up to half an hour.
    """

    turn: int
    words: str
    seconds: float | None = None


class ConflictError(UsageError):
    """A message does not fit the present state of the conversation; it is stored nowhere."""


def seats_page(store: SqlStore, run: str) -> Document:
    """Return the participants of a run, their seats and questions; `seatable`: whether people can sit there."""
    record, start, parameters = _run(store, run)
    people = seated(start, parameters.seat)
    return {
        "schema_version": SCHEMA_VERSION,
        "run": record.run,
        "status": record.status,
        "turns": record.turns,
        "driven": is_driven(store, record),
        "seatable": not isinstance(start, Population),
        "people": [
            {
                "name": name,
                "seated": name in people,
                "left": name in people and _has_left(store, record, name),
                "asked": name in people and _question(store, record, name) is not None,
            }
            for name in ([] if isinstance(start, Population) else start.names)
        ],
    }


def check_seat_of(store: SqlStore, run: str, agent: str) -> str:
    """Return the id of a run in which a person has the seat of this participant.

    Raises:
        NotFoundError: There is no such run.
        UsageError: The participant's seat is not a person's.
    """
    record, start, parameters = _run(store, run)
    if agent not in seated(start, parameters.seat):
        raise UsageError(f"in run {record.run} no person has the seat of {agent!r}; take it by a fork first")
    return record.run


def seat_page(store: SqlStore, run: str, agent: str) -> Document:
    """Return the perceptions of the person in a seat, their question, and how long one has."""
    record, start, parameters = _run(store, check_seat_of(store, run, agent))
    asked = _question(store, record, agent)
    latest = asked or _latest_question(store, record, agent)
    answer = None if asked is not None else _answer(store, record, agent)
    others = [name for name in seated(start, parameters.seat) if name != agent]
    now_s = latest.invitation.sim_time_s if latest is not None else 0.0
    situation = None if isinstance(start, Population) else start.description
    present = start.present(now_s) if isinstance(start, Meeting) else start.names
    return {
        "schema_version": SCHEMA_VERSION,
        "version": _VERSION,
        "run": record.run,
        "agent": agent,
        "title": title_of(store, record, start) or record.scenario,
        "kind": record.kind,
        "status": record.status,
        "driven": is_driven(store, record),
        "left": _has_left(store, record, agent),
        "turn": record.turns + 1,
        "forked_at": record.parent[1] if record.parent else None,
        "people": list(start.names),
        "present": [name for name in present if name != agent],
        "place": start.place,
        "situation": situation,
        "role": [line for line in role_of(agent, start) if line != situation],
        "memories": [] if latest is None else list(latest.memories),
        "lines": _lines(store, record, start, agent, _heard(store, record, start, parameters, agent)),
        "asked": None if asked is None else asked.invitation.model_dump(include={"turn", "may_pass", "kept"}),
        "answered": None if answer is None else answer.words,
        "waiting_for": [name for name in others if _question(store, record, name) is not None],
        "longest": LONGEST,
        "race": _race(store, record, start, parameters, agent),
    }


def seat_version(store: SqlStore, run: str) -> Hashable:
    """Return a value that differs as soon as the page of any seat of a run does; it is read faster than such a page."""
    record = store.run(run)
    first = max(1, round_under_way(store, record) - 1)
    steps = [[*store.steps(record.run, node, kind, first)] for node, kind in _STEPS.items()]
    return record.status, record.turns, is_driven(store, record), tuple(map(tuple, steps))


def answer_seat(store: SqlStore, run: str, agent: str, sent: Sent) -> Document:
    """Store a person's answer, once for each turn, and return its outcome.

    Raises:
        UsageError: The line is too long, or empty although words are owed.
        ConflictError: The turn is not open, or was answered with other words.
    """
    words = in_one_line(sent.words)
    if len(words) > LONGEST:
        raise UsageError(
            f"The line has {len(words):,} characters; one line has at most {LONGEST:,}. Nothing was sent: shorten it."
        )
    with store.transaction():
        record, _, parameters = _run(store, run)
        if record.status == "finished" or sent.turn != record.turns + 1:
            raise ConflictError(_not_open(record, sent.turn))
        round = round_under_way(store, record)
        if (before := store.step(record.run, round, agent, ANSWERED, Answer)) is not None:
            if before.words == words:
                return {"turn": sent.turn, "words": words, "again": True}
            said = f"said “{before.words}”" if before.words else "stayed silent"
            raise ConflictError(f"In turn {sent.turn} you have already {said}. Each turn takes one line.")
        asked = _question(store, record, agent)
        if asked is None:
            raise ConflictError(f"It is not for you to speak in turn {sent.turn}. Nothing was sent.")
        if not words and not asked.invitation.may_pass:
            raise UsageError("Type what you want to say: nobody else can speak now.")
        seconds = min(max(0.0, sent.seconds or 0.0), PATIENCE_S) if parameters.seat_clock == "runs" else None
        store.save_step(record.run, round, agent, ANSWERED, Answer(words=words, seconds=seconds))
    return {"turn": sent.turn, "words": words, "again": False}


def leave_seat(store: SqlStore, run: str, agent: str) -> Document:
    """Store that a person has left their seat: the model speaks for them from this turn on, or from the next.

    Raises:
        ConflictError: The run is finished.
    """
    with store.transaction():
        record, _, _ = _run(store, run)
        if record.status == "finished":
            raise ConflictError("The conversation is over; there is no seat to leave.")
        if not _has_left(store, record, agent):
            # A turn that may be under way with this person in it is theirs to its end.
            round = round_under_way(store, record) + (_question(store, record, agent) is None)
            store.save_step(record.run, round, agent, LEFT, Left())
    return {"left": True}


def _run(store: SqlStore, run: str) -> tuple[RunRecord, Start, Parameters]:
    record = store.run(run)
    return record, store.start(record.run), Parameters.model_validate(record.parameters)


def is_driven(store: SqlStore, record: RunRecord) -> bool:
    """Return whether a process drives a run now."""
    return record.status == "running" and store.drivers().is_driven(record.run)


def round_under_way(store: SqlStore, record: RunRecord) -> int:
    """Return the round that is under way, or will be next."""
    last = store.turns(record.run, record.turns, record.turns) if record.turns else []
    return last[0].round + 1 if last else 1


def _question(store: SqlStore, record: RunRecord, agent: str) -> Asked | None:
    """Return a person's open question; `None` if they are not asked, have answered, or have left."""
    if record.status == "finished" or _has_left(store, record, agent):
        return None
    round = round_under_way(store, record)
    asked = store.step(record.run, round, agent, ASKED, Asked)
    return None if asked is None or _answer(store, record, agent) is not None else asked


def _latest_question(store: SqlStore, record: RunRecord, agent: str) -> Asked | None:
    found = store.steps(record.run, ASKED, Asked, max(1, round_under_way(store, record) - _ROUNDS), None, agent)
    return found[max(found)] if found else None


def _answer(store: SqlStore, record: RunRecord, agent: str) -> Answer | None:
    return store.step(record.run, round_under_way(store, record), agent, ANSWERED, Answer)


def _has_left(store: SqlStore, record: RunRecord, agent: str) -> bool:
    first = record.parent[1] if record.parent else 1
    return bool(store.steps(record.run, LEFT, Left, first, None, agent))


def _not_open(record: RunRecord, turn: int) -> str:
    if record.status == "finished":
        return "The conversation is over. Your line was not sent."
    if turn <= record.turns:
        return f"Turn {turn} is over; the conversation is at turn {record.turns + 1}. Your line was not sent."
    return f"The conversation has not come to turn {turn}. Your line was not sent."


def _heard(store: SqlStore, record: RunRecord, start: Start, parameters: Parameters, agent: str) -> list[Turn]:
    turns = store.turns(record.run, max(1, record.turns - _LINES + 1))
    if not isinstance(start, Meeting):
        return turns
    opening = start.opening_turn if record.turns < _LINES else None
    everything = [opening, *turns] if opening is not None else turns
    return everything if parameters.hearing == "all" else [turn for turn in everything if was_there(start, agent, turn)]


def _lines(store: SqlStore, run: RunRecord, start: Start, agent: str, turns: Sequence[Turn]) -> list[Document]:
    lines = lines_with_actions(store, run, turns)
    return [
        {
            "turn": turn.turn,
            "speaker": turn.speaker,
            "text": turn.text,
            **spoken(lines.get(turn.turn, turn.text)),
            "time": clock(turn.sim_time_s, start).split()[0],
            "own": turn.speaker == agent,
        }
        for turn in turns
    ]


def _race(
    store: SqlStore, record: RunRecord, start: Start, parameters: Parameters, agent: str
) -> dict[str, Any] | None:
    """Return the clock of the race; `None` if the floor is not raced for.

    `others_s` are the fastest latencies that others have drawn in the last rounds, in seconds, oldest first; a round in
    none of them wanted to speak has none. `last` is the last round: its speaker and their latency, and when the person
    would have.
    """
    if not isinstance(start, Meeting) or parameters.order != "self_driven":
        return None
    round = round_under_way(store, record)
    bids = store.steps(record.run, "bid", Bid, max(1, round - _ROUNDS), max(1, round - 1))
    fastest: dict[int, float] = {}
    own: dict[int, float] = {}
    for (number, name), bid in bids.items():
        if bid.latency_s is not None and name == agent:
            own[number] = bid.latency_s
        elif bid.latency_s is not None:
            fastest[number] = min(bid.latency_s, fastest.get(number, bid.latency_s))
    turns = store.turns(record.run, record.turns, record.turns) if record.turns else []
    floor = store.step(record.run, round - 1, "", "floor", Floor) if turns else None
    came = came_s(start, agent)
    last = None
    if floor is not None and turns[0].sim_time_s >= came:
        last = {"speaker": turns[0].speaker, "waited_s": floor.waited_s, "own_s": own.get(round - 1)}
    others = [fastest[number] for number in sorted(fastest)]
    return {"silence_s": parameters.silence_s, "clock": parameters.seat_clock, "others_s": others, "last": last}
