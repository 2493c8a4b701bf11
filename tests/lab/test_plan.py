"""Plans of experiments: stored before the first trial, never changed, and held against what was run."""

from pathlib import Path

import yaml

from tertulia.lab.experiments.experiment import Experiment, expanded, experiment_of, joined
from tertulia.lab.experiments.plan import departures, plan_of
from tertulia.lab.experiments.running import InProcessExecutor, run_experiment
from tertulia.lab.experiments.sources import source_of
from tertulia.lab.reports.papers import report_of
from tertulia.lab.reports.report_making import plan_of_report, planned
from tertulia.runs.access.engines import ModelAccess
from tertulia.storage.store import SqlStore


def of(trials: int = 1, **settings: float) -> Experiment:
    values = {name: {"removal_factor": value} for name, value in settings.items()}
    return Experiment(name="knob", cases=("tidewell:0",), settings=values, trials=trials, rounds=1, model="rehearsal")


def run(store: SqlStore, experiment: Experiment) -> Experiment:
    run_experiment(store, experiment, InProcessExecutor(store, ModelAccess()), emit=lambda event: None)
    return experiment_of(store.experiments.get(experiment.name))


def test_a_plan_is_stored_before_the_first_trial_and_stays() -> None:
    with SqlStore.open(":memory:", create=True) as store:
        first = run(store, of(Full=0.0, APP=0.5))
        plan = yaml.safe_load(first.plan)
        assert plan["settings"] == {"Full": {"removal_factor": 0.0}, "APP": {"removal_factor": 0.5}}
        assert (plan["trials"], plan["cases"], plan["seed"]) == (1, ["tidewell:0"], 1)
        grown = run(store, of(trials=2, Full=0.0, APP=0.5, more=1.0))
        assert grown.plan == first.plan
        assert grown.trials == 2
    found = departures(grown.plan, plan_of(grown))
    assert found == ["settings not planned: more", "trials: planned 1, now 2"]


def test_a_report_plans_what_it_tests_and_what_it_can_find() -> None:
    report = report_of("table2", quick=True)
    experiment = planned(report, cases=["tidewell:all"], model="rehearsal")
    plan = yaml.safe_load(experiment.plan)
    assert [*plan["orderings"]] == [ordering.id for ordering in report.orderings]
    assert "Holm" in plan["tests"]
    assert 0.5 < plan["found_in_four_of_five"]["others"] < 3  # eight cases, 22 orderings
    assert plan["settings"]["RMm"]["drafts"] == plan["settings"]["Full"]["drafts"] == 1
    assert departures(experiment.plan, experiment.plan) == []


def test_what_departs_from_a_plan_is_said() -> None:
    report = report_of("table2", quick=True)
    experiment = planned(report, cases=["tidewell:0", "tidewell:1"], model="rehearsal")
    fewer = report.model_copy(update={"orderings": report.orderings[:-2], "primary": ("sim",)})
    changed = experiment.model_copy(update={"cases": ("tidewell:0", "clinic"), "trials": 7})
    assert departures(experiment.plan, plan_of_report(fewer, changed)) == [
        "cases not planned: clinic",
        "cases planned and left out: tidewell:1",
        "trials: planned 2, now 7",
        "the primary outcome not planned: sim",
        "orderings planned and left out: dist3: all blocks most, sim: all blocks most",
    ]
    assert departures("", experiment.plan) == ["no plan of it is stored"]
    assert departures("- no plan", experiment.plan) == ["its stored plan can't be read"]


def test_a_plan_is_not_written_after_the_first_trial() -> None:
    known, given = of(Full=0.0), of(Full=0.0).model_copy(update={"plan": plan_of(of(Full=0.0))})
    assert joined(known, given).plan == ""


def test_all_of_a_folder_are_its_scenario_files(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.yaml").write_text("name: x")
    (tmp_path / "notes.txt").write_text("no scenario")
    assert expanded(f"{tmp_path}:all") == [f"{tmp_path}/a.yaml", f"{tmp_path}/b.yaml"]
    assert {source_of(case) for case in expanded(f"{tmp_path}:all")} == {*expanded(f"{tmp_path}:all")}
