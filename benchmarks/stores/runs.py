"""Measure the cost of stored runs: size, forks, and how fast they are read (`make bench-runs`).

Everything is done by the command line, each command in a new interpreter, on rehearsed meetings of five.
"""

import os
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.stores.viewer_stores import list_store
from tertulia.storage.store import SqlStore

ROOT = Path(__file__).parents[2]
ROUNDS = 100
FORKS, FORK_AT = 10, 50
MANY = 1000
REPETITIONS = 7
MB = 1e6
TERTULIA = (sys.executable, "-m", "tertulia.cli.main")


@dataclass(frozen=True)
class Figure:
    """A line of the table; a figure without a target is shown and not judged."""

    what: str
    found: str
    target: str = ""
    met: bool | None = None


def main() -> None:
    """Print the table; exit with 1 if a target is missed."""
    with tempfile.TemporaryDirectory(prefix="tertulia-runs-") as folder:
        store = Path(folder) / "tertulia.db"
        figures = [*size(store), *forks(store), *speed(store)]
    console = Console(width=110, highlight=False)
    table = Table("figure", "found", "target", "", title=f"a rehearsed meeting of five, {ROUNDS} rounds")
    for figure in figures:
        table.add_row(figure.what, figure.found, figure.target, {True: "ok", False: "short", None: ""}[figure.met])
    console.print(table)
    sys.exit(any(figure.met is False for figure in figures))


# --- size -----------------------------------------------------------------------------------------------------------


def size(store: Path) -> list[Figure]:
    """Run the meeting, and the same meeting for fewer rounds; return how its size grows."""
    sizes = {}
    for rounds in (10, 20, 90, ROUNDS):
        at = store if rounds == ROUNDS else store.with_name(f"{rounds}.db")
        tertulia("run", "team_building", "--rehearse", "--rounds", rounds, "--json", "--store", at)
        sizes[rounds] = at.stat().st_size
    early, late = sizes[20] - sizes[10], sizes[ROUNDS] - sizes[90]
    return [
        Figure("store, all prompts and thoughts", megabytes(sizes[ROUNDS]), "≤ 12 MB", sizes[ROUNDS] <= 12 * MB),
        Figure("  rounds 11–20", megabytes(early)),
        Figure("  rounds 91–100", megabytes(late), "linear: within a quarter", 0.75 <= late / early <= 1.25),
    ]


# --- forks ----------------------------------------------------------------------------------------------------------


def forks(store: Path) -> list[Figure]:
    """Fork the run; return what forks add to the store."""
    whole = store.stat().st_size
    shared, alike, changed = (copied(store, name) for name in ("shared.db", "alike.db", "changed.db"))
    for _ in range(FORKS):
        tertulia("fork", parent_of(shared), "--at", FORK_AT, "--rounds", FORK_AT, "--json", "--store", shared)
    tertulia("fork", parent_of(alike), "--at", FORK_AT, "--json", "--store", alike)
    tertulia("fork", parent_of(changed), "--at", FORK_AT, "--set", "seed=2", "--json", "--store", changed)
    added = {at: at.stat().st_size - whole for at in (shared, alike, changed)}
    return [
        Figure(
            f"{FORKS} forks that hold turn {FORK_AT} alone add",
            megabytes(added[shared]),
            f"less than the run: {megabytes(whole)}",
            added[shared] < whole,
        ),
        Figure(f"  one that goes on to {ROUNDS}, unchanged, adds", megabytes(added[alike])),
        Figure(f"  one that goes on to {ROUNDS}, with another seed", megabytes(added[changed])),
    ]


def copied(store: Path, name: str) -> Path:
    """Return a copy of a store."""
    return Path(shutil.copy(store, store.with_name(name)))


def parent_of(store: Path) -> str:
    """Return the id of a store's first run."""
    with SqlStore.open(store) as opened:
        return opened.runs()[-1].run


# --- speed ----------------------------------------------------------------------------------------------------------


def speed(store: Path) -> list[Figure]:
    """Return how long it takes to read runs."""
    many = store.with_name("many.db")
    list_store(many, MANY)
    found = []
    for what, arguments, target_s in (
        ("show --turn 60", ("show", "@last", "--turn", "60", "--store", str(store)), 0.3),
        ("runs", ("runs", "--store", str(store)), 0.4),
        (f"runs over {MANY} runs", ("runs", "--store", str(many)), 0.5),
    ):
        wall_s, cpu_s = added_by([*TERTULIA, *arguments], to=[sys.executable, "-c", "pass"], folder=store.parent)
        spent = f"{1000 * wall_s:.0f} ms ({1000 * cpu_s:.0f} of CPU)"
        found.append(Figure(f"{what}, besides Python's start", spent, f"< {1000 * target_s:.0f} ms", wall_s < target_s))
    return found


def added_by(command: Sequence[str], to: Sequence[str], folder: Path) -> tuple[float, float]:
    """Return the wall time and the CPU time that a process takes longer than another: medians, run in turn."""
    spent = [(seconds(command, folder), seconds(to, folder)) for _ in range(1 + REPETITIONS)][1:]
    wall_s, cpu_s = (statistics.median(longer[at] - shorter[at] for longer, shorter in spent) for at in (0, 1))
    return wall_s, cpu_s


# --- commands -------------------------------------------------------------------------------------------------------


def tertulia(*arguments: object) -> None:
    """Run a command in a new interpreter; `SystemExit` with its standard error if it fails."""
    done = subprocess.run(
        [*TERTULIA, *map(str, arguments)],
        cwd=tempfile.gettempdir(),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{shlex.join(done.args)}: exit code {done.returncode}\n{done.stderr}")


def seconds(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """Return the wall time and the CPU time of a process."""
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    wall_s, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def megabytes(size: int) -> str:
    """Return a number of bytes as shown."""
    return f"{size / MB:.2f} MB"


if __name__ == "__main__":
    main()
