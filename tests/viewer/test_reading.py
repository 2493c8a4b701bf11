"""Reading for many requests: of one moment, dropped if nobody waits, and figures that grow turn by turn."""

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.exported_page import unpacked_values, whole
from support.requests_to_page import ask
from support.viewer_page import serving

import tertulia
from tertulia.storage.sqlite.database import StoreFile
from tertulia.storage.store import SqlStore
from tertulia.viewer import server
from tertulia.viewer.documents import value_table
from tertulia.viewer.documents.by_path import document_at
from tertulia.viewer.documents.figures import KeptFigures, RunFigures, figures_page
from tertulia.viewer.documents.value_table import ValueTable
from tertulia.viewer.store_reader import StoreReader


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reading") / "t.db"
    quiet: dict[str, Any] = {"rehearse": True, "store": path, "progress": False}
    tertulia.run("tidewell", rounds=3, **quiet)
    meeting = tertulia.run("team_building", rounds=7, removal_factor=0.5, **quiet)
    meeting.fork(4, removal_factor=0.9, progress=False)
    tertulia.run("villagers", rounds=1, **quiet)
    return path


def test_a_request_sees_the_store_as_it_is_at_one_moment(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    tertulia.run("tidewell", rounds=1, rehearse=True, store=path, progress=False)

    def labels(store: SqlStore) -> list[str | None]:
        before = store.runs()[0].label
        with SqlStore.open(path) as other:
            other.set_label(other.runs()[0].run, "later")
        return [before, store.runs()[0].label]

    async def read() -> list[list[str | None]]:
        reader = StoreReader(path)
        try:
            return [await reader.read(labels), await reader.read(labels)]
        finally:
            reader.close()

    assert asyncio.run(read()) == [[None, None], ["later", "later"]]


# --- figures --------------------------------------------------------------------------------------------------------


def test_figures_that_grow_turn_by_turn_are_those_of_the_whole(store: Path) -> None:
    with SqlStore.open(store) as opened:
        for record in opened.runs():
            start, whole = opened.start(record.run), figures_page(opened, record.run)
            figures = RunFigures(start)
            for turns in range(record.turns + 1):
                so_far = record.model_copy(update={"turns": turns})
                figures.read(opened, so_far, start)
                assert len(dict.fromkeys(figures.utterances["turn"])) <= turns
            assert (figures.utterances, figures.making) == (whole["utterances"], whole["making"])
            assert figures.participation(opened, record, start) == whole["participation"]


def test_figures_that_were_read_are_not_read_again(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = KeptFigures()
    with SqlStore.open(store) as opened:
        first = [json.dumps(figures_page(opened, record.run, kept)) for record in opened.runs()]
        for method in ("turns", "part_turns", "summaries"):
            monkeypatch.setattr(SqlStore, method, None, raising=False)
        assert [json.dumps(figures_page(opened, record.run, kept)) for record in opened.runs()] == first


# --- requests that are given up -------------------------------------------------------------------------------------


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[list[str], threading.Event]]:
    """Figures that are read only once an event is set, and the runs of which they were."""
    asked, may_go = list[str](), threading.Event()

    def slow(_store: SqlStore, run: str, _kept: KeptFigures) -> dict[str, str]:
        asked.append(run)
        assert may_go.wait(30)
        return {"run": run}

    monkeypatch.setattr(server, "figures_page", slow)
    yield asked, may_go
    may_go.set()


def test_a_list_waits_for_no_figures_and_figures_that_nobody_waits_for_are_not_read(
    store: Path, held: tuple[list[str], threading.Event]
) -> None:
    asked, may_go = held
    with serving(store) as address:
        connections = [http.client.HTTPConnection(urlsplit(address).netloc, timeout=30) for _ in range(6)]
        for number, connection in enumerate(connections):
            connection.request("GET", f"/api/runs/{number}/figures")
            assert ask(address, "api/runs").status == 200
        for connection in connections:
            connection.close()
        for _ in range(3):  # the server hears of it
            assert ask(address, "api/runs?first=1").json["total"] == 4
        may_go.set()
        assert ask(address, "api/runs/last/figures").json == {"run": "last"}
    assert asked == ["0", "last"]


def test_a_meeting_is_exported_with_few_statements_a_turn(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statements, executed = list[str](), StoreFile.executed

    def counted(file: StoreFile, sql: str, values: Any, of: str | None = None) -> Any:
        statements.append(sql)
        return executed(file, sql, values, of)

    with SqlStore.open(store) as opened:
        record = next(run for run in opened.runs() if run.scenario == "team_building" and run.parent is None)
        monkeypatch.setattr(StoreFile, "executed", counted)
        pages = [document_at(opened, f"runs/{record.run}/turns/{turn}") for turn in range(1, record.turns + 1)]
    assert [len(page["cognition"]) for page in pages] == [5] * record.turns
    assert len(statements) / record.turns < 35  # one for each step of each agent would be twice as many


def test_values_that_are_forgotten_are_kept_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_table, "REMEMBERED", 10)
    table, texts = ValueTable(), [f"{'a long text with the number ' * 3}{number}" for number in range(30)]
    documents = [{"texts": texts[at : at + 6], "more": [{"text": text} for text in texts[:4]]} for at in range(25)] * 2
    numbers = [table.add(document) for document in documents]
    table.close_chunk()
    values = unpacked_values(table.chunks)
    assert [whole(values, number) for number in numbers] == documents
