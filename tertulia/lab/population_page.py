"""The findings of `tertulia lab report population` as a page with tables and a plot, and as JSON."""

from collections.abc import Iterator, Sequence
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
from tertulia.lab.population import OF_ANSWERS, OF_LINES, MeasuredConversation, PopulationReport
from tertulia.lab.reports.papers import metric_named
from tertulia.lab.reports.report_tables import interval_of
from tertulia.metrics.statistics import CaseMean
from tertulia.state.documents import SCHEMA_VERSION, Document

NAME = "population"

#: Conversations whose moments are drawn, a line each.
_DRAWN = 8

#: The place of a conversation.
_PLACE: Sequence[Taken[MeasuredConversation]] = (
    (Column("conversation", "conversation"), attrgetter("conversation.name")),
    (Column("case", "case"), attrgetter("conversation.case")),
)

#: Figures of a conversation that compare its halves, or its ends with others'.
_CHANGES = ("spread_early", "spread_late", "attribution_change", "attractor")

#: Figures of a conversation that have a p of their own.
_TESTED = ("apart", "pull", "towards", "attribution", "coverage")


def population_page(report: PopulationReport) -> Page:
    """Return the page: conversations, means, and the limits of each figure."""
    shown = [metric for metric in (*OF_LINES, *OF_ANSWERS) if metric in report.means]
    of_each: list[Block] = [_conversations(report.measured), _halves(report.measured), _moments(report.measured)]
    sections = [Section("Conversations", of_each)]
    if len(report.measured) > 1:
        sections.append(Section("Means", [_means(report, shown)]))
    meanings = [(metric_named(metric).title, metric_named(metric).meaning) for metric in shown]
    sections.append(Section("What the figures are, and what they can't tell", [Items(meanings)]))
    return Page(NAME, "Do people become one another?", list(_head(report)), sections)


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


_MEANS: Sequence[Taken[tuple[str, CaseMean]]] = (
    (Column("figure", "figure"), lambda of: metric_named(of[0]).title),
    (Column("mean", "mean", "number"), lambda of: of[1].value),
    (Column("interval", "95 %", "interval"), lambda of: interval_of(of[1])),
    (Column("cases", "conversations", "count"), lambda of: of[1].cases),
)


def _means(report: PopulationReport, shown: Sequence[str]) -> Table:
    return table_of("means", "Means", _MEANS, [(metric, report.means[metric]) for metric in shown])


# --- a plot ---------------------------------------------------------------------------------------------------------


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
                    of.conversation.name,
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


# --- JSON -----------------------------------------------------------------------------------------------------------


def population_document(report: PopulationReport) -> Document:
    """Return the figures as JSON; unknown figures are null."""
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": ", ".join(of.conversation.name for of in report.measured),
        "embedder": report.embedder,
        "rehearsed": report.rehearsed,
        "notes": list(report.notes),
        "conversations": [*map(_conversation_document, report.measured)],
        "means": {metric: found.model_dump() for metric, found in report.means.items()},
        "meanings": {metric: metric_named(metric).meaning for metric in report.means},
    }


def _conversation_document(of: MeasuredConversation) -> Document:
    return {
        "conversation": of.conversation.name,
        "case": of.conversation.case,
        "rehearsed": of.conversation.rehearsed,
        "told_apart": of.told_apart,
        **of.figures.model_dump(),
        **of.values,
    }
