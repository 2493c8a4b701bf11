"""`tertulia lab report album`: two album chats beside each other, as a page, tables, plots and JSON."""

import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.album_stored import EXCHANGES, an_album_run, write_album_run
from support.commands import Cli, rehearse

from tertulia.lab.albums.album_comparison import compare_albums
from tertulia.lab.albums.album_page import album_page
from tertulia.lab.pages.page_data import csv_lines
from tertulia.lab.pages.page_markdown import markdown
from tertulia.storage.store import SqlStore


class Lengths:
    """Embeds a text by its length."""

    id = "lengths"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    embed_untruncated = embed


def longer(words: str) -> tuple[Any, ...]:
    return tuple(met._replace(plan=f"{met.plan} {words}", answer=f"{words} {met.answer}") for met in EXCHANGES)


@pytest.fixture
def store(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlStore]:
    """A store with a run of each setting, and an embedder that needs no weights."""
    monkeypatch.setattr("tertulia.cli.lab.reports_of_runs.open_embedding_model", lambda name: Lengths())
    with SqlStore.open(Path("tertulia.db")) as opened:
        opened.make_file()
        write_album_run(opened, an_album_run("aaaa", "low"))
        write_album_run(opened, an_album_run("bbbb", "high"), longer("because I like to remember"))
        yield opened


def figure(document: dict[str, Any], call: str, name: str) -> dict[str, Any]:
    (found,) = (row for row in document["figures"] if (row["call"], row["figure"]) == (call, name))
    return dict(found)


def test_both_settings_stand_beside_each_other_with_their_difference(cli: Cli, store: SqlStore) -> None:
    document = cli("lab", "report", "album", "aaaa", "bbbb", "--json").json
    length = figure(document, "plan", "len")
    assert length["low"]["value"] == pytest.approx((4 + 3 + 3 + 3) / 4)
    assert length["difference"]["value"] == pytest.approx(5)
    assert length["difference"]["ci_low"] is None  # it is 5 without anybody
    assert length["low"]["ci_low"] < 3.25 < length["low"]["ci_high"]
    assert (length["low"]["n"], length["difference"]["n"]) == (4, 3)
    assert figure(document, "question", "sim")["difference"]["value"] == pytest.approx(0)
    assert [document[side]["setting"] for side in ("low", "high")] == ["low", "high"]
    rounds = [row["round"] for row in document["rounds"] if (row["call"], row["figure"]) == ("answer", "sim")]
    assert rounds == [1, 2]
    asked = [row["low"]["value"] for row in document["rounds"] if row["figure"] == "asked_before"]
    assert asked == [0.0, 0.5]  # Ben asks in the second round what Ada asked in the first


def test_the_page_and_the_tables_say_the_same_and_are_not_overwritten_unasked(cli: Cli, store: SqlStore) -> None:
    result = cli("lab", "report", "album", "aaaa", "bbbb", "--out", "found")
    folder = Path("found/album")
    written = {"album.md", "album.html", "album.json", "album_exchanges.svg", "album_figures.csv", "album_texts.svg"}
    assert {file.name for file in folder.iterdir()} >= written
    assert result.err.count("wrote found/") == len([*folder.iterdir()])
    text = (folder / "album.md").read_text()
    assert "| call | figure | low (aaaa) | 95 % | n | high (bbbb) |" in text
    assert "| plan | len | 3.250 | [" in text
    assert "(<album_texts.svg>)" in text
    assert text.startswith(result.out[:200])
    rows = list(csv.DictReader((folder / "album_figures.csv").open()))
    (length,) = (row for row in rows if (row["call"], row["figure"]) == ("plan", "len"))
    assert float(length["low"]) == 3.25
    assert float(length["difference"]) == 5.0
    of_rounds = list(csv.DictReader((folder / "album_rounds.csv").open()))
    assert {row["round"] for row in of_rounds} == {"1", "2"}
    assert "<svg" in (folder / "album_texts.svg").read_text()
    _check_overwriting(cli, folder)


def _check_overwriting(cli: Cli, folder: Path) -> None:
    """Nothing is overwritten unasked; when asked, the same runs make the same files."""
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    for name in before:
        (folder / name).unlink()
    command = ("lab", "report", "album", "aaaa", "bbbb", "--out")
    (folder / "album.md").write_text("mine")
    cli(*command, "found").complains(2, "album.md exists already", "--force")
    assert (folder / "album.md").read_text() == "mine"
    assert cli(*command, "found", "--force").code == 0
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    cli(*command, "tertulia.db").complains(2, "this is a file; give a folder")


