"""Exports, read by the libraries that they are for (`make readers`)."""

from collections import Counter
from pathlib import Path

import pytest
from support.exported_runs import Rehearsed, rehearse_all, said
from support.exports_read import read_by

from tertulia.lab.exports.columns import COLUMNS

pytestmark = pytest.mark.full


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Rehearsed:
    """A store that no test changes."""
    return rehearse_all(tmp_path_factory.mktemp("exports") / "store.db")


@pytest.mark.parametrize("ending", ["eval", "json"])
def test_inspect_reads_a_log(runs: Rehearsed, tmp_path: Path, ending: str) -> None:
    given = [runs.store.run(run) for run in (runs.dialogue, runs.fork, runs.meeting, runs.album)]
    records = [run.record for run in given]
    (file,) = type(runs.store.runs())(given[0].store, records).export("inspect", tmp_path / f"log.{ending}")
    log = read_by("inspect", file)
    assert (log["status"], log["task"], log["model"]) == ("success", "tertulia", "rehearsal")
    assert sorted(log["summaries"]) == sorted(run.id for run in given)
    samples = {sample["id"]: sample for sample in log["samples"]}
    for run in given:
        sample, calls = samples[run.id], run.frame("calls")
        calls = calls[~calls["inherited"]]
        assert sample["said"] == said(run)
        assert sample["metadata"]["seed"] == run.seed
        assert sample["metadata"]["parameters"]["removal_factor"] == run.parameters.removal_factor
        assert len(sample["calls"]) == len(calls)
        assert Counter(call[4] for call in sample["calls"]) == Counter(calls["reply_tokens"])
        assert sample["tokens"] == {"rehearsal": calls["prompt_tokens"].sum() + calls["reply_tokens"].sum()}
        turns = [span for span in sample["spans"] if span.startswith("turn ")]
        assert len(turns) == len(run.turns)
    first = samples[runs.dialogue]["lines"][0]
    units = runs.store.run(runs.dialogue).turn(1).units
    assert [(unit["id"], unit["score"], unit["removed"]) for unit in first["units"]] == [
        (unit.id, unit.score, unit.removed) for unit in units
    ]
    dist2 = [sample["scores"]["dist2"] for sample in log["samples"]]
    assert log["means"]["dist2"] == pytest.approx(sum(dist2) / len(dist2), abs=1e-12)


def test_datasets_reads_every_configuration(runs: Rehearsed, tmp_path: Path) -> None:
    given = [runs.store.run(run) for run in (runs.dialogue, runs.fork, runs.meeting, runs.album)]
    records = [run.record for run in given]
    (folder,) = type(runs.store.runs())(given[0].store, records).export("dataset", tmp_path / "set")
    read = read_by("dataset", folder, tmp_path / "cache")
    assert read.keys() == COLUMNS.keys()
    for run, row in zip(given, read["conversations"], strict=True):
        assert [[message["name"], message["content"]] for message in row["messages"]] == said(run)
        assert (row["run"], row["seed"], row["label"]) == (run.id, str(run.seed), run.label)
        assert {figure["metric"]: figure["value"] for figure in row["figures"]}["dist2"] == run.measure("dist2")[
            "dist2"
        ]
        units = run.frame("units")
        of_turns = [unit for unit in read["units"] if unit["run"] == run.id and unit["part"] is None]
        assert len(of_turns) == len(units)
        assert sum(unit["removed"] > 0 for unit in of_turns) == (units["removed"] > 0).sum()
        assert sum(call["run"] == run.id for call in read["calls"]) == len(run.frame("calls"))
    known = {row["prompt"] for row in read["prompts"]}
    assert {turn["prompt"] for turn in read["turns"] if turn["prompt"]} <= known
    assert {call["prompt"] for call in read["calls"] if call["prompt"]} <= known


def test_mlflow_reads_an_experiment(runs: Rehearsed, tmp_path: Path) -> None:
    experiment = runs.store.experiment(runs.experiment)
    (folder,) = experiment.export("mlflow", tmp_path / "mlruns")
    runs.store.run(runs.dialogue).export("mlflow", folder)
    read = read_by("mlflow", folder)
    assert {"tertulia", runs.experiment} <= read.keys()
    found = {run["name"]: run for run in read[runs.experiment]}
    assert found.keys() == {run.id for run in experiment.runs}
    for trial, run in zip(experiment.runs.trials, experiment.runs, strict=True):
        told = found[run.id]
        parameters = told["parameters"]
        assert [parameters[name] for name in ("setting", "case", "trial")] == [trial.setting, trial.case, "1"]
        assert float(parameters["removal_factor"]) == run.parameters.removal_factor
        assert parameters["seed"] == str(run.seed)
        assert told["status"] == "FINISHED"
        assert told["metrics"]["dist2"] == run.measure("dist2")["dist2"]
        scored = run.frame("turns").dropna(subset="scored_by")
        assert told["removed"] == [list(at) for at in zip(scored["turn"], scored["removed_units"], strict=True)]
        assert bool(told["removed"]) == (run.parameters.removal_factor > 0)
        assert told["artifacts"] == ["transcript.md"]
    (alone,) = read["tertulia"]
    assert alone["tags"]["tertulia.run"] == runs.dialogue


def test_opentelemetry_reads_spans(runs: Rehearsed, tmp_path: Path) -> None:
    run = runs.store.run(runs.dialogue)
    (file,) = run.export("otel", tmp_path / "spans.json")
    (spans,) = read_by("spans", file)
    calls = run.frame("calls")
    made = [span for span in spans if span["attributes"].get("gen_ai.operation.name") == "chat"]
    assert len(made) == len(calls)
    assert sum(span["attributes"]["gen_ai.usage.input_tokens"] for span in made) == calls["prompt_tokens"].sum()
    assert {span["attributes"]["gen_ai.request.temperature"] for span in made} == {run.parameters.temperature}
    assert len({span["span"] for span in spans}) == len(spans)
    turns = [span for span in spans if span["name"].startswith("turn ")]
    assert [span["attributes"]["tertulia.speaker"] for span in turns] == [turn.speaker for turn in run.turns]
    assert {span["parent"] for span in turns} == {spans[0]["span"]}


def test_sdialog_reads_a_dialogue(runs: Rehearsed, tmp_path: Path) -> None:
    run = runs.store.run(runs.meeting)
    (file,) = run.export("sdialog", tmp_path / "dialogue.json")
    dialogue = read_by("sdialog", file)
    assert (dialogue["id"], dialogue["seed"]) == (run.id, run.seed)
    assert dialogue["said"] == said(run)
    assert {speaker for speaker, _ in said(run)} <= set(dialogue["personas"])
