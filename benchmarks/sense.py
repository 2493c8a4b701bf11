"""How well the rules of `nodes/shared/sense.py` agree with two readers, on lines of the embedded model's voice.

`sense_lines.jsonl` has a dialogue a line: its people with the memories that their first prompt showed, and its lines,
each with what two readers found wrong with it, `null` for nothing. They are eleven dialogues of the town Tidewell at
λ = 0 and T = 0.6, of two seeds, none left out; no draft was drawn again. The readers were two large language
models. Each judged a line after those before it without seeing the other's labels or any rule.

Example: python -m benchmarks.sense
"""

import json
from collections.abc import Iterator
from pathlib import Path

from tertulia.reading.sense import faults_in

LINES = Path(__file__).with_name("sense_lines.jsonl")


def labelled() -> Iterator[tuple[bool, tuple[str | None, ...]]]:
    """Yield for each line whether a rule finds a fault, and what each reader found."""
    for dialogue in map(json.loads, LINES.read_text(encoding="utf-8").splitlines()):
        faults = faults_in([(speaker, text) for speaker, text, _ in dialogue["lines"]])
        for found, (*_, labels) in zip(faults, dialogue["lines"], strict=True):
            yield bool(found), tuple(labels)


def main() -> None:
    """Print precision and recall by reader, and recall of each kind of nonsense."""
    rows = list(labelled())
    agree = sum((first is None) == (second is None) for _, (first, second) in rows)
    print(f"{len(rows)} lines; the readers agree on {agree} whether it makes sense")
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
