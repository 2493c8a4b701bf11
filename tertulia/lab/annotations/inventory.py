"""Have a model fill in the personality inventory about each person, for every 30 turns in which they spoke.

Its answers about the people of some runs are a report, with the paper's table.

Source: ChatAgents §IV-C, Table I, App. E.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tertulia.lab.annotations.annotating import AnnotationRequest
from tertulia.metrics.personality import (
    HIGHEST,
    LOWEST,
    TEAM_BUILDING,
    DimensionFigures,
    PoleFigures,
    RatedSegment,
    segments,
    table_of_poles,
    tells_people_apart,
)
from tertulia.prompts.annotation import ask_inventory, inventory_items
from tertulia.state.annotation import Annotation
from tertulia.state.cognition import Character
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.language_model import REHEARSAL, ReplyField
from tertulia.state.records import RunRecord, Turn
from tertulia.state.store import Store
from tertulia.state.text import number
from tertulia.views.reading.rounds import read_characters

#: Items in a call: two calls for the inventory.
ITEMS_PER_CALL = 22


def inventory_requests(turns: Sequence[Turn]) -> list[AnnotationRequest]:
    """Return the requests for a conversation: two calls per person and segment in which they spoke."""
    return [
        _annotation_request([turn for turn in turns if segment.first <= turn.turn <= segment.last], name, at, part)
        for segment in segments(turns)
        for name in segment.speakers
        for at, part in enumerate(items_by_call())
    ]


def items_by_call() -> list[list[str]]:
    """Return the 44 items, in two calls."""
    items = [*inventory_items().values()]
    return [items[first : first + ITEMS_PER_CALL] for first in range(0, len(items), ITEMS_PER_CALL)]


def rated_items(annotation: Annotation) -> dict[int, int]:
    """Return the ratings of an annotation by the number of the item."""
    numbers = {item: number for number, item in inventory_items().items()}
    return {numbers[item]: int(rating) for item, rating in annotation.answers.items()}


def item_fields(items: Sequence[str]) -> tuple[ReplyField, ...]:
    """Return the fields of an answer that rates items."""
    return tuple(ReplyField(item, "integer", minimum=LOWEST, maximum=HIGHEST) for item in items)


def rated_segments(
    run: RunRecord, annotations: Sequence[Annotation], characters: Mapping[str, Character]
) -> list[RatedSegment]:
    """Return the ratings of every person in each segment, from the answers to all requests about a run.

    The characters are everybody as they entered a meeting; there are none in a dialogue of two.
    """
    ratings: dict[tuple[str, int, int], dict[int, int]] = {}
    for annotation in annotations:
        key = annotation.agent, annotation.first, annotation.last
        ratings.setdefault(key, {}).update(rated_items(annotation))
    return [
        RatedSegment(
            run=run.run,
            agent=agent,
            first=first,
            last=last,
            poles=characters[agent].big_five if agent in characters else (),
            ratings=rated,
        )
        for (agent, first, last), rated in ratings.items()
    ]


def _annotation_request(turns: Sequence[Turn], name: str, part: int, items: Sequence[str]) -> AnnotationRequest:
    return AnnotationRequest(
        instrument="inventory",
        agent=name,
        first=turns[0].turn,
        last=turns[-1].turn,
        part=part,
        prompt=ask_inventory(turns, name, items),
        fields=item_fields(items),
    )


@dataclass(frozen=True)
class InventoryReport:
    """The ratings of everybody in each segment of 30 turns, over some runs, with the answers by run."""

    runs: Sequence[RunRecord]
    answers: Mapping[str, Sequence[Annotation]]
    segments: Sequence[RatedSegment]

    @property
    def table(self) -> Sequence[DimensionFigures]:
        """The figures of the paper's Table I."""
        return table_of_poles(self.segments)

    @property
    def models(self) -> list[str]:
        """The models that answered."""
        return list(dict.fromkeys(answer.model for answers in self.answers.values() for answer in answers))

    @property
    def rehearsed(self) -> bool:
        """Whether a stand-in without weights spoke or answered, so that the figures mean nothing."""
        return REHEARSAL in self.models or any(run.rehearsed for run in self.runs)

    @property
    def tells_people_apart(self) -> bool:
        """Whether the ratings of people differ."""
        return tells_people_apart(self.segments)


def inventory_report(
    store: Store, runs: Sequence[RunRecord], answers: Mapping[str, Sequence[Annotation]]
) -> InventoryReport:
    """Return the report on some runs, from the answers to all requests about each (`inventory_requests`)."""
    segments: list[RatedSegment] = []
    for run in runs:
        segments += rated_segments(run, answers[run.run], read_characters(store, run.run))
    return InventoryReport(runs, answers, segments)


def table_rows(
    table: Sequence[DimensionFigures], paper: Sequence[DimensionFigures]
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield the rows of Table I in words, each with whether it is the paper's, which follows that of the runs."""
    published = {figures.dimension: figures for figures in paper}
    for figures in table:
        beside = published.get(figures.dimension)
        for first, pole in ((True, figures.high), (False, figures.low)):
            p = (_p(figures.p), _p(figures.p_people)) if first else ("", "")
            dimension = figures.dimension if first else ""
            yield (dimension, pole.pole, _interval(pole), str(pole.people), str(pole.ratings), *p), False
            if beside:
                of_paper = beside.high if first else beside.low
                yield ("", "  paper", _interval(of_paper), "", "", "<.001" if first else "", ""), True


def table_notes(table: Sequence[DimensionFigures], has_paper: bool) -> list[str]:
    """Return the notes under Table I."""
    notes = ["ratings: one per person and segment of 30 turns; p: Welch's test over them, and over people's means"]
    if missing := {why for row in table for why in (row.p_missing, row.p_people_missing) if why}:
        notes.append(f"– for p: {'; '.join(sorted(missing))}")
    if has_paper:
        notes.append("the paper's figures are of five runs of team_building with GPT-4o")
    return notes


def _interval(pole: PoleFigures) -> str:
    if pole.ci_low is None or pole.ci_high is None:
        return number(pole.mean, 2)
    return f"{number(pole.mean, 2)} [{pole.ci_low:.2f}, {pole.ci_high:.2f}]"


def _p(value: float | None) -> str:
    return "–" if value is None else "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def inventory_document(report: InventoryReport, paper: bool = False) -> Document:
    """Return ratings and figures as JSON; with `paper` the published figures beside them."""
    return {
        "schema_version": SCHEMA_VERSION,
        "runs": [run.run for run in report.runs],
        "models": report.models,
        "rehearsed": report.rehearsed,
        "tells_people_apart": report.tells_people_apart,
        "table": [figures.model_dump() for figures in report.table],
        **({"paper": [figures.model_dump() for figures in TEAM_BUILDING]} if paper else {}),
        "segments": [segment.model_dump() | {"scores": segment.scores} for segment in report.segments],
        "cost": [_cost_document(run, report.answers[run.run]) for run in report.runs],
    }


def _cost_document(run: RunRecord, answers: Sequence[Annotation]) -> Document:
    return {
        "run": run.run,
        "calls": len(answers),
        "prompt_tokens": sum(answer.prompt_tokens for answer in answers),
        "reply_tokens": sum(answer.reply_tokens for answer in answers),
        "seconds": sum(answer.seconds for answer in answers),
    }
