"""How often the laboratory's verdicts err: its tests on made figures of which the truth is known.

A truth is put in the place of conversations: the figure of every case in every setting of Table 2. The verdicts on the
paper's orderings then come from the same code as those of a report. Without an effect, every decision is wrong.

Source: APP Table 2, for the settings, the orderings and the size of effects.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt

from tertulia.lab.pages.page import Cell, Column, Table
from tertulia.lab.reports.ordering_tests import Figures
from tertulia.lab.reports.papers import Report, metric_named, report_of
from tertulia.lab.reports.verdicts import OUTCOMES, Outcome, verdicts
from tertulia.metrics.statistics import CaseFigure
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Record

#: The report whose settings and orderings are used.
_REPORT = "table2"

#: The standard deviation of a case's figure in a setting, about that of two dialogues of four lines; of cases, of a
#: source's effect on a setting, and how skewed a skewed truth is.
_NOISE, _OF_CASES, _OF_SOURCES, _SKEW = 0.04, 0.08, 0.04, 4.0

#: At a ceiling: the mean of figures that can be 1 at most.
_AT_CEILING = 0.97


class Rate(Record):
    """How the orderings came out of many repetitions of a truth."""

    truth: str
    what: str
    cases: int
    sources: int
    repetitions: int
    orderings: int
    outcomes: dict[Outcome, float]
    families_wrong: float | None  # share of repetitions with any wrong verdict; None if there is an effect
    large: float | None  # of the two largest effects, memory and all blocks: share reproduced; None without one


@dataclass(frozen=True)
class _Truth:
    """A truth.

    Attributes:
        effect: How much of the published differences is there, from 0 to 1.
        of_sources: Whether sources differ in the effect of a setting.
        copied: Whether the control has the same effect.
    """

    what: str
    effect: float = 0.0
    of_sources: bool = False
    is_at_ceiling: bool = False
    is_skewed: bool = False
    copied: bool = False


_TRUTHS: Mapping[str, _Truth] = {
    "null": _Truth("no setting differs"),
    "null, clusters": _Truth("no setting differs, but in each source by chance", of_sources=True),
    "null, ceiling": _Truth("no setting differs, figures near the most they can be", is_at_ceiling=True),
    "null, skewed": _Truth("no setting differs, figures are skewed", is_skewed=True),
    "effect": _Truth("the published differences", effect=1.0),
    "effect, clusters": _Truth("the published differences, and in each source by chance", 1.0, of_sources=True),
    "effect, copied": _Truth("the published differences, which the control has as well", effect=1.0, copied=True),
}

#: The effects that the paper makes most of.
_LARGE = ("RMm", "RMbmpe")


def check_verdicts(
    repetitions: int = 200,
    cases: int = 16,
    sources: int = 8,
    seed: int = 1,
    show: Callable[[str], None] = lambda text: None,
) -> list[Rate]:
    """Return how the orderings of Table 2 come out under each truth.

    Args:
        cases, sources: Of every simulated experiment; a truth without clusters has its cases from one source.
        seed: Of the generator that figures are drawn with.
    """
    report = report_of(_REPORT)
    rates = []
    for number, (name, truth) in enumerate(_TRUTHS.items()):
        show(f"{name}: {repetitions} experiments of {cases} cases")
        rng = keyed_generator(seed, round=number, agent="", node="check_verdicts")
        rates.append(_rate(name, truth, report, repetitions, cases, sources if truth.of_sources else 1, rng))
    return rates


def _rate(
    name: str, truth: _Truth, report: Report, repetitions: int, cases: int, sources: int, rng: random.Random
) -> Rate:
    draw = partial(_figures, truth, report, cases, sources, rng)
    counts = dict.fromkeys(OUTCOMES, 0)
    wrong = large = of_large = 0
    for _ in range(repetitions):
        figures = draw(truth.effect)
        found = verdicts(report.orderings, figures, control=draw(truth.effect if truth.copied else 0.0))
        for verdict in found:
            counts[verdict.outcome] += 1
            if verdict.ordering.id in [f"dist3: {setting} > Full" for setting in _LARGE]:
                of_large += 1
                large += verdict.outcome == "reproduced"
        wrong += any(verdict.outcome in ("reproduced", "not reproduced") for verdict in found)
    of_all = repetitions * len(report.orderings)
    return Rate(
        truth=name,
        what=truth.what,
        cases=cases,
        sources=sources,
        repetitions=repetitions,
        orderings=len(report.orderings),
        outcomes={outcome: count / of_all for outcome, count in counts.items()},
        families_wrong=None if truth.effect else wrong / repetitions,
        large=large / of_large if truth.effect else None,
    )


def _figures(truth: _Truth, report: Report, cases: int, sources: int, rng: random.Random, effect: float) -> Figures:
    """Draw the figures of an experiment, in which a share of the published differences is there."""
    of_cases = [rng.gauss(0, _OF_CASES) for _ in range(cases)]
    figures: dict[str, dict[str, dict[str, CaseFigure]]] = {}
    for setting, published in report.published.items():
        of_sources = [rng.gauss(0, _OF_SOURCES) if truth.of_sources else 0.0 for _ in range(sources)]
        for metric, figure in published.items():
            level = _AT_CEILING if truth.is_at_ceiling else 0.3 if metric == "dist1" else 0.5
            level += effect * (figure - report.published[report.baseline][metric])
            most = metric_named(metric).bounds[1]
            figures.setdefault(setting, {})[metric] = {
                f"case {case}": CaseFigure(
                    min(most, level + of_cases[case] + of_sources[case % sources] + _noise(truth, rng)),
                    source=str(case % sources),
                )
                for case in range(cases)
            }
    return figures


def _noise(truth: _Truth, rng: random.Random) -> float:
    if truth.is_skewed:
        return _NOISE * (rng.gammavariate(1 / _SKEW, _SKEW) - 1) / sqrt(_SKEW)
    return rng.gauss(0, _NOISE)


def rates_table(rates: Sequence[Rate]) -> Table:
    """Return a row per truth: the share of orderings with each outcome, and the wrong part of it."""
    shown = [outcome for outcome in OUTCOMES if any(rate.outcomes[outcome] for rate in rates)]
    columns = [
        Column("truth", "truth"),
        Column("sources", "sources", "count"),
        *(Column(outcome.replace(" ", "_"), outcome, "number") for outcome in shown),
        Column("families_wrong", "experiments with a wrong verdict", "number"),
        Column("large", "large effects reproduced", "number"),
    ]
    rows: list[list[Cell]] = [
        [rate.truth, rate.sources, *(rate.outcomes[outcome] for outcome in shown), rate.families_wrong, rate.large]
        for rate in rates
    ]
    return Table("check", "How often verdicts err", columns, rows)
