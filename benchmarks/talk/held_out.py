"""Held-out loss of voices by kind of line: `python -m benchmarks.talk.held_out MODEL ... [--scenes FILE]`.

Each written dialogue of a file is read as both people have it, with whole prompts and with all removable units gone.
The table has nats a token of *openings*, *answers* (a question mark is in the line before), and *other* lines, with
95 % bootstrap intervals over scenes.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from transformers import PreTrainedModel

from tertulia.cli.environment import cache_folder
from tertulia.lab.tuning.lesson import Lesson, sequence_of
from tertulia.lab.tuning.scene_lessons import lessons_of
from tertulia.models.local.adapters import merge_adapters
from tertulia.models.tuning.base import load_base
from tertulia.models.tuning.likelihoods import token_log_probabilities
from tertulia.state.language_model import Tokenizer, ignore_activity
from tertulia.worlds.scenes import DialogueScene, read_scenes, shipped_scenes

KINDS = ("opening", "answer", "other")

#: By kind of line: log-probability and tokens of each scene.
Figures = dict[str, list[tuple[float, int]]]


def kinds_of(scene: DialogueScene, lesson: Lesson) -> list[str]:
    """Return the kind of each learned line of a lesson, in the order of the lines."""
    turns = sorted(int(unit.rsplit("_", 1)[1]) for unit in lesson.learned)
    lines = [text for _, text in scene.lines]
    return ["opening" if turn == 1 else "answer" if "?" in lines[turn - 2] else "other" for turn in turns]


def figures(model: PreTrainedModel, tokenizer: Tokenizer, scenes: Sequence[DialogueScene], whole: bool) -> Figures:
    """Return the log-probabilities of written lines, in nats, by kind and scene."""
    found: Figures = defaultdict(list)
    for number, scene in enumerate(scenes):
        of_scene: dict[str, list[tuple[float, int]]] = defaultdict(list)
        for lesson in lessons_of(scene, number):
            if not lesson.learned:
                continue
            sequence = sequence_of(lesson, [] if whole else lesson.removable(), tokenizer)
            with torch.no_grad():
                spans, _ = token_log_probabilities(model, sequence)
            for kind, logs in zip(kinds_of(scene, lesson), spans, strict=True):
                of_scene[kind].append((float(logs.sum()), len(logs)))
        for kind, values in of_scene.items():
            found[kind].append((sum(value for value, _ in values), sum(tokens for _, tokens in values)))
    return found


def loss(values: Sequence[tuple[float, int]], draws: int = 2000) -> str:
    """Return nats a token, with its interval over scenes."""
    both = np.array(values)
    drawn = both[np.random.default_rng(1).integers(0, len(both), (draws, len(both)))].sum(1)
    sums = -drawn[:, 0] / drawn[:, 1]
    low, high = np.quantile(sums, (0.025, 0.975))
    return f"{-both[:, 0].sum() / both[:, 1].sum():.2f} [{low:.2f}, {high:.2f}]"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", help="voices, as --model takes them")
    parser.add_argument("--scenes", type=Path, default=shipped_scenes() / "held_out" / "dialogues.jsonl")
    asked = parser.parse_args(arguments)
    scenes = [scene for scene in read_scenes([asked.scenes]) if isinstance(scene, DialogueScene)]
    print(f"{len(scenes)} scenes, nats a token\n")
    print(f"| voice | prompt | {' | '.join(KINDS)} |\n|---|---|---|---|---|")
    for name in asked.models:
        base = load_base(name, cache_folder(), ignore_activity)
        if base.adapters is not None:
            merge_adapters(base.model, base.adapters)
        for whole in (True, False):
            of_kind = figures(base.model, base.tokenizer, scenes, whole)
            cells = " | ".join(loss(of_kind[kind]) for kind in KINDS)
            print(f"| {name} | {'whole' if whole else 'nothing removable'} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
