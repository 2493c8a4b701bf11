"""The lines of turns with the actions that were set apart from their words (`actions=apart`)."""

from collections.abc import Sequence

from tertulia.prompts.renaming import renaming_of
from tertulia.state.records import Candidate, RunRecord, Turn
from tertulia.state.store import Store
from tertulia.state.text import one_line
from tertulia.views.reading.shared_turns import by_stretch


def lines_with_actions(store: Store, run: RunRecord, turns: Sequence[Turn]) -> dict[int, str]:
    """Return by number of turn the line as it was written, for those of a run whose actions were set apart."""
    lines: dict[int, str] = {}
    for stretch, there in by_stretch(store, run, turns):
        if stretch.run.parameters.get("actions") != "apart":
            continue
        for number in (turn.turn for turn in there if turn.speaker is not None):
            chosen = store.turn_record(run.run, number).chosen
            for candidate in store.candidates(run.run, number):
                if candidate.attempt == chosen and (line := with_actions(store, stretch.run, candidate)) is not None:
                    lines[number] = line
    return lines


def with_actions(store: Store, run: RunRecord, candidate: Candidate) -> str | None:
    """Return a candidate as it was written, in original names; `None` if no action was taken out of it."""
    written = next(iter((candidate.reply.with_actions or {}).values()), None)
    if written is None:
        return None
    names = str(run.parameters.get("names", "own"))
    return renaming_of(store.start(run.run).names, names).put_back(one_line(written))


def shown_turns(store: Store, run: RunRecord, turns: Sequence[Turn]) -> list[Turn]:
    """Return turns with their actions, for readers."""
    lines = lines_with_actions(store, run, turns)
    return [turn.model_copy(update={"text": lines.get(turn.turn, turn.text)}) for turn in turns]
