"""Runs, turns and rounds as JSON, as `show`, `replay` and `export` give them."""

from typing import Any

from cli.cognition_view import agent_json, calls_json
from cli.lines import order_of
from cli.output import SCHEMA_VERSION
from cli.rounds import Round, calls_of, read_round
from cli.turn_view import turn_json
from state.meeting import Meeting, Start
from state.records import RunRecord
from state.store import Store


def run_json(run: RunRecord, start: Start) -> dict[str, Any]:
    """Return a run without its turns."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "run": run.run,
        "status": run.status,
        "scenario": run.scenario,
        "order": order_of(run),
        "model": run.model,
        "embedder": run.embedder,
        "rehearsed": run.rehearsed,
        "seed": run.seed,
        "parameters": run.parameters,
        "parent": parent_json(run),
        "error": run.error,
        "left_out": list(start.withheld),
    }
    return document | ({"meeting": meeting_json(start)} if isinstance(start, Meeting) else {})


def parent_json(run: RunRecord) -> dict[str, Any] | None:
    """Return from which run and turn a run was forked."""
    return {"run": run.parent[0], "turn": run.parent[1]} if run.parent else None


def meeting_json(meeting: Meeting) -> dict[str, Any]:
    """Return what is held, when, where, how it opened, and who comes and goes."""
    document = meeting.model_dump(mode="json", include={"title", "description", "time", "ends", "place", "opening"})
    people = [one.model_dump(mode="json", include={"joins", "leaves", "leaves_for"}) for one in meeting.participants]
    return document | {"participants": [{"name": n, **one} for n, one in zip(meeting.names, people, strict=True)]}


def round_json(store: Store, run: str, round: Round, agent: str | None = None) -> dict[str, Any]:
    """Return what went on in the agents of a round, or in one of them, and how the floor was given."""
    asked = calls_json(calls_of(store, run, round.round, ""), store)
    return {
        "cognition": [agent_json(one) for one in round.agents if agent in (None, one.agent)],
        "floor": round.floor.model_dump(mode="json") | {"calls": asked} if round.floor else None,
    }


def making_json(store: Store, run: RunRecord, start: Start, number: int) -> dict[str, Any]:
    """Return a turn and how it came about: units, candidates, and the minds of a group."""
    record = store.turn_record(run.run, number)
    prompt = store.prompt(record.prompt) if record.prompt else None
    candidates = store.candidates(run.run, number)
    document = turn_json(run, record, prompt, candidates, set(record.removed), what_if=None)
    if isinstance(start, Meeting):
        document |= round_json(store, run.run, read_round(store, run.run, record.turn.round, start))
    return document
