"""Stores that `benchmarks.stores.viewer` looks at: what a short rehearsal left, written again and again.

Rehearsing thousands of rounds takes long; the copies have the same prompts, scores, thoughts and bids, at later times.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import tertulia
from tertulia.state.cognition import Assessment, Bid, Finding, Floor, InformationNeed, Perception
from tertulia.state.records import Record
from tertulia.state.store import Store
from tertulia.storage.store import SqlStore

#: Rounds that are rehearsed, and then copied.
REHEARSED = 12

#: Every third run of a list is a fork of the one before it.
_FORKED = 3

#: The steps of a round of a meeting by node, besides the findings of mechanisms.
_STEPS: dict[str, type[Record]] = {
    "perceive": Perception,
    "choose_mechanisms": InformationNeed,
    "assess": Assessment,
    "bid": Bid,
    "floor": Floor,
}


def list_store(path: Path, runs: int) -> str:
    """Write a store of so many dialogues of two people, a third of them forks, at eleven λ; return the newest."""
    like = _rehearsed(path, "tidewell", 3).id
    with SqlStore.open(path) as store, store.transaction():
        record, start = store.run(like), store.start(like)
        spoken = [store.turn_record(like, turn.turn) for turn in store.turns(like)]
        for number in range(1, runs):
            is_fork = number % _FORKED == 0
            run = record.model_copy(
                update={
                    "run": f"r{number:05}",
                    "seed": number,
                    "parameters": record.parameters | {"removal_factor": number % 11 / 10},
                    "parent": (f"r{number - 1:05}", 2) if is_fork else None,
                    "created": record.created + timedelta(minutes=number),
                }
            )
            store.create_run(run, start)
            for turn in spoken[1 if is_fork else 0 :]:
                store.save_turn(run.run, turn)
    return f"r{runs - 1:05}"


def meeting_store(path: Path, rounds: int) -> str:
    """Write a store with a meeting of so many rounds, with all that its people thought; return the run."""
    run = _rehearsed(path, "team_building", REHEARSED).id
    with SqlStore.open(path) as store, store.transaction():
        _lengthen(store, run, rounds)
    return run


def compared_store(path: Path, turns: int) -> tuple[str, str]:
    """Write a store with a dialogue of so many turns and a fork as long, which parts from it at turn 4; return both."""
    run = _rehearsed(path, "tidewell", REHEARSED)
    fork = run.fork(4, removal_factor=0.8, rounds=REHEARSED, progress=False)
    with SqlStore.open(path) as store, store.transaction():
        for each in (run.id, fork.id):
            _lengthen(store, each, turns)
    return run.id, fork.id


def _rehearsed(path: Path, scenario: str, rounds: int) -> tertulia.Run:
    how = {"rehearse": True, "store": path, "settings": {"ending": "off"}, "progress": False}
    return tertulia.run(scenario, rounds=rounds, removal_factor=0.5, **how)  # type: ignore[arg-type]


def _lengthen(store: SqlStore, run: str, rounds: int) -> None:
    """Store copies of the rehearsed rounds of a run behind them, until there are so many."""
    records = [store.turn_record(run, turn.turn) for turn in store.turns(run)]
    candidates = [store.candidates(run, record.turn.turn) for record in records]
    calls = [store.calls(run, record.turn.round) for record in records]
    steps = [[*_steps(store, run, record.turn.round)] for record in records]
    length_s = records[-1].turn.sim_time_s + 5
    for turn in range(len(records) + 1, rounds + 1):
        again, place = divmod(turn - 1, len(records))
        copied = records[place].turn
        moved = {"turn": turn, "round": turn, "sim_time_s": copied.sim_time_s + again * length_s}
        for agent, node, step in steps[place]:
            store.save_step(run, turn, agent, node, step)
        store.save_calls(run, [call.model_copy(update={"round": turn}) for call in calls[place]])
        for candidate in candidates[place]:
            store.save_candidate(run, turn, candidate)
        store.save_turn(run, records[place].model_copy(update={"turn": copied.model_copy(update=moved)}))


def _steps(store: Store, run: str, round: int) -> Iterator[tuple[str, str, Record]]:
    """Yield the steps of a round as agent, node and record."""
    found: set[str] = set()
    for node, kind in _STEPS.items():
        for (_, agent), step in store.steps(run, node, kind, round, round).items():
            yield agent, node, step
            if isinstance(step, InformationNeed):
                found |= {name for name, choice in step.mechanisms.items() if choice.active}
    for node in sorted(found):
        for (_, agent), finding in store.steps(run, node, Finding, round, round).items():
            yield agent, node, finding
