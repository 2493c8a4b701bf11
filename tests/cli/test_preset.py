"""The preset `paper`: the paper's setting in one word, under what the user sets beside it."""

from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli

from tertulia.state.errors import SettingError
from tertulia.state.parameters import PRESETS, Parameters

RUN = ("run", "tidewell", "--rehearse", "--rounds", "2", "--json")
PAPER = ("--set", "preset=paper")


def parameters_of(cli: Cli, run: str) -> dict[str, Any]:
    return dict(cli("show", run, "--json").json["parameters"])


def test_it_sets_what_the_paper_states(cli: Cli) -> None:
    run = str(cli(*RUN, *PAPER, "--set", "lambda=0.85").json["run"])
    made = parameters_of(cli, run)
    stated = {name: value for name, value in PRESETS["paper"].items() if name not in ("case_seed", "max_turns")}
    assert made.items() >= (stated | {"preset": "paper", "removal_factor": 0.85, "max_turns": 2}).items()
    blocks = [unit["block"] for unit in cli("show", run, "--turn", "1", "--json").json["units"]]
    assert list(dict.fromkeys(blocks)) == [
        *("opening", "basic_info", "memory", "previous_dialogues", "environment", "current_dialogue"),
        *("task", "output_instruction"),
    ]


def test_what_is_set_beside_it_comes_over_it_in_any_order() -> None:
    for settings in ({"preset": "paper", "judge": "off"}, {"judge": "off", "preset": "paper"}):
        assert Parameters().with_settings(settings).judge == "off"
    assert Parameters().with_settings({"max_rounds": 4, "preset": "paper"}).max_turns == 4
    before = Parameters().with_settings({"top_p": 0.5, "judge_runs": 1})
    assert before.with_settings({"preset": "paper"}).judge_runs == 3


def test_it_comes_over_a_scenario_s_own_settings(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "key.yaml").write_text(
        "name: the key\ntime: 2026-05-06 09:30:00\nparticipants:\n"
        "  - {name: Ida Falk, memories: [She has the key.]}\n  - {name: Jo Brandt, memories: [He lost his coat.]}\n"
        "parameters: {removal_factor: 0.3, judge: 'off', top_p: 0.5}\n",
        encoding="utf-8",
    )
    run = cli("run", str(tmp_path / "key.yaml"), "--rehearse", "--rounds", "1", *PAPER, "--json").json["run"]
    made = parameters_of(cli, str(run))
    assert (made["judge"], made["top_p"], made["removal_factor"]) == ("rating", 0.9, 0.3)


def test_forks_keep_it_take_it_and_leave_it(cli: Cli) -> None:
    plain, paper = (str(cli(*RUN, *settings).json["run"]) for settings in ((), PAPER))
    assert cli("diff", paper, str(cli("fork", paper, "--at", "1", "--json").json["run"]), "--exit-code").code == 0
    taken = str(cli("fork", plain, "--at", "2", *PAPER, "--set", "judge_runs=1", "--rounds", "2", "--json").json["run"])
    assert parameters_of(cli, taken).items() >= {"preset": "paper", "judge_runs": 1, "special_rules": False}.items()
    left = str(cli("fork", paper, "--at", "2", "--set", "preset=null", "--rounds", "2", "--json").json["run"])
    assert parameters_of(cli, left).items() >= {"preset": None, "special_rules": True}.items()


def test_it_is_listed_and_others_are_refused(cli: Cli) -> None:
    assert "layout=single_message" in " ".join(cli("settings", "preset").out.split())
    assert "(preset paper rating)" in " ".join(cli("settings", "judge").out.split())
    listed = cli("settings", "special_rules", "--json").json["groups"][0]["parameters"][0]
    assert listed["in_presets"] == {"paper": False}
    cli(*RUN, "--set", "preset=papers").complains(2, "preset=papers")
    cli("run", "team_building", "--rehearse", *PAPER).complains(2, "preset=paper", "is a meeting")


def test_every_name_of_a_preset_is_a_parameter_and_its_value_fits() -> None:
    for name, values in PRESETS.items():
        made = Parameters().with_settings({"preset": name}).model_dump()
        assert {key: made[key] for key in values} == values
    with pytest.raises(SettingError):
        Parameters().with_settings({"preset": ["paper"]})
