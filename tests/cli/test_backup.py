"""`backup` and `restore`: a copy that is a moment of the store, and the way back to it."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import Cli
from support.log_pairs import digest

import tertulia as tt
from tertulia.runs.files.backups import back_up, restore
from tertulia.state.errors import UsageError
from tertulia.storage.store import SqlStore

ROOT = Path(__file__).parents[2]


def rehearse(cli: Cli, *arguments: str) -> str:
    """Return the id of a rehearsed run."""
    return str(cli("run", "tidewell", "--rehearse", "--rounds", "4", "--json", *arguments).json["run"])


def runs(cli: Cli, *arguments: str) -> list[str]:
    return [run["run"] for run in cli("runs", "--json", *arguments).json["runs"]]


def test_a_store_comes_back_and_the_former_one_is_kept(cli: Cli) -> None:
    first = rehearse(cli)
    made = cli("backup", "monday.db", "--json").json
    assert (made["store"], made["backup"], made["runs"]) == ("tertulia.db", "monday.db", 1)
    assert Path("monday.db").stat().st_mode & 0o777 == 0o600
    second = rehearse(cli, "--seed", "2")
    content = Path("monday.db").read_bytes()
    restored = cli("restore", "monday.db")
    assert restored.out == "tertulia.db is monday.db again; runs: 1; the former store is tertulia.db.before\n"
    assert runs(cli) == [first]
    assert runs(cli, "--store", "tertulia.db.before") == [second, first]
    assert Path("monday.db").read_bytes() == content
    assert cli("restore", "monday.db", "--json").json["before"] == "tertulia.db.before-2"
    assert sorted(file.name for file in Path().iterdir()) == [
        *("monday.db", "tertulia.db", "tertulia.db.before", "tertulia.db.before-2")
    ]


_COMMITS_AND_DIES = (
    "import os, sys, sqlite3; c = sqlite3.connect(sys.argv[1]); c.execute(\"UPDATE runs SET label = 'x'\"); "
    "c.commit(); os._exit(9)"
)


def labels(store: Path) -> list[tuple[str]]:
    """Return the labels of a copy of a store, which thus stays as it is."""
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("", "-wal"):
            if Path(f"{store}{ending}").exists():
                shutil.copyfile(f"{store}{ending}", f"{folder}/copy{ending}")
        with closing(sqlite3.connect(f"{folder}/copy")) as connection:
            return connection.execute("SELECT label FROM runs").fetchall()


def killed_store(cli: Cli) -> str:
    """Make a store with its log, of a process that was killed, and a backup of before; return the id of its run."""
    run = rehearse(cli)
    cli("backup", "monday.db")
    subprocess.run([sys.executable, "-c", _COMMITS_AND_DIES, "tertulia.db"], check=False)
    assert Path("tertulia.db-wal").exists()
    return run


def test_the_log_of_a_killed_run_goes_into_the_former_store(cli: Cli) -> None:
    run = killed_store(cli)
    cli("restore", "monday.db")
    assert sorted(file.name for file in Path().iterdir()) == ["monday.db", "tertulia.db", "tertulia.db.before"]
    assert (labels(Path("tertulia.db")), labels(Path("tertulia.db.before"))) == ([(None,)], [("x",)])
    assert runs(cli) == [run]


def test_the_log_of_a_damaged_store_stays_beside_it(cli: Cli) -> None:
    killed_store(cli)
    log = Path("tertulia.db-wal").read_bytes()
    Path("tertulia.db").write_bytes(b"no store" * 1000)
    cli("restore", "monday.db")
    assert Path("tertulia.db.before-wal").read_bytes() == log
    assert Path("tertulia.db.before").read_bytes() == b"no store" * 1000


_KILLED = """
import os, sys
from pathlib import Path
from tertulia.runs.files import backups
at, number, calls = int(sys.argv[1]), int(sys.argv[2]), []
def counted(function):
    def call(*arguments, **options):
        calls.append(function)
        if len(calls) == at:
            os.kill(os.getpid(), number)
        return function(*arguments, **options)
    return call
for name in ("link", "rename", "replace"):
    setattr(os, name, counted(getattr(os, name)))
backups.restore(Path("monday.db"), Path("tertulia.db"))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("at", [1, 2])
def test_a_restore_that_is_killed_leaves_one_whole_store_or_both(cli: Cli, at: int, number: int) -> None:
    killed_store(cli)
    command = [sys.executable, "-c", _KILLED, str(at), str(int(number))]
    assert subprocess.run(command, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)}).returncode == -number
    before = Path("tertulia.db.before")
    if labels(Path("tertulia.db")) == [(None,)]:
        assert labels(before) == [("x",)]
    else:
        assert labels(Path("tertulia.db")) == [("x",)]
        assert number == signal.SIGKILL
    cli("restore", "monday.db")
    assert (labels(Path("tertulia.db")), labels(before)) == ([(None,)], [("x",)])
    assert not Path("tertulia.db").samefile(before)


