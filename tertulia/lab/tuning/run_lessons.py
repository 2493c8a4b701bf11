"""From stored runs, and scenarios with lines, to lessons: a model learns to say the lines spoken there.

A dialogue of two is assembled anew in the layout of small models, with the memories that its prompts showed, so that a
large model's runs teach a small one. Meetings and albums are taught from their prompts as they are, if these have that
layout.
"""

from collections.abc import Sequence
from pathlib import Path

from tertulia.lab.tuning.dialogue_lessons import dialogue_lesson, memories_of
from tertulia.lab.tuning.lesson import Lesson
from tertulia.prompts.assemble import reply_prefix_of
from tertulia.prompts.remove import remove_units
from tertulia.state.album import PARTS
from tertulia.state.errors import UsageError
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Case, RunRecord, TurnRecord
from tertulia.state.store import Store
from tertulia.worlds.scenario_file import TwoPartyScenario, read_scenario_file

#: The most memories of a person in a lesson: of those that prompts showed, the ones that were shown most often.
_MEMORIES = 12


def lessons_of_run(store: Store, run: RunRecord) -> list[Lesson]:
    """Return the lessons of a run; there are none if nobody spoke, or the layout is another one.

    Raises:
        UsageError: Its turns have no prompts.
    """
    start, turns = store.start(run.run), [turn for turn in store.turns(run.run) if turn.speaker is not None]
    if not turns:
        return []
    records = [store.turn_record(run.run, turn.turn) for turn in turns]
    if all(record.prompt is None for record in records):
        raise UsageError(f"the turns of run {run.run} have no prompts to learn from; leave it out")
    if isinstance(start, Case):
        lines = [(turn.speaker or "", turn.text) for turn in turns]
        speakers = [name for name in start.names if any(speaker == name for speaker, _ in lines)]
        generator = keyed_generator(run.seed, node="lesson")
        shown = {name: _as_shown(store, start, name, records) for name in speakers}
        return [dialogue_lesson(shown[name], lines, name, generator) for name in speakers]
    parts = (*PARTS.values(),) if start.kind == "album_chat" else ("",)
    found = [_as_stored(store, run, record, part) for record in records for part in parts]
    return [lesson for lesson in found if lesson is not None]


def lessons_of_file(path: Path) -> list[Lesson]:
    """Return the lessons of a scenario file of two people with lines.

    Raises:
        ScenarioError: It can't be read.
        UsageError: It has no lines.
    """
    scenario = read_scenario_file(path)
    if not isinstance(scenario, TwoPartyScenario) or not scenario.lines:
        raise UsageError(f"{path} has no lines to learn from; a scenario of two people has them under `lines`")
    case = scenario.case(str(path))
    speakers = [name for name in case.names if any(speaker == name for speaker, _ in scenario.lines)]
    generator = keyed_generator(0, node="lesson")
    return [dialogue_lesson(case, scenario.lines, name, generator) for name in speakers]


def _as_shown(store: Store, case: Case, name: str, records: Sequence[TurnRecord]) -> Case:
    """Return a case in which a person remembers only the items that their prompts showed most often."""
    counts: dict[str, int] = {}
    for record in records:
        if record.turn.speaker == name and record.prompt is not None:
            for unit in store.prompt(record.prompt).units:
                if unit.block == "memory" and unit.kind == "item":
                    counts[unit.text.removeprefix("- ")] = counts.get(unit.text.removeprefix("- "), 0) + 1
    often = sorted(counts, key=lambda text: -counts[text])[:_MEMORIES]
    kept = case.participant(name).model_copy(update={"memories": memories_of(often, case.time)})
    is_first = case.initiator.persona.name == name
    return case.model_copy(update={"initiator" if is_first else "partner": kept})


def _as_stored(store: Store, run: RunRecord, record: TurnRecord, part: str) -> Lesson | None:
    """Return a stored prompt with the line said to it; `None` without one, or in another layout."""
    outcome = store.parts(run.run, record.turn.turn).get(part) if part else record
    if outcome is None or outcome.prompt is None:
        return None
    prompt = store.prompt(outcome.prompt)
    if prompt.layout != "chat_turns":
        return None
    candidates = store.candidates(run.run, record.turn.turn, part)
    chosen = next((candidate for candidate in candidates if candidate.attempt == outcome.chosen), None)
    prefix = reply_prefix_of(prompt)
    if chosen is None or not chosen.reply.text.startswith(prefix):
        return None
    return Lesson(run.kind, remove_units(prompt, outcome.removed), answer=(prefix, chosen.reply.text[len(prefix) :]))
