"""How well the rules of `tertulia/metrics/outcomes.py` rank conversations whose outcome is known.

`outcome_scenes.jsonl` has a scene a line: its people (goal, steps, secret, what they know), its lines, and the outcome
for each as its author meant it, in Sotopia's ranges. All but the last eight were written before there was a rule.
Scenes of one subject are in one half; rules were changed with a look at the scores of the half that is not `held_out`,
and fixed before the other was scored. The last eight, meetings and nonsense, of which that half had none, came after
that; the rule for what a meeting settles was changed once more with a look at them.

Example: python -m benchmarks.outcomes
"""

import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scipy.stats import spearmanr

from tertulia.metrics.outcome_records import RANGES, Outcomes, PersonInScene, SaidLine
from tertulia.metrics.outcomes import outcomes
from tertulia.models.loading import open_embedder
from tertulia.state.language_model import Embedder
from tertulia.views.reading.sense import faults_in

SCENES = Path(__file__).with_name("outcome_scenes.jsonl")


def scenes(held_out: bool) -> Iterator[dict[str, Any]]:
    """Yield the scenes of a half."""
    for line in SCENES.read_text(encoding="utf-8").splitlines():
        if (scene := json.loads(line))["held_out"] == held_out:
            yield scene


def outcomes_of(scene: dict[str, Any], embedder: Embedder) -> Outcomes:
    """Return what the rules find in a scene."""
    people = [
        PersonInScene(
            agent=name,
            goals=((person["goal"], tuple(person["steps"])),) if person["goal"] else (),
            secret=person["secret"],
            known=tuple(person["knows"]),
        )
        for name, person in scene["people"].items()
    ]
    faults = faults_in([(speaker, text) for speaker, text in scene["lines"]])
    lines = []
    for turn, ((speaker, text), found) in enumerate(zip(scene["lines"], faults, strict=True), start=1):
        others = tuple(name for name in scene["people"] if name != speaker)
        before = scene["lines"][turn - 2][0] if turn > 1 else others[0]
        to = tuple(name for name in others if name in text) or ((before,) if before != speaker else others)
        lines.append(SaidLine(turn=turn, speaker=speaker, text=text, to=to, heard_by=others, faulty=bool(found)))
    return outcomes(people, lines, scene["about"], embedder)


def compared(held_out: bool, embedder: Embedder) -> dict[str, list[tuple[float, float, str]]]:
    """Return by dimension what is known, what the rules say, and of whom."""
    pairs: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for scene in scenes(held_out):
        found = outcomes_of(scene, embedder)
        for person in found.people:
            for dimension in RANGES:
                known, score = scene["outcomes"][person.agent][dimension], getattr(person, dimension)
                if known is not None and score is not None:
                    pairs[dimension].append((known, score, f"{scene['scene']}, {person.agent}"))
        if scene["meeting"] is not None and found.meeting is not None:
            assert found.meeting.score is not None
            pairs["meeting"].append((scene["meeting"], found.meeting.score, scene["scene"]))
    return pairs


def main() -> None:
    """Print rank correlation and mean absolute difference by dimension and half; `--show` prints the first half."""
    warnings.simplefilter("ignore")  # a dimension without variance has no correlation
    embedder = open_embedder("minilm")
    if "--show" in sys.argv:
        for dimension, pairs in compared(False, embedder).items():
            for known, score, who in sorted(pairs):
                print(f"{dimension:<14}{known:>4} {score:6.1f}  {who}")
    for held_out in (False,) if "--show" in sys.argv else (False, True):
        print("held out" if held_out else "looked at")
        for dimension, pairs in compared(held_out, embedder).items():
            rho = float(spearmanr([known for known, *_ in pairs], [score for _, score, _ in pairs]).statistic)
            difference = sum(abs(known - score) for known, score, _ in pairs) / len(pairs)
            print(f"  {dimension:<14} n {len(pairs):>3}  rho {rho:5.2f}  difference {difference:4.1f}")


if __name__ == "__main__":
    main()
