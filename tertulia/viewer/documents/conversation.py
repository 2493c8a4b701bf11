"""A run and its turns along the simulated clock for the viewer."""

from dataclasses import asdict
from datetime import timedelta

from tertulia.state.album import Population
from tertulia.state.cognition import Bid
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord, Turn
from tertulia.state.words import spoken_words
from tertulia.storage.parts.turns import TurnSummary
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.spoken import spoken
from tertulia.viewer.documents.titles import title_of
from tertulia.views.reading.actions import lines_with_actions
from tertulia.views.reading.documents import fields_of, run_document
from tertulia.views.reading.exchanges import RecordedExchange, read_exchanges
from tertulia.views.reading.listing import date_of
from tertulia.views.reading.run_lines import run_lines
from tertulia.views.reading.shared_turns import settings_of_turns
from tertulia.views.reading.timeline import read_timeline

#: Forks that a run's page names; it has a link to all runs.
_NAMED_FORKS = 20


def run_page(store: SqlStore, run: str) -> Document:
    """Return a run without its turns, with all that its page needs to draw them."""
    record = store.run(run)
    start = store.start(record.run)
    parameters = Parameters.model_validate(record.parameters)
    forks = store.forks_of(record.run)
    line = run_lines(store, [record.run]).get(record.run)
    return run_document(store, record, start) | {
        "kind": record.kind,
        "people": list(start.names),
        "first_line": None if line is None else line.text,
        "begins": start.time.isoformat(timespec="seconds"),
        "title": title_of(store, record, start),
        "place": start.place,
        "stays": _stays(start),
        "date": date_of(record),
        "label": record.label,
        "turns": record.turns,
        "silence_s": parameters.silence_s,
        "speaking_rate_wpm": parameters.speaking_rate_wpm,
        "seat": parameters.seat,
        "simulation": store.simulations.conversations().get(record.run),
        "forks": [_fork(store.run(fork)) for fork in forks[:_NAMED_FORKS]],
        "more_forks": max(0, len(forks) - _NAMED_FORKS),
    }


def _stays(start: Start) -> list[Document]:
    """Return when and why people come late to a meeting, or leave early."""
    if not isinstance(start, Meeting):
        return []
    return [
        {
            "agent": attendee.persona.name,
            "joins_s": None if attendee.joins is None else start.offset_s(attendee.joins, 0.0),
            "leaves_s": None if attendee.leaves is None else start.offset_s(attendee.leaves, 0.0),
            "leaves_for": attendee.leaves_for,
        }
        for attendee in start.participants
        if attendee.joins is not None or attendee.leaves is not None
    ]


def _fork(fork: RunRecord) -> Document:
    assert fork.parent is not None  # it has an ancestor
    factor = fork.parameters.get("removal_factor")
    return {"run": fork.run, "turn": fork.parent[1], "label": fork.label, "removal_factor": factor}


def turns_page(store: SqlStore, run: str, after: int = -1, to: int | None = None) -> Document:
    """Return the turns of a run with their bids, after a turn; -1: all, with the opening of a meeting as turn 0.

    Args:
        to: The last turn; `None`: all that there are. A page that shows the first of them need not wait for the others.
    """
    record = store.run(run)
    start = store.start(record.run)
    settings_of = settings_of_turns(store, record)
    first = max(1, after + 1)
    summaries = store.summaries(record.run, first, to)
    bids = _bids(store, record, start, first, to)
    exchanges: dict[int, RecordedExchange] = {}
    if isinstance(start, Population):
        exchanges = {exchange.turn.turn: exchange for exchange in read_exchanges(store, record.run, start, first, to)}
    opening = start.opening_turn if isinstance(start, Meeting) and after < 0 else None
    turns = [*([opening] if opening else []), *store.turns(record.run, first, to)]
    lines = lines_with_actions(store, record, turns)
    rows = [
        _turn_row(turn, start, settings_of(turn.turn), lines.get(turn.turn, turn.text))
        | _making(summaries.get(turn.turn))
        | {"bids": bids.get(turn.round, [])}
        | ({"exchange": _exchange(exchanges[turn.turn])} if turn.turn in exchanges else {})
        for turn in turns
    ]
    return {"schema_version": SCHEMA_VERSION, "run": record.run, "status": record.status, "turns": rows}


def _exchange(exchange: RecordedExchange) -> Document:
    return exchange.document() | spoken(exchange.answer.text)


def _turn_row(turn: Turn, start: Start, parameters: Parameters, line: str) -> Document:
    words_s = spoken_words(turn.text) / parameters.speaking_rate_wpm * 60
    return {
        **turn.model_dump(mode="json"),
        **spoken(line),
        "time": (start.time + timedelta(seconds=turn.sim_time_s)).isoformat(timespec="seconds"),
        "duration_s": parameters.silence_s if turn.speaker is None else words_s,
    }


def _making(summary: TurnSummary | None) -> Document:
    """Return the making of a turn in figures; the opening of a meeting has none."""
    nothing = {
        **{"by_hand": False, "edited": False, "rollbacks": 0},
        **{"removal_factor": None, "removable": None, "removed": None},
    }
    return nothing if summary is None else asdict(summary)


def _bids(store: SqlStore, run: RunRecord, start: Start, first: int, last: int | None) -> dict[int, list[Document]]:
    bids: dict[int, list[Document]] = {}
    if isinstance(start, Meeting):
        for (round, agent), bid in store.steps(run.run, "bid", Bid, first, last).items():
            fields = fields_of(bid, "latency_s", "willingness", "willing", "won")
            bids.setdefault(round, []).append({"agent": agent, **fields})
    return bids


def thoughts_page(store: SqlStore, run: str) -> Document:
    """Return by turn the thoughts of the agent with the floor, first, and of the other willing agents."""
    record = store.run(run)
    timeline = read_timeline(store, record.run, store.start(record.run))
    return {
        "schema_version": SCHEMA_VERSION,
        "run": record.run,
        "turns": {str(entry.turn.turn): [*map(asdict, entry.thoughts)] for entry in timeline if entry.thoughts},
    }
