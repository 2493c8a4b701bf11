"""Documents of turns that are read as rows are those of their records, to the byte, in every kind of run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.in_process import command

from tertulia.state.album import Exchange
from tertulia.state.cognition import Assessment, Bid, Character, Finding, Floor, InformationNeed, Perception
from tertulia.state.records import Candidate, Record, TurnRecord
from tertulia.state.seat import Answer
from tertulia.storage.store import SqlStore
from tertulia.views.reading.turn_documents import turn_documents

RUNS = {
    "dialogue": ("run", "tidewell", "--lambda", "0.5", "--rounds", "3"),
    "meeting": ("run", "team_building", "--rounds", "3"),
    "album": ("run", "villagers", "--rounds", "2", "--set", "agents=8"),
    "town": ("simulate", "tidewell", "--days", "1", "--encounters-per-day", "2", "--lambda", "0"),
}

_ASPECTS: Mapping[str, tuple[str, type[Record]]] = {
    "characters": ("prepare", Character),
    "perception": ("perceive", Perception),
    "mechanisms": ("choose_mechanisms", InformationNeed),
    "thoughts": ("assess", Assessment),
    "typed": ("speak_by_hand", Answer),
}
_WILLINGNESS = {"parts", "willingness", "willing"}
_JUDGED = {"inconsistency", "inconsistency_runs", "comment", "rewritable", "faults", "probability", "string_seed"}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two runs of every kind, from two seeds."""
    path = tmp_path_factory.mktemp("runs") / "tertulia.db"
    for arguments in RUNS.values():
        for seed in ("1", "2"):
            assert command(*arguments, "--model", "rehearsal", "--seed", seed, "--store", path).code == 0
    return path


def by_records(store: SqlStore, run: str, first: int = 0, last: int | None = None) -> dict[int, Any]:
    """The documents of turns, each record read for itself: as they were built before rows were."""
    turns = store.run(run).turns
    last = turns if last is None else min(last, turns)
    found = {turn: by_records_of(store, run, turn) for turn in range(max(1, first), last + 1)}
    return found if first else {0: {**mind(store, run, 0), "calls": calls(store, run, 0)}, **found}


def by_records_of(store: SqlStore, run: str, turn: int) -> dict[str, Any]:
    parts = {
        part: utterance(record, store.candidates(run, turn, part)) for part, record in store.parts(run, turn).items()
    }
    plan = {"plan": parts.pop("plan")} if "plan" in parts else {}
    own = utterance(store.turn_record(run, turn), store.candidates(run, turn))
    met = store.step(run, turn, "", "exchange", Exchange)
    exchange = {} if met is None else {"exchange": met.model_dump(mode="json")}
    return {**mind(store, run, turn), **plan, **exchange, **own, **parts, "calls": calls(store, run, turn)}


def mind(store: SqlStore, run: str, turn: int) -> dict[str, Any]:
    def of(node: str, kind: type[Record], **dumped: Any) -> dict[str, Any]:
        steps = store.steps(run, node, kind, turn, turn).items()
        return {agent: record.model_dump(mode="json", **dumped) for (_, agent), record in steps}

    found = {aspect: of(*step) for aspect, step in _ASPECTS.items()}
    findings: dict[str, Any] = {}
    for mechanism in dict.fromkeys(name for need in found["mechanisms"].values() for name in need["mechanisms"]):
        for agent, finding in of(mechanism, Finding).items():
            findings.setdefault(agent, {})[mechanism] = finding
    return {
        **{name: found[name] for name in ("characters", "perception", "mechanisms")},
        "findings": findings,
        **{name: found[name] for name in ("thoughts", "typed")},
        "willingness": of("bid", Bid, include=_WILLINGNESS),
        "latency": of("bid", Bid, exclude=_WILLINGNESS),
        "floor": of("floor", Floor).get(""),
    }


def calls(store: SqlStore, run: str, turn: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for call in store.calls(run, turn):
        document = call.model_dump(mode="json", exclude={"round", "agent", "node", "attempt", "seconds"})
        found.setdefault(call.agent, {})[f"{call.node} {call.attempt}"] = document
    return found


def utterance(record: TurnRecord, candidates: list[Candidate]) -> dict[str, Any]:
    judged = {
        str(candidate.attempt): candidate.model_dump(mode="json", include=_JUDGED | {"remark"})
        for candidate in candidates
    }
    return {
        "speaker": record.turn.speaker,
        "prompt": record.prompt,
        "scores": {"by": record.scored_by, "units": record.scores},
        "removed": list(record.removed),
        "candidates": {
            str(candidate.attempt): {
                "text": candidate.text,
                "origin": candidate.origin,
                **candidate.reply.model_dump(mode="json", exclude={"text"}),
            }
            for candidate in candidates
        },
        "judgement": {"by": record.judged_by, **judged, "rollbacks": record.rollbacks, "chosen": record.chosen},
        "text": record.turn.text,
        "clock": record.turn.sim_time_s,
        "ending": record.turn.ended,
    }


def test_documents_of_rows_are_those_of_records(stored: Path) -> None:
    with SqlStore.open(stored) as store:
        runs = store.runs()
        assert {run.kind for run in runs} == {"dialogue", "group_chat", "album_chat"}
        for run in runs:
            read = {turn: dict(document) for turn, document in turn_documents(store, run.run).items()}
            for document in read.values():
                document["calls"] = getattr(document["calls"], "documents", document["calls"])
            assert json.dumps(read) == json.dumps(by_records(store, run.run)), run.scenario
