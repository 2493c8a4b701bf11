"""Retrieve memory and assemble the full prompt. Source: Park et al. 2023, §4.1 (retrieval); APP §2."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from langgraph.runtime import Runtime

from tertulia.nodes.meeting.view import character_of
from tertulia.nodes.shared.called_up import calling
from tertulia.nodes.shared.full_prompt import save_full_prompt
from tertulia.nodes.shared.hearing import HeardTurns, turns_heard
from tertulia.nodes.shared.hearing import latest_turns as latest_turns  # extensions import it from here
from tertulia.nodes.shared.human_needs import draw_human_needs
from tertulia.nodes.shared.memory import Point, recall, texts_before, texts_of
from tertulia.prompts.assemble import InnerLife, UtteranceMaterial, assemble_prompt
from tertulia.prompts.cognition import clock
from tertulia.prompts.cut import item_of
from tertulia.prompts.examples import exchanges
from tertulia.prompts.names import listed
from tertulia.prompts.templates import template
from tertulia.state.cognition import Assessment, Finding, InformationNeed
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState
from tertulia.state.languages import DEFAULT
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import FocalLines
from tertulia.state.preparing import prepare
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Case, HumanNeeds, Memory, Prompt, Turn, TurnRecord

#: The number of last lines of the current dialogue that are a focal point, as in Park et al.'s conversations.
_LATEST_LINES = 4

#: Turns in which the speaker's last prompt is looked for.
_LOOK_BACK = 64


async def retrieve_memory(state: UtteranceState, runtime: Runtime[Context]) -> UtteranceState:
    """Recall the memories that bear on the situation, and store the full prompt of the speaker."""
    context = runtime.context.of(state["speaker"])
    moment = _moment(state, context)
    start = context.case_or_meeting
    memories = start.participant(state["speaker"]).memories
    await prepare(context.embedder, [*texts_of(moment.points), *texts_before(memories, start.time)])
    return {"prompt": save_full_prompt(full_prompt(state, context, moment=moment), context)}


class _Moment(NamedTuple):
    """The lines that a speaker has heard, their thoughts, and the queries to their memory."""

    lines: HeardTurns
    inner_life: InnerLife | None
    points: list[Point]


def _moment(state: UtteranceState, context: Context) -> _Moment:
    parameters, start, speaker = context.parameters, context.case_or_meeting, state["speaker"]
    lines = turns_heard(context, speaker, state["turn"], parameters.dialogue_window, state["sim_time_s"])
    inner_life = None if isinstance(start, Case) else _inner_life(state, context)
    listeners = _listeners(state, context)
    points = focal_points(start, speaker, listeners, lines.turns, parameters.language, parameters.focal_lines)
    if inner_life is not None:
        points.append(inner_life.assessment.thought)
    return _Moment(lines, inner_life, points)


def _listeners(state: UtteranceState, context: Context) -> list[str]:
    return [name for name in context.case_or_meeting.present(state["sim_time_s"]) if name != state["speaker"]]


def full_prompt(state: UtteranceState, context: Context, mark: str = "", moment: _Moment | None = None) -> Prompt:
    """Return the full prompt of the speaker; `mark` as of `shown_before`."""
    parameters, start, speaker = context.parameters, context.case_or_meeting, state["speaker"]
    lines, inner_life, points = moment or _moment(state, context)
    participant = start.participant(speaker)
    heard = calling(start, [turn.text for turn in lines.turns if turn.speaker is not None])
    memories = recall(participant, points, start.time, context.embedder, context.store, parameters, heard)
    memories = in_places(memories, shown_before(context, speaker, state["turn"], mark))
    material = UtteranceMaterial(
        start=start,
        speaker=speaker,
        listeners=_listeners(state, context),
        memories=memories,
        turns=lines.turns,
        changes=lines.changes,
        has_heard_nothing=lines.is_nothing,
        language=parameters.language,
        human_needs=_human_needs(context, speaker) if parameters.human_needs else None,
        previous_dialogues_max=parameters.previous_dialogues_max,
        asks_ending=parameters.ending == "reply",
        inner_life=inner_life,
        exchange=_exchange(context, speaker),
        special_rules=parameters.special_rules,
        wording=parameters.wording,
    )
    return assemble_prompt(material, context.layout, parameters.blocks, parameters.removable_blocks)


def focal_points(
    start: Case | Meeting,
    speaker: str,
    listeners: Sequence[str],
    turns: Sequence[Turn],
    language: str = DEFAULT,
    focal_lines: FocalLines = "each",
) -> list[Point]:
    """Return the focal points of retrieval: the listeners, the situation, and the last lines."""
    fill = template("utterance", language).fill
    if isinstance(start, Case):
        partner = start.other(speaker)
        met = fill("focus.meeting", {"speaker": speaker, "listener": partner.persona.name})
        situation = [met, start.place, partner.activity]
    else:
        situation = [start.title, start.place, start.description]
    people = fill("focus.people", {"speaker": speaker, "listener": listed(listeners, language)})
    points: list[Point] = [people, ". ".join(part for part in situation if part)]
    lines = [f"{turn.speaker}: {turn.text}" for turn in turns if turn.speaker is not None][-_LATEST_LINES:]
    if lines:
        points.append("\n".join(lines) if focal_lines == "joined" else tuple(lines))
    return points


def shown_before(context: Context, speaker: str, turn: int, mark: str = "") -> list[str]:
    """Return the ids of the memories in the speaker's last prompt of this conversation, in its order.

    Args:
        mark: The end of their units' ids beyond those of memories, as those of another case.
    """
    record = last_record(context, speaker, turn)
    units = () if record is None or record.prompt is None else context.store.prompt(record.prompt).units
    items = dict.fromkeys(item_of(unit.id) for unit in units if unit.block == "memory")
    return [item.removeprefix("memory.").removesuffix(mark) for item in items]


def last_record(context: Context, speaker: str, turn: int) -> TurnRecord | None:
    """Return how the speaker's last utterance before a turn came about; `None` if there was none, or long ago."""
    turns = context.store.turns(context.run, max(1, turn - _LOOK_BACK), turn - 1)
    last = next((turn.turn for turn in reversed(turns) if turn.speaker == speaker), None)
    return None if last is None else context.store.turn_record(context.run, last)


