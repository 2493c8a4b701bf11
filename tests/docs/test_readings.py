"""The tables of blind readings in docs/results/embedded_model.md are those that the labels give."""

import json
from pathlib import Path

from benchmarks.talk.readings import FAULTS, LABELS, table

PAGE = Path(__file__).parents[2] / "docs" / "results" / "embedded_model.md"


def test_the_labels_are_whole_and_their_tables_are_in_the_page() -> None:
    shown = PAGE.read_text(encoding="utf-8").splitlines()
    files = sorted(LABELS.glob("*.jsonl"))
    assert files
    for file in files:
        conversations = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for conversation in conversations:
            assert len(conversation["matter"]) == 2
            for line in conversation["lines"]:
                assert len(line["readers"]) == 2
                for label in line["readers"]:
                    assert label["sense"] in {0, 1}
                    assert set(label["faults"]) <= set(FAULTS)
                    assert label["fact"] in {"right", "wrong", "none"}
        for row in table(conversations)[2:]:
            assert row in shown, row
