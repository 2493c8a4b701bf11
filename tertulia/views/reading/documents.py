"""Runs, turns, rounds, agents and calls as JSON documents. Other programs rely on them: fields are only added."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from tertulia.state.album import Population
from tertulia.state.cognition import Call
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord, order_of
from tertulia.state.scored_layers import recorded_layers
from tertulia.state.store import Store
from tertulia.views.reading.actions import lines_with_actions
from tertulia.views.reading.bids import bid_document
from tertulia.views.reading.exchanges import AgentTotals, Journey, RecordedExchange, each_line, read_exchanges
from tertulia.views.reading.faults import fault_in_words
from tertulia.views.reading.leaning import reasons
from tertulia.views.reading.platforms import platforms_document
from tertulia.views.reading.removal import remarks
from tertulia.views.reading.rewritten import rewritten_turns
from tertulia.views.reading.rounds import AgentRound, calls_of, read_characters, read_round
from tertulia.views.reading.shared_turns import as_it_was
from tertulia.views.reading.turns import LineDetails, ThoughtDetails, TurnDetails, as_written, parameters_of
from tertulia.views.reading.unsent import sent_document
from tertulia.views.reading.why import why_said, why_turn
from tertulia.views.reading.why_leaning import THOUGHT_MOST, leaned

_UNIT_FIELDS = {"id", "block", "kind", "text"}


def fields_of(record: object | None, *names: str) -> Document:
    """Return the named fields of a record; null for each if there is no record."""
    return {name: None if record is None else getattr(record, name) for name in names}


# --- runs -----------------------------------------------------------------------------------------------------------


def run_document(store: Store, run: RunRecord, start: Start) -> Document:
    """Return a run without its turns."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "run": run.run,
        "status": run.status,
        "ended_by": run.ended_by,
        "scenario": run.scenario,
        "order": order_of(run),
        "model": run.model,
        "embedder": run.embedder,
        "rehearsed": run.rehearsed,
        "seed": run.seed,
        **sent_document(store, run),
        "parent": parent_document(run),
        "trial": None if run.trial is None else run.trial.model_dump(),
        "error": run.error,
        "left_out": list(start.withheld),
    }
    if isinstance(start, Meeting):
        document["meeting"] = meeting_document(start)
    elif isinstance(start, Population):
        document["population"] = population_document(start)
    elif start.items_from is not None:
        document["items_from"] = start.items_from.scenario
    return document


def parent_document(run: RunRecord) -> Document | None:
    """Return the run and the turn at which a run was forked."""
    return {"run": run.parent[0], "turn": run.parent[1]} if run.parent else None


def meeting_document(meeting: Meeting) -> Document:
    """Return title, time, place and opening of a meeting, and when people come and go."""
    document = meeting.model_dump(mode="json", include={"title", "description", "time", "ends", "place", "opening"})
    stay = {"joins", "leaves", "leaves_for"}
    return document | {
        "participants": [
            {"name": attendee.persona.name, **attendee.model_dump(mode="json", include=stay)}
            for attendee in meeting.participants
        ]
    }


def population_document(population: Population) -> Document:
    """Return title, time, place, pictures and villagers of an album chat."""
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
    return run_document(store, run, start) | {
        "turns": turn_rows(store, run, start),
        "platforms": platforms_document(store, run.run),
    }


def turn_rows(store: Store, run: RunRecord, start: Start) -> list[Document]:
    """Return the turns of a run, in an album chat with their exchanges; `edited`: a person rewrote the line.

    `with_actions`: the line as it was written, if its actions were set apart.
    """
    if isinstance(start, Population):
        return [_exchange_row(exchange) for exchange in read_exchanges(store, run.run, start)]
    turns = store.turns(run.run)
    edited, acted = rewritten_turns(store, run.run, turns), lines_with_actions(store, run, turns)
    return [
        turn.model_dump(mode="json")
        | ({"edited": True} if turn.turn in edited else {})
        | ({"with_actions": acted[turn.turn]} if turn.turn in acted else {})
        for turn in turns
    ]


def line_documents(store: Store, run: str) -> list[Document]:
    """Return turn, speaker (null: a silence) and text of each line; in an album chat of questions and their answers."""
    return [turn.model_dump(include={"turn", "speaker", "text"}) for turn in each_line(store, run, store.start(run))]


