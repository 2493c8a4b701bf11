"""The findings of `tertulia lab report population` as a page with tables and plots, and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter

from tertulia.lab.pages.page import (
    Block,
    Column,
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
from tertulia.lab.population import (
    COMPARED,
    OF_ANSWERS,
    OF_LINES,
    Difference,
    MeasuredConversation,
    PopulationReport,
)
from tertulia.lab.reports.papers import metric_named
from tertulia.lab.reports.report_tables import interval_of
from tertulia.metrics.inference import CONFIDENCE
from tertulia.metrics.statistics import CaseMean, excludes_zero
from tertulia.state.documents import SCHEMA_VERSION, Document

NAME = "population"

#: Conversations whose moments are drawn, a line each.
_DRAWN = 8

#: The place of a conversation.
_PLACE: Sequence[Taken[MeasuredConversation]] = (
    (Column("conversation", "conversation"), attrgetter("placed.conversation.name")),
    (Column("case", "case"), attrgetter("placed.conversation.case")),
    (Column("setting", "setting"), lambda of: of.placed.setting or "–"),
)

#: Figures of a conversation that compare its halves, or its ends with others'.
_CHANGES = ("spread_early", "spread_late", "attribution_change", "attractor")

#: Figures of a conversation that have a p of their own.
_TESTED = ("apart", "pull", "towards", "attribution", "coverage")


def population_page(report: PopulationReport) -> Page:
    """Return the page: conversations, means, differences, plots, and the limits of each figure."""
    shown = [metric for metric in (*OF_LINES, *OF_ANSWERS) if any(metric in of for of in report.means.values())]
    of_each: list[Block] = [_conversations(report.measured), _halves(report.measured), _moments(report.measured)]
    sections = [Section("Conversations", of_each)]
    if len(report.measured) > 1:
        sections.append(Section("Means", [_means(report, shown), *_bars(report)]))
    if report.differences:
        heading = f"Against {report.gathered.baseline}"
        sections.append(Section(heading, [_differences(report.differences)]))
    meanings = [(metric_named(metric).title, metric_named(metric).meaning) for metric in shown]
    sections.append(Section("What the figures are, and what they can't tell", [Items(meanings)]))
    return Page(NAME, _title(report), list(_head(report)), sections)


def _title(report: PopulationReport) -> str:
    of = f": experiment {report.gathered.experiment}" if report.gathered.experiment else ""
    return f"Do people become one another?{of}"


def _head(report: PopulationReport) -> Iterator[Block]:
    told_apart = sum(of.told_apart for of in report.measured)
    yield Paragraph(
        f"In {told_apart} of {len(report.measured)} conversations people are told apart by what they say, by distance "
        "and by attribution (p ≤ 0.05 each, who spoke exchanged within moments). Lines are embedded with "
        f"{report.embedder}, without names; what recites a persona does not count."
    )
    yield from (Paragraph(note, is_warning="stand-in" in note) for note in report.notes)


# --- tables ---------------------------------------------------------------------------------------------------------


def _conversations(measured: Sequence[MeasuredConversation]) -> Table:
    columns: list[Taken[MeasuredConversation]] = [
        *_PLACE,
        (Column("people", "people", "count"), attrgetter("figures.people")),
        (Column("lines", "lines", "count"), attrgetter("figures.lines")),
        (Column("recited", "recited", "number", 2), attrgetter("figures.recited")),
        (Column("told_apart", "told apart"), lambda of: "yes" if of.told_apart else "no"),
    ]
    for name in _TESTED:
        columns.append((Column(name, name, "number"), attrgetter(f"figures.{name}")))
        columns.append((Column(f"{name}_p", "p", "number"), attrgetter(f"figures.{name}_p")))
    columns.append((Column("chance", "attribution by chance", "number"), attrgetter("figures.chance")))
    return table_of("conversations", "Figures of each conversation", columns, measured)


def _halves(measured: Sequence[MeasuredConversation]) -> Table:
    columns = [*_PLACE]
    columns += [(Column(name, metric_named(name).title, "number"), partial(_value, name)) for name in _CHANGES]
    return table_of("halves", "Beginnings and ends", columns, measured)


def _value(name: str, of: MeasuredConversation) -> float | None:
    return of.values[name]


_MEANS: Sequence[Taken[tuple[str, str, CaseMean]]] = (
    (Column("figure", "figure"), lambda of: metric_named(of[0]).title),
    (Column("setting", "setting"), lambda of: of[1] or "–"),
    (Column("mean", "mean", "number"), lambda of: of[2].value),
    (Column("interval", "95 %", "interval"), lambda of: interval_of(of[2])),
    (Column("cases", "cases", "count"), lambda of: of[2].cases),
    (Column("trials", "conversations", "count"), lambda of: of[2].trials),
)


def _means(report: PopulationReport, shown: Sequence[str]) -> Table:
    found = [(metric, setting, of[metric]) for metric in shown for setting, of in report.means.items() if metric in of]
    return table_of("means", "Means over cases", _MEANS, found, is_grouped=True)


_DIFFERENCES: Sequence[Taken[Difference]] = (
    (Column("figure", "figure"), lambda of: metric_named(of.metric).title),
    (Column("setting", "setting"), lambda of: of.setting),
    (Column("difference", "difference", "difference"), lambda of: of.found.value),
    (Column("interval", "95 %", "interval"), lambda of: interval_of(of.found)),
    (Column("p", "p", "number"), lambda of: of.found.p),
    (Column("p_adjusted", "p, of the family", "number"), lambda of: of.p_adjusted),
    (Column("decided", "decided"), lambda of: "yes" if _is_decided(of) else "no"),
    (Column("cases", "cases", "count"), lambda of: of.found.cases),
)


def _differences(differences: Sequence[Difference]) -> Table:
    ordered = sorted(differences, key=lambda of: COMPARED.index(of.metric))
    title = "Paired differences; p is Holm's over all of them"
    return table_of("differences", title, _DIFFERENCES, ordered, is_grouped=True)


def _is_decided(of: Difference) -> bool:
    return of.p_adjusted is not None and of.p_adjusted <= 1 - CONFIDENCE and excludes_zero(of.found)


# --- plots ----------------------------------------------------------------------------------------------------------


def _moments(measured: Sequence[MeasuredConversation]) -> Figure:
    """Return spread and apart by moment, of the first conversations that have some."""
    drawn = [of for of in measured if of.figures.moments][:_DRAWN]
    panels = [
        Panel(
            title,
            "moment",
            "cosine distance",
            [
                Series(
                    of.placed.conversation.name,
                    [Point(at, getattr(moment, field)) for at, moment in enumerate(of.figures.moments, 1)],
                )
                for of in drawn
            ],
            whole_x=True,
        )
        for field, title in (("spread", "Spread"), ("apart", "Apart, as measured"))
    ]
    title = "Spread and apart by moment" + ("" if len(drawn) == len(measured) else f", of {len(drawn)} conversations")
    return Figure("moments", title, panels, columns=2)


def _bars(report: PopulationReport) -> list[Figure]:
    means = {setting: of for setting, of in report.means.items() if of}
    panels = []
    for metric in COMPARED:
        if any(metric in of for of in means.values()):
            title = metric_named(metric).title
            points = [_point(setting, of.get(metric)) for setting, of in means.items()]
            panels.append(Panel(title, "", "", [Series(title, points, style=0)], kind="bars"))
    return [Figure("settings", "Means with 95 % intervals, by setting", panels)] if panels else []


def _point(setting: str, found: CaseMean | None) -> Point:
    parts = () if found is None else (found.value, found.ci_low, found.ci_high)
    return Point(setting or "all", *(parts or (None,)))


# --- JSON -----------------------------------------------------------------------------------------------------------


def population_document(report: PopulationReport) -> Document:
    """Return the figures as JSON; unknown figures are null."""
    names = dict.fromkeys(metric for of in report.means.values() for metric in of)
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": report.gathered.experiment or None,
        "baseline": report.gathered.baseline or None,
        "embedder": report.embedder,
        "rehearsed": report.rehearsed,
        "notes": list(report.notes),
        "conversations": [*map(_conversation_document, report.measured)],
        "means": {setting: _means_document(of) for setting, of in report.means.items()},
        "differences": [
            {
                "setting": of.setting,
                "figure": of.metric,
                **of.found.model_dump(include={"value", "ci_low", "ci_high", "p", "cases", "trials", "effect_size"}),
                "p_adjusted": of.p_adjusted,
                "decided": _is_decided(of),
            }
            for of in report.differences
        ],
        "meanings": {metric: metric_named(metric).meaning for metric in names},
    }


def _conversation_document(of: MeasuredConversation) -> Document:
    conversation = of.placed.conversation
    return {
        "conversation": conversation.name,
        "case": conversation.case,
        "setting": of.placed.setting or None,
        "trial": of.placed.trial,
        "rehearsed": conversation.rehearsed,
        "told_apart": of.told_apart,
        **of.figures.model_dump(),
        **of.values,
    }


def _means_document(means: Mapping[str, CaseMean]) -> Document:
    return {metric: found.model_dump() for metric, found in means.items()}
