"""`tertulia lab report album`: two album chats beside each other, as a page, tables, plots and JSON."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.album_stored import EXCHANGES, an_album_run, write_album_run
from support.commands import Cli, rehearse
from support.letters import LetterEmbedder

from tertulia.storage.store import SqlStore


def longer(words: str) -> tuple[Any, ...]:
    return tuple(met._replace(plan=f"{met.plan} {words}", answer=f"{words} {met.answer}") for met in EXCHANGES)


@pytest.fixture
def store(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlStore]:
    """A store with a run of each setting, and an embedder that needs no weights."""
    monkeypatch.setattr("tertulia.cli.lab.reports_of_runs.open_embedding_model", lambda *_: LetterEmbedder())
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


def test_texts_that_the_embedder_can_not_read_have_no_sim_and_the_reason_stands_there(
    cli: Cli, store: SqlStore
) -> None:
    chinese = {"plan": "我选红门，因为它好看。", "question": "你喜欢这扇红色的门吗？", "answer": "我很喜欢它的颜色。"}
    write_album_run(store, an_album_run("zzzz", "high"), tuple(met._replace(**chinese) for met in EXCHANGES))
    document = cli("lab", "report", "album", "aaaa", "zzzz", "--json").json
    for row in (*document["figures"], *document["rounds"]):
        if row["figure"] == "sim":
            assert [row[side]["value"] for side in ("low", "high", "difference")] == [None, None, None]
    assert figure(document, "plan", "len")["high"]["value"] == 9
    (note,) = (note for note in document["notes"] if "sim" in note)
    assert note.startswith("sim is not measured, as letters can't read their language")
    assert "name one that can: --embedder" in note
    page = cli("lab", "report", "album", "aaaa", "zzzz").out
    assert "sim is not measured" in page
    assert "sim is measured with" not in page
