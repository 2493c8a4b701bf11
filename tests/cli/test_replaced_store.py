"""A store that is replaced, moved or removed while a command writes to it."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.commands import Cli

from tertulia.state.errors import StorageError
from tertulia.storage.store import SqlStore

_COMMANDS = {
    "run": ("run", "team_building", "--rehearse", "--rounds", "2000", "--set", "max_minutes=null"),
    "resume": ("resume", "@last"),
    "fork": ("fork", "@last", "--at", "2"),
}


def turns_in(path: Path) -> int:
    try:
        with SqlStore.open(path) as store:
            return int(store.file.rows("SELECT count(*) AS turns FROM turns")[0]["turns"])
    except StorageError:
        return 0


@pytest.mark.full
@pytest.mark.parametrize("command", ["run", "resume", "fork"])
@pytest.mark.parametrize("how", ["replaced", "removed", "moved"])
def test_a_driver_stops_and_nothing_is_lost(cli: Cli, tmp_path: Path, how: str, command: str) -> None:
    if command != "run":
        shown = cli(*_COMMANDS["run"], "--store", "s.db", "--max-calls", "40")
        assert shown.code == 130
    cli("run", "tidewell", "--rehearse", "--rounds", "4", "--store", "other.db")
    path, content = Path("s.db").absolute(), Path("other.db").read_bytes()
    before = turns_in(path)
    code = [sys.executable, "-m", "tertulia.cli.main", *_COMMANDS[command], "--store", "s.db"]
    with subprocess.Popen(code, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        while (seen := turns_in(path)) < before + 4:
            assert driver.poll() is None, driver.stderr and driver.stderr.read()
            time.sleep(0.05)
        if how == "replaced":
            os.replace("other.db", path)
        elif how == "removed":
            path.unlink()
        else:
            shutil.move(path, "moved.db")
        _, err = driver.communicate(timeout=60)
    assert driver.returncode == 1
    (error,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert "s.db was " in error
    assert "s.db.rescued: go on with --store s.db.rescued" in error
    assert "to go on: tertulia resume" in err
    assert turns_in(Path("s.db.rescued")) >= seen
    if how == "replaced":
        assert turns_in(path) == 4
        assert path.read_bytes() == content
    resumed = cli("resume", "@last", "--store", "s.db.rescued", "--max-calls", "20")
    assert resumed.code == 130
    assert turns_in(Path("s.db.rescued")) > seen
