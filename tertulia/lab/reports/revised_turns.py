"""Turns with a revised line: the removed units, all candidates, and the judge's findings. Source: APP Fig. 6."""

from collections.abc import Iterable, Iterator

from tertulia.lab.experiments.results import TrialRun
from tertulia.lab.pages.page import Block, Items, Paragraph, Section
from tertulia.state.store import Store
from tertulia.state.text import counted, number
from tertulia.views.reading.turns import TurnDetails, read_turn

#: Most turns that are shown, one of a conversation at most.
SHOWN = 6


def revised_turns(store: Store, runs: Iterable[TrialRun]) -> Section:
    """Return the first revised turn of each conversation that has one."""
    blocks: list[Block] = []
    shown = 0
    for found in runs:
        details = next(_revised(store, found), None) if shown < SHOWN else None
        if details is not None:
            shown += 1
            blocks += _shown(found, details)
    if not shown:
        blocks.append(Paragraph("No line of these conversations was revised."))
    return Section("Revised turns", blocks)


def _revised(store: Store, found: TrialRun) -> Iterator[TurnDetails]:
    """Yield the turns in which another line was said than the first."""
    start = store.start(found.run.run)
    for turn in store.turns(found.run.run, found.first_turn):
        if store.turn_record(found.run.run, turn.turn).chosen:
            yield read_turn(store, found.run, start, turn.turn)


def _shown(found: TrialRun, details: TurnDetails) -> Iterator[Block]:
    turn = details.record.turn
    where = f"{found.setting}, {found.case}, trial {found.trial}, run {details.run.run}"
    yield Paragraph(f"Turn {turn.turn} ({where}): {turn.speaker}")
    units = details.prompt.units if details.prompt else ()
    items = [unit for unit in units if unit.id in details.removed and unit.kind == "item"]
    lines: list[tuple[str | None, str]] = [(f"removed, {unit.block}", unit.text) for unit in items]
    for candidate in details.candidates:
        is_said = candidate.attempt == details.record.chosen
        about = f"{candidate.origin}, judged {number(candidate.inconsistency)}{', said' if is_said else ''}"
        comment = f" ({candidate.comment})" if candidate.comment else ""
        lines.append((about, f"{candidate.text}{comment}"))
    yield Items(lines or [(None, f"{counted(0, 'item')} removed")])
