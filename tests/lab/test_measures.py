"""Figures of an experiment: equal to those of the functions of metrics/, over the same trials in every setting."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.experiment_case import rehearsed, spoken
from support.letters import LetterEmbedder
from support.stored import a_case

from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.results import Results, TrialRun
from tertulia.lab.reports.measures import Measuring
from tertulia.metrics.diversity import dialogue_text, distinct_n, words_per_utterance
from tertulia.metrics.exclusiveness import exclusive_share, mean_highest_cosine
from tertulia.metrics.pruning import mean_removal, removal_of
from tertulia.metrics.repetition import repeated_endings
from tertulia.metrics.to_the_point import texts_of_case
from tertulia.metrics.variety import distinct_of_sample, vendi_score
from tertulia.state.records import Case, Turn, TurnRecord
from tertulia.storage.store import SqlStore
from tertulia.views.reading.faults import found_in_run, sense_of

LINES = ("I have seen the sea.", "The sea is wide", "no", "I have seen the sea again", "what a wide, wide sea!")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlStore]:
    with SqlStore.open(tmp_path_factory.mktemp("store") / "tertulia.db") as opened:
        opened.make_file()
        yield opened


@pytest.fixture(scope="module")
def results(store: SqlStore) -> Results:
    """Two cases of two settings, one of which removes half of what is attended."""
    experiment = Experiment(
        name="half",
        cases=("tidewell:0", "tidewell:3"),
        settings={"all": {"removal_factor": 0}, "half": {"removal_factor": 0.5}},
        trials=2,
        rounds=3,
    )
    return rehearsed(store, experiment)


def trials(settings: Sequence[str] = ("A", "B"), cases: Sequence[str] = ("x", "y"), count: int = 4) -> list[TrialRun]:
    """Trials whose lines differ, of different lengths."""
    found = []
    for s, setting in enumerate(settings):
        for c, case in enumerate(cases):
            for number in range(1, count + 1):
                lines = [LINES[(s * 3 + c + number * at) % len(LINES)] for at in range(1 + (s + number) % 4)]
                found.append(spoken(setting, case, number, lines))
    return found


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    return float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))


def test_every_figure_of_words_and_vectors_is_that_of_its_own_function(store: SqlStore) -> None:
    runs, embedder = trials(), LetterEmbedder(40)
    metrics = ("sim", "sim_untruncated", "dist1", "dist2", "dist3", "len", "vendi", "duplicate_rate")
    figures = Measuring(store, runs, embedder).figures(metrics)
    for setting in "AB":
        for case in "xy":
            dialogues = [run.dialogue for run in runs if run.run.run.startswith(f"{setting}-{case}")]
            texts = [dialogue_text(dialogue) for dialogue in dialogues]
            pairs = [cosine(*pair) for pair in combinations(embedder.embed(texts), 2)]
            whole = [cosine(*pair) for pair in combinations(embedder.embed_untruncated(texts), 2)]
            expected = {
                "sim": sum(pairs) / len(pairs),
                "sim_untruncated": sum(whole) / len(whole),
                **{f"dist{n}": distinct_n(dialogues, n) for n in (1, 2, 3)},
                "len": words_per_utterance(dialogues),
                "vendi": vendi_score(embedder.embed(texts)),
                "duplicate_rate": repeated_endings(dialogues),
            }
            for metric, value in expected.items():
                found = figures[setting][metric].get(case)
                assert (found and found.value) == (None if value is None else pytest.approx(value, abs=1e-9)), metric


def test_sense_is_that_of_every_line_where_it_was_said_and_equal_lines_count(store: SqlStore) -> None:
    said = {
        "A": ["I will tell Bo of it.", "Where is the key?", "The sea is cold.", "The sea is cold!"],
        "B": ["I am here.", "Where is the key?", "Under the mat.", "I see it there."],
    }
    trials = []
    for setting, lines in said.items():
        for number in (1, 2):
            trial = spoken(setting, "cafe", number, lines[: 2 * number], ("Ana", "Bo"))
            run = trial.run.model_copy(update={"run": f"sense-{setting}-{number}"})
            store.create_run(run, a_case())  # half past nine in the morning
            for turn, (speaker, text) in enumerate(trial.dialogue, start=1):
                line = Turn(turn=turn, round=turn, speaker=speaker, text=text, sim_time_s=0.0, ended=False)
                store.save_turn(run.run, TurnRecord(turn=line))
            trials.append(replace(trial, run=run))
    metrics = ("without_sense", "repeated_lines", "without_sense@0", "without_sense@2", "repeated_lines@3")
    figures = Measuring(store, trials, None).figures(metrics)
    found = {
        setting: {metric: sample["cafe"].value for metric, sample in of_setting.items()}
        for setting, of_setting in figures.items()
    }
    assert found == {
        "A": {
            "without_sense": (1 + 2) / 6,  # the partner's name, twice; a line that is said again
            "repeated_lines": (0 + 1 / 4) / 2,
            "without_sense@0": 1.0,
            "without_sense@2": 0.0,
            "repeated_lines@3": 1.0,
        },
        "B": dict.fromkeys(metrics, 0.0),
    }
    everything = sense_of(found_in_run(store, trial.run) for trial in trials if trial.setting == "A")
    assert everything.without_sense == found["A"]["without_sense"]


def test_each_trial_is_left_out_once(store: SqlStore) -> None:
    runs = trials()
    sample = Measuring(store, runs, None).figures(["dist2"])["A"]["dist2"]["x"]
    of_case = {run.trial: run.dialogue for run in runs if run.run.run.startswith("A-x")}
    assert sample.without == {
        left_out: pytest.approx(distinct_n([d for number, d in of_case.items() if number != left_out], 2))
        for left_out in of_case
    }


def test_settings_are_compared_on_the_trials_that_all_of_them_have(store: SqlStore) -> None:
    runs = [run for run in trials() if run.run.run not in ("B-x-2", "A-y-1", "A-y-2", "A-y-3", "A-y-4")]
    measuring = Measuring(store, runs, None)
    figures = measuring.figures(["dist1"])
    assert set(figures["A"]["dist1"]) == set(figures["B"]["dist1"]) == {"x"}
    assert set(figures["A"]["dist1"]["x"].without) == {1, 3, 4}
    assert measuring.unpaired == 1 + 4
    nothing = Measuring(store, [], None)
    assert (nothing.figures(["dist1"]), nothing.times, nothing.all) == ({}, {}, [])


def test_one_trial_has_no_pair_and_nothing_to_leave_out(store: SqlStore) -> None:
    figures = Measuring(store, trials(count=1), LetterEmbedder(40)).figures(["sim", "vendi", "dist1", "dist1_equal"])
    assert set(figures["A"]) == {"dist1", "dist1_equal"}
    assert figures["A"]["dist1"]["x"].without == {}


def test_dialogues_are_counted_of_which_only_the_beginning_is_embedded(store: SqlStore) -> None:
    runs = [spoken("A", "x", 1, ["short"]), spoken("A", "x", 2, ["so long " * 5, "that its end has other letters"])]
    assert Measuring(store, runs, LetterEmbedder(40)).truncated() == 1
    assert Measuring(store, runs, None).truncated() == 0


def test_without_an_embedder_nothing_is_measured_that_needs_one(store: SqlStore) -> None:
    metrics = ["sim", "vendi", "to_the_point", "fluency", "trait:open", "attention_kept", "unheard_of"]
    assert Measuring(store, trials(), None).figures(metrics) == {"A": {}, "B": {}}


def test_each_text_is_embedded_once(store: SqlStore) -> None:
    embedder = LetterEmbedder(40)
    Measuring(store, trials(), embedder).figures(["sim", "vendi", "sim@0", "sim@1"])
    asked = [text for batch in embedder.batches for text in batch]
    assert len(asked) == len(set(asked))


def test_equal_length_is_for_as_many_as_the_shortest_setting_has_without_any_trial(store: SqlStore) -> None:
    runs = trials()
    figures = Measuring(store, runs, None).figures(["dist2_equal"])
    totals: dict[str, list[int]] = {"A": [], "B": []}
    for run in runs:
        if run.run.scenario == "x":
            pairs = sum(max(0, len(text.split()) - 1) for _, text in run.dialogue)
            totals[run.run.run[0]].append(pairs)
    size = min(sum(counts) - max(counts) for counts in totals.values())
    for setting in "AB":
        dialogues = [run.dialogue for run in runs if run.run.run.startswith(f"{setting}-x")]
        found = figures[setting]["dist2_equal"]["x"]
        assert found.value == pytest.approx(distinct_of_sample(dialogues, 2, size))
        assert set(found.without) == {1, 2, 3, 4}  # enough is left without any of them


def test_at_an_index_only_dialogues_count_that_reach_it(store: SqlStore) -> None:
    runs = [
        spoken("A", "x", 1, ["one two", "three four"]),
        spoken("A", "x", 2, ["one two"]),
        spoken("A", "x", 3, ["one six", "three five"]),
    ]
    figures = Measuring(store, runs, LetterEmbedder(40)).figures(["dist1@0", "dist1@1", "dist1@2", "sim@1", "len@1"])[
        "A"
    ]
    assert figures["dist1@0"]["x"].value == pytest.approx(3 / 6)
    assert figures["dist1@1"]["x"].value == pytest.approx(3 / 4)
    assert set(figures["dist1@1"]["x"].without) == {1, 3}
    assert "dist1@2" not in figures
    assert figures["len@1"]["x"].value == 2
    assert figures["sim@1"]["x"].value == pytest.approx(cosine(*LetterEmbedder(40).embed(["three four", "three five"])))


def test_exclusiveness_compares_a_group_with_the_next(store: SqlStore) -> None:
    runs, embedder = trials(count=4), LetterEmbedder(40)
    measuring = Measuring(store, runs, embedder)
    found = measuring.exclusiveness("A", "B", 2, ["max_sim", "excl1"])
    of_case = {run.run.run: run.dialogue for run in runs}
    pairs = [((1, 2), (3, 4)), ((3, 4), (1, 2))]  # A's first group against B's second, and the other way round
    sides = [([of_case[f"A-x-{number}"] for number in a], [of_case[f"B-x-{number}"] for number in b]) for a, b in pairs]
    shares = [exclusive_share(a, b, 1) or 0.0 for a, b in sides]
    assert found["excl1"]["x"].value == pytest.approx(sum(shares) / 2)
    highest = [
        mean_highest_cosine(*(embedder.embed([dialogue_text(d) for d in side]) for side in both)) or 0.0
        for both in sides
    ]
    assert found["max_sim"]["x"].value == pytest.approx(sum(highest) / 2)
    assert set(found["excl1"]["x"].without) == {1, 2, 3, 4}
    assert measuring.exclusiveness("A", "C", 2, ["excl1"]) == {}


def test_conversations_are_not_compared_with_themselves(store: SqlStore) -> None:
    measuring = Measuring(store, trials(count=1), LetterEmbedder(40))
    assert measuring.exclusiveness("A", "A", 3, ["max_sim", "excl1"]) == {}
    assert set(measuring.exclusiveness("A", "B", 3, ["excl1"])) == {"excl1"}


def test_every_run_can_be_a_case_of_its_own(store: SqlStore) -> None:
    figures = Measuring(store, trials(cases=("x",)), None, each_run=True).figures(["len"])
    assert list(figures["A"]["len"]) == [f"x, trial {number}" for number in (1, 2, 3, 4)]


def test_what_was_removed_is_read_of_the_stored_turns(store: SqlStore, results: Results) -> None:
    measuring = Measuring(store, results.runs, None)
    figures = measuring.figures(["removed_items", "removed_words", "removed_attention", "left_m", "left_b"])
    runs = [r.run.run for r in results.runs if (r.setting, r.case) == ("half", "tidewell:0")]
    records = [store.turn_record(run, turn.turn) for run in runs for turn in store.turns(run)]
    removal = mean_removal(removal_of(record, store.prompt(record.prompt or "")) for record in records)
    half = {metric: sample["tidewell:0"].value for metric, sample in figures["half"].items()}
    assert half["removed_items"] == pytest.approx(removal.items)
    assert half["removed_words"] == pytest.approx(removal.words)
    assert half["removed_attention"] == pytest.approx(removal.attention)
    assert 0 < half["removed_attention"] <= 0.5
    assert figures["all"]["removed_items"]["tidewell:0"].value == 0
    assert half["left_m"] + half["left_b"] <= 1
    assert set(measuring.times) == {"tidewell:0", "tidewell:3"}
    assert measuring.times["tidewell:3"] > measuring.times["tidewell:0"]


def test_words_match_the_case_of_a_dialogue_and_names_do_not(store: SqlStore, results: Results) -> None:
    starts = {run.run.run: store.start(run.run.run) for run in results.runs}
    texts = {run: texts_of_case(start) for run, start in starts.items() if isinstance(start, Case)}
    remembered = [
        replace(run, dialogue=[(starts[run.run.run].names[0], text) for text in texts[run.run.run]])
        for run in results.runs
    ]
    named = [replace(run, dialogue=[("Ada", name) for name in starts[run.run.run].names]) for run in results.runs]
    metrics = ["match", "to_the_point", "recited_words"]
    told = Measuring(store, remembered, LetterEmbedder(40)).figures(metrics)["all"]
    assert all(figure.value > 0.001 for figure in told["match"].values())
    assert all(figure.value == 1 for figure in told["recited_words"].values())
    assert all(figure.value == 0 for figure in told["to_the_point"].values())  # recitation is not to the point
    assert Measuring(store, named, LetterEmbedder(40)).figures(metrics)["all"] == {}


@given(st.lists(st.lists(st.text(max_size=12), max_size=3), min_size=1, max_size=3))
def test_any_script_and_empty_utterances_are_measured(store: SqlStore, spoken_lines: list[list[str]]) -> None:
    runs = [spoken("A", "x", number, lines) for number, lines in enumerate(spoken_lines, 1)]
    figures = Measuring(store, runs, LetterEmbedder(40)).figures(["sim", "dist1", "dist1_equal", "len", "vendi"])["A"]
    expected = distinct_n([run.dialogue for run in runs], 1)
    assert ("dist1" in figures) == (expected is not None)
    if expected is not None:
        assert figures["dist1"]["x"].value == pytest.approx(expected)
