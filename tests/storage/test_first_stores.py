"""Stores as the first and the second version left them: migrated as a whole, and read like new ones."""

import base64
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database
from support.group_stored import a_group_run, a_meeting, read_all, write_meeting
from support.stored import NOW, a_case, a_run, a_turn_record, write_turn, write_turns

from tertulia.state.cognition import Assessment
from tertulia.state.errors import StorageError
from tertulia.state.records import Memory, TurnRecord
from tertulia.storage.parts.contents import content_hash
from tertulia.storage.parts.search import search
from tertulia.storage.schema import APPLICATION_ID
from tertulia.storage.sqlite import migrations
from tertulia.storage.store import SqlStore
from tertulia.storage.values import bound


def make_version(connection: sqlite3.Connection, before: str) -> None:
    """Make the tables of the version that a migration found."""
    migrations.MIGRATIONS.apply(Database(connection), stop_before=before)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def write_version_1(path: Path) -> None:
    """A store as the first release left it, with one run and one turn."""
    case = json.dumps(a_case().model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
    with closing(sqlite3.connect(path)) as connection:
        make_version(connection, before="steps_and_calls")
        for number, text in enumerate((case, "Hello."), start=1):
            connection.execute("INSERT INTO contents VALUES (?, ?, ?)", (number, content_hash(text), text))
        run = a_run()
        values = (run.run, "finished", run.scenario, run.model, run.embedder, 0, "7", json.dumps(run.parameters))
        connection.execute(
            """INSERT INTO runs (run, status, scenario, model, embedder, rehearsed, seed, parameters, created, case_id)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)""",
            (*values, run.created.isoformat()),
        )
        connection.execute("INSERT INTO turns VALUES ('k3f9', 1, 1, 'Ana', 2, 0.0, 0, NULL, 0, 0, 0, NULL, NULL)")
        connection.commit()


@pytest.mark.parametrize("create", [True, False])
def test_a_store_of_the_first_version_still_shows_its_run(path: Path, create: bool) -> None:
    write_version_1(path)
    for _ in ("migrated", "opened again"):
        with SqlStore.open(path, create=create) as store:
            assert store.runs() == [a_run(status="finished", turns=1)]
            assert store.start("k3f9") == a_case()
            assert [turn.text for turn in store.turns("k3f9")] == ["Hello."]
            assert store.calls("k3f9") == []
    with SqlStore.open(path) as store:
        write_turn(store, "k3f9", 2)
        write_meeting(store)
        assert [run.run for run in store.runs()] == ["m33t", "k3f9"]


VIEWS = ("each_run", "each_turn", "each_agent_round", "each_unit", "each_call")
HALF = "half an \ud83d"


def write_version_2(path: Path) -> SqlStore:
    """A store as the second release left it, with a dialogue and a meeting; return the same runs in a new one."""
    store = SqlStore.open(":memory:")
    write_turns(store, "k3f9", 1, 2)
    known = Memory(id="m", kind="event", text=f"The lake was {HALF}.", created=NOW, importance=3)
    meeting, case = a_meeting(), a_case()
    ada, bo = meeting.participants[0], case.partner
    people = (ada.model_copy(update={"memories": (known, known)}), *meeting.participants[1:])
    store.create_run(a_run(), case.model_copy(update={"partner": bo.model_copy(update={"memories": (known,)})}))
    store.create_run(a_group_run(), meeting.model_copy(update={"participants": people}))
    write_meeting(store)
    spoken = a_turn_record(3).turn.model_copy(update={"text": f"I am {HALF}."})
    store.save_turn("k3f9", TurnRecord(turn=spoken))
    with closing(sqlite3.connect(path)) as connection:
        make_version(connection, before="checksums_and_lineage")
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            columns = ", ".join({"voices": "participant_models"}.get(name, name) for name in names)
            for row in store.file.database.execute(f"SELECT {columns} FROM {table}"):
                values = [
                    base64.b85encode(value).decode() if name == "tokens" else value
                    for name, value in zip(names, row, strict=True)
                ]
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", [*map(bound, values)])
        connection.commit()
    return store


def test_a_store_of_the_second_version_is_as_if_this_one_had_written_it_and_can_be_forked(path: Path) -> None:
    with write_version_2(path) as new, SqlStore.open(path) as old:
        assert [(run.run, run.kind) for run in old.runs()] == [("m33t", "group_chat"), ("k3f9", "dialogue")]
        for run in ("k3f9", "m33t"):
            assert read_all(old, run) == read_all(new, run)
        assert len(old.calls("m33t")) == len(old.steps("m33t", "assess", Assessment)) + 1
        for view in VIEWS:
            not_noted = {"parameters": None} if view == "each_call" else {}
            rows = old.file.rows(f"SELECT * FROM {view}")
            assert rows == [row | not_noted for row in new.file.rows(f"SELECT * FROM {view}")]
            assert rows
        passages = "SELECT run, turn, agent, kind, text FROM passages ORDER BY kind, run, turn, agent"
        assert old.file.rows(passages) == new.file.rows(passages)
        assert [found.kind for found in search(old.file, "half an")] == ["memory", "memory", "utterance"]
        assert [found.run for found in search(old.file, "thinks number 8")] == ["m33t"] * 3
        old.create_run(a_group_run("f0rk", parent=("m33t", 4)), old.start("m33t"))
        assert old.turns("f0rk") == old.turns("m33t", 1, 3)
        assert (old.calls("f0rk", 3), old.calls("f0rk", 4)) == (old.calls("m33t", 3), [])


def test_a_migration_is_whole_or_not_at_all(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_version_1(path)
    monkeypatch.setitem(migrations.QUERIES, "each_call", "no query")  # the last step of the last migration
    before = path.read_bytes()
    with pytest.raises(StorageError):
        SqlStore.open(path)
    assert path.read_bytes() == before
