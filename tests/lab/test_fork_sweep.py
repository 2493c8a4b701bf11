"""`sweep RUN@TURN`: trials that go on from a turn of a run, with common seeds, and the effects paired by them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.on_use import on_use

from tertulia.lab.experiments.results import read_results
from tertulia.lab.reports.measured_trials import MeasuredTrial
from tertulia.metrics.diversity import distinct_n, words
from tertulia.models.rehearsal import RehearsalModel
from tertulia.state.questions import Answer, Question
from tertulia.storage.store import SqlStore

stats = on_use("scipy.stats")

#: A conversation of five turns that nobody ends before.
RUN = ("run", "tidewell", "--rehearse", "--lambda", "0.5", "--rounds", "5", "--seed", "7", "--set", "ending=off")
SWEEP = ("--lambda", "0,0.5,1", "--trials", "3", "--rounds", "2")


@pytest.fixture
def parent(cli: Cli) -> str:
    return str(cli(*RUN, "--json").json["run"])


def lines_by_seed(document: dict[str, Any], setting: str) -> dict[int, list[str]]:
    (branch,) = (branch for branch in document["branches"] if branch["setting"] == setting)
    return {trial["seed"]: [line["text"] for line in trial["lines"]] for trial in branch["trials"]}


def test_trials_are_forks_of_the_run_with_the_same_seeds_at_every_lambda(cli: Cli, parent: str) -> None:
    document = cli("sweep", f"{parent}@3", *SWEEP, "--json").json
    assert (document["status"], document["runs"], document["new"]) == ("finished", 9, 9)
    assert document["parent"] == {"run": parent, "turn": 3}
    shared = cli("show", parent, "--json").json["turns"][:2]
    assert document["before"] == {name: shared[-1][name] for name in ("turn", "speaker", "text")}
    assert [branch["setting"] for branch in document["branches"]] == ["λ = 0", "λ = 0.5", "λ = 1"]
    for factor, branch in zip((0, 0.5, 1), document["branches"], strict=True):
        assert [trial["seed"] for trial in branch["trials"]] == [7, 8, 9], "the run's own seed, and those after it"
        for trial in branch["trials"]:
            stored = cli("show", trial["run"], "--json").json
            assert stored["parent"] == {"run": parent, "turn": 3}
            assert (stored["seed"], stored["parameters"]["removal_factor"]) == (trial["seed"], factor)
            assert [turn["text"] for turn in stored["turns"]][:2] == [turn["text"] for turn in shared]
            assert [line["turn"] for line in trial["lines"]] == [3, 4]
            assert [turn["text"] for turn in stored["turns"][2:]] == [line["text"] for line in trial["lines"]]
    assert {row["trial"]["experiment"] for row in cli("runs", "--json").json["runs"] if row["trial"]} == {
        document["experiment"]
    }


def test_a_trial_says_what_the_same_fork_says_and_at_its_own_lambda_what_the_run_said(cli: Cli, parent: str) -> None:
    document = cli("sweep", f"{parent}@3", *SWEEP, "--json").json
    own = [turn["text"] for turn in cli("show", parent, "--json").json["turns"][2:4]]
    assert lines_by_seed(document, "λ = 0.5")[7] == own
    assert lines_by_seed(document, "λ = 0")[7] != own
    fork = cli("fork", parent, "--at", "3", "--lambda", "1", "--seed", "9", "--rounds", "4", "--json").json["run"]
    forked = [turn["text"] for turn in cli("show", fork, "--json").json["turns"][2:]]
    assert lines_by_seed(document, "λ = 1")[9] == forked
    assert lines_by_seed(document, "λ = 1")[8] != forked


def test_effects_are_of_the_new_lines_paired_by_seed(cli: Cli, parent: str) -> None:
    document = cli("sweep", f"{parent}@4", "--lambda", "0,1", "--trials", "5", "--rounds", "3", "--json").json
    full, none = lines_by_seed(document, "λ = 0"), lines_by_seed(document, "λ = 1")
    effects = document["branches"][1]["effects"]
    assert {*effects} == {"words_per_line", "dist3", "equal_lines"}
    means = [[sum(len(words(text)) for text in said) / 3 for said in lines.values()] for lines in (none, full)]
    expected = stats.ttest_rel(*means)
    interval = expected.confidence_interval(0.95)
    assert effects["words_per_line"]["value"] == pytest.approx(sum(means[0]) / 5)
    assert effects["words_per_line"]["difference"] == pytest.approx((sum(means[0]) - sum(means[1])) / 5)
    bounds = [effects["words_per_line"][name] for name in ("ci_low", "ci_high")]
    assert bounds == pytest.approx([interval.low, interval.high])

    def dist3(lines: dict[int, list[str]], without: int | None = None) -> float:
        kept = [[("", text) for text in said] for seed, said in lines.items() if seed != without]
        return distinct_n(kept, 3) or 0.0

    assert effects["dist3"]["value"] == pytest.approx(dist3(none))
    assert effects["dist3"]["difference"] == pytest.approx(dist3(none) - dist3(full))
    assert effects["dist3"]["seeds"] == 5
    pseudo = [[5 * dist3(lines) - 4 * dist3(lines, seed) for seed in lines] for lines in (none, full)]
    by_jackknife = stats.ttest_rel(*pseudo).confidence_interval(0.95)
    width = effects["dist3"]["ci_high"] - effects["dist3"]["ci_low"]
    assert width == pytest.approx(by_jackknife.high - by_jackknife.low)
    equal = [sum(a == b for a, b in zip(none[seed], full[seed], strict=True)) / 3 for seed in full]
    assert effects["equal_lines"]["value"] == pytest.approx(sum(equal) / 5)
    assert document["branches"][0]["effects"]["words_per_line"]["difference"] is None


def test_reports_measure_the_turns_from_there_on(cli: Cli, parent: str, tmp_path: Path) -> None:
    document = cli("sweep", f"{parent}@4", "--lambda", "0,1", "--trials", "2", "--rounds", "2", "--json").json
    name = document["experiment"]
    compared = cli("lab", "compare", name, "--metric", "len", "--metric", "dist3", "--json").json
    here = {(figure["metric"], figure["setting"]): figure["here"]["value"] for figure in compared["figures"]}
    for (metric, measure), branch in product((("len", "words_per_line"), ("dist3", "dist3")), document["branches"]):
        assert here[metric, branch["setting"]] == pytest.approx(branch["effects"][measure]["value"])
    with SqlStore.open("tertulia.db") as store:
        for found in read_results(store, name).runs:
            trial = MeasuredTrial(found, store)
            sizes = {len(trial.dialogue), len(trial.makings), len(trial.prompted), len(trial.spoken_lines)}
            assert {*sizes, len(trial.has_faults), len(trial.recited)} == {2}
            assert sum(agent.spoken for agent in trial.participation.agents) == 2


class Stopped(RehearsalModel):
    """The stand-in, interrupted at a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.batches = 0

    async def answer_batch(self, questions: Sequence[Question]) -> list[Answer]:
        self.batches += 1
        if self.batches == 4:
            raise KeyboardInterrupt
        return await super().answer_batch(questions)


