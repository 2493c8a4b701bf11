"""The glossary: every term occurs, no heading is left unexplained; terminal and documentation have its sentences."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import Cli, rehearse
from support.examples import ROOT

from tertulia.lab.glossary import Term, glossary
from tertulia.metrics.by_index import IndexFigures
from tertulia.metrics.diversity import DiversityFigures
from tertulia.metrics.exclusiveness import Exclusiveness
from tertulia.metrics.fluency import FluencyFigures
from tertulia.metrics.pruning import Inconsistency, Removal
from tertulia.metrics.variety import VarietyFigures
from tertulia.state.meeting import Attendee
from tertulia.viewer.example import example_store
from tertulia.views.reading.faults import SenseFigures

PAGE_SOURCE = ROOT / "tertulia" / "viewer" / "page" / "src"

#: The tables of `metrics`.
FIGURES = (
    *(DiversityFigures, VarietyFigures, SenseFigures, IndexFigures),
    *(Exclusiveness, FluencyFigures, Removal, Inconsistency),
)

#: Headings in plain English, or explained below their table.
PLAIN = {
    *("A", "B", "about", "after", "agrees", "before", "by being asked", "by content", "by waiting", "closes"),
    *("created", "date", "day", "days", "default", "dialogues", "ended_by", "experiment", "failed", "finished"),
    *("from", "goals met", "jokes", "label", "leadership", "lines", "mediates", "mediation settled"),
    *("memories", "met", "minds time", "missing", "model", "more varied", "noticed", "objects", "order", "parameter"),
    *("people", "proposals taken up", "proposes", "ratings", "report", "run", "scenario", "setting"),
    *("share of time", "silent", "simulation", "speaking after silence", "speaking time", "spoken", "status"),
    *("steering followed", "steers", "town", "wanting after silence", "what it does", "words"),
}


def printed(cli: Cli, folder: Path) -> Iterator[str]:
    """Yield the output of the commands that a newcomer reads: of rehearsals, and of the shipped conversations."""
    dialogue, other = rehearse(cli, "--lambda", "0.5"), rehearse(cli, "--lambda", "1")
    meeting = cli("run", "team_building", "--rehearse", "--lambda", "0.5", "--rounds", "6", "--json").json["run"]
    town = cli("simulate", "tidewell", "--rehearse", "--days", "1", "--encounters-per-day", "1").err.split()[1]
    sweep = ("sweep", "tidewell:0", "tidewell:1", "--rehearse", "--lambda", "0,0.5", "--trials", "2", "--rounds", "2")
    cli(*sweep, "--name", "knob")
    embedder = ("--embedder", "rehearsal")
    yield from (
        cli(*command).out
        for command in (
            *(("runs",), ("show", dialogue), ("show", dialogue, "--turn", "2"), ("diff", dialogue, other)),
            *(("show", meeting, "--turn", "3"), ("replay", meeting, "--thoughts"), ("stats", meeting)),
            *(("behaviour", meeting, *embedder), ("inventory", meeting), ("days",), ("days", town)),
            *(("metrics", dialogue, "--against", other, "--by-index", *embedder), ("settings",)),
            *(("lab", "list"), ("lab", "compare", "knob"), ("lab", "report"), ("scenarios", "check", "team_building")),
        )
    )
    shipped = str(example_store(folder))
    runs = cli("runs", "--store", shipped, "--json").json["runs"]
    for label in ("λ = 0.5", None):
        run = next(row["run"] for row in reversed(runs) if row["label"] == label and row["turns"] > 2)
        yield from (cli("show", run, "--turn", str(turn), "--store", shipped).out for turn in (2, 3))


def headings_in(text: str) -> Iterator[str]:
    """Yield the headings of tables in a piped output: each cell of a first line with tabs."""
    lines = text.splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        if "\t" in line and "\t" not in before and not line.startswith(("  ", "→", "✗", "·")):
            yield from filter(None, line.split("\t"))


def test_every_term_occurs_and_every_heading_is_plain_or_a_term(cli: Cli, tmp_path: Path) -> None:
    texts = list(printed(cli, tmp_path))
    assert all(texts)
    page = "".join(file.read_text(encoding="utf-8") for file in PAGE_SOURCE.rglob("*.tsx"))
    names = {name for figures in FIGURES for name in figures.model_fields}
    seen = "\n".join([*texts, *names, *Attendee.model_fields])  # the page's forks edit fields of people

    def occurs(term: Term) -> bool:
        return term.found_in(seen) is not None or f'<Term of="{term.name}"' in page

    assert [term.name for term in glossary() if not term.is_cell and not occurs(term)] == []
    headings = names | {heading for text in texts for heading in headings_in(text)}
    unexplained = {name for name in headings if not any(term.found_in(name) for term in glossary())}
    assert sorted(unexplained - PLAIN) == []
    assert PLAIN - unexplained == set()


def test_explain_ends_the_output_with_the_terms_that_it_used(cli: Cli) -> None:
    run = rehearse(cli, "--lambda", "0.5")
    plain, explained = cli("show", run, "--turn", "2"), cli("show", run, "--turn", "2", "--explain")
    assert explained.out.startswith(plain.out)
    sentences = explained.out.removeprefix(plain.out).strip().splitlines()
    assert any(line.startswith("rolled back: a candidate was set aside") for line in sentences)
    assert not any(line.startswith(("nats: ", "bid: ")) for line in sentences)
    named = cli("metrics", run, "--embedder", "rehearsal", "--explain").out.splitlines()
    assert "dist1: distinct words over all words of a case's dialogues; from 0 to 1; higher is more varied" in named
    assert cli("diff", run, rehearse(cli, "--lambda", "1"), "--exit-code", "--explain").code == 4
    cli("show", run, "--json", "--explain").complains(2, "--explain", "--json")


def test_colours_of_a_terminal_hide_no_term(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("run", "team_building", "--rehearse", "--rounds", "2").code == 0
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    out = cli("stats", "@last", "--explain").out
    assert "\x1b[" in out
    assert "the seconds that a willing agent takes" in out  # latency is a heading alone


def table(terms: list[Term]) -> str:
    """Return terms as a table of Markdown."""
    rows = ["| term | meaning |", "|---|---|"]
    for term in terms:
        source = f" ({term.source})" if term.source else ""
        name = f"{term.name}, `{term.seen[0]}`" if term.is_cell else term.name
        rows.append(f"| {name} | {term.sentence}{source} |")
    return "\n".join(rows)


def test_the_page_of_the_documentation_has_the_same_sentences() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    for is_measure in (False, True):
        expected = table([term for term in glossary() if term.is_cell == is_measure])
        assert expected in page, expected
