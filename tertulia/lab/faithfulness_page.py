"""The findings of `lab faithfulness` as a page, as JSON, and the learned weights of heads as a file."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

from tertulia.lab.faithfulness import (
    BASELINES,
    MEASURES,
    SCORERS,
    TOPS,
    Comparison,
    Faithfulness,
    LineFigures,
    lines_phrase,
)
from tertulia.lab.pages.page import (
    Block,
    Cell,
    Column,
    Commands,
    Figure,
    Items,
    Page,
    Panel,
    Paragraph,
    Point,
    Section,
    Series,
    Table,
    Taken,
    table_of,
)
from tertulia.lab.reports.provenance import hardware, versions_phrase
from tertulia.lab.reports.report_tables import interval_of
from tertulia.metrics.faithfulness import LearnedHeads
from tertulia.state.documents import SCHEMA_VERSION, Document

NAME = "faithfulness"

#: How many heads stand on the page.
_HEADS_SHOWN = 10

_TITLES = {
    "lds": "LDS",
    "first": "first",
    "first3": "in first 3",
    "share": "share of the largest",
    **{f"drop{k}": f"top-{k} drop" for k in TOPS},
}

_READING = (
    (
        "LDS",
        "Spearman's ρ, over the random ablations of a line, of the sum of the scores of the units that were kept with "
        "the log-probability of the line; 1 where scores rank every ablation right. Chance is not 0: whatever has more "
        "units mostly explains a line better, and `random` has that too.",
    ),
    (
        "top-k drop",
        "how much the mean log-probability of the line's tokens falls, in nats a token, where the k units with the "
        "highest scores are removed; below 0 the line became likelier.",
    ),
    (
        "first, in first 3, share of the largest",
        "of the unit with the highest score, by what the line loses without each unit, measured: whether it has the "
        "largest loss, one of the three largest, and how large it is beside the largest.",
    ),
    (
        "figures",
        "of a line, averaged over the lines of a case; intervals and tests are those of cases and their sources "
        "(Student's t, CR2); p is adjusted within LDS and within the drops (Holm).",
    ),
    (
        "verdicts",
        "reproduced: the scorer tells more than what it is compared with; not reproduced: less; bounded: neither, and "
        f"less than {MEASURES['lds']:g} of LDS or {MEASURES['drop1']:g} nats more; undecided: the rest.",
    ),
    (
        "leave_one_out, context_cite",
        "read the line again for every figure of theirs, so they are upper references. The LDS of context_cite is that "
        "of ablations that it was not fitted on.",
    ),
)


def faithfulness_page(found: Faithfulness, command: str) -> Page:
    """Return the page; its weights of heads are a file beside it."""
    sections = [
        Section("Figures", [figures_table(found), _bars(found), _lines_table(found)]),
        Section("Comparisons", [comparisons_table(found)]),
    ]
    if found.weights is not None:
        sections.append(Section("Weights of heads (AT2)", [*_heads(found, found.weights)]))
    sections.append(Section("How to read this", [Items(_READING)]))
    beside = {} if found.weights is None else {"at2.json": _weights_text(found, found.weights)}
    title = "Do scores tell what a line depended on?"
    return Page(NAME, title, [*_head(found, command)], sections, beside)


def _head(found: Faithfulness, command: str) -> Iterator[Block]:
    yield Paragraph(
        "Does Eq. 1 (attention summed over heads and layers, per unit of the prompt) tell which units a line depended "
        "on, better than the length of a unit does, or chance?"
    )
    yield Paragraph(headline(found))
    for note in found.notes:
        yield Paragraph(note, is_warning=True)
    yield Items(
        [
            ("model", found.model),
            ("lines", f"{lines_phrase(found)}, {found.ablations} random ablations of each"),
            ("machine that wrote this page", hardware()),
            ("versions", versions_phrase()),
        ]
    )
    yield Commands([command])


def headline(found: Faithfulness) -> str:
    """Return the findings on the first scorer, in words."""
    scorer = next((name for name in found.scorers if name not in BASELINES), BASELINES[0])
    phrases = [_phrase(each) for each in found.comparisons if each.is_primary and each.scorer == scorer]
    return f"LDS of {scorer}: {'; '.join(phrases)}."


def _phrase(comparison: Comparison) -> str:
    value, interval = comparison.found.value, interval_of(comparison.found)
    if value is None:
        return f"against {comparison.baseline}, no figure"
    shown = f"{value:+.3f}" + ("" if interval is None else f" [{interval[0]:+.3f}, {interval[1]:+.3f}]")
    return f"{shown} against {comparison.baseline}, {_verdict(comparison)}"


def _verdict(comparison: Comparison) -> str:
    return comparison.outcome if comparison.bound is None else f"bounded: at most {comparison.bound:.3f}"


def figures_table(found: Faithfulness) -> Table:
    """Return a row per scorer, with every measure and its interval."""
    columns = [Column("scorer", "scorer"), Column("what", "what it is")]
    for measure in found.measures:
        title = _TITLES[measure]
        columns += [Column(measure, title, "number"), Column(f"{measure}_interval", "95 % interval", "interval")]
    columns += [Column("lines", "lines", "count"), Column("cases", "cases", "count")]
    columns.append(Column("sources", "sources", "count"))
    rows: list[list[Cell]] = []
    for scorer in found.scorers:
        means = {measure: found.mean(scorer, measure) for measure in found.measures}
        cells: list[Cell] = [scorer, SCORERS[scorer]]
        for mean in means.values():
            cells += [mean.value, interval_of(mean)]
        rows.append([*cells, means["lds"].trials, means["lds"].cases, means["lds"].sources])
    return Table("figures", "What scores tell, by scorer", columns, rows)


_COMPARISONS: Sequence[Taken[Comparison]] = (
    (Column("measure", "measure"), lambda of: _TITLES[of.measure]),
    (Column("claim", "what should hold"), lambda of: f"{of.scorer} > {of.baseline}"),
    (Column("difference", "difference", "difference"), lambda of: of.found.value),
    (Column("interval", "95 % interval", "interval"), lambda of: interval_of(of.found)),
    (Column("p", "p", "number", 4), lambda of: of.p),
    (Column("p_adjusted", "p (Holm)", "number", 4), lambda of: of.p_adjusted),
    (Column("verdict", "verdict"), lambda of: _verdict(of)),
)


def comparisons_table(found: Faithfulness) -> Table:
    """Return a row per comparison, those of LDS first."""
    return table_of("comparisons", "Against length, and against chance", _COMPARISONS, found.comparisons)


def _lines_table(found: Faithfulness) -> Table:
    columns: list[Taken[tuple[LineFigures, str]]] = [
        (Column("run", "run"), lambda of: of[0].line.key[0]),
        (Column("turn", "turn", "count"), lambda of: of[0].line.key[1]),
        (Column("case", "case"), lambda of: of[0].line.case),
        (Column("source", "source"), lambda of: of[0].source),
        (Column("units", "units", "count"), lambda of: len(of[0].line.units)),
        (Column("log_probability", "with all units", "number"), lambda of: of[0].full),
        (Column("scorer", "scorer"), lambda of: of[1]),
    ]
    columns += [(Column(name, _TITLES[name], "number"), partial(_measured, name)) for name in found.measures]
    return table_of("lines", "By line", columns, product(found.lines, found.scorers), on_page=False)


def _measured(name: str, of: tuple[LineFigures, str]) -> float | None:
    line, scorer = of
    return line.by_scorer[scorer][name]


def _bars(found: Faithfulness) -> Figure:
    panels = []
    for measure in found.measures:
        title = _TITLES[measure]
        means = {scorer: found.mean(scorer, measure) for scorer in found.scorers}
        points = [Point(scorer, mean.value, mean.ci_low, mean.ci_high) for scorer, mean in means.items()]
        unit = "Spearman's ρ" if measure == "lds" else "nats per token"
        panels.append(Panel(title, "", unit, [Series(title, points)], kind="bars"))
    return Figure("bars", "LDS and top-k drops by scorer, with 95 % intervals", panels, columns=2)


# --- weights of heads -----------------------------------------------------------------------------------------------


def _heads(found: Faithfulness, learned: LearnedHeads) -> Iterator[Block]:
    by_layer = _by_layer(found, learned)
    positive = sum(weight > 0 for weights in by_layer for weight in weights)
    yield Paragraph(
        f"A weight for each of {len(by_layer)} layers × {len(by_layer[0])} heads, learned from all {learned.responses} "
        f"lines together (penalty {learned.penalty:g}); {positive} of {len(learned.weights)} are above 0, where Eq. 1 "
        "gives all the same. A line's figures above are of weights that were learned without its source. The file "
        f"{NAME}_at2.json has all; the {_HEADS_SHOWN} largest by size:"
    )
    placed = [(layer, head, weight) for layer, weights in enumerate(by_layer) for head, weight in enumerate(weights)]
    placed.sort(key=lambda place: -abs(place[2]))
    largest = abs(placed[0][2]) or 1.0
    columns = [Column("layer", "layer", "count"), Column("head", "head", "count")]
    columns.append(Column("weight", "weight, of the largest", "difference"))
    rows: list[list[Cell]] = [[layer, head, weight / largest] for layer, head, weight in placed]
    yield Table("heads", "The largest weights", columns, rows[:_HEADS_SHOWN])


def _by_layer(found: Faithfulness, learned: LearnedHeads) -> list[list[float]]:
    heads = len(learned.weights) // found.layers
    weights = learned.weights.tolist()
    return [weights[layer * heads : (layer + 1) * heads] for layer in range(found.layers)]


def _weights_text(found: Faithfulness, learned: LearnedHeads) -> str:
    content = {
        "schema_version": SCHEMA_VERSION,
        "what": "AT2 (arXiv 2504.13752): a unit's score is the sum of these weights times each head's attention to it",
        "model": found.model,
        "penalty": learned.penalty,
        "lines": learned.responses,
        "sources": [*learned.sources],
        "weights_by_layer_and_head": _by_layer(found, learned),
    }
    return json.dumps(content)


def faithfulness_document(found: Faithfulness, targets: Sequence[str]) -> Document:
    """Return it as JSON; unknown figures are null."""

    def mean(scorer: str, measure: str) -> dict[str, Any]:
        return found.mean(scorer, measure).model_dump()

    return {
        "schema_version": SCHEMA_VERSION,
        "report": NAME,
        "experiment": ", ".join(targets),
        "model": found.model,
        "ablations": found.ablations,
        "lines": [{"run": each.line.key[0], "turn": each.line.key[1], "case": each.line.case} for each in found.lines],
        "figures": {scorer: {measure: mean(scorer, measure) for measure in found.measures} for scorer in found.scorers},
        "comparisons": [
            {
                "measure": each.measure,
                "scorer": each.scorer,
                "baseline": each.baseline,
                "verdict": each.outcome,
                "p_adjusted": each.p_adjusted,
                "bound": each.bound,
                "found": each.found.model_dump(),
            }
            for each in found.comparisons
        ],
        "notes": [*found.notes],
    }