def test_without_matplotlib_the_command_that_installs_it_is_named_before_anything_is_run(
    cli: Cli, store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    problem = cli("lab", "report", "album", "aaaa", "bbbb", "--out", "found")
    problem.complains(2, "matplotlib", "pip install --editable '.[lab]'")
    assert cli("lab", "report", "album", "aaaa", "bbbb").code == 0  # the page needs no plots


def test_what_can_not_be_compared_is_refused_in_one_line(cli: Cli, store: SqlStore) -> None:
    cli("lab", "report", "album", "bbbb", "aaaa").complains(2, "give the low one first")
    cli("lab", "report", "album", "aaaa").complains(2, "give two runs")
    cli("lab", "report", "album").complains(2, "give two runs")
    cli("lab", "report", "album", "aaaa", "bbbb", "--seed", "8").complains(2, "--seed: report album reads stored runs")
    cli("lab", "report", "album", "aaaa", "nope").complains(3, "nope")
    cli("lab", "report", "album", "aaaa", rehearse(cli)).complains(2, "no album chat")
    write_album_run(store, an_album_run("none", "high"), ())
    cli("lab", "report", "album", "aaaa", "none").complains(2, "nobody has met yet", "tertulia resume none")


def test_the_reader_is_warned_of_what_else_differs(cli: Cli, store: SqlStore) -> None:
    write_album_run(store, an_album_run("cccc", "high", seed=9, status="interrupted", rehearsed=True), EXCHANGES[:2])
    notes = cli("lab", "report", "album", "aaaa", "cccc", "--json").json["notes"]
    assert any("cccc is rehearsed" in note for note in notes)
    assert any("cccc is interrupted" in note for note in notes)
    assert any(note.startswith("the two runs differ in more than the setting:") and "seed" in note for note in notes)
    assert "aaaa has 2 rounds, cccc 1 round" in notes
    alike = cli("lab", "report", "album", "aaaa", "bbbb", "--json").json["notes"]
    assert not any("differ in more" in note for note in alike)


def test_a_model_that_writes_markdown_writes_no_table(store: SqlStore) -> None:
    write_album_run(store, an_album_run("evil", "high", model="a|b\n# c"))
    text = list(markdown(album_page(compare_albums(store, "aaaa", "evil", Lengths(), "x|y")), {}))
    assert not [line for line in text if line.startswith("# c")]
    assert any(r"a\|b \# c" in line for line in text)


def test_tables_leave_unknown_figures_empty(store: SqlStore) -> None:
    write_album_run(store, an_album_run("once", "high"), EXCHANGES[:1])
    compared = compare_albums(store, "aaaa", "once", Lengths(), "lengths")
    (figures,) = (table for table in album_page(compared).tables() if table.name == "figures")
    rows = list(csv.DictReader(csv_lines(figures)))
    (sim,) = (row for row in rows if (row["call"], row["figure"]) == ("plan", "sim"))
    assert (sim["high"], sim["difference"]) == ("", "")
    assert "| – |" in "\n".join(markdown(album_page(compared), {}))


def test_how_much_makes_no_sense_or_is_said_again_stands_beside_dist_n(cli: Cli, store: SqlStore) -> None:
    same = "How many people does the pot need?"
    asked = EXCHANGES[0]._replace(question=same, answer=same)
    again = EXCHANGES[2]._replace(plan="I choose the pot!", answer=same)
    write_album_run(store, an_album_run("cccc", "high"), (asked, EXCHANGES[1], again))
    document = cli("lab", "report", "album", "aaaa", "cccc", "--json").json
    for call, without_sense, repeated in (("plan", 0, 1 / 3), ("question", 0, 0), ("answer", 1 / 3, 1 / 3)):
        values = [figure(document, call, name)["high"]["value"] for name in ("without_sense", "repeated_lines")]
        assert values == [pytest.approx(without_sense), pytest.approx(repeated)], call
    assert cli("lab", "report", "album", "aaaa", "cccc", "--out", "album").code == 0
    shown = Path("album/album/album.md").read_text(encoding="utf-8")
    for name in ("without_sense", "repeated_lines"):
        assert f"- **{name.replace('_', ' ')}**: " in shown
        assert name in Path("album/album/album_figures.csv").read_text(encoding="utf-8")
    (second,) = (
        row["high"]["value"]
        for row in document["rounds"]
        if (row["call"], row["figure"], row["round"]) == ("answer", "repeated_lines", 2)
    )
    assert second == 1, "what was said in an earlier round counts"
