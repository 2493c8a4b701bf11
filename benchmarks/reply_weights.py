"""The weights by which `nodes/shared/sense_reply.py` tells whether a line takes up the question before it.

A logistic regression, fitted on lines after questions as they are (0) and with a line of another conversation in their
place (1): of scenes and question pairs of `worlds/scenes/` (neither `plain_8.jsonl` nor what is held out), and of the
validation split of Synthetic-Persona-Chat. Every line counts twice: with what is known, and without.

Example: python -m benchmarks.reply_weights
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.planted import SCENES, public, scenes
from benchmarks.plantings import Said
from tertulia.nodes.shared.sense_reply import evidence
from tertulia.nodes.shared.situation import Situation
from tertulia.state.randomness import keyed_generator

#: The most questions of each source, and how strongly large weights are held back.
MOST, PENALTY = 1500, 3.0


def pairs() -> Iterator[Said]:
    """Yield answers that agree with a memory, each after its question."""
    for file in ("pairs", "pairs_plain"):
        for pair in map(json.loads, (SCENES / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()):
            known = {pair["speaker"]: (pair["memory"], *pair["others"]), pair["listener"]: ()}
            before = [(pair["listener"], pair["before"])]
            yield Said(Situation(pair["speaker"], list(known), before, known), pair["agrees"])


def examples(lines: Sequence[Said]) -> Iterator[tuple[list[float], int]]:
    """Yield the evidence of lines after questions, as they are and exchanged."""
    asked = [said for said in lines if evidence(said.text, said.situation) is not None]
    for number, said in enumerate(asked[:: max(1, len(asked) // MOST)][:MOST]):
        other = keyed_generator(2, round=number, node="replies").choice(lines)
        for situation in (said.situation, replace(said.situation, known={})):
            for text, label in ((said.text, 0), (other.text, 1)):
                if found := evidence(text, situation):
                    yield list(map(float, found.values())), label


def fitted(rows: NDArray[np.float64], labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights that Newton's method finds, of shape (evidence,)."""
    weights = np.zeros(rows.shape[1])
    for _ in range(30):
        probability = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (labels - probability) - PENALTY * weights
        curve = (rows * (probability * (1 - probability))[:, None]).T @ rows + PENALTY * np.eye(len(weights))
        weights += np.linalg.solve(curve, slope)
    return weights


def main() -> None:
    """Print the weights."""
    sources = [list(scenes("plain_[1-7].jsonl", "dialogues_*.jsonl")), list(public("valid", 900)), list(pairs())]
    found = [example for lines in sources for example in examples(lines)]
    rows, labels = np.array([row for row, _ in found]), np.array([float(label) for _, label in found])
    said = next(said for said in sources[0] if evidence(said.text, said.situation))
    for name, weight in zip(evidence(said.text, said.situation) or (), fitted(rows, labels), strict=True):
        print(f'    "{name}": {weight:.2f},')


if __name__ == "__main__":
    main()
