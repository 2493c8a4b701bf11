"""A run, its turns along the simulated clock, and its agents, for the viewer."""

from datetime import timedelta

from state.cognition import Bid
from state.errors import UsageError
from state.meeting import Meeting
from state.parameters import Parameters
from storage.store import SqliteStore
from tertulia.documents import SCHEMA_VERSION, Document, agent_in_run_document, opening_document, run_document
from tertulia.exchanges import spoken_turns
from tertulia.listing import date_of
from tertulia.rounds import find_agent


def run_page(store: SqliteStore, run: str) -> Document:
    """Return a run without its turns, with what its page needs to draw them."""
    record = store.run(run)
    start = store.start(record.run)
    parameters = Parameters.of_record(record.parameters)
    return run_document(record, start) | {
        "kind": record.kind,
        "people": list(start.names),
        "begins": start.time.isoformat(timespec="seconds"),
        "date": date_of(record),
        "label": record.label,
        "turns": record.turns,
        "silence_s": parameters.silence_s,
        "speaking_rate_wpm": parameters.speaking_rate_wpm,
        "simulation": store.simulations.conversations().get(record.run),
    }


def turns_page(store: SqliteStore, run: str, after: int = 0) -> Document:
    """Return the turns of a run behind a turn, each with the bids for it."""
    record = store.run(run)
    start = store.start(record.run)
    bids: dict[int, list[Document]] = {}
    if isinstance(start, Meeting):
        shown = {"latency_s", "willingness", "won"}
        for (round, agent), bid in store.steps(record.run, "bid", Bid).items():
            of_agent = {"agent": agent, **bid.model_dump(mode="json", include=shown)}
            bids.setdefault(round, []).append(of_agent)
    rows = [
        {
            **turn.model_dump(mode="json"),
            "time": (start.time + timedelta(seconds=turn.sim_time_s)).isoformat(timespec="seconds"),
            "bids": bids.get(turn.round, []),
        }
        for turn in spoken_turns(store, record.run, start)
        if turn.turn > after
    ]
    return {"schema_version": SCHEMA_VERSION, "run": record.run, "status": record.status, "turns": rows}


def opening_page(store: SqliteStore, run: str) -> Document:
    """Return how a meeting opened, and everybody as they came to it.

    Raises:
        UsageError: The run is no meeting.
    """
    record = store.run(run)
    start = store.start(record.run)
    if not isinstance(start, Meeting):
        raise UsageError(f"run {record.run} is no meeting")
    return opening_document(store, record, start)


def agent_page(store: SqliteStore, run: str, agent: str) -> Document:
    """Return an agent through a whole run."""
    record = store.run(run)
    start = store.start(record.run)
    return agent_in_run_document(store, record, start, find_agent(agent, start, record.run))