@pytest.mark.full
def test_interrupted_it_names_the_run_and_the_same_command_runs_what_is_missing(
    cli: Cli, parent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy("tertulia.db", "whole.db")
    command = ("sweep", "@last@3", *SWEEP, "--side-by-side", "4", "--json")
    whole = cli(*command, "--store", "whole.db").json
    with monkeypatch.context() as patch:
        patch.setattr("tertulia.models.loading.open_model", lambda *_, **__: Stopped())
        stopped = cli(*command)
    assert stopped.code == 130
    assert json.loads(stopped.out)["runs"] < 9
    assert f"to go on: tertulia sweep {parent}@3 --lambda" in stopped.err, "@last is a trial by now"
    again = cli("sweep", f"{parent}@3", *command[2:]).json
    assert again["experiment"] == whole["experiment"]
    for setting in ("λ = 0", "λ = 0.5", "λ = 1"):
        assert lines_by_seed(again, setting) == lines_by_seed(whole, setting)
    assert cli("sweep", f"{parent}@3", *command[2:]).json["new"] == 0
    assert cli("sweep", f"{parent}@3", *SWEEP[:2], "--trials", "4", *SWEEP[4:], "--json").json["new"] == 3


def test_it_is_shown_as_a_tree(cli: Cli, parent: str) -> None:
    shown = cli("sweep", f"{parent}@3", "--lambda", "0,1", "--trials", "2", "--rounds", "2").out.splitlines()
    last = cli("show", parent, "--json").json["turns"][1]
    assert shown[0].startswith(f"run {parent}, turn 2: {last['speaker']}: {last['text'][:30]}")
    assert shown[1] == "├── λ = 0"
    assert [line for line in shown if "seed 7, " in line and "(and 1 more line)" in line]
    assert "└── λ = 1" in shown
    effects = [line for line in shown if "words per line" in line]
    assert len(effects) == 2
    assert "[" in effects[1], "the interval"
    assert max(map(len, shown)) <= 120
    assert "against λ = 0, paired by seed, over 2 seeds" in "\n".join(shown)


def test_other_settings_than_lambda_and_meetings(cli: Cli) -> None:
    run = cli("run", "team_building", "--rehearse", "--rounds", "4", "--json").json["run"]
    found = cli("sweep", f"{run}@5", "--set", "temperature=0.3", "--trials", "2", "--rounds", "2", "--json").json
    (branch,) = found["branches"]
    assert branch["setting"] == "as set"
    stored = cli("show", branch["trials"][0]["run"], "--json").json
    assert (stored["parameters"]["temperature"], len(stored["turns"])) == (0.3, 6)


@pytest.mark.full
def test_workers_say_the_same(cli: Cli, parent: str) -> None:
    """They have stores of their own, which get the run from whose turn the trials go on."""
    shutil.copy("tertulia.db", "whole.db")
    command = ("sweep", f"{parent}@3", *SWEEP, "--side-by-side", "2", "--json")
    whole = cli(*command, "--store", "whole.db").json
    spread = cli(*command, "--workers", "2").json
    assert (spread["runs"], spread["new"], spread["parent"]) == (9, 9, {"run": parent, "turn": 3})
    for setting in ("λ = 0", "λ = 0.5", "λ = 1"):
        assert lines_by_seed(spread, setting) == lines_by_seed(whole, setting)
    assert spread["branches"][1]["effects"] == whole["branches"][1]["effects"]
    with SqlStore.open("tertulia.db") as store:
        assert len(store.runs()) == 10
        assert {run.parent[0] for run in store.runs() if run.parent is not None} == {parent}
    assert not Path("tertulia.db.shards").exists()


def test_what_it_would_take(cli: Cli, parent: str) -> None:
    estimate = cli("sweep", f"{parent}@3", *SWEEP, "--dry-run", "--json").json
    assert (estimate["trials"], estimate["utterances"]) == (9, 18)
    assert len(cli("runs", "--json").json["runs"]) == 1


def test_what_cannot_be_swept(cli: Cli, parent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("sweep", "nosuch@3", *SWEEP).complains(3, "no run 'nosuch'")
    cli("sweep", "k3f9@3", *SWEEP, "--store", "none.db").complains(3, "none.db")
    assert not (tmp_path / "none.db").exists()
    cli("sweep", f"{parent}@7", *SWEEP).complains(2, f"run {parent} has 5 turns; take turn 1 to 6")
    cli("sweep", f"{parent}@0", *SWEEP).complains(2, "turn=0", "turn 1 to 6")
    cli("sweep", f"{parent}@3", "tidewell", *SWEEP).complains(2, "give it alone")
    cli("sweep", f"{parent}@3", "--lambda", "2").complains(2, "λ is a number from 0 to 1")
    (tmp_path / "typed").write_text("Hi.\n")
    with (tmp_path / "typed").open() as typed, monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", typed)
        cli("run", "tidewell", "--rehearse", "--seat", "Emeka", "--rounds", "1", "--set", "ending=off")
    cli("sweep", "@last@2", *SWEEP).complains(2, "speaks for Emeka Obiora", "--set seat=null")
    album = cli("run", "villagers", "--rehearse", "--rounds", "1", "--set", "agents=4", "--json").json["run"]
    cli("sweep", f"{album}@1", *SWEEP).complains(2, "album chat")
    file = tmp_path / "forks.yaml"
    file.write_text(f'name: a\ncases: ["run:{parent}@3"]\nsettings: {{x: {{}}}}\nmodel: rehearsal\n')
    cli("lab", "run", file).complains(2, "is a turn of a stored run", f"tertulia sweep {parent}@3")
    assert all(row["trial"] is None for row in cli("runs", "--json").json["runs"]), "nothing was run"