def in_places(memories: Sequence[Memory], shown: Sequence[str]) -> list[Memory]:
    """Return memories in the order in which they were shown before, then those that were not, as they come."""
    places = {id: place for place, id in enumerate(shown)}
    return sorted(memories, key=lambda memory: places.get(memory.id, len(places)))


def _inner_life(state: UtteranceState, context: Context) -> InnerLife:
    store, run, round, speaker = context.store, context.run, state["round"], state["speaker"]
    need = store.step(run, round, speaker, "choose_mechanisms", InformationNeed)
    assessment = store.step(run, round, speaker, "assess", Assessment)
    assert need is not None
    assert assessment is not None
    findings = {
        name: store.step(run, round, speaker, name, Finding)
        for name, choice in need.mechanisms.items()
        if choice.active
    }
    return InnerLife(
        character=character_of(context, speaker),
        done=assessment.done,
        findings=[(name, line) for name, finding in findings.items() if finding for line in finding.lines],
        assessment=assessment,
        clock=clock(context.start.time + timedelta(seconds=state["sim_time_s"])),
    )


def _exchange(context: Context, speaker: str) -> tuple[str, str]:
    """Return the exchange that prompts of the speaker show as an example, the same in all of them."""
    generator = keyed_generator(context.prompt_seed, agent=speaker, node="example_exchange")
    return generator.choice(exchanges(context.parameters.language))


def _human_needs(context: Context, speaker: str) -> HumanNeeds:
    """Return how a speaker feels: in all trials of a case alike; in a town it is that of a day, closeness of a pair."""
    start, seed = context.start, context.case_seed
    if context.parameters.case_seed == "seed" or not isinstance(start, Case) or start.initiator.stream is None:
        return draw_human_needs(keyed_generator(seed, agent=speaker, node="human_needs"))
    day, partner = start.time.toordinal(), start.other(speaker).persona.name
    of_the_day = draw_human_needs(keyed_generator(seed, round=day, agent=speaker, node="human_needs"))
    of_the_pair = draw_human_needs(keyed_generator(seed, round=day, agent=speaker, node=f"human_needs: {partner}"))
    return of_the_day.model_copy(update={"closeness": of_the_pair.closeness})
