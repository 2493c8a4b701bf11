"""An experiment for the page: its figures are those of `lab compare`, and what can't be had is said in a sentence."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.experiment_case import a_grid, drive_here
from support.in_process import command
from support.stored import NOW, a_case, a_run, write_turns

from tertulia.lab.experiments.axes import axes_of
from tertulia.lab.experiments.experiment import Experiment
from tertulia.lab.experiments.results import read_results
from tertulia.lab.reports.measures import Measuring
from tertulia.lab.reports.provenance import Provenance
from tertulia.lab.reports.report import find, report_of_experiment
from tertulia.lab.reports.report_plots import metric_plot
from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.state.errors import NotFoundError, StorageError
from tertulia.state.records import Trial
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.by_path import document_at
from tertulia.viewer.documents.experiment import trials_page
from tertulia.viewer.documents.measures import KeptTrials, measure_page
from tertulia.viewer.documents.reported import report_page

METRICS = ("sim", "dist3", "dist3_equal", "len", "without_sense", "removed_words", "recited_lines", "vendi")

SETTINGS: dict[str, dict[str, Any]] = {
    "Full": {"lambda": 0.0},
    "Half": {"lambda": 0.5},
    "placebo": {"lambda": 0.5, "removal_order": "placebo"},
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment of two cases, three settings and two trials, with a control of one trial."""
    path = tmp_path_factory.mktemp("experiment") / "t.db"
    with SqlStore.open(path, create=True) as store:
        drive_here(store, a_grid(settings=SETTINGS, trials=2, rounds=2))
        drive_here(store, a_grid(name="grid (control)", settings=SETTINGS, trials=1, rounds=2, seed=5))
    return path


@pytest.fixture
def store(path: Path) -> Iterator[SqlStore]:
    with SqlStore.open(path) as opened:
        yield opened


@pytest.fixture
def half(tmp_path: Path) -> Iterator[SqlStore]:
    """An experiment of four trials, of which nobody has begun one."""
    settings = {"A": {"removal_factor": 0.0}, "B": {"removal_factor": 0.5}}
    experiment = Experiment(name="half", cases=("cafe",), settings=settings, trials=2)
    with SqlStore.open(tmp_path / "half.db", create=True) as opened:
        opened.experiments.save("half", experiment.model_dump(mode="json"))
        yield opened


def finish(store: SqlStore, setting: str, trial: int, status: str = "finished") -> str:
    """Add a conversation to the experiment of four trials."""
    run = f"{setting.lower()}00{trial}"
    place = Trial(experiment="half", setting=setting, case="cafe", trial=trial, cohort=trial)
    store.create_run(a_run(run, created=NOW, trial=place), a_case())
    write_turns(store, run, 1, 2)
    store.set_status(run, status)  # type: ignore[arg-type]
    return run


def test_figures_are_those_of_the_command(path: Path, store: SqlStore, tmp_path: Path) -> None:
    metrics = [word for metric in METRICS for word in ("--metric", metric)]
    asked = ("lab", "compare", "grid", *metrics, "--out", tmp_path, "--store", path, "--json")
    result = command(*asked)
    assert result.code == 0, result.err
    reported = {(figure["metric"], figure["setting"]): figure for figure in json.loads(result.out)["figures"]}
    assert {metric for metric, _ in reported} == {*METRICS}
    kept = KeptTrials()
    for metric in METRICS:
        measure = measure_page(store, "grid", metric, None, kept)
        assert measure["not_measured"] is None, metric
        assert measure["conversations"] == 12
        for figures in measure["settings"]:
            expected = reported[metric, figures["setting"]]
            assert figures["value"] == pytest.approx(expected["here"]["value"], abs=1e-12)
            assert figures["interval"] == pytest.approx(expected["here"]["interval"], abs=1e-12)
            assert (figures["difference"] is None) == (expected["difference"] is None)
            for name in ("value", "interval", "above") if figures["difference"] else ():
                assert figures["difference"][name] == pytest.approx(expected["difference"][name], abs=1e-12)
            measured = [value for value in figures["by_case"] if value is not None]
            assert figures["value"] == pytest.approx(sum(measured) / len(measured), abs=1e-12)


def test_the_control_is_measured_beside_the_effect(store: SqlStore) -> None:
    beside, alone = (measure_page(store, name, "dist3") for name in ("grid", "grid (control)"))
    for figures, control in zip(beside["settings"], alone["settings"], strict=True):
        assert figures["control"]["value"] == control["value"] is not None
        assert figures["control"]["by_case"] == control["by_case"]
    assert document_at(store, "experiments/grid")["control"] == "grid (control)"
    assert document_at(store, "experiments/grid%20(control)")["control_of"] == "grid"


def test_settings_that_differ_in_one_parameter_are_a_line(store: SqlStore) -> None:
    (axis,) = document_at(store, "experiments/grid")["axes"]
    assert axis["parameter"] == "removal_factor"
    assert axis["values"] == {"Full": 0.0, "Half": 0.5, "placebo": 0.5}
    assert axis["series"] == {"Full": "", "Half": "", "placebo": "removal_order=placebo"}
    rules = a_grid(settings={"with": {"lambda": 0.5}, "without": {"lambda": 0.5, "special_rules": False}})
    assert axes_of(rules) == []  # drawn setting by setting
    defaults = a_grid(settings={"as it is": {}, "much": {"lambda": 1}})
    assert axes_of(defaults, lambda setting, parameter: 0.25)[0].values == {"as it is": 0.25, "much": 1}