def _exchange_row(exchange: RecordedExchange) -> Document:
    return exchange.turn.model_dump(mode="json") | {"exchange": exchange.document()}


def opening_document(store: Store, run: RunRecord, meeting: Meeting, agent: str | None = None) -> Document:
    """Return the opening of a meeting, and the characters of everybody or of one agent, with their calls."""
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
    """Return the utterances or exchanges of an agent in a run and, in a meeting, their cognition."""
    cognition = []
    if isinstance(start, Meeting):
        rounds = (read_round(store, run, number, start) for number in range(1, run.turns + 1))
        cognition = [
            {"round": round.round, **agent_document(present, parameters_of(as_it_was(store, run, round.round), agent))}
            for round in rounds
            for present in round.agents
            if present.agent == agent
        ]
    if isinstance(start, Population):
        turns = [_exchange_row(met) for met in read_exchanges(store, run.run, start) if met.concerns(agent)]
    else:
        turns = [turn.model_dump(mode="json") for turn in store.turns(run.run) if turn.speaker == agent]
    return {"schema_version": SCHEMA_VERSION, "run": run.run, "agent": agent, "turns": turns, "cognition": cognition}


def album_document(run: RunRecord, totals: Sequence[AgentTotals], journeys: Sequence[Journey]) -> Document:
    """Return the figures of participants and pictures of an album chat."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run.run,
        "scenario": run.scenario,
        "rehearsed": run.rehearsed,
        "setting": run.parameters.get("setting"),
        "agents": [asdict(agent) for agent in totals],
        "pictures": [journey.figures() for journey in journeys],
    }


# --- turns ----------------------------------------------------------------------------------------------------------


def turn_document(store: Store, details: LineDetails) -> Document:
    """Return a turn, or a part of it, and its making: units, candidates, and the cognition of a group."""
    if not isinstance(details, TurnDetails):
        return _making_document(details)
    document = _making_document(details) | {"why": why_turn(details)}
    if details.what_if is not None:
        document["what_if"] = details.what_if
    if details.round is not None:
        document |= _round_document(store, details)
    if details.exchange is not None:
        document["exchange"] = details.exchange.document()
        document["parts"] = {part: _making_document(of_part) for part, of_part in details.parts.items()}
    if details.agent is not None:
        document["calls"] = calls_document(details.calls, store)
    return document


def unit_documents(details: LineDetails) -> list[Document]:
    """Return the units of the full prompt, in prompt order: reasons of the line, scores, removed or not."""
    scores, line_scores, prompt = details.record.scores or {}, details.record.line_scores or {}, details.prompt
    return [
        {
            **unit.model_dump(include={*_UNIT_FIELDS, "removable"}),
            "line_score": line_scores.get(unit.id),
            "score": scores.get(unit.id),
            "removed": unit.id in details.removed,
            **({"measured_loss": details.measured[unit.id]} if unit.id in details.measured else {}),
        }
        for unit in (prompt.units if prompt else ())
    ]


def _making_document(details: LineDetails) -> Document:
    record, prompt = details.record, details.prompt
    return {
        "schema_version": SCHEMA_VERSION,
        "run": details.run.run,
        **record.turn.model_dump(mode="json"),
        "why": why_said(details),
        "units": unit_documents(details),
        "candidates": [
            {
                **fields_of(candidate, "attempt", "origin", "text"),
                "as_written": as_written(candidate, prompt),
                "with_actions": next(iter((candidate.reply.with_actions or {}).values()), None),
                "thought": candidate.reply.thought,
                "information": candidate.reply.information,
                "inconsistency": candidate.inconsistency,
                "inconsistency_runs": list(candidate.inconsistency_runs),
                **fields_of(candidate, "comment", "rewritable", "probability", "string_seed", "remark"),
                "faults": None if candidate.faults is None else [fault_in_words(fault) for fault in candidate.faults],
                "chosen": candidate.attempt == record.chosen,
            }
            for candidate in details.candidates
        ],
        "removed_items": details.removed_items,
        "removed_units": len(details.removed),
        "remarks": list(remarks(details).values()),
        "line_faults": list(details.faults),
        "distinct_candidates": details.distinct,
        "rollbacks": record.rollbacks,
        "rewritings": details.rewritings,
        "line_scored_by": record.line_scored_by,
        "leaned_on": leaned_on(details),
        "measured_by": details.checked.measured_by,
        "measured": dict(details.measured),
        "scored_by": record.scored_by,
        "scored_layers": recorded_layers(record.scored_by),
        "judged_by": record.judged_by,
        "removal_factor": details.removal_factor,
        "removal_factor_asked": details.removal_factor_asked,
        "removal_factor_reached": details.removal_factor_reached,
        "pace": details.pace.reason if details.pace else None,
        "steering": asdict(details.pace.steering) if details.pace and details.pace.steering else None,
    }


def leaned_on(details: LineDetails) -> list[Document] | None:
    """Return the units that a line leaned on, those that count most first; `None` if that is not known."""
    found = reasons(details)
    if found is None:
        return None
    return [
        {
            "unit": reason.unit.id,
            "text": reason.unit.text,
            "loss": reason.loss,
            "measured": reason.measured,
            "times_less_likely": reason.times,
        }
        for reason in found
    ]


# --- rounds ---------------------------------------------------------------------------------------------------------


def _round_document(store: Store, details: TurnDetails) -> Document:
    """Return the cognition of everybody or of one agent in a round, and the decision on the floor."""
    round, agent = details.round, details.agent
    assert round is not None
    asked = calls_document(calls_of(store, details.run.run, round.round, ""), store)
    agents = [present for present in round.agents if agent in (None, present.agent)]
    thoughts = [present.agent for present in agents if present.agent in details.thoughts]
    return {
        "cognition": [agent_document(present, parameters_of(details.run, present.agent)) for present in agents],
        "thoughts": {name: _thought_document(details.thoughts[name]) for name in thoughts},
        "floor": round.floor.model_dump(mode="json") | {"calls": asked} if round.floor else None,
    }


def agent_document(agent: AgentRound, parameters: Parameters) -> Document:
    """Return the cognition of an agent in a round; fields that were not recorded are null."""
    need, assessment, bid = agent.need, agent.assessment, agent.bid
    return {
        "agent": agent.agent,
        "perception": agent.perception.model_dump(mode="json"),
        **fields_of(need, "situation_summary", "key_information", "character_analysis", "decision_reason"),
        "mechanisms": {name: choice.model_dump() for name, choice in need.mechanisms.items()} if need else {},
        "findings": {name: finding.model_dump(mode="json") for name, finding in agent.findings.items()},
        **fields_of(assessment, "situation", "thought", "emotion", "emotion_strength"),
        "plan_done": list(assessment.done) if assessment else None,
        "willingness": bid.willingness if bid else None,
        "willingness_parts": bid.parts.model_dump() if bid and bid.parts else None,
        "willingness_ratings": agent.ratings.model_dump() if agent.ratings else None,
        "weights": agent.weights.model_dump(),
        "bid_reasons": bid_document(agent, parameters),
        **fields_of(bid, "willing", "similarity", "similarity_max", "latency_scale_s", "latency_spread_s"),
        **fields_of(bid, "persistence", "address", "need", "yielded_s", "latency_s", "won"),
        "typed": agent.typed,
    }


def _thought_document(thought: ThoughtDetails) -> Document:
    """Return the units that a thought leaned on, those that count most first, and the model that read it."""
    return {
        "leaned_on": leaned_on(thought),
        "in_words": leaned(thought, THOUGHT_MOST),
        "scored_by": thought.record.line_scored_by,
        "measured_by": thought.checked.measured_by,
        "measured": dict(thought.measured),
    }


def calls_document(calls: Iterable[Call], store: Store) -> list[Document]:
    """Return model calls with their prompts and replies."""
    return [
        {
            "node": call.node,
            "attempt": call.attempt,
            "model": call.model,
            "prompt": [unit.model_dump(include=_UNIT_FIELDS) for unit in store.prompt(call.prompt).units],
            "replies": [
                {"text": reply.text, "fields": reply.fields, **({"thought": reply.thought} if reply.thought else {})}
                for reply in call.replies
            ],
        }
        for call in calls
    ]
