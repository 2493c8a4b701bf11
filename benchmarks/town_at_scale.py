"""What days of a town of N people take, rehearsed, and whether an encounter costs the same however many live there.

    python -m benchmarks.town_at_scale FOLDER STORE DAYS ENCOUNTERS TURNS

simulates the town in FOLDER, and prints as JSON what that took: the measured half of `benchmarks.scale town`.
"""

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.made_town import make_town
from benchmarks.store_content import content, differences

#: Encounters at the beginning and at the end of a simulation that are compared.
COMPARED = 100

_TERTULIA = (sys.executable, "-m", "tertulia.cli.main")


@dataclass(frozen=True)
class Town:
    """How large a town is, and what happens in it.

    Attributes:
        people: How many live there.
        days: How many days pass.
        encounters: On a day.
        turns: Of a conversation, at most.
    """

    people: int
    days: int
    encounters: int
    turns: int

    @property
    def options(self) -> tuple[str, ...]:
        """The options of `tertulia simulate`."""
        counts = ("--days", str(self.days), "--encounters-per-day", str(self.encounters))
        return ("--rehearse", *counts, "--set", f"max_turns={self.turns}", "--json")


@dataclass(frozen=True)
class Took:
    """What a command took: CPU seconds, and memory at its highest in MB."""

    cpu_s: float
    peak_mb: float


def simulated(town: Town, folder: Path) -> dict[str, Any]:
    """Make a town, let its days pass, and return what that took.

    Args:
        town: The town.
        folder: An empty folder, where the town and its store come to lie as `town` and `town.db`.
    """
    make_town(folder / "town", town.people)
    numbers = (town.days, town.encounters, town.turns)
    command = ["-m", "benchmarks.town_at_scale", folder / "town", folder / "town.db", *numbers]
    run = subprocess.run([sys.executable, *map(str, command)], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def asked_afterwards(store: Path, simulation: str, resident: str) -> dict[str, Took]:
    """Return what the commands take that read a simulation, each in a process of its own."""
    conversation = f"{simulation}-1-1"
    commands = {
        "days": ("days", simulation, "--json"),
        "days --encounters": ("days", simulation, "--encounters", "--json"),
        "days --agent": ("days", simulation, "--agent", resident, "--json"),
        "show RUN": ("show", conversation, "--json"),
        "show RUN --turn": ("show", conversation, "--turn", "1", "--json"),
        "stats RUN": ("stats", conversation, "--json"),
        "runs": ("runs",),
        "runs --json": ("runs", "--json"),
        "search": ("search", "boat", "--json"),
        "doctor": ("doctor", "--json"),
    }
    took = {name: _timed([*_TERTULIA, *command, "--store", str(store)]) for name, command in commands.items()}
    pages = {"view, all runs": "runs", "view, the town": f"towns/{simulation}"}
    for name, page in pages.items():
        took[name] = _timed([sys.executable, "-c", _PAGE, str(store), page])
    return took


_PAGE = """
import json, sys
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at

with SqlStore.open(sys.argv[1]) as store:
    print(len(json.dumps(document_at(store, sys.argv[2]))))
"""


#: Runs a command, and prints what it took: from a small process, whose memory would count as that of the command.
_TIMED = """
import json, resource, subprocess, sys

code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
sys.exit(code)
"""


def _timed(command: Sequence[str]) -> Took:
    run = subprocess.run([sys.executable, "-c", _TIMED, *command], stdout=subprocess.PIPE, text=True, check=True)
    return Took(*json.loads(run.stdout))


# --- killed ---------------------------------------------------------------------------------------------------------


def killed_and_resumed(town: Town, folder: Path, kills: int) -> list[str]:
    """Kill a simulation with `kill -9`, resume it, and again; return where it differs from one that nobody disturbed.

    Args:
        town: The town.
        folder: An empty folder.
        kills: How often; each falls after about the same share of the encounters.
    """
    make_town(folder / "town", town.people)
    undisturbed, killed = folder / "undisturbed.db", folder / "killed.db"
    begin = [*_TERTULIA, "simulate", f"ga:{folder / 'town'}", *town.options]
    subprocess.run([*begin, "--store", str(undisturbed)], check=True, capture_output=True)
    every = town.days * town.encounters // (kills + 1)
    for kill in range(1, kills + 1):
        _kill_after(kill * every, begin if kill == 1 else _resume(), killed)
    subprocess.run([*_resume(), "--store", str(killed)], check=True, capture_output=True)
    return differences(content(undisturbed), content(killed))


def _resume() -> list[str]:
    return [*_TERTULIA, "simulate", "--resume", "@last", "--json"]


def _kill_after(encounters: int, command: Sequence[str], store: Path) -> None:
    """Start a command, and kill it once a store has so many encounters, wherever it is then."""
    from tertulia.storage.store import SqlStore

    process = subprocess.Popen([*command, "--store", str(store)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        if store.exists():
            with SqlStore.open(store) as opened:
                if opened.file.rows("SELECT count(*) AS n FROM encounters")[0]["n"] >= encounters:
                    process.send_signal(signal.SIGKILL)
        time.sleep(0.05)
    if process.returncode != -signal.SIGKILL:
        sys.exit(f"{' '.join(command)}: it ended before it was killed")


# --- the process that is measured -----------------------------------------------------------------------------------


def _simulate(town: str, path: Path, days: int, encounters: int, turns: int) -> dict[str, Any]:
    from tertulia.runs.access.engines import ModelAccess
    from tertulia.runs.driving.events import EncounterFinished, Event
    from tertulia.runs.driving.towns import drive_simulation
    from tertulia.runs.planning.simulations import begin_simulation, plan_simulation
    from tertulia.storage.store import SqlStore

    marks = [_cpu_s()]
    plan = plan_simulation(
        f"ga:{town}", {"max_turns": turns}, days=days, encounters_per_day=encounters, model="rehearsal"
    )
    opened = _cpu_s()
    with SqlStore.open(path, create=True) as store:
        simulation, engines = begin_simulation(store, plan, ModelAccess())
        store.file.save_log()
        started, empty = _cpu_s(), path.stat().st_size
        turns_held: list[int] = []

        def note(event: Event) -> None:
            if isinstance(event, EncounterFinished):
                marks.append(_cpu_s())
                turns_held.append(event.turns)

        clock = time.perf_counter()
        drive_simulation(store, simulation, engines, note)
        clock = time.perf_counter() - clock
        store.file.save_log()
    spent = [later - earlier for earlier, later in pairwise(marks[1:])]
    compared = min(COMPARED, len(spent) // 2)
    return {
        "simulation": simulation.simulation,
        "resident": plan.town.town.residents[0].persona.name,
        "encounters": len(turns_held),
        "turns": sum(turns_held),
        "open_s": opened - marks[0],
        "begin_s": started - opened,
        "first_s": marks[1] - started,
        "drive_s": marks[-1] - started,
        "wall_s": clock,
        "early_s": sum(spent[:compared]) / compared,
        "late_s": sum(spent[-compared:]) / compared,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "begun_bytes": empty,
        "bytes": path.stat().st_size,
    }


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    folder, store, *counts = sys.argv[1:]
    print(json.dumps(_simulate(folder, Path(store), *map(int, counts))))