def test_the_conversations_behind_a_point_stand_beside_those_of_the_baseline(store: SqlStore) -> None:
    document = trials_page(store, "grid", {"setting": "Half", "case": "tidewell:1"})
    runs = {(r.trial.setting, r.trial.case, r.trial.trial): r for r in store.runs(experiment="grid") if r.trial}
    assert [trial["run"] for trial in document["trials"]] == [runs["Half", "tidewell:1", n].run for n in (1, 2)]
    assert [trial["beside"] for trial in document["trials"]] == [runs["Full", "tidewell:1", n].run for n in (1, 2)]
    first = next(turn for turn in store.turns(document["trials"][0]["run"]) if turn.speaker is not None)
    assert (document["trials"][0]["speaker"], document["trials"][0]["first_line"]) == (first.speaker, first.text)
    assert len(trials_page(store, "grid", {"setting": "Full"})["trials"]) == 4
    with pytest.raises(NotFoundError, match=r"no setting 'Haf' .did you mean 'Half'"):
        trials_page(store, "grid", {"setting": "Haf"})
    with pytest.raises(NotFoundError, match="no case"):
        trials_page(store, "grid", {"setting": "Half", "case": "harbour"})


def test_an_experiment_that_has_hardly_begun_says_so(half: SqlStore) -> None:
    document = document_at(half, "experiments/half")
    assert document["progress"]["finished"] == 0
    assert "No conversation of it has finished yet" in document["notes"][0]
    assert "one case" in document["notes"][1]
    assert measure_page(half, "half", "dist3")["not_measured"] == "as no conversation has finished yet"
    kept = KeptTrials()
    finish(half, "A", 1)
    assert measure_page(half, "half", "dist3", None, kept)["conversations"] == 1
    finish(half, "B", 1)
    finish(half, "B", 2)
    finish(half, "A", 2, "failed")
    measure = measure_page(half, "half", "dist3", None, kept)
    assert (measure["conversations"], measure["unpaired"]) == (2, 1)
    assert measure["settings"][1]["interval"] is None
    document = document_at(half, "experiments/half")
    assert "of 4 conversations 3 have finished" in document["notes"][0]
    assert document["progress"]["failures"] == [{"run": "a002", "error": None}]
    assert document["progress"]["utterances"] == sum(run.turns for run in half.runs())
    assert document["progress"]["utterances_expected"] == 4 * half.run("a001").turns


def test_a_plot_has_the_figures_of_the_page(store: SqlStore) -> None:
    results = read_results(store, "grid")
    report = report_of_experiment(results.experiment, metrics=["dist3"])
    measuring = Measuring(store, results.runs, RehearsalEmbedder())
    findings = find(store, report, results, measuring, Provenance(()))
    drawn = [point for series in metric_plot(findings, "dist3").panels[0].series for point in series.points]
    page = measure_page(store, "grid", "dist3")["settings"]
    assert [point.y for point in drawn] == [setting["value"] for setting in page]
    assert [(point.low, point.high) for point in drawn] == [tuple(setting["interval"]) for setting in page]
    assert [[*point.cases] for point in drawn] == [setting["by_case"] for setting in page]


def test_figures_that_need_a_model_name_the_command(half: SqlStore) -> None:
    for setting in "AB":
        finish(half, setting, 1)
    for metric in ("sim", "fluency", "entropy"):
        measure = measure_page(half, "half", metric)
        assert measure["not_measured"], metric
        assert measure["command"] == ["lab", "compare", "half", "--metric", metric]
    assert measure_page(half, "half", "sim")["can_measure"]
    with pytest.raises(NotFoundError, match="no measure 'dist33'"):
        measure_page(half, "half", "dist33")


def test_an_experiment_of_another_version_is_refused_in_a_sentence(half: SqlStore) -> None:
    definition = half.experiments.get("half").definition
    half.experiments.save("new", definition | {"name": "new", "weather": "fair"})
    with pytest.raises(StorageError, match=r"weather.*newer version of this program wrote it, update the program"):
        document_at(half, "experiments/new")
    with pytest.raises(NotFoundError, match="no experiment 'hal'"):
        document_at(half, "experiments/hal")


def test_the_newest_report_of_an_experiment_is_shown_as_it_was_exported(tmp_path: Path) -> None:
    assert report_page(tmp_path / "none", "grid")["report"] is None

    def write(name: str, text: str) -> Path:
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.json").write_text(text, encoding="utf-8")
        return tmp_path / name / f"{name}.json"

    report = {"experiment": "grid", "report": "grid", "figures": [], "orderings": [], "tally": {"reproduced": 1}}
    write("grid", json.dumps(report)).with_suffix(".html").write_text("<p>", encoding="utf-8")
    write("other", json.dumps(report | {"experiment": "other"}))
    document = report_page(tmp_path, "grid")
    assert document["report"]["tally"] == {"reproduced": 1}
    assert document["page"] == str(tmp_path / "grid" / "grid.html")
    write("cut", '{"experiment": "third", ')
    assert "cut.json can't be read" in report_page(tmp_path, "third")["problem"]
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "linked.json").symlink_to(tmp_path / "grid" / "grid.json")
    assert report_page(tmp_path, "grid")["page"] == str(tmp_path / "grid" / "grid.html")
