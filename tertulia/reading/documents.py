"""Runs, turns, rounds, agents and calls as JSON documents, which other programs rely on: fields are only ever added."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from tertulia.reading.exchanges import AgentTotals, Journey, RecordedExchange, read_exchanges
from tertulia.reading.platforms import platforms_document
from tertulia.reading.removal import remarks
from tertulia.reading.rounds import AgentRound, Round, calls_of, read_characters, read_round
from tertulia.reading.turns import TurnDetails, as_written
from tertulia.state.album import Population
from tertulia.state.cognition import Call
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.meeting import Meeting, Start
from tertulia.state.records import RunRecord, order_of
from tertulia.state.store import Store

_UNIT_FIELDS = {"id", "block", "kind", "text"}


# --- runs -----------------------------------------------------------------------------------------------------------


def run_document(run: RunRecord, start: Start) -> Document:
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
        "parent": parent_document(run),
        "trial": None if run.trial is None else run.trial.model_dump(),
        "error": run.error,
        "left_out": list(start.withheld),
    }
    if isinstance(start, Meeting):
        document["meeting"] = meeting_document(start)
    elif isinstance(start, Population):
        document["population"] = population_document(start)
    return document


def parent_document(run: RunRecord) -> Document | None:
    """Return from which run and turn a run was forked."""
    return {"run": run.parent[0], "turn": run.parent[1]} if run.parent else None


def meeting_document(meeting: Meeting) -> Document:
    """Return what is held, when, where, how it opened, and who comes and goes."""
    document = meeting.model_dump(mode="json", include={"title", "description", "time", "ends", "place", "opening"})
    stays = [
        attendee.model_dump(mode="json", include={"joins", "leaves", "leaves_for"}) for attendee in meeting.participants
    ]
    return document | {
        "participants": [{"name": name, **stay} for name, stay in zip(meeting.names, stays, strict=True)]
    }


def population_document(population: Population) -> Document:
    """Return who may meet, when, where, and the pictures of their albums."""
    return {
        **population.model_dump(mode="json", include={"title", "time", "place", "pictures"}),
        "villagers": [
            {"name": villager.persona.name, "album": list(villager.album)} for villager in population.villagers
        ],
    }


def start_document(start: Start) -> Document:
    """Return everything that a run started from."""
    return start.model_dump(mode="json", exclude={"withheld"}) | {"left_out": list(start.withheld)}


def conversation_document(store: Store, run: RunRecord, start: Start) -> Document:
    """Return a run with its turns."""
    return run_document(run, start) | {
        "turns": turn_rows(store, run, start),
        "platforms": platforms_document(store, run.run),
    }


def turn_rows(store: Store, run: RunRecord, start: Start) -> list[Document]:
    """Return the turns of a run, in an album chat with their exchanges."""
    if isinstance(start, Population):
        return [_exchange_row(exchange) for exchange in read_exchanges(store, run.run, start)]
    return [turn.model_dump(mode="json") for turn in store.turns(run.run)]


def _exchange_row(exchange: RecordedExchange) -> Document:
    return exchange.turn.model_dump(mode="json") | {"exchange": exchange.document()}


def opening_document(store: Store, run: RunRecord, meeting: Meeting, agent: str | None = None) -> Document:
    """Return how a meeting opened, and everybody, or one agent, as they came to it."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "run": run.run,
        **meeting_document(meeting),
        "characters": [
            {"agent": name, **character.model_dump(mode="json")}
            for name, character in read_characters(store, run.run).items()
            if agent in (None, name)
        ],
    }
    if agent is None:
        return document
    return document | {"calls": calls_document(calls_of(store, run.run, 0, agent), store)}


def agent_in_run_document(store: Store, run: RunRecord, start: Start, agent: str) -> Document:
    """Return one agent through a whole run: their utterances, or exchanges, and in a meeting their cognition."""
    cognition = []
    if isinstance(start, Meeting):
        rounds = (read_round(store, run.run, number, start) for number in range(1, run.turns + 1))
        cognition = [
            {"round": round.round, **agent_document(present)}
            for round in rounds
            for present in round.agents
            if present.agent == agent
        ]
    if isinstance(start, Population):
        turns = [_exchange_row(met) for met in read_exchanges(store, run.run, start) if met.concerns(agent)]
    else:
        turns = [turn.model_dump(mode="json") for turn in store.turns(run.run) if turn.speaker == agent]
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run.run,
        "agent": agent,
        "turns": turns,
        "cognition": cognition,
    }


