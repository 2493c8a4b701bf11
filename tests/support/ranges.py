"""Tries the declared ranges: the wheel beside the lowest versions of all that it needs, and beside the newest.

`python -m tests.support.ranges lowest newest`, or one of the two, from the root; `make ranges` runs both. Each has an
environment of its own without models. There pip finds no conflict; a run is rehearsed, shown, forked and exported by
the commands and from Python; and the tests of `TESTS` pass. An interpreter after `--python` is taken instead of this.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from tests.test_architecture import FOLDERS

from .wheel import ROOT, build_wheel, pip

#: The lowest versions of what is declared (tests/test_dependencies.py compares them).
LOWEST = ROOT / "requirements.lowest.txt"

#: Installed besides, as some of the tests need what these bring.
EXTRAS = "metrics,pictures,frames"

#: Tests that need no model and no checkout, from what touches the libraries most.
TESTS = (
    "tests/state",
    "tests/metrics/test_variety.py",
    "tests/nodes/test_nodes.py",
    "tests/nodes/test_race.py",
    "tests/graphs/test_graphs.py",
    "tests/storage/test_checkpoints.py",
    "tests/storage/test_storage.py",
)

#: What runs the tests, in the versions of the lock.
_RUNNERS = ("pytest", "pytest-asyncio", "hypothesis")

#: A first hour, without a model.
_COMMANDS = (
    "run tidewell --rehearse --rounds 2 --lambda 0.5 --seed 1",
    "show @last --turn 2 --lambda 0.8",
    "fork @last --at 2 --lambda 0.9",
    "export @last --html run.html",
    "stats @last",
    "run villagers --rehearse --agents 4 --rounds 1 --setting high",
    "sweep tidewell --rehearse --lambda 0,1 --trials 2 --rounds 2 --name knob",
    "runs --json",
)
_SCRIPT = """
import tertulia as tt
run = tt.run("team_building", rounds=2, rehearse=True, store="other.db", progress=False)
fork = run.fork(at=2, seed=2)
assert (run.status, fork.status) == ("finished", "finished")
assert len(tt.open_store("other.db").runs()) == 2
dialogue = tt.run("tidewell", removal_factor=0.5, rounds=1, rehearse=True, store="other.db", progress=False)
assert any(unit.removed for unit in dialogue.turn(1).units)
assert len(dialogue.turn(1).units.frame()) == len(dialogue.turn(1).units)
"""


@contextmanager
def environment(bounds: str, wheel: Path, python: str) -> Iterator[Path]:
    """Yield the folder of an environment's commands, with the wheel and the lowest or the newest versions it may have.

    Raises:
        subprocess.CalledProcessError: pip finds no versions that go together.
    """
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
        commands = Path(folder, "bin")
        runners = [f"{name}=={version(name)}" for name in _RUNNERS]
        constraints = ("--constraint", LOWEST) if bounds == "lowest" else ()
        # With pip's own environment in it, as sqlite-utils requires: of this interpreter, into that one.
        pip("install", *constraints, f"{wheel}[{EXTRAS}]", *runners, python=commands / "python")
        pip("check", python=commands / "python")
        yield commands


def rehearse(commands: Path, folder: Path) -> None:
    """Do in a folder what a newcomer does; raises `CalledProcessError` if something fails."""
    home = {"HOME": str(folder), "PATH": os.defpath}
    for command in _COMMANDS:
        subprocess.run([commands / "tertulia", *command.split()], cwd=folder, env=home, check=True, capture_output=True)
    subprocess.run([commands / "python", "-c", _SCRIPT], cwd=folder, env=home, check=True, capture_output=True)


def run_tests(commands: Path, folder: Path) -> None:
    """Run the tests against the installed package: beside the pages that they compare, and no room of the checkout."""
    for room in ("tests", "benchmarks", "docs"):
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    options = ("-q", "-m", "not slow and not postgres", "-p", "no:cacheprovider", "-W", "ignore")
    subprocess.run([commands / "python", "-m", "pytest", *options, *TESTS], cwd=folder, check=True)


def main() -> None:
    """Try the bounds that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bounds", nargs="+", choices=("lowest", "newest"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--no-tests", action="store_true", help="only rehearse")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as built:
        wheel = build_wheel(FOLDERS, Path(built))
        for bounds in options.bounds:
            with environment(bounds, wheel, options.python) as commands, tempfile.TemporaryDirectory() as folder:
                try:
                    rehearse(commands, Path(folder))
                except subprocess.CalledProcessError as error:
                    sys.exit(f"{bounds}: {error.cmd}\n{(error.stderr or b'').decode(errors='replace')}")
                if not options.no_tests:
                    run_tests(commands, Path(folder))
                print(f"{bounds}: ok, {options.python}", flush=True)


if __name__ == "__main__":
    main()
