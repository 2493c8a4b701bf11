"""What an experiment can't show is told before it begins: one case, a setting without effect, a value given twice."""

from typing import Any

import pytest
from support.commands import Cli
from support.experiment_case import a_grid

from tertulia.lab.experiments.cautions import cautions
from tertulia.lab.experiments.sweeping import read_lambdas
from tertulia.state.errors import SettingError
from tertulia.storage.store import SqlStore

CASES = ("tidewell:0", "tidewell:1")


def told(store: SqlStore, *arguments: str, **changes: Any) -> list[str]:
    return [*cautions(store, a_grid(**changes), arguments)]


def test_one_case_has_no_interval_and_the_command_for_more_is_given(cli: Cli) -> None:
    ran = cli("sweep", "tidewell", "--lambda", "0,1", "--trials", "1", "--rounds", "1", "--rehearse")
    before, _, _ = ran.err.partition("trials to run")
    assert "note: One case has no interval, however many trials it has" in before
    assert "tertulia sweep tidewell:all --lambda 0,1 --trials 1 --rounds 1 --rehearse" in before


def test_a_case_that_is_named_twice_is_named_once_in_the_command_for_more(cli: Cli) -> None:
    ran = cli("sweep", "tidewell:0", "tidewell:0", "--lambda", "0,1", "--rounds", "1", "--rehearse", "--dry-run")
    assert "With all cases of it: tertulia sweep tidewell:all --lambda 0,1 --rounds 1 --rehearse --dry-run" in ran.err


def test_a_dry_run_has_the_same_notes(cli: Cli) -> None:
    sweep = ("sweep", "tidewell", "--lambda", "0,1", "--trials", "1", "--rounds", "1", "--set", "working_memory=3")
    ran = cli(*sweep, "--rehearse", "--dry-run")
    assert "note: One case has no interval, however many trials it has, so no test is possible" in ran.err
    assert "note: working_memory does nothing here" in ran.err


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
@pytest.mark.parametrize("named", [("--model", "gpt9"), ("--set", "judge_model=gpt9")])
def test_a_model_that_does_not_exist_is_refused_before_anything_is_stored(
    cli: Cli, named: tuple[str, ...], dry: tuple[str, ...]
) -> None:
    sweep = ("sweep", *CASES[:2], "--lambda", "0,1", "--trials", "1", "--rounds", "1")
    refused = cli(*sweep, *named, *dry)
    assert refused.err.splitlines()[-1].startswith("error: unknown model 'gpt9' (did you mean 'openai:gpt9'?)")
    assert "to run" not in refused.err + refused.out
    assert cli("lab", "list", "--json").json["experiments"] == []


def test_a_scenario_without_other_cases_names_one_that_has_them(store: SqlStore) -> None:
    (sentence,) = told(store, cases=("team_building",))
    assert sentence.endswith("Name several scenarios, or one with cases, such as tidewell:all")
    assert told(store) == []
    assert told(store, cases=("tidewell:0",), settings={"Full": {"lambda": 0}}) == []  # nothing is compared


@pytest.mark.parametrize(
    ("case", "setting", "reason"),
    [
        ("tidewell:0", {"working_memory": 3}, "working_memory does nothing here: a dialogue of two never reads it"),
        ("tidewell:0", {"album_pictures": 3}, "album_pictures does nothing here: a dialogue of two never reads it"),
        ("team_building", {"album_pictures": 3}, "album_pictures does nothing here: a meeting never reads it"),
        ("tidewell:0", {"pruning_turns": 2}, "pruning_turns does nothing here: it acts with pruning=first"),
        ("tidewell:0", {"removal_order": "ascending"}, "removal_order does nothing here: at λ = 0 nothing is removed"),
    ],
)
def test_a_setting_without_effect_is_named_with_the_reason(
    store: SqlStore, case: str, setting: dict[str, Any], reason: str
) -> None:
    assert told(store, cases=(case,), settings={"only": {"lambda": 0, **setting}}) == [reason]


def test_a_setting_that_acts_anywhere_is_not_named(store: SqlStore) -> None:
    settings = {
        "Full": {"lambda": 0, "removal_order": "ascending"},
        "Half": {"lambda": 0.5, "removal_order": "ascending"},
    }
    assert told(store, settings=settings) == []
    assert told(store, settings={"first": {"pruning": "first", "pruning_turns": 2}}) == []


def test_a_value_of_lambda_that_is_there_twice_is_refused_with_the_values_that_were_meant() -> None:
    with pytest.raises(SettingError, match=r"lambda=0,0.0,1: a value is there more than once; did you mean 0,1\?"):
        read_lambdas("0,0.0,1")