def album_document(run: RunRecord, totals: Sequence[AgentTotals], journeys: Sequence[Journey]) -> dict[str, Any]:
    """Return what everybody did, and the journeys of pictures in numbers, as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run.run,
        "scenario": run.scenario,
        "setting": run.parameters.get("setting"),
        "agents": [asdict(agent) for agent in totals],
        "pictures": [journey.figures() for journey in journeys],
    }


# --- turns ----------------------------------------------------------------------------------------------------------


def turn_document(store: Store, details: TurnDetails) -> Document:
    """Return a turn and how it came about: units, candidates, and the cognition of a group."""
    document = _making_document(details)
    if details.what_if is not None:
        document["what_if"] = details.what_if
    if details.round is not None:
        document |= _round_document(store, details.run.run, details.round, details.agent)
    if details.exchange is not None:
        document["exchange"] = details.exchange.document()
        document["parts"] = {part: _making_document(of_part) for part, of_part in details.parts.items()}
    if details.agent is not None:
        document["calls"] = calls_document(details.calls, store)
    return document


def _making_document(details: TurnDetails) -> Document:
    record, prompt = details.record, details.prompt
    scores = record.scores or {}
    return {
        "schema_version": SCHEMA_VERSION,
        "run": details.run.run,
        **record.turn.model_dump(mode="json"),
        "spoken_name": details.spoken_name,
        "units": [
            {
                "id": unit.id,
                "block": unit.block,
                "kind": unit.kind,
                "text": unit.text,
                "removable": unit.removable,
                "score": scores.get(unit.id),
                "removed": unit.id in details.removed,
            }
            for unit in (prompt.units if prompt else ())
        ],
        "candidates": [
            {
                "attempt": candidate.attempt,
                "origin": candidate.origin,
                "text": candidate.text,
                "as_written": as_written(candidate, prompt),
                "information": candidate.reply.information,
                "inconsistency": candidate.inconsistency,
                "inconsistency_runs": list(candidate.inconsistency_runs),
                "comment": candidate.comment,
                "rewritable": candidate.rewritable,
                "chosen": candidate.attempt == record.chosen,
            }
            for candidate in details.candidates
        ],
        "removed_items": details.removed_items,
        "removed_units": len(details.removed),
        "remarks": list(remarks(details).values()),
        "distinct_candidates": details.distinct,
        "rollbacks": record.rollbacks,
        "rewritings": details.rewritings,
        "scored_by": record.scored_by,
        "judged_by": record.judged_by,
        "removal_factor": details.removal_factor,
        "pace": details.pace.reason if details.pace else None,
        "steering": asdict(details.pace.steering) if details.pace and details.pace.steering else None,
    }


# --- rounds ---------------------------------------------------------------------------------------------------------


def _round_document(store: Store, run: str, round: Round, agent: str | None) -> Document:
    """Return the cognition of a round, of everybody or of one agent, and how the floor was given."""
    asked = calls_document(calls_of(store, run, round.round, ""), store)
    return {
        "cognition": [agent_document(present) for present in round.agents if agent in (None, present.agent)],
        "floor": round.floor.model_dump(mode="json") | {"calls": asked} if round.floor else None,
    }


def agent_document(agent: AgentRound) -> Document:
    """Return the cognition of an agent in a round; what was not recorded is null."""
    need, assessment, bid = agent.need, agent.assessment, agent.bid
    return {
        "agent": agent.agent,
        "perception": agent.perception.model_dump(mode="json"),
        "situation_summary": need.situation_summary if need else None,
        "key_information": need.key_information if need else None,
        "character_analysis": need.character_analysis if need else None,
        "decision_reason": need.decision_reason if need else None,
        "mechanisms": {name: choice.model_dump() for name, choice in need.mechanisms.items()} if need else {},
        "findings": {name: finding.model_dump(mode="json") for name, finding in agent.findings.items()},
        "situation": assessment.situation if assessment else None,
        "thought": assessment.thought if assessment else None,
        "emotion": assessment.emotion if assessment else None,
        "emotion_strength": assessment.emotion_strength if assessment else None,
        "plan_done": list(assessment.done) if assessment else None,
        "willingness": bid.willingness if bid else None,
        "willingness_parts": bid.parts.model_dump() if bid and bid.parts else None,
        "willingness_ratings": agent.ratings.model_dump() if agent.ratings else None,
        "weights": agent.weights.model_dump(),
        "willing": bid.willing if bid else None,
        "similarity": bid.similarity if bid else None,
        "similarity_max": bid.similarity_max if bid else None,
        "latency_scale_s": bid.latency_scale_s if bid else None,
        "latency_spread_s": bid.latency_spread_s if bid else None,
        "persistence": bid.persistence if bid else None,
        "address": bid.address if bid else None,
        "need": bid.need if bid else None,
        "yielded_s": bid.yielded_s if bid else None,
        "latency_s": bid.latency_s if bid else None,
        "won": bid.won if bid else None,
        "typed": agent.typed,
    }


def calls_document(calls: Iterable[Call], store: Store) -> list[Document]:
    """Return calls of models with their prompts and replies."""
    return [
        {
            "node": call.node,
            "attempt": call.attempt,
            "model": call.model,
            "prompt": [unit.model_dump(include=_UNIT_FIELDS) for unit in store.prompt(call.prompt).units],
            "replies": [{"text": reply.text, "fields": reply.fields} for reply in call.replies],
        }
        for call in calls
    ]
