"""Measure the neighbours: `python -m benchmarks.peers [--environments FOLDER] [--only NAME] [--rounds N]`.

The environments are made in the folder on first use (3 GB together, SDialog's with PyTorch; Concordia's needs Python
3.12 on the path). All systems hold the same meeting and the same dialogue with the same server, which answers after
200 ms; the tables go to standard output.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.peers import tables
from benchmarks.peers.cases import DIALOGUE, MEETING
from benchmarks.peers.environments import python_of
from benchmarks.peers.measuring import Killed, Measured, System, kill, measure

SYSTEMS = (
    System("LangGraph, a program of ours", "langgraph", (MEETING, DIALOGUE)),
    System("AutoGen", "autogen", (MEETING, DIALOGUE)),
    System("Agent Framework", "agent_framework", (MEETING, DIALOGUE)),
    System("CAMEL", "camel", (DIALOGUE,)),
    System("SDialog, two agents", "sdialog", (DIALOGUE,)),
    System("SDialog, one call for all turns", "sdialog", (MEETING,)),
    System("Concordia, minimal entities", "concordia", (MEETING, DIALOGUE), {"entity": "minimal__Entity"}),
    System("Concordia, basic entities", "concordia", (MEETING, DIALOGUE), {"entity": "basic__Entity"}),
    System("Tertulia", "tertulia", (DIALOGUE,), {"redraws": "0"}),
    System("Tertulia, self-driven", "tertulia", (MEETING,), {"order": "self_driven", "redraws": "0"}),
    System("Tertulia, centralised", "tertulia", (MEETING,), {"order": "centralised", "redraws": "0"}),
)


def main() -> None:
    """Print the tables."""
    chosen = arguments()
    systems = [system for system in SYSTEMS if not chosen.only or system.driver in chosen.only]
    drivers = dict.fromkeys(system.driver for system in systems)
    pythons = {name: python_of(name, chosen.environments) for name in drivers}
    for scenario in chosen.scenarios:
        able = [system for system in systems if scenario in system.scenarios]
        undisturbed: list[tuple[str, list[Measured]]] = []
        for failures in chosen.failures:
            measured = [(system.name, list[Measured]()) for system in able]
            for seed in range(chosen.repeat):  # one after another, so that a noisy minute meets all of them
                for system, (_, repetitions) in zip(able, measured, strict=True):
                    python = pythons[system.driver]
                    repetitions.append(measure(system, python, scenario, chosen.rounds, failures, seed))
                    report(f"{scenario}, {failures:.0%} failures: {system.name}, {repetitions[-1].seconds:.0f} s")
            undisturbed = undisturbed if failures else measured
            table = tables.of_failures(measured) if failures else tables.of_speed(measured)
            print(f"\n## {scenario}, {chosen.rounds} turns, {failures:.0%} of the requests fail\n\n{table}", flush=True)
        if undisturbed and chosen.kills:
            print(f"\n## {scenario}, killed with kill -9 in the middle\n")
            print(tables.of_kills(killed(able, pythons, scenario, chosen.rounds, undisturbed)), flush=True)


def killed(
    systems: Sequence[System],
    pythons: dict[str, Path],
    scenario: str,
    turns: int,
    undisturbed: Sequence[tuple[str, Sequence[Measured]]],
) -> list[tuple[str, Killed, float]]:
    """Kill each system after half of the answers that it takes undisturbed, and start it again."""
    rows = []
    for system, (name, repetitions) in zip(systems, undisturbed, strict=True):
        if held := [measured.answers for measured in repetitions if measured.report]:
            middle = max(1, int(median(held)) // 2) if median(held) > 1 else 0
            rows.append((name, kill(system, pythons[system.driver], scenario, turns, middle), median(held)))
            report(f"{scenario}, killed: {name}")
    return rows


def report(line: str) -> None:
    """Say on standard error what is done."""
    print(line, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    """Return what was chosen on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--environments", type=Path, default=Path("build/peers"), help="where they are, or are made")
    parser.add_argument("--only", nargs="+", choices=sorted({system.driver for system in SYSTEMS}), help="some of them")
    parser.add_argument("--scenarios", nargs="+", choices=(MEETING, DIALOGUE), default=[MEETING, DIALOGUE])
    parser.add_argument("--rounds", type=int, default=8, help="utterances of a conversation")
    parser.add_argument("--failures", type=float, nargs="+", default=[0.0, 0.1], help="share of requests that fail")
    parser.add_argument("--kills", action=argparse.BooleanOptionalAction, default=True, help="kill each in its middle")
    parser.add_argument("--repeat", type=int, default=3, help="how often each is measured")
    return parser.parse_args()


if __name__ == "__main__":
    main()
