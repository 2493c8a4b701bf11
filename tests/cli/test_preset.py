"""The preset `paper`: the paper's setting in one word, and in its words, under what the user sets beside it."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli

from tertulia.models.rehearsal import RehearsalModel
from tertulia.state.errors import SettingError
from tertulia.state.language_model import GenerationRequest
from tertulia.state.parameters import PRESETS, Parameters
from tertulia.state.records import Reply

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


# --- the paper's words ----------------------------------------------------------------------------------------------

OWN, PAPERS = "What follows is the setting of a conversation, told for Emeka Obiora.", "Context for the task:"
TALK = ("run", "tidewell", "--rehearse", *PAPER, "--set", "lambda=0.7", "--set", "ending=off", "--json")
GERMAN = """
name: der Schluessel
time: 2026-05-06 09:30:00
language: de
participants:
  - {name: Ida Falk, memories: [Sie hat den Schluessel.]}
  - {name: Jo Brandt, memories: [Er hat den Mantel verloren.]}
"""


class Failing(RehearsalModel):
    """Fails in the third turn."""

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        units = request.prompt.source.units if request.prompt.source else ()
        if [unit.block for unit in units if unit.kind == "item"].count("current_dialogue") == 2:
            raise RuntimeError("no")
        return await super().generate(request)


def openings(cli: Cli, run: str, turns: int) -> list[str]:
    """The first unit of each prompt."""
    documents = (cli("show", run, "--turn", str(turn), "--json").json for turn in range(1, turns + 1))
    return [document["units"][0]["text"] for document in documents]


def interrupted(cli: Cli, monkeypatch: pytest.MonkeyPatch, *settings: str) -> str:
    """A conversation of four turns that failed in its third."""
    with monkeypatch.context() as patched:
        patched.setattr("tertulia.models.loading.open_model", lambda *_, **__: Failing())
        result = cli(*TALK, "--rounds", "4", *settings)
    ended: dict[str, Any] = json.loads(result.out)
    assert (ended["status"], ended["turns"]) == ("failed", 2)
    return str(ended["run"])


def test_a_run_in_the_paper_s_words_is_recorded_resumed_forked_and_shown(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = interrupted(cli, monkeypatch)
    assert cli("resume", run, "--json").json["turns"] == 4
    whole = str(cli(*TALK, "--rounds", "4").json["run"])
    fork = str(cli("fork", whole, "--at", "3", "--json").json["run"])
    for same in (run, fork):
        assert parameters_of(cli, same)["wording"] == "paper"
        assert cli("diff", whole, same, "--exit-code").code == 0
        assert openings(cli, same, 4) == [PAPERS] * 4
    own = str(cli("fork", whole, "--at", "3", "--set", "wording=own", "--json").json["run"])
    assert [opening == PAPERS for opening in openings(cli, own, 4)] == [True, True, False, False]
    assert parameters_of(cli, own).items() >= {"preset": "paper", "wording": "own"}.items()
    shown = cli("show", run, "--turn", "4", "--json").json
    kinds = {unit["id"]: unit["kind"] for unit in shown["units"]}
    before = {unit["id"]: unit["kind"] for unit in cli("show", own, "--turn", "4", "--json").json["units"]}
    assert {id: kind for id, kind in kinds.items() if kind == "text"} == {
        id: kind for id, kind in before.items() if kind == "text"
    }
    assert any(candidate["inconsistency"] is not None for candidate in shown["candidates"])


def test_the_paper_s_words_are_english_and_of_two(cli: Cli) -> None:
    Path("key.yaml").write_text(GERMAN, encoding="utf-8")
    for settings, words in (
        (PAPER, "preset=paper sets it; "),
        (("--set", "wording=paper"), "in German; give --set wording=own"),
    ):
        result = cli("run", "key.yaml", "--rehearse", *settings)
        result.complains(2, "wording=paper: the paper's words are English, and the prompts here are in German", words)
    result.complains(2, "give --set wording=own for prompts in German, or --set language=en for the paper's")
    assert cli("run", "key.yaml", "--rehearse", *PAPER, "--set", "wording=own", "--rounds", "1").code == 0
    assert cli("run", "key.yaml", "--rehearse", *PAPER, "--set", "language=en", "--rounds", "1").code == 0
    cli("fork", "@last", "--at", "1", "--set", "language=de").complains(2, "wording=paper", "language=en")
    cli("simulate", "tidewell", "--rehearse", "--days", "1", *PAPER, "--set", "language=fr").complains(
        2, "wording=paper", "in French"
    )
    cli("run", "team_building", "--rehearse", "--set", "wording=paper").complains(2, "wording=paper: ", "is a meeting")
    german = ("--set", "wording=paper", "--set", "language=de")
    cli("run", "villagers", "--rehearse", *german).complains(2, "wording=paper", "in German")
