"""The making of an utterance: the weight of every unit, the removed units, and the candidates with their judgement."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tertulia.cli.terminal.lines import spoken
from tertulia.cli.terminal.output import bar, plain
from tertulia.state.records import HOSTED_SCENARIO, Candidate, Prompt, Unit
from tertulia.state.text import clean, in_words, number, shortened
from tertulia.views.reading.faults import faults_in_words
from tertulia.views.reading.removal import remarks, removal_in_words, variations_in_words, written_in_words
from tertulia.views.reading.turns import LineDetails, as_written, parameters_of_speaker
from tertulia.views.wording.phrases import judged_in_words

_BAR = 16
#: Characters of a model's thought that are shown.
_THOUGHT = 400


def print_making(console: Console, details: LineDetails) -> None:
    """Print the making of an utterance."""
    if details.prompt is None:
        source = "given by the graph" if details.run.scenario == HOSTED_SCENARIO else "written by hand"
        console.print(plain(f"{source}: there was no prompt, and nobody judged it", "dim"))
        for candidate in details.candidates:
            console.print(Text.assemble(("→ said  ", "green"), plain(candidate.text)))
        for remark in remarks(details).values():
            console.print(plain(remark, "yellow"))
        return
    _print_variations(console, details, details.prompt)
    _print_units(console, details, details.prompt)
    _print_attention(console, details)
    _print_candidates(console, details)


def _print_variations(console: Console, details: LineDetails, prompt: Prompt) -> None:
    if variations := variations_in_words(details, prompt):
        console.print(plain("varied: " + "; ".join(variations), "bold"))


def _print_units(console: Console, details: LineDetails, prompt: Prompt) -> None:
    """Print every unit with how much the line leaned on it as bar and number, the measured loss, and the score of λ.

    A removed unit is marked and struck. Bars grow with the root of the number, so that small ones differ, too.
    """
    shown = {
        "leaned on by the line": (details.record.line_scores, details.nameable),
        "measured": (details.measured, details.informing),
        "score of λ": (details.record.scores, details.removable),
    }
    columns = [_Column.of(scores, units) for scores, units in shown.values() if scores]
    block = None
    for unit in prompt.units:
        if unit.block != block:
            block = unit.block
            console.print(plain(in_words(block), "bold cyan"))
        gone = unit.id in details.removed
        mark = "✗" if gone else " " if unit.removable else "·"
        line = Text.assemble((mark, "red"), " ")
        for place, column in enumerate(columns):
            line.append(column.cell(unit.id, with_bar=place == 0), "" if unit.removable else "dim")
        line.append(clean(unit.text), "strike dim" if gone else "" if unit.kind == "item" else "italic")
        line.truncate(console.width, overflow="ellipsis")
        console.print(line)
    names = " | ".join(name for name, (scores, _) in shown.items() if scores)
    console.print(plain("; ".join(filter(None, (names, "✗ removed, · not by λ itself"))), "dim"))


@dataclass(frozen=True)
class _Column:
    """Numbers of units, with as many digits as the largest of those that count needs."""

    scores: Mapping[str, float]
    scale: float

    @classmethod
    def of(cls, scores: Mapping[str, float], units: Sequence[Unit]) -> "_Column":
        """Return the column of some scores; `units`: those that can be leaned on, or that λ may remove."""
        scale = max((abs(scores[unit.id]) for unit in units if unit.id in scores), default=0.0)
        return cls(scores, scale or max(map(abs, scores.values()), default=0.0) or 1.0)

    def cell(self, unit: str, *, with_bar: bool) -> str:
        """Return the number of a unit, behind a bar if `with_bar`."""
        digits = max(3, 2 - math.floor(math.log10(self.scale)))
        width = max(len(number(score, digits)) for score in self.scores.values())
        share = max(0.0, self.scores.get(unit, 0.0)) / self.scale  # without a unit, a line may be likelier
        drawn = f"{bar(math.sqrt(share), _BAR):<{_BAR}} " if with_bar else ""
        return f"{drawn}{number(self.scores.get(unit), digits):>{width}}  "


def _print_attention(console: Console, details: LineDetails) -> None:
    first, *remarks = removal_in_words(details)
    console.print(plain(first, "dim" if details.record.scores is None else "bold"))
    for remark in remarks:
        console.print(plain(remark, "yellow"))


def _print_candidates(console: Console, details: LineDetails) -> None:
    record, parameters = details.record, parameters_of_speaker(details)
    threshold = parameters.inconsistency_threshold
    judged = (
        f"judged: {record.judged_by}, conflict above the threshold {threshold}" if record.judged_by else "not judged"
    )
    rewritten = f", {details.rewritings} rewritten" if details.rewritings else ""
    way = ", revision=off" if record.judged_by and parameters.revision == "off" else ""
    console.print()
    console.print(plain(f"{judged}, {record.rollbacks} rolled back{rewritten}{way}", "bold"))
    for candidate in details.candidates:
        _print_candidate(console, candidate, details)


def _print_candidate(console: Console, candidate: Candidate, details: LineDetails) -> None:
    chosen = candidate.attempt == details.record.chosen
    figure = judged_in_words(candidate, details)
    mark = ("→ said  ", "green") if chosen else "        "
    line = spoken(candidate.text)
    line.stylize("" if chosen else "dim")
    if candidate.origin in ("rewritten", "vetoed", "by_hand"):
        line.append(f"  ({candidate.origin.replace('_', ' ')})", "dim")
    rows = Table.grid()
    rows.add_row(Text.assemble(mark, f"{figure:>6}  "), line)
    if (written := as_written(candidate, details.prompt)) is not None:
        rows.add_row("", plain(f"as written: {written}", "dim"))
    for acted in (candidate.reply.with_actions or {}).values():
        rows.add_row("", Text.assemble(("with its actions: ", "dim"), spoken(acted)))
    if thought := candidate.reply.thought:
        whole = f" ({len(thought)} characters; --json has all)" if len(thought) > _THOUGHT else ""
        rows.add_row(
            "", plain(f"it thought, and did not say: {shortened(clean(thought), _THOUGHT)}{whole}", "dim italic")
        )
    if written := written_in_words(candidate):
        rows.add_row("", plain(written, "dim"))
    if candidate.rewritable is not None:
        verdict = "suffices" if candidate.rewritable else "does not suffice"
        rows.add_row("", plain(f"what was removed {verdict} to rewrite it", "dim"))
    if candidate.faults and not chosen:
        rows.add_row("", plain(faults_in_words(candidate.faults), "dim"))
    if candidate.comment:
        rows.add_row("", plain(f"the judge: {candidate.comment}", "dim italic"))
    console.print(rows)
