"""How well the rules of `nodes/shared/sense.py` agree with two readers, on lines of the embedded model's voice.

`sense_lines.jsonl` has a dialogue a line: its people with the memories that their first prompt showed, and its lines,
each with what two readers found wrong with it, `null` for nothing. They are eleven dialogues of the town Tidewell at
λ = 0 and T = 0.6, of two seeds, none left out; no draft was drawn again. The readers were two large language
models. Each judged a line after those before it without seeing the other's labels or any rule.

`draft_lines.jsonl` has 536 drafts of it for turns of written scenes, with the labels of two more readers
(`benchmarks/drafts.py`). `spoken_lines.jsonl` has lines of the voice's own conversations, by how their openings were
drawn (docs/results/embedded_model.md), two readers each.

Example: python -m benchmarks.sense
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from benchmarks.drafts import drafted
from tertulia.nodes.shared.sense import faults_of
from tertulia.nodes.shared.situation import Situation

LINES = Path(__file__).with_name("sense_lines.jsonl")
SPOKEN = Path(__file__).with_name("spoken_lines.jsonl")


def labelled() -> Iterator[tuple[bool, tuple[str | None, ...]]]:
    """Yield for each line of a dialogue whether a rule finds a fault, and what each reader found."""
    for dialogue in map(json.loads, LINES.read_text(encoding="utf-8").splitlines()):
        known = {name: tuple(memories) for name, memories in dialogue["people"].items()}
        time = datetime.strptime(dialogue["time"], "%A %d %B %Y %H:%M")
        lines = [(speaker, text) for speaker, text, _ in dialogue["lines"]]
        for at, (speaker, text, labels) in enumerate(dialogue["lines"]):
            situation = Situation(speaker, list(known), lines[:at], known, dialogue["place"], time)
            yield bool(faults_of(text, situation)), tuple(labels)


def labelled_drafts() -> Iterator[tuple[bool, tuple[str | None, ...]]]:
    """Yield the same for each draft of `draft_lines.jsonl`."""
    for turn in drafted():
        known = {
            person.name: (*person.memories, *filter(None, (person.background, person.traits, person.activity)))
            for person in turn.scene.people
        }
        before = turn.scene.lines[: turn.turn - 1]
        situation = Situation(turn.speaker, list(known), before, known, turn.scene.place, turn.scene.began)
        for text, labels, *_ in turn.drafts:
            yield bool(faults_of(str(text), situation)), tuple(labels)  # type: ignore[arg-type]


def main() -> None:
    """Print precision and recall by reader and kind of nonsense, and how much makes sense of what is spoken."""
    report("lines of dialogues", list(labelled()))
    report("drafts in scenes", list(labelled_drafts()))
    spoken: dict[str, list[list[str | None]]] = {}
    for line in map(json.loads, SPOKEN.read_text(encoding="utf-8").splitlines()):
        spoken.setdefault(line["of"], []).append(line["labels"])
    for kind, labels in spoken.items():
        sensible = [sum(of_reader is None for of_reader in readers) for readers in zip(*labels, strict=True)]
        print(f"{kind}: of {len(labels)} lines {' and '.join(map(str, sensible))} make sense")


def report(name: str, rows: Sequence[tuple[bool, tuple[str | None, ...]]]) -> None:
    """Print the figures of one file."""
    agree = sum((first is None) == (second is None) for _, (first, second) in rows)
    print(f"{len(rows)} {name}; the readers agree on {agree} whether it makes sense")
    for reader in range(2):
        wrong = [labels[reader] for _, labels in rows if labels[reader] is not None]
        caught = [labels[reader] for is_found, labels in rows if is_found and labels[reader] is not None]
        flagged = sum(is_found for is_found, _ in rows)
        print(f"reader {reader + 1}: {len(rows) - len(wrong)} make sense; precision {len(caught)}/{flagged}", end="")
        kinds = sorted({*wrong}, key=wrong.count, reverse=True)
        of_each = ", ".join(f"{kind} {caught.count(kind)}/{wrong.count(kind)}" for kind in kinds)
        print(f", recall {len(caught)}/{len(wrong)}: {of_each}")


if __name__ == "__main__":
    main()
