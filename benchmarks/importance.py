"""How well the scale of `nodes/town/importance.py` agrees with a reader's ratings, and how well a model does.

`importance_lines.jsonl` has a memory a line, without date, people and place, with ratings from 1 to 10 by Park et al.'s
definition of poignancy. One reader, a large language model, rated all twice before there was a rule, the second time in
another order; that reader then made the scale. Another one, who saw the texts alone, rated them afterwards.

| source | texts |
|---|---|
| own | written for this file, by the same model: 110 summaries, 90 thoughts, 30 insights, 30 activities |
| scenes, tidewell, meetings | memories of people in `worlds/`, drawn by a hash, written before for other ends |
| later | 85 more of scenes and Tidewell, drawn, read and rated after the scale was made; it was not changed since |
| smollm2 | all that 8 conversations of Tidewell left (two days, λ = 0, six turns, seed 5), with the model's rating |

Weights and words were chosen on the texts that `is_held_out` leaves. Of those held out, all but `later` had been read
before by who chose the words; a scale that is fitted well to one writer's words does better on that writer's texts.

Example: python -m benchmarks.importance
"""

import json
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tertulia.metrics.curves import spearman
from tertulia.nodes.town.importance import importance_of

LINES = Path(__file__).with_name("importance_lines.jsonl")
#: What the embedded model gives a memory of each kind, whatever it says: its prompt's example.
BY_KIND = {"seen": 4, "summary": 2, "thought": 7}


class Rated(NamedTuple):
    """A memory with its ratings.

    Attributes:
        kind: Which memory of a conversation it is, or could be: `seen`, `summary`, `thought`, `insight`, `memory`.
        ratings: The first reader's first and second, and the second reader's, from 1 to 10.
        model: That of the model whose memory it is; `None` if no model wrote it in a town.
    """

    text: str
    kind: str
    source: str
    ratings: tuple[int, int, int]
    model: int | None = None

    @property
    def mean(self) -> float:
        """The mean of both readers."""
        first, again, second = self.ratings
        return ((first + again) / 2 + second) / 2

    @property
    def is_held_out(self) -> bool:
        """Whether the scale was not fitted on it: half of the texts, by a hash, and all of two sources."""
        return self.source in ("later", "smollm2") or blake2b(self.text.encode(), digest_size=8).digest()[-1] % 2 == 1


def rated() -> list[Rated]:
    """Return all memories of the file."""
    return [Rated(**json.loads(line)) for line in LINES.read_text(encoding="utf-8").splitlines()]


def agreement(ratings: Sequence[float], others: Sequence[float]) -> tuple[float, float]:
    """Return Spearman's ρ (0 where either is constant) and the mean absolute difference."""
    x, y = np.array(ratings, float), np.array(others, float)
    return spearman(x, y) or 0.0, float(np.abs(x - y).mean())


def main() -> None:
    """Print the agreement of the readers, and of the scale and former ratings with their mean."""
    lines = rated()
    held = [line for line in lines if line.is_held_out]
    written, modelled = [line for line in held if line.model is None], [line for line in held if line.model is not None]
    of_kind = [line for line in written if line.kind in BY_KIND]

    def show(what: str, texts: Sequence[Rated], ratings: Sequence[float], others: Sequence[float]) -> None:
        rho, difference = agreement(ratings, others)
        print(f"{what:52} {len(texts):4} texts  ρ = {rho:5.2f}  off by {difference:.2f}")

    def show_scale(what: str, texts: Sequence[Rated]) -> None:
        show(what, texts, [importance_of(line.text) for line in texts], [line.mean for line in texts])

    firsts = [(line.ratings[0] + line.ratings[1]) / 2 for line in lines]
    seconds = [line.ratings[2] for line in lines]
    show("the first reader, twice", lines, [line.ratings[0] for line in lines], [line.ratings[1] for line in lines])
    show("both readers", lines, firsts, seconds)
    show(
        "the scale and the second reader, held out",
        held,
        [importance_of(line.text) for line in held],
        [line.ratings[2] for line in held],
    )
    show_scale("the scale, where it was fitted", [line for line in lines if not line.is_held_out])
    show_scale("the scale, held out", [line for line in written if line.source != "later"])
    for source in ("own", "scenes", "tidewell", "meetings"):
        show_scale(f"    {source}", [line for line in written if line.source == source])
    show_scale("the scale, on memories read later", [line for line in written if line.source == "later"])
    means = [line.mean for line in of_kind]
    show_scale("held out, written as one of a conversation's memories", of_kind)
    show("    by the kind of memory, as formerly", of_kind, [BY_KIND[line.kind] for line in of_kind], means)
    show_scale("memories that the embedded model wrote", modelled)
    own_ratings = [line.model or 0 for line in modelled]
    show("    its own ratings", modelled, own_ratings, [line.mean for line in modelled])


if __name__ == "__main__":
    main()
