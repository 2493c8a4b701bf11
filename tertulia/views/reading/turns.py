"""A turn and its making: the prompt, the units removed, the candidates, and the cognition of a group."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tertulia.nodes.shared.sense import Fault
from tertulia.prompts.units import nameable_units
from tertulia.state.album import PARTS, Population
from tertulia.state.cognition import Call
from tertulia.state.errors import NotFoundError
from tertulia.state.meeting import Meeting, Start
from tertulia.state.records import Candidate, Prompt, RunRecord, TurnRecord, Unit
from tertulia.state.store import Store
from tertulia.state.text import folded, one_line
from tertulia.views.reading.checks import PART_NUMBERS, read_checked, thought_number, writer_of
from tertulia.views.reading.exchanges import RecordedExchange, read_exchanges
from tertulia.views.reading.factor_reason import FactorReason, read_factor_reason
from tertulia.views.reading.rounds import Round, calls_of, read_round
from tertulia.views.reading.sense import faults_by_part
from tertulia.views.reading.what_if import removed_at


@dataclass(frozen=True)
class TurnDetails:
    """A turn and its making.

    Attributes:
        prompt: The full prompt; `None` for a silence, and for a turn that was written by hand.
        candidates: In the order of their attempts.
        removed: Ids of the units that were removed, or would be at `what_if`.
        what_if: Another λ than the run's own, if that is shown.
        round: In a group chat.
        agent: The only agent whose cognition is wanted; `None`: everybody's.
        calls: The model calls of this agent in the round.
        exchange, parts: In an album chat; the parts are plan and answer.
        pace: The reason for the turn's λ, if it differs from turn to turn.
        faults: Why its line makes no sense in its dialogue, if so.
        measured: By unit, the measured loss of the line without it, in nats a token (`show --check`).
        measured_by: The model that read the line for that.
        measured_tokens: How many tokens the words of the line are to that model; `None`: not known.
        number: The number under which annotations have the line.
        thinker: Of a thought, the model that thought it; `None` of a line.
        words: Of a thought, the texts of the answer that are read: the situation and the thought.
        thoughts: In a group chat, by agent the thoughts of the round that a model has read, as lines of their own.
    """

    run: RunRecord
    record: TurnRecord
    prompt: Prompt | None
    candidates: tuple[Candidate, ...]
    removed: frozenset[str]
    what_if: float | None
    round: Round | None
    agent: str | None
    calls: tuple[Call, ...]
    exchange: RecordedExchange | None = None
    parts: Mapping[str, "TurnDetails"] = field(default_factory=dict)
    pace: FactorReason | None = None
    faults: tuple[Fault, ...] = ()
    measured: Mapping[str, float] = field(default_factory=dict)
    measured_by: str | None = None
    measured_tokens: int | None = None
    number: int = 0
    thinker: str | None = None
    words: tuple[str, ...] = ()
    thoughts: Mapping[str, "TurnDetails"] = field(default_factory=dict)

    @property
    def writer(self) -> str:
        """The model that speaks, or has thought, for whoever spoke."""
        return writer_of(self.run, self.record.turn.speaker) if self.thinker is None else self.thinker

    @property
    def removal_factor(self) -> float | None:
        """The turn's λ; the run's if nothing was scored, or `retain` replaced it."""
        recorded = self.record.removal_factor
        return self.run.parameters.get("removal_factor") if recorded is None else recorded  # type: ignore[return-value]

    @property
    def rewritings(self) -> int:
        """The number of rewritten candidates."""
        return sum(candidate.origin == "rewritten" for candidate in self.candidates)

    @property
    def distinct(self) -> int:
        """The number of different drawn candidates, ignoring case and punctuation."""
        return len({folded(candidate.text) for candidate in self.candidates if candidate.origin in ("drawn", "backup")})

    @property
    def removable(self) -> list[Unit]:
        """The units that λ may remove."""
        return [unit for unit in self.prompt.units if unit.removable] if self.prompt else []

    @property
    def nameable(self) -> list[Unit]:
        """The units that the line can be said to lean on."""
        return nameable_units(self.prompt) if self.prompt else []

    @property
    def removed_items(self) -> int:
        """The number of removed items, without the texts of emptied blocks."""
        return sum(unit.id in self.removed for unit in self.removable)

    @property
    def removal_factor_asked(self) -> float | None:
        """The λ that chose the removed units, in [0, 1]; `None` if the prompt was not scored, or `retain` chose."""
        if self.record.scores is None:
            return None
        if self.what_if is not None:
            return self.what_if
        return None if self.run.parameters.get("retain") else self.removal_factor

    @property
    def removal_factor_reached(self) -> float | None:
        """`removed_share`, which λ asks for; `None` if the prompt was not scored."""
        return None if self.record.scores is None else self.removed_share

    @property
    def removed_share(self) -> float:
        """The removed share of the removable units' attention, in [0, 1]."""
        scores = self.record.scores or {}
        total = sum(scores.get(unit.id, 0.0) for unit in self.removable)
        gone = sum(scores.get(unit.id, 0.0) for unit in self.removable if unit.id in self.removed)
        return gone / total if total else 0.0


