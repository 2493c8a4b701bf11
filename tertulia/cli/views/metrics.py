"""Figures of dialogues as tables: a row for every case, and their mean."""

import re
from collections.abc import Iterable, Mapping

from rich.console import Console

from tertulia.cli.terminal.output import plain
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.cli.views.annotated import mark_rehearsed
from tertulia.metrics.by_index import mean_by_index
from tertulia.metrics.diversity import mean_over_cases
from tertulia.metrics.exclusiveness import mean_exclusiveness
from tertulia.metrics.fluency import mean_fluency
from tertulia.metrics.legibility import why_unread
from tertulia.metrics.variety import mean_variety
from tertulia.state.records import Record
from tertulia.state.text import number
from tertulia.views.measuring.measurement import Measurement
from tertulia.views.reading.faults import mean_sense

#: The folders above a Generative Agents run, in the name of a case.
_FOLDERS = re.compile(r"^ga:.*/(?=[^/])")


def print_measurement(console: Console, measured: Measurement) -> None:
    """Print all that was measured, a table for each kind of figure."""
    _print_cases(console, measured.diversity, mean_over_cases(measured.diversity.values()))
    truncated, embedded = measured.truncated
    if truncated:
        longer = f"{truncated} of {embedded} dialogues are longer than {measured.embedder} reads"
        console.print(plain(f"{longer}: sim is of their beginnings, sim_untruncated of all", "dim"))
    if measured.unread:
        cases = ", ".join(_FOLDERS.sub("ga:…/", case) for case in measured.unread)
        why = why_unread(measured.embedder, max(measured.unread.values()))
        console.print(plain(f"not measured: sim and vendi of {cases}, {why}"))
    console.print()
    _print_cases(console, measured.variety, mean_variety(measured.variety.values()))
    console.print()
    _print_cases(console, measured.sense, mean_sense(measured.sense.values()))
    if measured.by_index is not None:
        console.print()
        rows = [(str(found.index), found) for found in mean_by_index(measured.by_index.values())]
        _print_rows(console, "index", rows, without="index")
    if measured.exclusiveness is not None:
        console.print()
        _print_cases(console, measured.exclusiveness, mean_exclusiveness(measured.exclusiveness.values()))
    if measured.fluency is not None:
        console.print()
        _print_cases(console, measured.fluency, mean_fluency(measured.fluency.values()))
    for of_runs in (measured.removal, measured.inconsistency):
        if of_runs:
            console.print()
            _print_rows(console, "case", of_runs.items())
    mark_rehearsed(console, measured.cases.rehearsed)


def _print_cases(console: Console, cases: Mapping[str, Record], mean: Record) -> None:
    _print_rows(console, "case", [*cases.items(), ("mean", mean)])


def _print_rows(console: Console, heading: str, rows: Iterable[tuple[str, Record]], without: str = "") -> None:
    """Print a table with a column for each figure that is a number or lacking in every row."""
    found = [(label, figures.model_dump()) for label, figures in rows]
    names = [
        name
        for name in (found[0][1] if found else ())
        if name != without and all(isinstance(figures[name], float | int | None) for _, figures in found)
    ]
    lines = [
        Row((_FOLDERS.sub("ga:…/", label), *(_shown(figures[name]) for name in names))) for label, figures in found
    ]
    print_table(console, (heading, *names), lines, right=names)


def _shown(value: float | None) -> str:
    return str(value) if isinstance(value, int) else number(value)
