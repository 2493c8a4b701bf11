"""How often the rules of `nodes/agreements/` are right, on short exchanges whose agreements are labelled.

`agreement_lines.jsonl` has an exchange a line: when it begins (`now`), its lines, and what is agreed in them, with the
time (a date where no time of day was said) and the place, if there is one. They were written for this, before the rules
and by the same writer; of the half that is held out, nothing was looked at while the rules were made.

Example: python -m benchmarks.agreements
"""

import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tertulia.nodes.agreements.agreed import agreements_in
from tertulia.state.agreements import Agreement
from tertulia.state.records import Turn

LINES = Path(__file__).with_name("agreement_lines.jsonl")


def exchanges(held_out: bool) -> list[dict[str, Any]]:
    """Return the exchanges of a half, as they are in the file."""
    everything = map(json.loads, LINES.read_text(encoding="utf-8").splitlines())
    return [exchange for exchange in everything if exchange["held_out"] == held_out]


def found_in(exchange: Mapping[str, Any]) -> tuple[Agreement, ...]:
    """Return what the rules find in an exchange."""
    turns = [
        Turn(turn=turn, round=turn, speaker=speaker, text=text, sim_time_s=0.0, ended=False)
        for turn, (speaker, text) in enumerate(exchange["lines"], start=1)
    ]
    return agreements_in(turns, datetime.fromisoformat(exchange["now"]))


def is_right(found: Agreement, labelled: Mapping[str, str | None]) -> bool:
    """Return whether kind, time and place are those of the label."""
    time, place = labelled["time"], labelled["place"]
    is_time = time is None or (found.time is not None and found.time.isoformat().startswith(time))
    is_place = (place or "").casefold() in (found.place or "").casefold() and bool(place) == bool(found.place)
    return found.kind == labelled["kind"] and is_time and (is_place or labelled["kind"] == "task")


def counts(held_out: bool) -> Counter[str]:
    """Return how many agreements are labelled and found, and how many of those are there, and right in every part."""
    counted: Counter[str] = Counter()
    for exchange in exchanges(held_out):
        found, labelled = found_in(exchange), exchange["agreements"]
        counted["exchanges"] += 1
        counted["labelled"] += len(labelled)
        counted["found"] += len(found)
        counted["there"] += min(len(found), len(labelled))
        counted["right"] += sum(any(is_right(one, label) for one in found) for label in labelled)
    return counted


def main() -> None:
    """Print precision and recall on both halves."""
    for name, held_out in (("seen", False), ("held out", True)):
        of = counts(held_out)
        print(
            f"{name}: {of['exchanges']} exchanges, {of['labelled']} agreements; an agreement is there: precision"
            f" {of['there']}/{of['found']}, recall {of['there']}/{of['labelled']}; kind, time and place right:"
            f" {of['right']}/{of['labelled']}"
        )


if __name__ == "__main__":
    main()