_KILLED_AT_THE_END = """
import os, sys
from pathlib import Path
from tertulia.cli.main import main
os.replace = Path.replace = lambda *names: os.kill(os.getpid(), 9)
sys.argv = ["tertulia", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("backup", "again.db"),
        ("restore", "monday.db", "--store", "again.db"),
        ("export", "@last", "--format", "mlflow", "--out", "again"),
    ],
)
def test_what_a_killed_command_leaves_is_removed_by_the_next(cli: Cli, arguments: tuple[str, ...]) -> None:
    rehearse(cli)
    cli("backup", "monday.db")
    killed = [sys.executable, "-c", _KILLED_AT_THE_END, *arguments]
    assert subprocess.run(killed, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)}).returncode == -9
    assert [*Path().glob(".tertulia-*")]
    assert cli("backup", "tuesday.db").code == 0
    assert not [*Path().glob(".tertulia-*")]


def test_what_can_not_be_backed_up_is_told(cli: Cli) -> None:
    cli("backup", "monday.db").complains(3, "there is no store tertulia.db")
    rehearse(cli)
    Path("link.db").symlink_to("elsewhere.db")
    cli("backup", "link.db").complains(2, "link.db is a link")
    cli("backup", "tertulia.db").complains(2, "is the store")
    cli("backup", "none/monday.db").complains(2, "there is no folder")
    cli("backup", "monday.db")
    cli("backup", "monday.db").complains(2, "exists already", "--force")
    assert cli("backup", "monday.db", "--force").code == 0
    cli("backup", "x.db", "--store", "postgresql://me@localhost/runs").complains(2, "pg_dump")
    cli("restore", "monday.db", "--store", "postgresql://me@localhost/runs").complains(2, "pg_restore")
    assert sorted(file.name for file in Path().iterdir()) == ["link.db", "monday.db", "tertulia.db"]


def test_a_store_of_two_names_is_backed_up_and_restored(cli: Cli) -> None:
    first = rehearse(cli)
    os.link("tertulia.db", "other.db")
    cli("run", "tidewell", "--rehearse").complains(1, "tertulia backup COPY --store tertulia.db")
    cli("backup", "monday.db")
    assert cli("restore", "monday.db").code == 0
    assert runs(cli) == [first]
    assert len({first, rehearse(cli)}) == 2


def test_what_is_no_backup_is_refused_and_changes_nothing(cli: Cli) -> None:
    rehearse(cli)
    cli("backup", "monday.db")
    content = Path("tertulia.db").read_bytes()
    Path("cut.db").write_bytes(Path("monday.db").read_bytes()[:40_000])
    Path("text.db").write_text("no store" * 1000)
    Path("link.db").symlink_to("monday.db")
    with closing(sqlite3.connect("other.db")) as connection:
        connection.execute("CREATE TABLE t (a)")
    cli("restore", "none.db").complains(3, "there is no store none.db")
    cli("restore", "cut.db").complains(1, "cut.db is damaged")
    cli("restore", "text.db").complains(1, "text.db is not a Tertulia store")
    cli("restore", "other.db").complains(1, "other.db is a SQLite file of something else")
    cli("restore", "link.db").complains(2, "link.db is a link")
    cli("restore", "tertulia.db").complains(2, "is the store itself")
    assert Path("tertulia.db").read_bytes() == content
    assert not [*Path().glob(".tertulia*")]


def test_a_store_that_is_open_is_not_replaced(cli: Cli) -> None:
    rehearse(cli)
    cli("backup", "monday.db")
    with SqlStore.open("tertulia.db"):
        cli("restore", "monday.db").complains(1, f"process {os.getpid()} has tertulia.db open")


def test_a_store_backs_up_in_python(cli: Cli, tmp_path: Path) -> None:
    run = rehearse(cli)
    with tt.open_store("tertulia.db") as store:
        assert store.backup(tmp_path / "copy.db") == tmp_path / "copy.db"
        with pytest.raises(UsageError, match="exists already"):
            store.backup(tmp_path / "copy.db")
    assert tt.open_store(tmp_path / "copy.db").run().id == run


_WRITER = """
import sys
from support.stored import a_case, a_run, write_turns
from tertulia.storage.store import SqlStore
run = sys.argv[2]
with SqlStore.open(sys.argv[1], create=True) as store:
    store.create_run(a_run(run), a_case())
    for turn in range(1, 100000):
        write_turns(store, run, turn, turn)
"""


@pytest.mark.full
def test_each_backup_beside_four_writers_is_a_moment(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    SqlStore.open(path, create=True).close()
    folders = os.pathsep.join(str(folder) for folder in Path(__file__).parents[1:3])
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path), f"run{number}"], env=os.environ | {"PYTHONPATH": folders}
        )
        for number in range(4)
    ]
    before: dict[str, int] = {}
    try:
        for number in range(50):
            copy = tmp_path / f"{number}.db"
            back_up(path, copy)
            assert not [*tmp_path.glob(f"{number}.db-*")]
            with SqlStore.open(copy) as store:
                turns = {run.run: run.turns for run in store.runs()}
                for run, count in turns.items():
                    assert [turn.turn for turn in store.turns(run)] == [*range(1, count + 1)]
                    assert store.turn_record(run, count).turn.turn == count if count else True
            with closing(sqlite3.connect(copy)) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert all(turns[run] >= count for run, count in before.items())
            before = turns
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    assert sum(before.values()) > 50
    content = digest(tmp_path / "10.db")
    restored = restore(tmp_path / "10.db", path)
    assert digest(path) == content
    assert restored.before == tmp_path / "s.db.before"
