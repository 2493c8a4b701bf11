"""A store in a Postgres database: opened and refused, driven by one, written by ten, and a server that goes away."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import Cli
from support.in_process import command
from support.postgres_server import NO_POSTGRES, PASSWORD, PostgresServer, running_server
from support.stored import a_call, a_case, a_run, stored_rows, write_turn, write_turns

from tertulia.state.errors import StorageError, UsageError
from tertulia.state.records import TurnRecord
from tertulia.storage import frames
from tertulia.storage.addresses import ServerAddress
from tertulia.storage.merging.stores import merge
from tertulia.storage.parts.search import search
from tertulia.storage.postgres.text import decoded, encoded
from tertulia.storage.store import SqlStore

ROOT = Path(__file__).parents[2]


@pytest.fixture
def address(postgres: PostgresServer) -> ServerAddress:
    """Where a store may be made."""
    return ServerAddress(postgres.url())


@pytest.fixture
def server_store(address: ServerAddress) -> Iterator[SqlStore]:
    with SqlStore.open(address, create=True) as store:
        yield store


def schema_of(address: ServerAddress) -> str:
    return address.url.rpartition("=")[2]


# --- opening ----------------------------------------------------------------------------------------------------------


def test_a_missing_store_reads_as_an_empty_one_and_leaves_nothing(
    address: ServerAddress, postgres: PostgresServer
) -> None:
    found = "SELECT count(*) FROM pg_namespace WHERE nspname = %s"
    with SqlStore.open(address) as store:
        assert store.is_missing
        assert store.runs() == []
        store.check_writable()
        assert postgres.execute(found, schema_of(address)) == [(0,)]
        store.make_file()
        store.create_run(a_run(), a_case())
    with SqlStore.open(address) as store:
        assert [run.run for run in store.runs()] == ["k3f9"]


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ("DROP TABLE tertulia_store", "holds tables of something else; take another, with .schema=NAME"),
        ("UPDATE tertulia_store SET version = 41", "newer Tertulia .schema version 41, .*upgrade Tertulia"),
        ("UPDATE tertulia_store SET version = 1", "older Tertulia .schema version 1, .*another schema"),
        ("ALTER TABLE turns DROP COLUMN speaker CASCADE", "turns is not as it was made"),
        ("ALTER TABLE runs ALTER COLUMN run DROP NOT NULL", "runs is not as it was made"),
        ("ALTER TABLE calls ALTER COLUMN seconds TYPE text", "calls is not as it was made"),
        ("ALTER TABLE lineage DROP CONSTRAINT lineage_pkey", "lineage is not as it was made"),
        ("DROP TABLE memories", "memories is not as it was made"),
        ("DROP VIEW each_unit", "each_unit is not as it was made"),
    ],
)
def test_what_is_no_store_of_this_version_is_refused(
    address: ServerAddress, postgres: PostgresServer, change: str, reported: str
) -> None:
    SqlStore.open(address, create=True).close()
    change = change.replace("ALTER TABLE calls", "DROP VIEW each_call; ALTER TABLE calls")
    postgres.execute(f"SET search_path = {schema_of(address)}; {change}")
    for create in (False, True):
        with pytest.raises(StorageError, match=reported):
            SqlStore.open(address, create=create)


def test_bad_addresses_are_told_and_no_password_is(postgres: PostgresServer) -> None:
    beginning = f"postgresql://tertulia:{PASSWORD}@127.0.0.1"
    for url, reported in (
        (postgres.url(password="n0t-this"), r"password authentication failed.*~/.pgpass"),
        (postgres.url(database="birds"), r'"birds" does not exist.*createdb'),
        (f"postgresql://nobody:{PASSWORD}@127.0.0.1:{postgres.port}/postgres", "authentication failed"),
        (f"{beginning}:1/postgres", "Connection refused.*see that the server runs"),
        (f"{beginning}:{postgres.port}/postgres?schema=pg_x", "can't be the name of a schema"),
        (f"{beginning}:{postgres.port}/postgres?birds=1", 'invalid URI query parameter: "birds"'),
        (f"{beginning}:port/postgres", "can't be opened"),
        (f"postgresql://u:{PASSWORD} x@127.0.0.1/x", "no address of a Postgres database"),
        (f"postgresql://u:x@{PASSWORD}@127.0.0.1/x", "no address of a Postgres database.*%40"),
        (f"postgresql://u:x/{PASSWORD}@127.0.0.1/x", "no address of a Postgres database.*%40"),
        (f"postgresql://u:x#{PASSWORD}@127.0.0.1/x", "no address of a Postgres database"),
    ):
        with pytest.raises(StorageError, match=reported) as error:
            SqlStore.open(url)
        assert PASSWORD not in str(error.value), url
        assert "n0t-this" not in str(error.value)
        assert "\n" not in str(error.value)


def test_without_psycopg_the_line_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tertulia.storage.postgres.database", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match=r"need psycopg.*pip install .*\[postgres\]"):
        SqlStore.open("postgresql://u@localhost/x")


def test_a_database_of_another_encoding_is_refused(postgres: PostgresServer) -> None:
    postgres.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StorageError, match="LATIN1; take a database that holds it as UTF8"):
        SqlStore.open(postgres.url(database="latin"))


def test_a_user_who_may_only_read_reads(address: ServerAddress, postgres: PostgresServer) -> None:
    with SqlStore.open(address, create=True) as store:
        store.create_run(a_run(), a_case())
        write_turns(store, "k3f9", 1, 2)
    schema = schema_of(address)
    postgres.execute(
        f"""CREATE ROLE guest LOGIN PASSWORD 'g'; GRANT USAGE ON SCHEMA {schema} TO guest;
        GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO guest"""
    )
    with SqlStore.open(address.url.replace(f"tertulia:{PASSWORD}", "guest:g")) as store:
        assert len(store.turns("k3f9")) == 2
        with pytest.raises(StorageError, match="can't be written by this user"):
            store.check_writable()
        with pytest.raises(StorageError, match="have it granted"):
            store.set_label("k3f9", "x")


# --- texts ------------------------------------------------------------------------------------------------------------


@given(text=st.text(st.characters(), max_size=30) | st.text("\uffff\x00\ud83d\ude0000du", max_size=20))
def test_any_text_is_encoded_and_decoded(text: str) -> None:
    assert decoded(encoded(text)) == text
    encoded(text).encode()
    assert "\0" not in encoded(text)


@settings(max_examples=2000 if settings.default.max_examples >= 2000 else 20)
@given(text=st.text('\uffff\x00\ud83d\ude00\U0001f600\\"u0d8', max_size=12))
def test_views_read_json_that_postgres_would_refuse(server_stores: object, text: str) -> None:
    with server_stores.new() as store:  # type: ignore[attr-defined]
        store.create_run(a_run(), a_case())
        call = a_call()
        reply = call.replies[0].model_copy(update={"text": text, "fields": {}})
        store.save_calls("k3f9", [call.model_copy(update={"replies": (reply,)})])
        (row,) = store.file.rows("SELECT reply FROM each_call")
        # JSON knows no difference between two halves and the sign that they make.
        assert row["reply"].encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")


# --- search -----------------------------------------------------------------------------------------------------------

SAID = (
    "Isabella walks in the park.", "She doesn't like café au lait, naïvely.", "At 3.14 past 2e5 o'clock: re-entry!",
    "E-mail ana@pier.org or see http://pier.org/a?b=c_d", "Über den Wolken", "我们去公园散步，好吗？",
    "Hobbs咖啡馆のコーヒー", "ΑΘΗΝΑ и Москва", "x" * 2000, "1st 2nd abc123def",
)  # fmt: skip
QUERIES = (
    "park", "walk*", '"walks in"', '"in walks"', "doesn't", "doesn t", "cafe", "CAFÉ", "naively", "3.14", "14", "2e5",
    "re-entry", "re entry", "pier.org", "ana@pier.org", "http://pier.org", "c_d", "uber", "公园", "园", "咖啡馆",
    "Hobbs", "αθηνα", "москва", "1st", "abc123def", "abc*", "!!!", "park !!!", "the isabella", "the -isabella",
    "a:b", "x*",
)  # fmt: skip


def test_search_finds_what_it_finds_in_a_file(server_store: SqlStore, file_store: SqlStore) -> None:
    for store in (server_store, file_store):
        store.create_run(a_run(), a_case())
        with store.transaction():
            for turn, text in enumerate(SAID, start=1):
                store.save_passage("k3f9", turn, "Ana", "utterance", text)
    for query in QUERIES:
        on_server, in_file = (
            [passage.turn for passage in search(store.file, query)] for store in (server_store, file_store)
        )
        assert on_server == in_file, query


# --- writers and drivers ----------------------------------------------------------------------------------------------

WRITER = """
import sys
from support.stored import a_case, a_run, write_turn
from tertulia.storage.store import SqlStore
store = SqlStore.open(sys.argv[1], create=True)
store.create_run(a_run(sys.argv[2]), a_case())
for turn in range(1, 4):
    write_turn(store, sys.argv[2], turn)
