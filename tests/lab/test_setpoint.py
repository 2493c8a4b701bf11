"""`--diversity`: the pilot, what is stored of it, and what is refused."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.merged import copied
from support.setpoints import BANDS, CHANCE, SHOWN, a_setpoint

from tertulia.lab.experiments.results import read_results
from tertulia.lab.experiments.running import InProcessExecutor
from tertulia.lab.experiments.setpoint import (
    CalibrationTask,
    Pilot,
    calibrate,
    calibration_lines,
    known_calibration,
    steering_settings,
)
from tertulia.metrics.diversity import distinct_n
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.driving.events import ignore
from tertulia.runs.planning.starting import context_of
from tertulia.state.errors import ModelError, SettingError, StorageError
from tertulia.state.language_model import REHEARSAL
from tertulia.state.records import RunRecord
from tertulia.state.setpoint import Setpoint
from tertulia.storage.store import SqlStore

TASK = CalibrationTask("tidewell", {"max_turns": 3}, REHEARSAL, "dist3", Pilot(3, 8, (0.0, 1.0)))


def calibrated(store: SqlStore, task: CalibrationTask = TASK, embed: Any = None) -> Setpoint:
    return calibrate(store, task, InProcessExecutor(store, ModelAccess()), ignore, embed)


@pytest.fixture(scope="module")
def piloted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Setpoint]:
    """A store with a pilot, and what was found."""
    path = tmp_path_factory.mktemp("piloted") / "runs.db"
    with SqlStore.open(path) as opened:
        assert known_calibration(opened, TASK) is None
        return path, calibrated(opened)


@pytest.fixture
def calibrated_store(piloted: tuple[Path, Setpoint], tmp_path: Path) -> Iterator[SqlStore]:
    with SqlStore.open(copied(piloted[0], tmp_path / "calibrated.db")) as opened:
        yield opened


def test_a_pilot_is_run_once_and_its_figures_are_those_of_its_dialogues(
    calibrated_store: SqlStore, piloted: tuple[Path, Setpoint]
) -> None:
    store, setpoint = calibrated_store, piloted[1]
    runs = store.runs()
    assert len(runs) == 2 * 3
    assert {run.parameters["max_turns"] for run in runs} == {3}  # no longer than what is asked for
    assert calibrated(store) == setpoint == known_calibration(store, TASK)
    assert len(store.runs()) == len(runs)
    (pilot,) = store.experiments.all()
    results = read_results(store, pilot.experiment)
    measured = [
        distinct_n(dialogues, 3) for setting in ("λ = 0", "λ = 1") for dialogues in results.dialogues(setting).values()
    ]
    assert (setpoint.trials, setpoint.rounds, setpoint.removal_factors) == (3, 3, (0.0, 1.0))
    if measured[0] <= measured[1]:
        assert setpoint.diversity == pytest.approx(measured)
    else:  # the monotone fit of a fall is level
        assert setpoint.diversity == pytest.approx([sum(measured) / 2] * 2)
    assert "dist3 over 3 dialogues of at most 3 utterances" in calibration_lines(setpoint)[0]


@contextmanager
def failing_trials(monkeypatch: pytest.MonkeyPatch, run_fails: Callable[[RunRecord], bool]) -> Iterator[None]:
    """Let the disk be full for some conversations, as they begin."""

    def full(store: SqlStore, run: RunRecord, *others: Any) -> Any:
        if run_fails(run):
            raise StorageError("the disk is full")
        return context_of(store, run, *others)

    with monkeypatch.context() as patched:
        patched.setattr("tertulia.runs.driving.cohort.context_of", full)
        yield


def test_a_pilot_that_a_full_disk_spoiled_is_run_to_its_end(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    task = replace(TASK, pilot=Pilot(3, 1, (0.0, 0.5, 1.0)))
    of_factor = failing_trials(monkeypatch, lambda run: run.parameters["removal_factor"] == 0.5)
    with of_factor, pytest.raises(ModelError, match=r"3 of 9 .* \(the disk is full\); the same"):
        calibrated(store, task)
    assert known_calibration(store, task) is None
    with SqlStore.open(tmp_path / "whole.db") as undisturbed:
        whole = calibrated(undisturbed, task)
    assert calibrated(store, task) == whole == known_calibration(store, task)
    assert len(store.runs()) == 9


def test_what_failed_of_a_pilot_is_run_again_though_the_others_are_enough(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = replace(TASK, pilot=Pilot(4, 1, (0.0, 1.0)))
    with failing_trials(monkeypatch, lambda run: run.trial is not None and run.trial.trial == 2):
        assert calibrated(store, task).trials == 3
        assert known_calibration(store, task) is None
    assert calibrated(store, task).trials == 4
    assert known_calibration(store, task) is not None


def test_another_metric_takes_the_same_conversations(calibrated_store: SqlStore) -> None:
    vectors = {"embed": lambda texts: [[len(text), 1.0] for text in texts]}
    sim = calibrated(calibrated_store, replace(TASK, metric="sim"), **vectors)
    assert sim.metric == "sim"
    assert len(calibrated_store.runs()) == 6
    assert known_calibration(calibrated_store, replace(TASK, metric="dist2")) is None


def test_what_is_calibrated_is_told_apart_and_what_does_not_matter_is_not(store: SqlStore) -> None:
    def key(**changes: Any) -> str:
        task = replace(TASK, **changes)
        return task.key(task.plan())

    same = [
        {"settings": {"max_turns": 3, "removal_factor": 0.9, "record_scores": "true"}},
        {"settings": {"max_turns": 3, "lambda": 0.9}},
        {"settings": {"max_turns": 3, **steering_settings(a_setpoint(), "high")}},
        {"scenario": "tidewell:7"},  # its last case is the default
    ]
    others = [
        {"settings": {"max_turns": 4}},
        {"settings": {"max_turns": 3, "temperature": 1.1}},
        {"settings": {"max_turns": 3, "removal_walk": "nearest"}},
        {"metric": "dist2"},
        {"model": "smollm2"},
        {"scenario": "tidewell:3"},
        {"pilot": Pilot(4, 8, (0.0, 1.0))},
    ]
    assert {key(**changes) for changes in same} == {key()}
    assert len({key(**changes) for changes in others} | {key()}) == len(others) + 1
    assert steering_settings(a_setpoint(), "low")["diversity"] == pytest.approx(0.575)


# --- the command ----------------------------------------------------------------------------------------------------


def with_calibration(file: Path, rounds: int = 4) -> None:
    """Store a hand-made calibration, in the place of a pilot."""
    task = CalibrationTask("tidewell", {"max_turns": rounds}, REHEARSAL)
    with SqlStore.open(file) as opened:
        opened.make_file()
        opened.experiments.save_calibration(task.key(task.plan()), "dist3", a_setpoint().model_dump(mode="json"))


def test_a_conversation_is_steered_to_the_level_that_is_asked_for(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "steered.db"
    with_calibration(file)
    asked = ["--rehearse", "--rounds", "4", "--store", str(file)]
    run = str(cli("run", "tidewell", *asked, "--diversity", "medium", "--json").json["run"])
    parameters = cli("show", run, "--json", "--store", str(file)).json["parameters"]
    assert (parameters["diversity"], parameters["setpoint"]["metric"]) == (pytest.approx(0.65), "dist3")
    assert parameters["removal_factor"] == pytest.approx(0.625)
    assert cli("show", run, "--turn", "1", "--json", "--store", str(file)).json["removal_factor"] == 0.625
    again = cli("run", "tidewell", *asked, "--diversity", "0.65", "--json").json["run"]
    assert cli("diff", run, str(again), "--store", str(file)).code == 0
    fork = cli("fork", run, "--at", "3", "--diversity", "0.55", "--json", "--store", str(file)).json["run"]
    turn = cli("show", str(fork), "--turn", "3", "--json", "--store", str(file)).json
    assert turn["steering"]["calibrated"] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("tidewell --diversity 0.95", "λ reaches 0.500 to 0.800"),
        ("tidewell --diversity much", "low, medium, high"),
        ("tidewell --diversity 0.6 --lambda 0.5", "leave one of the two out"),
        ("tidewell --diversity 0.6 --pilot 2", "at least 3"),
        ("villagers --diversity low", "album chat"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(cli: Cli, tmp_path: Path, asked: str, words: str) -> None:
    with_calibration(file := tmp_path / "steered.db")
    cli("run", *asked.split(), "--rehearse", "--rounds", "4", "--store", str(file)).complains(2, words)
    with SqlStore.open(file) as opened:
        assert not opened.runs()


# --- what a pilot shows ----------------------------------------------------------------------------------------------


def test_what_is_promised_lies_beyond_the_bands_of_both_ends() -> None:
    setpoint = a_setpoint(**BANDS)
    assert setpoint.reachable == (0.52, 0.78)
    assert setpoint.named("low") == pytest.approx(0.585)
    setpoint.check_reachable(0.52)
    for fitted_alone in (0.51, 0.79):
        with pytest.raises(SettingError, match=r"λ reaches 0\.520 to 0\.780"):
            setpoint.check_reachable(fitted_alone)
    sim = a_setpoint(
        metric="sim", evidence=SHOWN, diversity=(0.8, 0.6, 0.5), low=(0.7, 0.5, 0.4), high=(0.9, 0.7, 0.55)
    )
    assert sim.reachable == (0.55, 0.7)
    assert sim.named("high") == pytest.approx(0.5875)
    overlapping = a_setpoint(
        evidence=SHOWN.model_copy(update={"trials_needed": 6}), low=BANDS["low"], high=(0.78, 0.79, 0.82)
    )
    with pytest.raises(SettingError, match=r"λ moves it \(p = 0\.001\), but the bands .* --pilot 6"):
        overlapping.check_reachable(0.6)


def test_a_pilot_that_shows_nothing_is_refused_with_what_would() -> None:
    setpoint = a_setpoint(evidence=CHANCE)
    with pytest.raises(SettingError) as refused:
        steering_settings(setpoint, "medium")
    words = str(refused.value)
    for what in ("does not show that λ moves it", "0.500 to 0.800", "p = 0.3", "15 more", "--pilot 9", "--lambda"):
        assert what in words
    for at_best, what in (
        (12, "more than 50 .* leaves possible, 24 more in all would be enough: --pilot 12"),
        (None, "even were"),
    ):
        unlikely = CHANCE.model_copy(update={"trials_needed": None, "trials_at_best": at_best})
        with pytest.raises(SettingError, match=what):
            a_setpoint(evidence=unlikely).check_reachable(0.6)
    assert "λ is not shown to move dist3: p = 0.3" in calibration_lines(setpoint)[-1]
    told = a_setpoint(evidence=CHANCE.model_copy(update={"trials_for_rise": 14}))
    price = "about 14 conversations at each λ show a steady rise of 0.11 in four of five pilots"
    assert price in calibration_lines(told)[-1]
    with pytest.raises(SettingError, match=price):
        steering_settings(told, "medium")


def test_a_refused_pilot_is_kept_and_a_larger_one_goes_on_from_it(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "neighbours.yaml"
    people = "[{name: Mara, memories: [The ferry is late.]}, {name: Piotr, memories: [Piotr likes tea.]}]"
    file.write_text(f"name: neighbours\ntime: 2026-05-06 09:30:00\nparticipants: {people}\n")
    asked = ("run", str(file), "--rehearse", "--rounds", "1", "--diversity", "medium")
    refused = cli(*asked, "--pilot", "3")
    refused.complains(2, "--lambda")
    assert "p = " in refused.err
    before = {run["run"] for run in cli("runs", "--json").json["runs"]}
    assert len(before) == 15
    larger = cli(*asked, "--pilot", "4")
    assert larger.code == 2
    assert "at most 0.008 counts, as 1 smaller pilot showed nothing" in larger.err
    after = {run["run"] for run in cli("runs", "--json").json["runs"]}
    assert before < after
    assert len(after) == 20
    assert cli(*asked, "--pilot", "3").err == refused.err.replace("calibrating λ: 5 × 3 conversations\n", "")
