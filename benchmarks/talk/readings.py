"""Tables of blind readings: `python -m benchmarks.talk.readings [FILE ...]`.

A file of `benchmarks/talk/labels/` has a conversation a line, with its case, the voice and how it was decoded, its
lines, and how two readers labelled each line, not knowing the voice: whether it makes sense at its place, its faults,
and whether the details that it states are right; and whether the conversation came to the matter between the two. A
detail can be wrong without being the line's fault. An empty line (*That is a good thing*) can make sense, so those that
do and are not empty are counted besides. Shares are means over both readers; the difference in the share of sensible
lines is from the first voice of a file, over cases, with its 95 % bootstrap interval.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

LABELS = Path(__file__).parent / "labels"
FAULTS = ("filler", "denial", "person", "fact", "disconnected", "repeats", "broken")

#: A conversation as it lies in a file.
Conversation = dict[str, Any]


def by_voice(conversations: Sequence[Conversation]) -> dict[str, list[Conversation]]:
    """Return the conversations by voice and decoder, in the order of the file."""
    found: dict[str, list[Conversation]] = defaultdict(list)
    for conversation in conversations:
        found[f"{conversation['voice']}, {conversation['decoder']}"].append(conversation)
    return found


def labels_of(conversations: Sequence[Conversation]) -> list[dict[str, Any]]:
    """Return the labels of all lines, those of the two readers one after the other."""
    lines = [line for conversation in conversations for line in conversation["lines"]]
    return [label for line in lines for label in line["readers"]]


def sense_by_case(conversations: Sequence[Conversation]) -> dict[str, float]:
    """Return the share of sensible lines of each case."""
    found: dict[str, list[int]] = defaultdict(list)
    for conversation in conversations:
        found[conversation["case"]] += [label["sense"] for label in labels_of([conversation])]
    return {case: float(np.mean(labels)) for case, labels in sorted(found.items())}


def difference_from(first: dict[str, float], other: dict[str, float], draws: int = 5000) -> str:
    """Return the mean difference over cases, in points, with its interval."""
    figures = 100 * np.array([other[case] - first[case] for case in first])
    drawn = np.random.default_rng(1).choice(figures, (draws, len(figures))).mean(1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return f"{figures.mean():+.0f} [{low:+.0f}, {high:+.0f}]".replace("-", "−")


def agreement(conversations: Sequence[Conversation]) -> float:
    """Return Cohen's κ of the two readers on sense."""
    both = np.array([label["sense"] for label in labels_of(conversations)]).reshape(-1, 2)
    chance = both[:, 0].mean() * both[:, 1].mean() + (1 - both[:, 0].mean()) * (1 - both[:, 1].mean())
    return float(((both[:, 0] == both[:, 1]).mean() - chance) / (1 - chance))


def percent(values: Sequence[bool]) -> str:
    """Return the percentage of true values, or – without any."""
    return f"{100 * np.mean(values):.0f}" if values else "–"


def table(conversations: Sequence[Conversation]) -> list[str]:
    """Return the table of a file."""
    head = ["voice, decoder", "lines", "sense", "and not empty", "from the first", "openings", *FAULTS]
    head += ["details right", "to the matter"]
    printed = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    found = by_voice(conversations)
    first = sense_by_case(next(iter(found.values())))
    for name, of_voice in found.items():
        labels = labels_of(of_voice)
        openings = [label["sense"] == 1 for conversation in of_voice for label in conversation["lines"][0]["readers"]]
        stated = [label["fact"] == "right" for label in labels if label["fact"] != "none"]
        cells = [
            name,
            str(len(labels) // 2),
            percent([label["sense"] == 1 for label in labels]),
            percent([label["sense"] == 1 and "filler" not in label["faults"] for label in labels]),
            difference_from(first, sense_by_case(of_voice)) if printed[2:] else "–",
            percent(openings),
            *(percent([fault in label["faults"] for label in labels]) for fault in FAULTS),
            percent(stated),
            percent([label == 1 for conversation in of_voice for label in conversation["matter"]]),
        ]
        printed.append(f"| {' | '.join(cells)} |")
    return printed


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    for file in parser.parse_args(arguments).files or sorted(LABELS.glob("*.jsonl")):
        conversations = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        print(f"\n{file.stem}: per cent of lines; κ = {agreement(conversations):.2f}\n")
        print("\n".join(table(conversations)))


if __name__ == "__main__":
    main()
