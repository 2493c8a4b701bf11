"""A store that the version before wrote, under its former name: it opens, and everything in it goes on.

`data/made_by_polylogue.db.xz` (schema version 5, rehearsed): a dialogue of five turns with a fork at the third, two
days of a town with what a model answered about a conversation of it, and a dialogue and a meeting that were killed in
the middle. Checkpoints of what was finished were dropped from it, as `gc` drops them.
"""

import lzma
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import FrameType

import pytest
from sqlite_utils import Database
from support.commands import Cli

from tertulia.state.errors import StorageError
from tertulia.state.town import Simulation
from tertulia.storage.parts.annotations import Annotations
from tertulia.storage.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES
from tertulia.storage.sqlite import migrations
from tertulia.storage.store import SqlStore

OLDER = lzma.decompress((Path(__file__).parent / "data" / "made_by_polylogue.db.xz").read_bytes())
RUNS = ["a2ds", "wtdr", "5cu8-2-2", "5cu8-2-1", "5cu8-1-2", "5cu8-1-1", "4yaq", "cbmy"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tertulia.db"
    path.write_bytes(OLDER)
    return path


# --- what it holds goes on --------------------------------------------------------------------------------------------


def test_all_of_it_is_read(path: Path) -> None:
    with SqlStore.open(path) as store:
        runs = store.runs()
        assert [run.run for run in runs] == RUNS
        assert {run.label for run in runs} == {None}
        for run in runs:
            assert len(store.turns(run.run)) == run.turns
            assert store.calls(run.run)
            for turn in store.turns(run.run):
                record = store.turn_record(run.run, turn.turn)
                assert record.prompt is None or store.prompt(record.prompt).units
                assert store.trace(run.run, turn.turn) or run.status == "running"
        assert len(Annotations(store.file).of("5cu8-2-2")) == 4
        (simulation,) = store.simulations.all()
        assert isinstance(simulation, Simulation)
        people = [resident.persona.name for resident in store.simulations.town("5cu8").residents]
        streams = [store.remembered(store.simulations.stream(simulation, name)) for name in people]
        assert sum(map(len, streams)) == 804


def test_a_fork_of_it_differs_as_it_did_and_another_is_identical(path: Path, cli: Cli) -> None:
    assert cli("diff", "cbmy", "4yaq", "--json").json["first_divergence"] is not None
    assert cli("diff", "cbmy", "4yaq", "--exit-code").code == 4
    fork = cli("fork", "cbmy", "--at", "3", "--json").json["run"]
    assert cli("diff", "cbmy", fork, "--exit-code").code == 0


def test_what_was_killed_goes_on_to_what_is_run_now_and_merges_with_itself(
    path: Path, cli: Cli, tmp_path: Path
) -> None:
    """Its last turn was killed before its trace."""
    run, settings = "a2ds", ["--rounds", "8", "--seed", "9", "--lambda", "0.7"]
    for then in ("memory_order=time", "redraws=0", "focal_lines=joined", "cut_long_units=false"):
        settings += "--set", then
    assert cli("resume", run, "--json").json["status"] == "finished"
    anew = cli("run", "tidewell", "--model", "rehearsal:1", *settings, "--json").json["run"]  # in its words
    document = cli("diff", run, anew, "--json").json
    other = {difference["path"][1] for difference in document["settings"]}  # none of them is of a dialogue of two
    known = {"choices", "goal_floor", "address_pull", "patience_rounds", "yield_s", "perception_threshold", "case_seed"}
    known |= {"importance", "reflection_threshold", "agreements", "day_plans", "willingness", "drafts_by"}
    known |= {
        "opening_drafts",
        "sense_knows",
        "goals",
        "matched_decoding",
        "judge_centred",
        "scored_layers",
        "min_p",
        "dry",
        "verbalized_replies",
        "verbalized_below",
    }
    assert other <= known
    # Sums of products may differ in the last digit: the store was made on another machine.
    for turn in document["turns"]:
        assert turn["only_in"] is None
        for difference in turn["differences"]:
            assert difference["a"] == pytest.approx(difference["b"], rel=1e-12)
    (tmp_path / "older.db").write_bytes(OLDER)
    for order in (("older.db", path.name), (path.name, "older.db")):
        into = f"from_{order[0]}"
        merged = [cli("merge", source, "--into", into, "--json").json for source in order]
        assert not any(run in document["sources"][0]["refused"] for document in merged)
        assert cli("show", run, "--store", into).out == cli("show", run).out


def test_a_meeting_that_was_killed_goes_on_as_it_began(path: Path, cli: Cli) -> None:
    with SqlStore.open(path) as store:
        before = store.turns("wtdr")
    assert cli("resume", "wtdr", "--json").json == {"run": "wtdr", "status": "finished", "turns": 8}
    shown = cli("show", "wtdr", "--json").json
    assert [turn["text"] for turn in shown["turns"]][: len(before)] == [turn.text for turn in before]
    assert shown["parameters"]["perception_threshold"] == 0.25
    bids = [agent for agent in cli("show", "wtdr", "--turn", "8", "--json").json["cognition"] if agent["need"]]
    assert bids == [], "the need to speak does not grow in it"


def test_its_town_goes_on(path: Path, cli: Cli) -> None:
    cli("simulate", "--resume", "5cu8", "--days", "3", "--json").json  # noqa: B018 - fails if the command does
    with SqlStore.open(path) as store:
        assert store.simulations.get("5cu8").status == "finished"
        encounters = store.simulations.encounters("5cu8")
        assert {encounter.day for encounter in encounters} == {1, 2, 3}
        later = [encounter for encounter in encounters if encounter.day == 3]
        asked = {call.node for encounter in later for call in store.calls(encounter.run)}
        assert "rate_importance" in asked, "the model rates as it did"
        assert all(store.turns(encounter.run) for encounter in encounters)


# --- how it is migrated -----------------------------------------------------------------------------------------------


def structure(connection: sqlite3.Connection) -> object:
    """What SQLite knows of the tables, and the text of views."""
    columns = {
        name: sorted(row[1:4] + row[5:] for row in connection.execute(f"PRAGMA table_info({name})")) for name in TABLES
    }
    others = "SELECT name, sql FROM sqlite_master WHERE type IN ('view', 'trigger') OR name = 'passages_fts'"
    return columns, sorted(connection.execute(others))


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_every_version_becomes_what_a_new_store_is(tmp_path: Path, version: int) -> None:
    names = [migration.name for migration in migrations.MIGRATIONS.pending(Database(memory=True))]
    assert len(names) == SCHEMA_VERSION
    with closing(sqlite3.connect(tmp_path / "older.db")) as older:
        migrations.MIGRATIONS.apply(Database(older), stop_before=names[version])
        older.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        assert older.execute("PRAGMA user_version").fetchone() == (version,)
    for name in ("older.db", "new.db"):
        SqlStore.open(tmp_path / name, create=True).close()
    with closing(sqlite3.connect(tmp_path / "older.db")) as older, closing(sqlite3.connect(tmp_path / "new.db")) as new:
        assert structure(older) == structure(new)


#: What is done to a store, and what can't be read then.
DAMAGES = (
    ("UPDATE traces SET trace = 'not base 85 \"' WHERE run = 'cbmy' AND turn = 1", "trace", "cbmy", 1),
    ("UPDATE traces SET checksum = checksum + 1 WHERE run = 'cbmy' AND turn = 2", "trace", "cbmy", 2),
    ("UPDATE calls SET tokens = substr(tokens, 2) WHERE run = '4yaq'", "calls", "4yaq"),
    ("UPDATE runs SET scenario = 'elsewhere' WHERE run = '5cu8-2-2'", "run", "5cu8-2-2"),
    ("UPDATE unit_scores SET score = score + 1 WHERE run = 'cbmy' AND turn = 3", "turn_record", "cbmy", 3),
    ("UPDATE candidates SET comment = 'No.' WHERE run = 'cbmy' AND turn = 4", "candidates", "cbmy", 4),
    ("UPDATE candidates SET turn = 9 WHERE run = 'cbmy' AND turn = 5", "turn_record", "cbmy", 5),
)


def is_told(read: Callable[..., object], *arguments: object) -> bool:
    try:
        read(*arguments)
    except StorageError as error:
        return "damaged or was altered" in str(error)
    return False


@pytest.mark.parametrize("version", [5, 6])
def test_what_was_damaged_before_is_still_told(path: Path, version: int) -> None:
    bring_to(path, version)
    with closing(sqlite3.connect(path)) as connection, connection:
        for damage, *_ in DAMAGES:
            assert connection.execute(damage).rowcount, damage
    with SqlStore.open(path) as store:
        untold = [damage for damage, reads, *arguments in DAMAGES if not is_told(getattr(store, reads), *arguments)]
        assert untold == []
        assert store.run("wtdr").turns == 3
        assert store.turn_record("wtdr", 1), "what was not damaged is read"


def bring_to(path: Path, version: int) -> None:
    """Migrate a store to a version as the program of that version did, views and all."""
    names = [migration.name for migration in migrations.MIGRATIONS.pending(Database(memory=True))]
    with closing(sqlite3.connect(path)) as connection, connection:
        migrations.MIGRATIONS.apply(Database(connection), stop_before=names[version])
        if version == 6:
            connection.execute("CREATE VIEW each_turn AS SELECT attempt FROM turns JOIN candidates USING (run, turn)")
            connection.execute("CREATE VIEW each_unit AS SELECT position FROM unit_scores")


def test_a_store_of_version_6_becomes_what_one_of_version_5_does(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.write_bytes(OLDER)
    bring_to(path, 6)
    dumps = []
    for at in (path, other):
        with SqlStore.open(at) as store:
            assert {
                row["part"]
                for row in store.file.rows("SELECT part FROM candidates UNION ALL SELECT part FROM unit_scores")
            } == {""}
            assert store.parts("cbmy", 1) == {}
            dumps.append(sorted(store.file.database.conn.iterdump()))
    assert dumps[0] == dumps[1]
    assert sum(line.startswith('INSERT INTO "unit_scores"') for line in dumps[0]) > 100


OPEN = "import sys; from tertulia.storage.store import SqlStore; print(len(SqlStore.open(sys.argv[1]).runs()))"


def test_several_processes_may_migrate_it_at_once(path: Path) -> None:
    command = [sys.executable, "-c", OPEN, str(path)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=120)[0] for process in processes] == [f"{len(RUNS)}\n"] * 2


KILLED = """
import os, signal, sys
from tertulia.storage.sqlite import migrations
convert, left = migrations._convert, int(sys.argv[2])
def convert_or_die(*arguments, **named):
    global left
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    convert(*arguments, **named)
migrations._convert = convert_or_die
from tertulia.storage.store import SqlStore
SqlStore.open(sys.argv[1])
"""


def test_killed_in_the_middle_it_is_as_it_was(path: Path) -> None:
    """Killed at any moment: tests/cli/test_kills.py, and 40 times in `make nightly`."""
    process = subprocess.run([sys.executable, "-c", KILLED, str(path), "3"], check=False)
    assert process.returncode == -signal.SIGKILL
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (5,)
        assert connection.execute("SELECT count(*), count(voices) FROM runs").fetchone() == (len(RUNS), len(RUNS))
    with SqlStore.open(path) as store:
        assert [run.run for run in store.runs()] == RUNS


def test_an_interrupt_within_a_migration_is_one_and_no_damage(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> bytes:
        raise KeyboardInterrupt

    def interrupt_as_sqlite_calls(frame: FrameType, event: str, _: object) -> None:
        if frame.f_code.co_name == "called":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("tertulia.storage.sqlite.migrations.checksum", interrupted)
        with pytest.raises(KeyboardInterrupt):
            SqlStore.open(path)
    sys.setprofile(interrupt_as_sqlite_calls)
    try:
        with pytest.raises(KeyboardInterrupt):
            SqlStore.open(path)
    finally:
        sys.setprofile(None)
    with SqlStore.open(path) as store:
        assert [run.run for run in store.runs()] == RUNS


def test_a_store_of_this_version_is_read_without_sqlite_utils(path: Path) -> None:
    SqlStore.open(path).close()
    code = OPEN + "; assert not {'sqlite_utils', 'pandas', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, stdout=subprocess.PIPE)
