"""Experiments in Python: they are the commands', with their conversations and their figures."""

import pickle
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli

import tertulia as tt

CASES = ["tidewell:0", "tidewell:1"]
LAMBDAS = [0, 0.5, 1]

#: Short, and each run has as many turns as it may.
SHORT: dict[str, Any] = {"rounds": 3, "trials": 2, "rehearse": True, "workers": 1}


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with an experiment of two cases and three λ, which no test changes."""
    path = tmp_path_factory.mktemp("experiment") / "store.db"
    tt.sweep(CASES, removal_factor=LAMBDAS, store=str(path), **SHORT)
    return path


@pytest.fixture
def experiment(store: Path) -> tt.Experiment:
    return tt.open_store(str(store)).experiments()[0]


# --- the experiment of the command ------------------------------------------------------------------------------------


def test_a_sweep_is_the_experiment_of_the_command(cli: Cli, store: Path, experiment: tt.Experiment) -> None:
    given = ("--lambda", "0,0.5,1", "--trials", "2", "--rounds", "3", "--rehearse")
    ran = cli("sweep", *CASES, *given, "--store", str(store), "--json").json
    assert (ran["experiment"], ran["new"], ran["runs"]) == (experiment.name, 0, 12)
    assert list(experiment.settings) == ["λ = 0", "λ = 0.5", "λ = 1"]
    assert (experiment.cases, experiment.trials, experiment.rounds, experiment.seed) == (tuple(CASES), 2, 3, 1)


# --- figures ----------------------------------------------------------------------------------------------------------


def test_frames_have_a_row_per_run_or_per_setting(experiment: tt.Experiment) -> None:
    runs = experiment.frame("dist1", "len")
    assert list(runs.columns) == [
        *("run", "case", "setting", "trial", "seed", "status", "turns", "removal_factor", "dist1", "len")
    ]
    assert list(runs["run"]) == [run.id for run in experiment.runs]
    assert runs["dist1"][0] == experiment.runs[0].measure("dist1")["dist1"]
    settings = experiment.frame("len", by="setting")
    assert list(settings["removal_factor"]) == LAMBDAS
    assert list(settings["value"]) == [measure.value for measure in experiment.measure("len")]
    assert list(experiment.compare("len").frame()["baseline"]) == ["λ = 0"] * 2


def test_runs_are_found_by_their_place(experiment: tt.Experiment) -> None:
    found = experiment.runs.where(setting="λ = 1", case="tidewell:1")
    assert [(trial.trial, run.parameters.removal_factor) for trial, run in zip(found.trials, found, strict=True)] == [
        (1, 1),
        (2, 1),
    ]
    assert len(experiment.runs.where(trial=2, status="finished")) == 6
    assert len(experiment.runs.where(status="failed")) == 0
    assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(tt.UsageError, match=r"setting=λ = 2: none of these runs \(did you mean 'λ = 1'\?\)"):
        experiment.runs.where(setting="λ = 2")


def test_a_plot_has_means_intervals_and_cases(experiment: tt.Experiment) -> None:
    figure = experiment.plot("dist3")
    (plot,) = figure.axes
    line = plot.lines[0]
    assert list(line.get_xdata()) == LAMBDAS
    assert list(line.get_ydata()) == [measure.value for measure in experiment.measure("dist3")]
    (points, intervals) = plot.collections
    assert len(points.get_offsets()) == 6
    ends = [segment[:, 1] for segment in intervals.get_segments()]
    assert ends == [pytest.approx([m.ci_low, m.ci_high]) for m in experiment.measure("dist3")]
    assert (plot.get_xlabel(), plot.get_ylabel()) == ("λ", "dist-3")
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_plot_is_that_of_the_report_and_its_title_is_whole(experiment: tt.Experiment) -> None:
    figure = experiment.plot("dist3")
    width, height = figure.bbox.width, figure.bbox.height
    figure.canvas.draw()
    title = figure._suptitle.get_window_extent()
    assert 0 <= title.x0 <= title.x1 <= width
    assert title.y1 <= height
    assert figure.get_suptitle().replace("\n", " ") == (
        "Rehearsed, so that the figures mean nothing. Means over cases, with 95\N{NO-BREAK SPACE}% intervals; "
        "small points: cases"
    )


# --- interrupted and missing ------------------------------------------------------------------------------------------


def test_without_pandas_and_matplotlib_a_sentence_says_what_to_install(
    experiment: tt.Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(tt.UsageError, match="data frames need pandas, which is not installed; run: pip install"):
        experiment.frame()
    with pytest.raises(tt.UsageError, match="plots need matplotlib, which is not installed; run: pip install"):
        experiment.plot("len")


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"removal_factor": [0, 2]}, "removal_factor=2: λ is a number from 0 to 1"),
        ({"removal_factor": []}, r"removal_factor=\[\]: a list of values has at least one"),
        ({"removal_factor": {0, 1}}, "removal_factor={0, 1}: a set has no order"),
        ({"removal_factor": 1, "settings": {"lambda": 0}}, "removal_factor=1: it is among the settings too"),
        ({"removal_factor": [0.1, 0.1000000001]}, "two settings would be called 'λ = 0.1'"),
        ({"removal_factor": [0, 0.0, 1]}, "two settings would be called 'λ = 0'; leave one out"),
        ({"trials": 0}, "trials=0: a whole number from 1"),
        ({"settings": {"tempreature": [1, 2]}}, "tempreature.*did you mean 'temperature'"),
        ({"settings": {"temperature": [1, "warm"]}}, "temperature=warm: "),
        ({"settings": {"max_turns": 3}}, "max_turns=3 in setting 'as set'; set rounds of the experiment"),
        ({"temperature": [0.7, 1]}, r"temperature is a setting: settings={'temperature': \[0.7, 1\]}"),
        ({"removal_factors": [0, 1]}, "sweep has no argument 'removal_factors' .did you mean 'removal_factor'"),
        ({"name": 3}, "name=3: an experiment is named by a text"),
    ],
)
def test_what_can_not_be_swept_is_told_before_there_is_a_store(folder: Path, given: dict[str, Any], line: str) -> None:
    with pytest.raises(tt.UsageError, match=line):
        tt.sweep("tidewell:0", rehearse=True, **given)
    assert list(folder.iterdir()) == []


def test_unknown_names_get_the_nearest_one(experiment: tt.Experiment) -> None:
    with pytest.raises(tt.SettingError, match=re.escape("metric=dist4: unknown (did you mean 'dist3'?)")):
        experiment.measure("dist4")
    with pytest.raises(tt.SettingError, match=re.escape("metric=dist4: unknown (")):
        experiment.runs[0].measure("dist4")
    with pytest.raises(tt.UsageError, match="measure takes metrics by place: measure"):
        experiment.measure(metrics=["len"])  # type: ignore[call-arg]
    with pytest.raises(tt.UsageError, match=r"measure takes metrics by place: measure\('len'\)"):
        experiment.measure(metric="len")  # type: ignore[call-arg]
    with pytest.raises(tt.SettingError, match=r"baseline=λ = 0.4: no such setting .did you mean 'λ = 0.5'"):
        experiment.compare(baseline="λ = 0.4")
    with pytest.raises(tt.UsageError, match=r"along=temperature: no axis of this experiment .known: removal_factor"):
        experiment.plot("len", along="temperature")
    with pytest.raises(tt.UsageError, match="'dist2' is none of these"):
        experiment.measure("len")["λ = 1", "dist2"]
    with pytest.raises(tt.UsageError, match="by=runs: "):
        experiment.frame(by="runs")  # type: ignore[arg-type]
    with pytest.raises(tt.NotFoundError, match=f"no experiment .*did you mean '{experiment.name}'"):
        tt.open_store(str(experiment.store.path)).experiment(experiment.name[:-1])
