"""A turn and its making: the prompt, the units removed, the candidates, and the cognition of a group."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeVar

from tertulia.nodes.shared.line_faults import Fault
from tertulia.prompts.units import informing_units, nameable_units
from tertulia.state.album import PARTS, Population
from tertulia.state.cognition import Call
from tertulia.state.errors import NotFoundError
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import Parameters
from tertulia.state.records import Candidate, Prompt, RunRecord, TurnRecord, Unit
from tertulia.state.same import Same
from tertulia.state.store import Store
from tertulia.state.text import folded, one_line
from tertulia.views.reading.checks import NOT_CHECKED, PART_NUMBERS, Checked, read_checked, thought_number, writer_of
from tertulia.views.reading.exchanges import RecordedExchange, read_exchanges
from tertulia.views.reading.factor_reason import FactorReason, read_factor_reason
from tertulia.views.reading.faults import faults_by_part
from tertulia.views.reading.rounds import Round, calls_of, read_round
from tertulia.views.reading.shared_turns import stretch_with
from tertulia.views.reading.what_if import removed_at


@dataclass(frozen=True, kw_only=True)
class LineDetails:
    """A line and its making: the line of a turn, a part of an exchange, or a thought.

    Attributes:
        run: With the settings, models and seed that the line was made with (`as_it_was`).
        prompt: The full prompt; `None` for a silence, and for a line that was written by hand.
        candidates: In the order of their attempts.
        removed: Ids of the units that were removed, or would be at `what_if`.
        what_if: Another λ than the run's own, if that is shown.
        pace: The reason for the turn's λ, if it differs from turn to turn.
        faults: Why the line makes no sense in its dialogue, if so.
        checked: The results of checks of the line (`show --check`).
        number: The number under which annotations have the line.
    """

    run: RunRecord
    record: TurnRecord
    prompt: Prompt | None
    candidates: tuple[Candidate, ...]
    removed: frozenset[str]
    what_if: float | None = None
    pace: FactorReason | None = None
    faults: tuple[Fault, ...] = ()
    checked: Checked = NOT_CHECKED
    number: int = 0

    @property
    def writer(self) -> str:
        """The model that speaks for whoever spoke."""
        return writer_of(self.run, self.record.turn.speaker)

    @property
    def measured(self) -> Mapping[str, float]:
        """By unit, the measured loss of the line without it, in nats a token."""
        return self.checked.measured

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
        """The units that the line can be said to lean on by its scores."""
        return nameable_units(self.prompt) if self.prompt else []

    @property
    def informing(self) -> list[Unit]:
        """The units that the line can be said to lean on as measured: those, and the lines said before."""
        return informing_units(self.prompt) if self.prompt else []

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


@dataclass(frozen=True, kw_only=True)
class ThoughtDetails(LineDetails):
    """A thought as a line behind its own prompt.

    Attributes:
        thinker: The model that thought it.
        texts: The texts of the answer that are read: the situation and the thought.
    """

    thinker: str
    texts: tuple[str, ...]

    @property
    def writer(self) -> str:
        """The model that thought it."""
        return self.thinker


@dataclass(frozen=True, kw_only=True)
class TurnDetails(LineDetails):
    """A turn and its making.

    Attributes:
        round: In a group chat.
        agent: The only agent whose cognition is wanted; `None`: everybody's.
        calls: The model calls of this agent in the round.
        exchange, parts: In an album chat; the parts are plan and answer.
        thoughts: In a group chat, by agent the thoughts of the round that a model has read.
    """

    round: Round | None = None
    agent: str | None = None
    calls: tuple[Call, ...] = ()
    exchange: RecordedExchange | None = None
    parts: Mapping[str, LineDetails] = field(default_factory=dict)
    thoughts: Mapping[str, ThoughtDetails] = field(default_factory=dict)


Line = TypeVar("Line", bound=LineDetails)


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
    record, stretch = store.turn_record(run.run, number), stretch_with(store, run, number)
    run, start = stretch.run, start if stretch.maker == run.run else store.start(stretch.maker)
    faults = faults_by_part(store, run, start, record)

    def details_of(kind: type[Line], record: TurnRecord, part: str) -> Line:
        found = _details(kind, store, run, record, part, removal_factor, reader)
        return replace(found, faults=faults.get(part, ()))

    details = details_of(TurnDetails, record, "")
    there = None
    if isinstance(start, Meeting):
        round = read_round(store, run, record.turn.round, start)
        details = replace(details, round=round, thoughts=thoughts_read(store, details, round, start, reader))
        there = [present.agent for present in round.agents]
    elif isinstance(start, Population):
        (exchange,) = read_exchanges(store, run.run, start, number, number)
        records = store.parts(run.run, number)
        parts = {part: details_of(LineDetails, records[part], part) for part in PARTS.values() if part}
        details = replace(details, exchange=exchange, parts=parts)
        there = [exchange.exchange.asker, exchange.exchange.answerer]
    if agent is None:
        return details
    if there is not None and agent not in there:
        raise NotFoundError(f"{agent} was not there in turn {number} of run {run.run}; see tertulia show {run.run}")
    return replace(details, agent=agent, calls=tuple(calls_of(store, run.run, number, agent)))


def _details(
    kind: type[Line],
    store: Store,
    run: RunRecord,
    record: TurnRecord,
    part: str,
    removal_factor: float | None,
    reader: str | None,
) -> Line:
    prompt = store.prompt(record.prompt) if record.prompt else None
    number = PART_NUMBERS[part]
    checked = read_checked(store, run, record, number, writer_of(run, record.turn.speaker), reader)
    removed = record.removed if removal_factor is None else removed_at(run, record, prompt, removal_factor, part)
    return kind(
        run=run,
        record=record.model_copy(update=checked.scored),
        prompt=prompt,
        candidates=tuple(store.candidates(run.run, record.turn.turn, part)),
        removed=frozenset(removed),
        what_if=removal_factor,
        pace=None if prompt is None else read_factor_reason(store, run, record.turn.turn),
        checked=checked,
        number=number,
    )


def thoughts_read(
    store: Store, details: TurnDetails, round: Round, meeting: Meeting, reader: str | None = None
) -> dict[str, ThoughtDetails]:
    """Return by agent the thoughts of a round that checks have read; without any, no call is read."""
    found = store.annotations_of_turn(details.run.run, details.record.turn.turn, "leave_one_out", "line_scores")
    numbers = {each.part for each in found}
    names = [agent.agent for agent in round.agents if thought_number(meeting.names, agent.agent) in numbers]
    thoughts = {name: read_thought(store, details, round, meeting, name, reader) for name in names}
    return {name: thought for name, thought in thoughts.items() if thought is not None}


def read_thought(
    store: Store, details: TurnDetails, round: Round, meeting: Meeting, agent: str, reader: str | None = None
) -> ThoughtDetails | None:
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
    texts = tuple(str(reply.fields[name]) for name in ("situation", "thought") if reply.fields.get(name))
    reply = reply.model_copy(update={"fields": {}, "text_tokens": (reply.text_tokens[0], len(reply.tokens))})
    turn = details.record.turn.model_copy(update={"speaker": agent, "text": assessment.thought})
    record = TurnRecord(turn=turn, prompt=call.prompt, chosen=0)
    checked = read_checked(store, run, record, number, call.model, reader)
    return ThoughtDetails(
        run=run,
        record=record.model_copy(update=checked.scored),
        prompt=store.prompt(call.prompt),
        candidates=(Candidate(attempt=0, text=assessment.thought, reply=reply),),
        removed=frozenset(),
        checked=checked,
        number=number,
        thinker=call.model,
        texts=texts,
    )


def as_written(candidate: Candidate, prompt: Prompt | None) -> str | None:
    """Return a candidate with the names of the prompt; `None` if the utterance has the same names."""
    written = candidate.reply.fields.get(prompt.speaker) if prompt is not None else None
    return None if written is None or one_line(written) == candidate.text else str(written)


def parameters_of_speaker(details: LineDetails) -> Parameters:
    """Return the parameters of whoever spoke."""
    return parameters_of(details.run, details.record.turn.speaker or "")


def parameters_of(run: RunRecord, name: str) -> Parameters:
    """Return the parameters of a participant."""
    own = run.participant_models.get(name)
    return _validated(Same(run.parameters if own is None else own.parameters))


@lru_cache(maxsize=64)  # asked for each agent, and several times for each line
def _validated(parameters: Same[Mapping[str, Any]]) -> Parameters:
    return Parameters.model_validate(parameters.held)
