"""The logged dialogue of a case beside those that were generated."""

from datetime import UTC, datetime

from tertulia.lab.experiments.results import TrialRun
from tertulia.lab.pages.page import Table
from tertulia.lab.reports.logged import logged_section
from tertulia.metrics.diversity import Dialogue, distinct_n, words_per_utterance
from tertulia.state.records import RunRecord
from tertulia.views.measuring.dialogues import logged_dialogues


def a_trial(case: str, setting: str, dialogue: Dialogue) -> TrialRun:
    values = {"run": "k3f9", "status": "finished", "kind": "dialogue", "scenario": case, "model": "m", "embedder": "e"}
    record = RunRecord(**values, rehearsed=True, seed=1, parameters={}, created=datetime(2026, 11, 21, tzinfo=UTC))  # type: ignore[arg-type]
    return TrialRun(case, setting, 1, record, dialogue)


def test_as_many_utterances_of_the_log_are_measured_as_were_generated() -> None:
    short: Dialogue = [("Ana", "Good morning, good morning."), ("Bo", "Good morning to you.")]
    runs = [
        a_trial("tidewell:0", "Full", short),
        a_trial("tidewell:0", "APP", short[:1]),
        a_trial("duo.yaml", "Full", short),
    ]
    section = logged_section(runs, "Full")
    assert section is not None
    (table,) = (block for block in section.blocks if isinstance(block, Table))
    rows = {row[0]: row[1:] for row in table.rows}
    ((logged, _),) = logged_dialogues("tidewell:0").values()
    assert list(rows) == ["as written", "Full", "APP"]
    for name, dialogue in (("as written", logged[:2]), ("Full", short), ("APP", short[:1])):
        expected = [*(distinct_n([dialogue], n) for n in (1, 2, 3)), words_per_utterance([dialogue]), 1, 1]
        assert list(rows[name]) == expected
    assert section.title == "Beside the written dialogues"  # nothing of a shipped town was logged


def test_a_dialogue_of_a_case_counts_once_however_many_were_generated() -> None:
    spoken: Dialogue = [("Ana", "Good morning.")]
    section = logged_section([a_trial("tidewell:7", "Full", spoken)] * 3, "Full")
    assert section is not None
    (table,) = (block for block in section.blocks if isinstance(block, Table))
    assert [row[-1] for row in table.rows] == [1, 3]


def test_a_town_without_a_number_is_beside_the_case_that_a_run_takes() -> None:
    spoken: Dialogue = [("Ana", "Good morning.")]
    sections = [logged_section([a_trial(case, "Full", spoken)], "Full") for case in ("tidewell", "tidewell:7")]
    assert sections[0] == sections[1] is not None
