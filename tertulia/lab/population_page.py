"""The findings of `tertulia lab report population` as a page with tables and plots, and as JSON."""

from collections.abc import Iterator, Mapping, Sequence

from tertulia.lab.pages.page import (
    Block,
    Cell,
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
_PLACE = (Column("conversation", "conversation"), Column("case", "case"), Column("setting", "setting"))

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
    columns = [
        *_PLACE,
        Column("people", "people", "count"),
        Column("lines", "lines", "count"),
        Column("recited", "recited", "number", 2),
        Column("told_apart", "told apart"),
        *(column for name in _TESTED for column in (Column(name, name, "number"), Column(f"{name}_p", "p", "number"))),
        Column("chance", "attribution by chance", "number"),
    ]
    return Table("conversations", "Figures of each conversation", columns, [*map(_conversation_row, measured)])


def _conversation_row(of: MeasuredConversation) -> Sequence[Cell]:
    figures, told_apart = of.figures, "yes" if of.told_apart else "no"
    tested = (getattr(figures, field) for name in _TESTED for field in (name, f"{name}_p"))
    return [*_place(of), figures.people, figures.lines, figures.recited, told_apart, *tested, figures.chance]


def _halves(measured: Sequence[MeasuredConversation]) -> Table:
    columns = [*_PLACE, *(Column(name, metric_named(name).title, "number") for name in _CHANGES)]
    rows = [[*_place(of), *(of.values[name] for name in _CHANGES)] for of in measured]
    return Table("halves", "Beginnings and ends", columns, rows)


def _place(of: MeasuredConversation) -> tuple[str, str, str]:
    return of.placed.conversation.name, of.placed.conversation.case, of.placed.setting or "–"


def _means(report: PopulationReport, shown: Sequence[str]) -> Table:
    columns = (
        Column("figure", "figure"),
        Column("setting", "setting"),
        Column("mean", "mean", "number"),
        Column("interval", "95 %", "interval"),
        Column("cases", "cases", "count"),
        Column("trials", "conversations", "count"),
    )
    rows = [
        (metric_named(metric).title, setting or "–", found.value, interval_of(found), found.cases, found.trials)
        for metric in shown
        for setting, of in report.means.items()
        if (found := of.get(metric)) is not None
    ]
    return Table("means", "Means over cases", columns, rows, is_grouped=True)


def _differences(differences: Sequence[Difference]) -> Table:
    columns = (
        Column("figure", "figure"),
        Column("setting", "setting"),
        Column("difference", "difference", "difference"),
        Column("interval", "95 %", "interval"),
        Column("p", "p", "number"),
        Column("p_adjusted", "p, of the family", "number"),
        Column("decided", "decided"),
        Column("cases", "cases", "count"),
    )
    rows = [
        (
            metric_named(of.metric).title,
            of.setting,
            of.found.value,
            interval_of(of.found),
            of.found.p,
            of.p_adjusted,
            "yes" if _is_decided(of) else "no",
            of.found.cases,
        )
        for metric in COMPARED
        for of in differences
        if of.metric == metric
    ]
    return Table("differences", "Paired differences; p is Holm's over all of them", columns, rows, is_grouped=True)


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
    if not means:
        return []
    panels = [
        Panel(
            metric_named(metric).title,
            "",
            "",
            [
                Series(
                    metric_named(metric).title,
                    [_point(setting, of.get(metric)) for setting, of in means.items()],
                    style=0,
                )
            ],
            kind="bars",
        )
        for metric in COMPARED
        if any(metric in of for of in means.values())
    ]
    return [Figure("settings", "Means with 95 % intervals, by setting", panels)]


def _point(setting: str, found: CaseMean | None) -> Point:
    if found is None:
        return Point(setting or "all", None)
    return Point(setting or "all", found.value, found.ci_low, found.ci_high)


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