def read_turn(
    store: Store,
    run: RunRecord,
    start: Start,
    number: int,
    agent: str | None = None,
    removal_factor: float | None = None,
    reader: str | None = None,
) -> TurnDetails:
    """Return a turn and its making.

    Args:
        number: The turn, from 1.
        agent: The only agent whose cognition is wanted, with their model calls.
        removal_factor: λ in [0, 1] for which the removal is wanted; `None`: the recorded one.
        reader: The model whose check of the line is wanted, if several have checked it; `None`: its writer's.

    Raises:
        NotFoundError: There is no such turn, the agent was not present, or the turn has no scores for another λ.
        UsageError: λ is out of its range.
    """
    details = _details(store, run, store.turn_record(run.run, number), "", removal_factor, reader)
    faults = faults_by_part(store, run, start, details.record)
    details = replace(details, faults=faults.get("", ()))
    there = None
    if isinstance(start, Meeting):
        round = read_round(store, run.run, details.record.turn.round, start)
        thoughts = thoughts_read(store, details, round, start, reader)
        details = replace(details, round=round, thoughts=thoughts)
        there = [present.agent for present in round.agents]
    elif isinstance(start, Population):
        (exchange,) = read_exchanges(store, run.run, start, number, number)
        records = store.parts(run.run, number)
        parts = {
            part: replace(_details(store, run, records[part], part, removal_factor, reader), faults=faults[part])
            for part in PARTS.values()
            if part
        }
        details = replace(details, exchange=exchange, parts=parts)
        there = [exchange.exchange.asker, exchange.exchange.answerer]
    if agent is None:
        return details
    if there is not None and agent not in there:
        raise NotFoundError(f"{agent} was not there in turn {number} of run {run.run}; see tertulia show {run.run}")
    return replace(details, agent=agent, calls=tuple(calls_of(store, run.run, number, agent)))


def _details(
    store: Store, run: RunRecord, record: TurnRecord, part: str, removal_factor: float | None, reader: str | None
) -> TurnDetails:
    prompt = store.prompt(record.prompt) if record.prompt else None
    number = PART_NUMBERS[part]
    checked = read_checked(store, run, record, number, writer_of(run, record.turn.speaker), reader)
    removed = record.removed if removal_factor is None else removed_at(run, record, prompt, removal_factor, part)
    return TurnDetails(
        run=run,
        record=record.model_copy(update=checked.scored),
        prompt=prompt,
        candidates=tuple(store.candidates(run.run, record.turn.turn, part)),
        removed=frozenset(removed),
        what_if=removal_factor,
        round=None,
        agent=None,
        calls=(),
        pace=None if prompt is None else read_factor_reason(store, run, record.turn.turn),
        measured=checked.measured,
        measured_by=checked.measured_by,
        measured_tokens=checked.tokens,
        number=number,
    )


def thoughts_read(
    store: Store, details: TurnDetails, round: Round, meeting: Meeting, reader: str | None = None
) -> dict[str, TurnDetails]:
    """Return by agent the thoughts of a round that checks have read; without any, no call is read."""
    found = store.annotations_of_turn(details.run.run, details.record.turn.turn, "leave_one_out", "line_scores")
    numbers = {each.part for each in found}
    names = [agent.agent for agent in round.agents if thought_number(meeting.names, agent.agent) in numbers]
    thoughts = {name: read_thought(store, details, round, meeting, name, reader) for name in names}
    return {name: thought for name, thought in thoughts.items() if thought is not None}


def read_thought(
    store: Store, details: TurnDetails, round: Round, meeting: Meeting, agent: str, reader: str | None = None
) -> TurnDetails | None:
    """Return the thought of an agent in a round as a line behind its own prompt; `None` if no model's call has it.

    The words of the situation are read with it: the same answer has them before the thought, which often repeats them,
    so that it would seem to lean on nothing else.
    """
    run, number = details.run, thought_number(meeting.names, agent)
    assessment = next((present.assessment for present in round.agents if present.agent == agent), None)
    calls = calls_of(store, run.run, round.round, agent)
    call = next((call for call in calls if call.node == "assess" and call.replies), None)
    if call is None or assessment is None or one_line(call.replies[0].fields.get("thought", "")) != assessment.thought:
        return None
    reply = call.replies[0]
    words = tuple(str(reply.fields[name]) for name in ("situation", "thought") if reply.fields.get(name))
    reply = reply.model_copy(update={"fields": {}, "text_tokens": (reply.text_tokens[0], len(reply.tokens))})
    turn = details.record.turn.model_copy(update={"speaker": agent, "text": assessment.thought})
    record = TurnRecord(turn=turn, prompt=call.prompt, chosen=0)
    checked = read_checked(store, run, record, number, call.model, reader)
    return TurnDetails(
        run=run,
        record=record.model_copy(update=checked.scored),
        prompt=store.prompt(call.prompt),
        candidates=(Candidate(attempt=0, text=assessment.thought, reply=reply),),
        removed=frozenset(),
        what_if=None,
        round=None,
        agent=None,
        calls=(),
        measured=checked.measured,
        measured_by=checked.measured_by,
        measured_tokens=checked.tokens,
        number=number,
        thinker=call.model,
        words=words,
    )


def as_written(candidate: Candidate, prompt: Prompt | None) -> str | None:
    """Return a candidate with the names of the prompt; `None` if the utterance has the same names."""
    written = candidate.reply.fields.get(prompt.speaker) if prompt is not None else None
    return None if written is None or one_line(written) == candidate.text else str(written)
