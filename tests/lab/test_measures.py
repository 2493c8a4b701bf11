"""Figures of an experiment: those of the functions of metrics/, over the same trials in every setting; or by hand."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from support.experiment_case import rehearsed, spoken
from support.letters import LetterEmbedder
from support.stored import a_case
from support.word_vectors import WordEmbedder

from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.results import Results, TrialRun
from tertulia.lab.reports.case_measures import OF_CASES
from tertulia.lab.reports.measures import Measuring
from tertulia.metrics.diversity import dialogue_text, distinct_n, words_per_utterance
from tertulia.metrics.exclusiveness import exclusive_share, mean_highest_cosine
from tertulia.metrics.pruning import mean_removal, removal_of
from tertulia.metrics.recitation import recites
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


def test_figures_of_words_embed_nothing(store: SqlStore) -> None:
    embedder = LetterEmbedder(40)
    measuring = Measuring(store, trials(), embedder)
    assert measuring.why_not_measured(["dist3", "len"]) == {}
    assert measuring.figures(["dist3", "len"]).keys() == {"A", "B"}
    assert embedder.batches == []
    assert measuring.figures(["sim"])["A"].keys() == {"sim"}
    assert embedder.batches != []


def test_settings_are_compared_on_the_trials_that_all_of_them_have(store: SqlStore) -> None:
    runs = [run for run in trials() if run.run.run not in ("B-x-2", "A-y-1", "A-y-2", "A-y-3", "A-y-4")]
    measuring = Measuring(store, runs, None)
    figures = measuring.figures(["dist1"])
    assert set(figures["A"]["dist1"]) == set(figures["B"]["dist1"]) == {"x"}
    assert set(figures["A"]["dist1"]["x"].without) == {1, 3, 4}
    assert measuring.unpaired == 1 + 4
    nothing = Measuring(store, [], None)
    assert (nothing.figures(["dist1"]), nothing.times, nothing.all) == ({}, {}, [])


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


# --- figures that need their cases, their prompts or other trials -----------------------------------------------------


ALL = (*OF_CASES, "recited_lines")


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


def test_a_speaker_is_found_by_what_they_know(store: SqlStore, results: Results) -> None:
    first, second = memories_of(results, store, "tidewell:0")
    own, swapped = [first[3], second[4]], [second[4], first[3]]
    for lines, share in ((own, 1.0), (swapped, 0.0), ([first[3], first[3]], 0.5)):
        runs = saying(results, {("tidewell:0", 1): lines}, store)
        assert value(Measuring(store, runs, WordEmbedder()).figures(["speaker_found"]), "speaker_found") == share


def test_what_cannot_be_had_is_none_and_has_a_reason(store: SqlStore, results: Results) -> None:
    one = [run for run in results.runs if run.case == "tidewell:0" and run.trial == 1]
    measuring = Measuring(store, one, LetterEmbedder(40))
    reasons = measuring.why_not_measured([*ALL, "dist3"])
    assert set(reasons) == {"to_the_point", "match", "recited_words", "out_of_order", "denied", "partners_memories"}
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
