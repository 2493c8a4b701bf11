"""What one core, one GPU and a hundred of each can do: the figures of docs/scale.md.

    python -m benchmarks.scale parts --to FILE            measure the parts: a worker's start, an utterance, its bytes
    python -m benchmarks.scale town --people N --days D   make a town of N people, let its days pass, ask for them
    python -m benchmarks.scale table --parts FILE         reckon from the parts; a GPU's speed is given, not measured

Measured times are CPU seconds, which a busy machine changes little; what is reckoned is marked so.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import reckoning, scale_parts
from benchmarks.reckoning import HOUR_S, Parts, TableSize
from benchmarks.scale_parts import Measured
from benchmarks.town_at_scale import Town, asked_afterwards, killed_and_resumed, simulated

#: The parts as they were measured for docs/scale.md.
PARTS = Path(__file__).with_name("scale_parts.json")

#: Tokens that a GPU reads and writes a second, over all requests in flight. Not measured here: docs/scale.md cites from
#: where, and `--read` and `--written` take others.
READ_PER_S, WRITTEN_PER_S = 14_000, 6_500

#: The driver's CPU seconds for a run of 16 turns: `python -m benchmarks.merging` measures them.
MERGE_S = 0.013

#: A town of 1,000 for thirty days: encounters, so that everybody talks twice a day, and utterances of each.
TOWN = 30_000, 16
#: What a town's store grows by, a turn with all that is remembered of it (`town`: 104 KB an encounter of 3.5 turns).
BYTES_A_TURN = 30_000

REHEARSAL = "rehearsal"
WORKERS = (1, 2, 10, 100, 200, 1000)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(required=True)
    parts = kinds.add_parser("parts")
    parts.add_argument("--model", default="smollm2")
    parts.add_argument("--lambda", dest="removal_factors", type=float, nargs="+", default=[0.0, 0.5])
    parts.add_argument("--trials", type=int, default=10)
    parts.add_argument("--turns", type=int, default=6)
    parts.add_argument("--repeat", type=int, default=3, help="of a rehearsal; a model is measured once")
    parts.add_argument("--to", type=Path, default=None, help="write what was measured to this file")
    parts.set_defaults(run=print_parts)
    town = kinds.add_parser("town")
    town.add_argument("--people", type=int, required=True)
    town.add_argument("--days", type=int, default=2)
    town.add_argument("--encounters", type=int, default=150, help="on a day")
    town.add_argument("--turns", type=int, default=4, help="of a conversation, at most")
    town.add_argument("--kills", type=int, default=0, help="kill -9 so often, resume, and compare; nothing is timed")
    town.set_defaults(run=print_town)
    table = kinds.add_parser("table")
    table.add_argument("--parts", type=Path, default=PARTS)
    table.add_argument("--read", type=float, default=READ_PER_S, help="tokens a second that a GPU reads")
    table.add_argument("--written", type=float, default=WRITTEN_PER_S, help="tokens a second that a GPU writes")
    table.add_argument("--merge-s", type=float, default=MERGE_S, help="the driver's CPU seconds for a run")
    table.add_argument("--rehearsed-turn", type=float, default=0.04, help="CPU seconds of a turn in a town, rehearsed")
    table.add_argument("--encounter", type=float, default=0.05, help="and of an encounter beside its turns")
    table.add_argument("--embedded-turn", type=float, default=20.0, help="the same with the embedded model, all in all")
    table.add_argument("--served-turn", type=float, default=3.0, help="seconds to wait for a turn of a served model")
    table.add_argument("--gpu-start", type=float, default=60.0, help="seconds until a GPU's worker has its model")
    table.set_defaults(run=print_table)
    chosen = parser.parse_args(arguments)
    chosen.run(chosen)


# --- parts ----------------------------------------------------------------------------------------------------------


def print_parts(chosen: argparse.Namespace) -> None:
    """Measure the parts, print them, and write them to a file if one is named."""
    found: dict[str, Measured] = {}
    for removal_factor in chosen.removal_factors:
        for model, times in ((REHEARSAL, chosen.repeat), (chosen.model, 1)):
            repeated = [scale_parts.measured(model, removal_factor, chosen.trials, chosen.turns) for _ in range(times)]
            # Repeats of a rehearsal differ in their times alone.
            found[f"{model} {removal_factor:g}"] = sorted(repeated, key=lambda measured: measured.drive_s)[times // 2]
    if chosen.to is not None:
        text = json.dumps({name: asdict(measured) for name, measured in found.items()}, indent=1)
        chosen.to.write_text(text + "\n", encoding="utf-8")
    _print_parts(found)


def _print_parts(found: Mapping[str, Measured]) -> None:
    _row("model, λ", "start s", "load s", "s/utterance", "calls", "read", "written", "bytes", "ms/call", "peak MB")
    for name, part in found.items():
        per_call_ms = 1000 * part.drive_s / part.calls
        _row(
            name,
            f"{part.start_s:.1f}",
            f"{part.load_s:.1f}",
            f"{part.drive_s / part.utterances:.3f}",
            f"{part.calls / part.utterances:.1f}",
            f"{part.prompt_tokens / part.utterances:,.0f}",
            f"{part.reply_tokens / part.utterances:,.0f}",
            f"{part.store_bytes / part.utterances:,.0f}",
            f"{per_call_ms:.1f}",
            f"{part.peak_mb:,.0f}",
        )


# --- a town ---------------------------------------------------------------------------------------------------------


def print_town(chosen: argparse.Namespace) -> None:
    """Simulate a town, and print what that took, and what the commands take that read it; or kill it."""
    town = Town(chosen.people, chosen.days, chosen.encounters, chosen.turns)
    with tempfile.TemporaryDirectory(prefix="tertulia-town-") as folder:
        if chosen.kills:
            found = killed_and_resumed(town, Path(folder), chosen.kills)
            print("\n".join(found) or f"killed {chosen.kills} times, resumed: as undisturbed, in every row")
            sys.exit(bool(found))
        took = simulated(town, Path(folder))
        encounters, grown = took["encounters"], took["bytes"] - took["begun_bytes"]
        _row(
            "people", "encounters", "turns", "open s", "begin s", "first s", "early ms", "late ms", "peak MB", "KB each"
        )
        _row(
            f"{town.people:,}",
            f"{encounters:,}",
            f"{took['turns']:,}",
            *(f"{took[name]:.1f}" for name in ("open_s", "begin_s", "first_s")),
            *(f"{1000 * took[name]:.0f}" for name in ("early_s", "late_s")),
            f"{took['peak_mb']:,.0f}",
            f"{grown / encounters / 1000:,.0f}",
        )
        print()
        _row("command", "CPU s", "peak MB")
        for name, asked in asked_afterwards(Path(folder) / "town.db", took["simulation"], took["resident"]).items():
            _row(name, f"{asked.cpu_s:.1f}", f"{asked.peak_mb:,.0f}")


# --- a table --------------------------------------------------------------------------------------------------------


def print_table(chosen: argparse.Namespace) -> None:
    """Print what a table of APP would take, for each model and λ that was measured, on cores and on GPUs."""
    measured = {name: Measured(**part) for name, part in json.loads(chosen.parts.read_text(encoding="utf-8")).items()}
    size = TableSize()
    print(f"reckoned: {size.runs:,} runs of {size.utterances} utterances, in cohorts of {size.cohort}")
    print(f"a GPU is taken to read {chosen.read:,.0f} tokens a second, and to write {chosen.written:,.0f}")
    print()
    _row("model, λ", "on", "an hour", "hours in all", "workers", "W*", "hours", "times")
    for name, part in measured.items():
        model, _, factor = name.partition(" ")
        own_s = _utterance_s(measured[f"{REHEARSAL} {factor}"])
        if model == REHEARSAL:
            kinds = {"core": Parts(0.0, own_s, part.start_s + part.load_s, chosen.merge_s)}
        else:
            tokens = part.prompt_tokens / part.utterances, part.reply_tokens / part.utterances
            of_gpu = reckoning.gpu_s(*tokens, chosen.read, chosen.written)
            start_s = part.start_s + part.load_s
            kinds = {
                "core": Parts(_utterance_s(part) - own_s, own_s, start_s, chosen.merge_s),
                "GPU": Parts(of_gpu, 0.0, chosen.gpu_start, chosen.merge_s),
            }
        for kind, parts in kinds.items():
            _print_workers(name, kind, size, parts)
    print()
    encounters, utterances = TOWN
    print(f"reckoned: {encounters:,} encounters of {utterances} utterances in a town, one after another on any number")
    _row("seconds a turn", "of an encounter", "days", "GB")
    kinds_of_turns = ((chosen.rehearsed_turn, chosen.encounter), (chosen.embedded_turn, 0.0), (chosen.served_turn, 0.0))
    for turn_s, encounter_s in kinds_of_turns:
        days = reckoning.town_s(encounters, utterances, turn_s, encounter_s) / HOUR_S / 24
        _row(f"{turn_s:g}", f"{encounter_s:g}", f"{days:,.1f}", f"{encounters * utterances * BYTES_A_TURN / 1e9:,.0f}")


def _print_workers(name: str, kind: str, size: TableSize, parts: Parts) -> None:
    """Print what a table takes with more and more workers."""
    for workers in WORKERS:
        first = workers == WORKERS[0]
        _row(
            name if first else "",
            kind if first else "",
            f"{HOUR_S / parts.utterance_s:,.0f}" if first else "",
            f"{reckoning.work_s(size, parts) / HOUR_S:,.1f}" if first else "",
            f"{workers}",
            f"{reckoning.workers_of_driver(size, parts):,.0f}" if first else "",
            f"{reckoning.wall_s(size, parts, workers) / HOUR_S:,.2f}",
            f"{reckoning.speedup(size, parts, workers):.1f}",
        )


def _utterance_s(part: Measured) -> float:
    return part.drive_s / part.utterances


def _row(*cells: str) -> None:
    print(f"{cells[0]:<20}" + "".join(f"{cell:>13}" for cell in cells[1:]), flush=True)


if __name__ == "__main__":
    main()
