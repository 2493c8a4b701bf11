"""Several stop signals, at once or one after the other, at any moment of a command: one stop, and nothing is lost."""

import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from support.commands import ENDLESS, Cli

ROOT = Path(__file__).parents[2]

#: The program, which says when it begins.
PROGRAM = "import sys; from tertulia.cli import program; print('begun', file=sys.stderr, flush=True); program()"

#: Numbers of signals that come at once, or so many seconds after the one before.
BURSTS = ("2 15", "15 15", "1 15", "2 15 1 2 15 1", "15 2 " * 20, "2 0.02 15 0.02 1 0.02 15 0.02 2 " * 8)

TALK = ("run", "tidewell", *ENDLESS, "--rounds", "80")

SWEEP = ("sweep", "tidewell", *ENDLESS, "--trials", "3")

#: Commands, with `{}` for a copy of a store with a run.
COMMANDS = {
    "run": (*TALK, "--store", "{}.db"),
    "resume": ("resume", "@last", "--store", "{}.db"),
    "meeting": ("run", "team_building", "--rehearse", "--rounds", "30", "--store", "{}.db"),
    "fork": ("fork", "@last", "--at", "3", "--set", "removal_factor=0.9", "--store", "{}.db"),
    "sweep": (*SWEEP, "--lambda", "0,1", "--rounds", "30", "--store", "{}.db"),
    "workers": (*SWEEP, "--lambda", "0,1", "--rounds", "30", "--workers", "2", "--store", "{}.db"),
    "simulate": ("simulate", "tidewell", "--rehearse", "--store", "{}.db"),
    "view": ("view", "--no-open", "--port", "0", "--store", "{}.db"),
    "merge": ("merge", "begun.db", "--into", "{}.other.db"),
    "export": ("export", "@last", "--html", "{}.html", "--force", "--store", "{}.db"),
    "stats": ("stats", "@last", "--store", "{}.db"),
}


def stop(folder: Path, name: str, burst: str, after_s: float) -> tuple[int, str]:
    """Send a command a burst of signals, so long after it began; return its exit code and its standard error."""
    (folder / f"{name}.db").write_bytes((folder / "begun.db").read_bytes())
    words = [word.format(name) for word in COMMANDS[name]]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "begun\n"
    time.sleep(after_s)
    for word in burst.split():
        if "." in word:
            time.sleep(float(word))
        else:
            process.send_signal(int(word))
    told = process.stderr.read()
    return process.wait(60), told


def check_bursts(cli: Cli, folder: Path, names: Sequence[str], moments: Sequence[float], seed: int) -> None:
    """Assert that bursts of signals, which are drawn, stop commands in a line; what a run lost, resuming shows."""
    whole = cli(*TALK, "--store", "begun.db", "--json").json["run"]
    assert cli(*TALK, "--max-calls", "60", "--store", "begun.db").code == 130
    draws = random.Random(seed)
    for name, moment in product(names, moments):
        burst = draws.choice(BURSTS)
        code, told = stop(folder, name, burst, moment)
        seen = f"{name} after {moment:.2f} s, {burst}: {code}, {told}"
        assert code in (0, 130), seen
        assert not re.search(r"Traceback|Error|Exception|ignored", told), seen
        assert told.count("to go on: ") <= 1, seen
        if name in ("run", "resume"):
            assert cli("resume", "@last", "--store", f"{name}.db").code == 0, seen
            assert cli("diff", whole, "@last", "--exit-code", "--store", f"{name}.db").code == 0, seen


def test_several_stop_signals_are_one_stop(cli: Cli, tmp_path: Path) -> None:
    check_bursts(cli, tmp_path, ["run", "workers"], [0.7, 1.0], seed=1)


@pytest.mark.full
@pytest.mark.parametrize("name", COMMANDS)
def test_a_burst_at_any_moment_is_one_stop(cli: Cli, tmp_path: Path, name: str) -> None:
    check_bursts(cli, tmp_path, [name], [0.02 + 0.08 * step for step in range(24)], seed=2)