"""


def test_several_processes_may_make_the_store_and_write_at_once(address: ServerAddress) -> None:
    runs = [f"run{number}" for number in range(2)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    processes = [subprocess.Popen([sys.executable, "-c", WRITER, address.url, run], env=environment) for run in runs]
    assert [process.wait(120) for process in processes] == [0] * 2
    with SqlStore.open(address) as store, SqlStore.open(":memory:") as alone:
        assert {run.run: run.turns for run in store.runs()} == dict.fromkeys(runs, 3)
        alone.create_run(a_run("run1"), a_case())
        for turn in (1, 2, 3):
            write_turn(alone, "run1", turn)
            assert store.turn_record("run1", turn) == alone.turn_record("run1", turn)
            assert store.candidates("run1", turn) == alone.candidates("run1", turn)
        for table in ("contents", "units", "prompts"):  # each once, whoever came first
            assert store.file.rows(f"SELECT count(*) AS n FROM {table}") == alone.file.rows(
                f"SELECT count(*) AS n FROM {table}"
            )


DRIVER = """
import sys, time
from tertulia.storage.store import SqlStore
store = SqlStore.open(sys.argv[1], create=True)
with store.drive_lock("k3f9"):
    print("driving", flush=True)
    time.sleep(60)
"""


def test_a_second_driver_is_told_the_first_and_a_dead_one_has_nothing(address: ServerAddress) -> None:
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, address.url], stdout=subprocess.PIPE, text=True)
    try:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "driving\n"
        with SqlStore.open(address) as store:
            another = rf"k3f9 is being driven by another process \(pid {driver.pid} on \S+\)"
            with pytest.raises(StorageError, match=another), store.drive_lock("k3f9"):
                pass
            assert store.drivers().is_driven("k3f9")
            assert not store.drivers().is_driven("m2aa")
            driver.kill()
            driver.wait()
            for _ in range(100):
                if not store.drivers().is_driven("k3f9"):
                    break
            with store.drive_lock("k3f9"):
                assert store.drivers().is_driven("k3f9")
                with pytest.raises(StorageError, match="another thread of this process"), store.drive_lock("k3f9"):
                    pass
    finally:
        driver.kill()
        driver.communicate()


# --- conversations ----------------------------------------------------------------------------------------------------


def shown(cli: Cli, store: str, *arguments: str) -> str:
    """What a command prints, without ids of runs and times."""
    document = str(cli(*arguments, "--store", store, "--json").json)
    return re.sub(r"'(run|created|parent)': ('[^']*'|\{[^}]*\})", "", document)


ALBUM = ("villagers", "--set", "agents=4")


@pytest.mark.parametrize("scenario", [("tidewell",), ("team_building",), ALBUM])
def test_a_conversation_is_the_same_in_either_database(
    cli: Cli, tmp_path: Path, address: ServerAddress, scenario: tuple[str, ...]
) -> None:
    stores = (str(tmp_path / "file.db"), address.url)
    for store in stores:
        cli("run", *scenario, "--rehearse", "--seed", "3", "--rounds", "2", "--lambda", "0.5", "--store", store)
        cli("fork", "@last", "--at", "2", "--store", store)
        cli("search", "the", "--store", store)
    for asked in (
        ("show", "@last"),
        ("show", "@last", "--turn", "2"),
        ("stats", "@last") if scenario == ("team_building",) else ("show", "@last", "--turn", "1"),
    ):
        first, second = (shown(cli, store, *asked) for store in stores)
        assert first == second
    for reader in (frames.turns, frames.units, frames.calls, frames.agent_rounds, frames.parts):
        first, second = (reader(store, "@last").drop(columns=["run", "seconds"], errors="ignore") for store in stores)
        assert re.sub("'created': .*", "", str(first.to_dict())) == re.sub("'created': .*", "", str(second.to_dict()))
    assert cli("gc", "--yes", "--store", address.url).code == 0
    for name in [run["run"] for run in cli("runs", "--json", "--store", address.url).json["runs"]]:
        assert cli("runs", "rm", name, "--yes", "--store", address.url).code == 0
    with SqlStore.open(address) as store:
        assert (stored_rows(store), store.checkpoint_sizes()) == (set(), {})


def test_days_pass_in_a_server(cli: Cli, tmp_path: Path, address: ServerAddress) -> None:
    days = []
    for store in (str(tmp_path / "file.db"), address.url):
        cli("simulate", "tidewell", "--rehearse", "--days", "1", "--encounters-per-day", "1", "--store", store)
        listed = cli("days", "@last", "--json", "--store", store).json
        days.append(re.sub(f"{listed['simulation']}|'seconds': [0-9.e-]+|'created': '[^']*'", "", str(listed)))
    assert days[0] == days[1]


# --- kills ------------------------------------------------------------------------------------------------------------


MEETING = ("run", "team_building", "--rehearse", "--seed", "5", "--rounds", "5")


def turns_of(cli: Cli, store: str) -> list[object]:
    turns: list[object] = cli("show", "@last", "--json", "--store", store).json["turns"]
    return turns


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """The turns of the meeting where nothing disturbs it."""
    store = tmp_path_factory.mktemp("whole") / "whole.db"
    assert command(*MEETING, "--store", store).code == 0
    turns: list[object] = json.loads(command("show", "@last", "--json", "--store", store).out)["turns"]
    return turns


def test_a_run_that_is_killed_resumes_as_if_nothing_had_been(
    cli: Cli, tmp_path: Path, address: ServerAddress, whole: list[object]
) -> None:
    line = [sys.executable, "-m", "tertulia.cli.main", *MEETING, "--store", address.url]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin", "HOME": str(tmp_path), "TERTULIA_CONFIG": str(tmp_path)}
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as process:
        assert process.stdout is not None
        while not process.stdout.readline().strip().startswith("2"):
            assert process.poll() is None
        process.kill()
    assert cli("resume", "@last", "--store", address.url).code == 0
    assert turns_of(cli, address.url) == whole


@pytest.mark.postgres
def test_a_server_that_dies_in_mid_run_is_told_and_the_run_resumes(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, whole: list[object]
) -> None:
    with running_server() as server:
        if server is None:
            pytest.skip(NO_POSTGRES)
        store, save_turn = server.url(), SqlStore.save_turn

        def save_turn_of_a_server_that_dies(opened: SqlStore, run: str, record: TurnRecord, *parts: Any) -> None:
            if record.turn.turn == 3:
                server.stop(signal.SIGQUIT)
            save_turn(opened, run, record, *parts)

        with monkeypatch.context() as patched:
            patched.setattr(SqlStore, "save_turn", save_turn_of_a_server_that_dies)
            stopped = cli(*MEETING, "--store", store)
        stopped.complains(1, "went away")
        assert PASSWORD not in stopped.err
        cli("runs", "--store", store).complains(1, "can't be opened", "see that the server runs")
        server.start()
        assert cli("resume", "@last", "--store", store).code == 0
        assert turns_of(cli, store) == whole


# --- one file to send -------------------------------------------------------------------------------------------------


def test_runs_go_from_a_file_to_a_server_and_into_a_file_again(
    cli: Cli, tmp_path: Path, address: ServerAddress
) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    run = cli("run", "team_building", "--rehearse", "--rounds", "2", "--store", str(first), "--json").json["run"]
    cli("fork", run, "--at", "2", "--store", str(first))
    cli("run", *ALBUM, "--rehearse", "--rounds", "2", "--store", str(first))
    with SqlStore.open(first) as store:
        store.set_status(run, "interrupted")
    stores = [SqlStore.open(first), SqlStore.open(address, create=True), SqlStore.open(second, create=True)]
    for source, target in pairwise(stores):
        assert len(merge(source, target).added) == 3
        assert merge(source, target).added == ()
    listed = [[record.model_dump() for record in store.runs()] for store in stores]
    assert listed[0] == listed[1] == listed[2]
    sizes = [set(store.checkpoint_sizes()) for store in stores]
    assert sizes[0] == sizes[1] == sizes[2] != set()
    for store in stores:
        store.close()
    documents = []
    for path in (str(first), address.url, str(second)):
        assert cli("resume", run, "--store", path).code == 0
        documents.append(cli("show", run, "--json", "--store", path).json)
    assert documents[0] == documents[1] == documents[2]
