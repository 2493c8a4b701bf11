"""Figures of trials that need their cases, their prompts or other trials: against counts by hand."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from support.experiment_case import rehearsed, spoken
from support.letters import LetterEmbedder
from support.word_vectors import WordEmbedder

from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.results import Results, TrialRun
from tertulia.lab.reports.case_measures import OF_CASES
from tertulia.lab.reports.measures import Measuring
from tertulia.metrics.recitation import recites
from tertulia.state.records import Case, Turn, TurnRecord
from tertulia.storage.store import SqlStore

ALL = (*OF_CASES, "recited_lines", "trigrams_within", "trigrams_between")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    with SqlStore.open(tmp_path_factory.mktemp("store") / "tertulia.db") as opened:
        opened.make_file()
        yield opened


@pytest.fixture(scope="module")
def results(store: SqlStore) -> Results:
    experiment = Experiment(
        name="half",
        cases=("tidewell:0", "tidewell:3"),
        settings={"all": {"removal_factor": 0}, "half": {"removal_factor": 0.5}},
        trials=2,
        rounds=3,
    )
    return rehearsed(store, experiment)


def saying(results: Results, lines: dict[tuple[str, int], list[str]], store: SqlStore) -> list[TrialRun]:
    """Return the trials without removal, in which lines by case and trial are said in turn."""
    found = []
    for run in results.runs:
        if run.setting == "all" and (run.case, run.trial) in lines:
            names = store.start(run.run.run).names
            said = [(names[at % 2], text) for at, text in enumerate(lines[run.case, run.trial])]
            found.append(replace(run, dialogue=said))
    return found


def memories_of(results: Results, store: SqlStore, case: str) -> tuple[list[str], list[str]]:
    start = next(store.start(run.run.run) for run in results.runs if run.case == case)
    assert isinstance(start, Case)
    first, second = ([m.text for m in start.participant(name).memories] for name in start.names)
    return first, second


def value(figures: dict, metric: str, case: str = "tidewell:0") -> float:  # type: ignore[type-arg]
    return figures["all"][metric][case].value


def test_triples_of_words_are_told_apart_within_and_between(store: SqlStore) -> None:
    runs = [
        spoken("A", "x", 1, ["one two three four", "one two three"]),
        spoken("A", "x", 2, ["two three four five"]),
        spoken("A", "x", 3, ["six"]),
    ]
    figures = Measuring(store, runs, None).figures(["trigrams_within", "trigrams_between"])["A"]
    assert figures["trigrams_within"]["x"].value == pytest.approx((1 / 3 + 0) / 2)  # one of three; none of two
    assert figures["trigrams_between"]["x"].value == pytest.approx((1 / 2 + 1 / 2) / 2)
    alone = Measuring(store, runs[:1], None)
    assert "trigrams_between" not in alone.figures(["trigrams_between"])["A"]
    assert alone.why_not_measured(["trigrams_between"]) == {"trigrams_between": "as each case has one trial"}


def test_recited_lines_are_those_with_six_words_of_an_item_that_is_left(store: SqlStore, results: Results) -> None:
    (run,) = (r for r in results.runs if (r.setting, r.case, r.trial) == ("half", "tidewell:0", 1))
    record = store.turn_record(run.run.run, 1)
    prompt = store.prompt(record.prompt or "")
    items = [unit for unit in prompt.units if unit.kind == "item" and len(unit.text.split()) > 8]
    kept = next(unit.text for unit in items if unit.id not in record.removed)
    removed = next(unit.text for unit in items if unit.id in record.removed and not recites(unit.text, [kept]))
    for name, texts, share in (("kept", [kept, "I see."], 1 / 2), ("removed", [removed, "I see."], 0)):
        copy = run.run.model_copy(update={"run": f"recited-{name}"})
        store.create_run(copy, store.start(run.run.run))
        for turn, text in enumerate(texts, start=1):
            line = Turn(turn=turn, round=turn, speaker=prompt.speaker, text=text, sim_time_s=0.0, ended=False)
            store.save_turn(copy.run, TurnRecord(turn=line, prompt=record.prompt, removed=record.removed))
        said = replace(run, run=copy, dialogue=[(prompt.speaker, text) for text in texts])
        found = Measuring(store, [said], None).figures(["recited_lines"])["half"]["recited_lines"]
        assert found["tidewell:0"].value == share, name


def test_dialogues_of_a_case_are_more_alike_than_those_of_others(store: SqlStore, results: Results) -> None:
    said = {
        ("tidewell:0", 1): ["red boats"],
        ("tidewell:0", 2): ["red boats"],
        ("tidewell:3", 1): ["green lamps"],
        ("tidewell:3", 2): ["red lamps"],
    }
    measuring = Measuring(store, saying(results, said, store), WordEmbedder())
    figures = measuring.figures(["sim_gap"])
    assert value(figures, "sim_gap") == pytest.approx(1 - (0 + 1 / 2) / 2, abs=1e-3)
    assert value(figures, "sim_gap", "tidewell:3") == pytest.approx(1 / 2 - (0 + 0 + 1 / 2 + 1 / 2) / 4, abs=1e-3)
    one = {place: lines for place, lines in said.items() if place[0] == "tidewell:0"}
    alone = Measuring(store, saying(results, one, store), WordEmbedder())
    assert alone.figures(["sim_gap"]) == {"all": {}}
    assert "no other case" in alone.why_not_measured(["sim_gap"])["sim_gap"]


def test_a_speaker_is_found_by_what_they_know(store: SqlStore, results: Results) -> None:
    first, second = memories_of(results, store, "tidewell:0")
    own, swapped = [first[3], second[4]], [second[4], first[3]]
    for lines, share in ((own, 1.0), (swapped, 0.0), ([first[3], first[3]], 0.5)):
        runs = saying(results, {("tidewell:0", 1): lines}, store)
        assert value(Measuring(store, runs, WordEmbedder()).figures(["speaker_found"]), "speaker_found") == share


def test_memories_that_every_trial_uses_are_reused(store: SqlStore, results: Results) -> None:
    first, second = memories_of(results, store, "tidewell:0")
    same = {("tidewell:0", 1): [first[3], second[4]], ("tidewell:0", 2): [first[3], second[4]]}
    half = {("tidewell:0", 1): [first[3], second[4]], ("tidewell:0", 2): [first[3], second[5]]}
    none = {("tidewell:0", 1): ["zzz"], ("tidewell:0", 2): ["zzz"]}
    metrics = ["memory_reuse", "memory_evenness"]
    of_same, of_half = (
        Measuring(store, saying(results, said, store), WordEmbedder()).figures(metrics) for said in (same, half)
    )
    assert value(of_same, "memory_reuse") == 1
    assert value(of_half, "memory_reuse") == pytest.approx(1 / 3)  # one of three memories is used by both
    number = np.log(len(first) + len(second))
    assert value(of_same, "memory_evenness") == pytest.approx(np.log(2) / number)
    assert value(of_half, "memory_evenness") > value(of_same, "memory_evenness")
    assert Measuring(store, saying(results, none, store), WordEmbedder()).figures(metrics) == {"all": {}}


def test_what_cannot_be_had_is_none_and_has_a_reason(store: SqlStore, results: Results) -> None:
    one = [run for run in results.runs if run.case == "tidewell:0" and run.trial == 1]
    measuring = Measuring(store, one, LetterEmbedder(40))
    reasons = measuring.why_not_measured([*ALL, "dist3"])
    assert set(reasons) == {
        *("to_the_point", "match", "recited_words", "out_of_order", "denied", "partners_memories"),
        *("sim_gap", "memory_reuse", "trigrams_between"),
    }
    figures = measuring.figures(ALL)
    assert all(metric not in found for metric in reasons for found in figures.values())
    assert "speaker_found" in figures["all"]
    nothing = Measuring(store, [replace(run, dialogue=[]) for run in results.runs], LetterEmbedder(40))
    assert not set(nothing.figures(OF_CASES)["all"])  # nobody speaks
    embedded = Measuring(store, results.runs, None).why_not_measured(ALL)
    assert set(embedded) == set(OF_CASES)
    assert Measuring(store, [], LetterEmbedder(40)).figures(ALL) == {}


def test_a_case_under_two_names_is_no_other_case(store: SqlStore, results: Results) -> None:
    runs = [run for run in results.runs if run.case == "tidewell:0"]
    measuring = Measuring(store, runs, LetterEmbedder(40), each_run=True)
    assert "no other case" in measuring.why_not_measured(["match"])["match"]
    assert measuring.figures(["match"]) == {"all": {}, "half": {}}
