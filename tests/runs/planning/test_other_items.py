"""Items of another case in prompts (`items_from`): whose they are, how many, and that its file is needed only once."""

import json
import re
from pathlib import Path

import pytest
from support.commands import Cli

import tertulia
from tertulia.lab.experiments.experiment import checked, experiment_with, read_experiment
from tertulia.prompts.cut import whole_items
from tertulia.runs.access.engines import ModelAccess
from tertulia.runs.planning.other_items import under_names_of
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.starting import begin, plan_run
from tertulia.state.case_seed import case_seed_of
from tertulia.state.errors import SettingError
from tertulia.state.records import BLOCK_INITIALS, Case, Prompt, Unit
from tertulia.state.words import words
from tertulia.storage.store import SqlStore
from tertulia.worlds.catalog import resolve

#: Of Torvald and Priya, and of Piotr and Marisol, who have both talked before.
HERE, OTHER = "tidewell:5", "tidewell:6"

KITCHEN = """
name: the lost key
time: 2024-05-14 09:30:00
place: the hostel kitchen
participants:
  - {name: Ada Quill, age: 40, activity: searching the drawers, memories: [Ada Quill saw Ben Holt in the rain.]}
  - {name: Ben Holt, home: the attic, activity: making tea, memories: [Ben's key opens nothing., Torvald Rask called.]}
"""


def prompts_of(path: Path, run: str) -> list[Prompt]:
    """The prompts of a run, turn by turn, with whole items."""
    with SqlStore.open(path) as store:
        records = [store.turn_record(run, turn.turn) for turn in store.turns(run)]
        return [whole_items(store.prompt(record.prompt)) for record in records if record.prompt is not None]


def rehearsed(path: Path, items_from: str | None, scenario: str = HERE, rounds: int = 3, **settings: object) -> str:
    chosen = {"items_from": items_from, **settings}
    return tertulia.run(scenario, rehearse=True, rounds=rounds, store=path, settings=chosen, progress=False).id


def items_of(prompt: Prompt, block: str) -> list[Unit]:
    return [unit for unit in prompt.units if unit.block == block and unit.kind == "item"]


# --- content --------------------------------------------------------------------------------------------------------


def test_prompts_have_as_much_of_somebody_else_under_the_names_of_those_here(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    own, other = prompts_of(path, rehearsed(path, None)), prompts_of(path, rehearsed(path, OTHER))
    start, stand_in = resolve(HERE), resolve(OTHER)
    assert isinstance(start, Case)
    assert isinstance(stand_in, Case)
    assert own[0].speaker == other[0].speaker == start.names[0]
    for before, now in zip(own[:2], other[:2], strict=True):
        assert before.blocks() == now.blocks()
        for block in (BLOCK_INITIALS[letter] for letter in "bmpe"):
            was, became = items_of(before, block), items_of(now, block)
            assert not {unit.text for unit in was} & {unit.text for unit in became} - {f"Name: {now.speaker}"}
            assert all(unit.id.endswith(".other") for unit in became)
            sizes = [[len(words(unit.text)) for unit in units] for units in (was, became)]
            surplus = sum(sizes[1]) - sum(sizes[0])
            # Whole units are dropped until no selection is nearer: with one fewer there would be more missing.
            assert -(30 if block == "previous_dialogues" else 6) <= surplus <= min(sizes[1]) / 2, (block, sizes)
        renamed = under_names_of(stand_in, start).participant(now.speaker)
        assert f"Name: {now.speaker}" in {unit.text for unit in items_of(now, "basic_info")}
        recalled = {unit.text.removeprefix("- ") for unit in items_of(now, "memory")}
        assert recalled <= {memory.text for memory in renamed.memories}


def test_memories_keep_their_places_from_turn_to_turn(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    prompts = prompts_of(path, rehearsed(path, OTHER, rounds=5))
    first, second = ([unit.id for unit in items_of(prompts[turn], "memory")] for turn in (0, 2))
    common = [unit for unit in first if unit in second]
    who = [[unit.text for unit in items_of(prompts[turn], "basic_info")] for turn in (0, 2)]
    assert who[0] == who[1]
    assert common
    assert common == [unit for unit in second if unit in first]


def test_names_are_exchanged_where_the_other_case_speaks_of_those_here(tmp_path: Path) -> None:
    file = tmp_path / "kitchen.yaml"
    file.write_text(KITCHEN, encoding="utf-8")
    start, other = resolve(HERE), resolve(str(file))
    assert isinstance(start, Case)
    assert isinstance(other, Case)
    case = under_names_of(other, start)
    torvald, priya = case.participant("Torvald Rask"), case.participant("Priya Nambiar")
    assert case.scenario == str(file)
    assert [memory.text for memory in torvald.memories] == ["Torvald Rask saw Priya Nambiar in the rain."]
    assert [memory.text for memory in priya.memories] == ["Priya's key opens nothing.", "Ada Quill called."]
    assert (torvald.persona.age, priya.persona.home, case.place) == (40, "the attic", "the hostel kitchen")


def test_the_case_is_the_same_case_with_whosever_items() -> None:
    plans = [plan_run(HERE, RunRequest({"items_from": chosen})) for chosen in (None, OTHER)]
    assert case_seed_of(plans[0].start) == case_seed_of(plans[1].start)


def test_of_all_cases_it_is_one_that_will_do_and_not_always_the_same() -> None:
    chosen = {}
    for number in range(8):
        start = plan_run(f"tidewell:{number}", RunRequest({"items_from": "tidewell:all"})).start
        assert isinstance(start, Case)
        assert start.items_from is not None
        chosen[number] = start.items_from.scenario
    assert len(set(chosen.values())) > 2
    start = plan_run("tidewell:4", RunRequest({"items_from": "tidewell:0, tidewell:2,tidewell:7"})).start
    assert isinstance(start, Case)
    assert start.items_from is not None
    assert start.items_from.scenario == "tidewell:7"  # 0 has the same people, 2 no earlier dialogues


# --- stored ---------------------------------------------------------------------------------------------------------


def test_a_run_goes_on_forks_replays_and_merges_without_the_file(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "kitchen.yaml"
    file.write_text(KITCHEN, encoding="utf-8")
    settings = {"items_from": str(file), "max_turns": 4, "removal_factor": 0.5}
    plan = plan_run("tidewell:1", RunRequest(settings, model="rehearsal"))
    path = tmp_path / "t.db"
    with SqlStore.open(path, create=True) as store:
        run = begin(store, plan, ModelAccess()).run
    whole = tertulia.run("tidewell:1", rehearse=True, store=path, settings=settings, progress=False).id
    file.unlink()

    assert cli("resume", run, "--store", str(path), "--json").json["turns"] == 4
    cli("diff", run, whole, "--exit-code", "--store", str(path))
    assert prompts_of(path, run) == prompts_of(path, whole)
    fork = cli("fork", run, "--at", "3", "--store", str(path), "--json").json["run"]
    assert prompts_of(path, fork) == prompts_of(path, run)
    assert cli("replay", run, "--store", str(path)).code == 0
    merged = tmp_path / "merged.db"
    assert cli("merge", str(path), "--into", str(merged)).code == 0
    assert prompts_of(merged, run) == prompts_of(path, run)
    again = cli("fork", run, "--at", "2", "--store", str(merged), "--json").json["run"]
    assert prompts_of(merged, again) == prompts_of(path, run)

    document = cli("show", run, "--json", "--store", str(path)).json
    assert (document["items_from"], document["parameters"]["items_from"]) == (str(file), str(file))
    assert "items of another case: " in cli("show", run, "--turn", "2", "--store", str(path)).out


def test_a_fork_takes_other_items_and_gives_them_back(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    run = rehearsed(path, None)
    fork = cli("fork", run, "--at", "2", "--set", f"items_from={OTHER}", "--store", str(path), "--json").json["run"]
    own, other = prompts_of(path, run), prompts_of(path, fork)
    assert own[0] == other[0]
    assert all(unit.id.endswith(".other") for unit in other[1].units if unit.removable)
    back = cli("fork", fork, "--at", "2", "--set", "items_from=null", "--store", str(path), "--json").json["run"]
    assert prompts_of(path, back) == own
    assert "items_from" not in cli("show", back, "--json", "--store", str(path)).json


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "items_from", "why"),
    [
        (HERE, HERE, "has Torvald Rask and Priya Nambiar too, and somebody else's items are wanted"),
        (HERE, "tidewell:3", "tidewell:3 has Priya Nambiar too"),
        (HERE, "tidewell:0", "tidewell:0 has no earlier dialogues, and here are some"),
        (HERE, "team_building", "team_building is no dialogue of two"),
        (HERE, "", "no case is named"),
        ("team_building", HERE, "team_building is a meeting, and only a dialogue of two takes the items of another"),
        ("villagers", HERE, "villagers is an album chat"),
    ],
)
def test_who_can_not_stand_for_somebody_is_refused_with_the_reason(scenario: str, items_from: str, why: str) -> None:
    with pytest.raises(SettingError, match=rf"items_from={items_from}.*{re.escape(why)}"):
        plan_run(scenario, RunRequest({"items_from": items_from}))


def test_a_block_that_no_prompt_has_is_not_wanted_of_the_other_case() -> None:
    assert (
        plan_run(HERE, RunRequest({"items_from": "tidewell:0", "removed_blocks": "p"})).parameters.items_from
        == "tidewell:0"
    )


def test_a_town_and_a_case_in_another_language_are_refused(cli: Cli, tmp_path: Path) -> None:
    cli("simulate", "tidewell", "--rehearse", "--set", f"items_from={OTHER}").complains(2, "their own days")
    file = tmp_path / "kitchen.yaml"
    file.write_text(KITCHEN.replace("saw Ben Holt in the rain", "昨天在公园散步" * 20), encoding="utf-8")
    with pytest.raises(SettingError, match="is in another language"):
        plan_run("tidewell:1", RunRequest({"items_from": str(file)}))


def test_a_scenario_that_somebody_sent_names_none_of_the_readers_files(cli: Cli, tmp_path: Path) -> None:
    private, sent = tmp_path / "private.yaml", tmp_path / "sent.yaml"
    private.write_text(KITCHEN, encoding="utf-8")
    scenario = KITCHEN.replace("Ada Quill", "Eve Moss").replace("Ben Holt", "Ian Fry")
    for named in (str(private), "private.yaml", f"tidewell:0,{private}", f"ga:{tmp_path}:0"):
        sent.write_text(f"{scenario}parameters: {{items_from: '{named}'}}\n", encoding="utf-8")
        cli("run", str(sent), "--rehearse", "--rounds", "1").complains(2, "a scenario may name only what is shipped")
    sent.write_text(f"{scenario}parameters: {{items_from: 'tidewell:0'}}\n", encoding="utf-8")
    assert cli("run", str(sent), "--rehearse", "--rounds", "1", "--json").json["turns"] == 1
    asked = cli("run", str(sent), "--rehearse", "--rounds", "1", "--set", f"items_from={private}", "--json")
    assert asked.json["turns"] == 1


# --- experiments ----------------------------------------------------------------------------------------------------


def an_experiment(items_from: str, cases: list[str]) -> dict[str, object]:
    settings = {"full": {"removal_factor": 0}, "placebo": {"removal_factor": 0, "items_from": items_from}}
    return {"name": "arms", "cases": cases, "settings": settings, "trials": 1, "rounds": 1, "model": "rehearsal"}


def test_an_experiment_is_refused_before_its_first_trial_where_nobody_can_stand_for_a_case() -> None:
    cases = ["tidewell:1", "tidewell:2", "tidewell:4"]
    assert len(checked(experiment_with(an_experiment("tidewell:all", cases))).cases) == 3
    with pytest.raises(SettingError, match="tidewell:0 can't stand for tidewell:4"):
        checked(experiment_with(an_experiment("tidewell:0", cases)))


def test_an_experiment_of_a_folder_names_what_lies_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "kitchen.yaml").write_text(KITCHEN, encoding="utf-8")
    chosen = "kitchen.yaml, tidewell:0"
    (folder / "arms.yaml").write_text(json.dumps(an_experiment(chosen, ["tidewell:1"])), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    experiment = read_experiment(Path("study/arms.yaml"))
    assert experiment.settings["placebo"]["items_from"] == "study/kitchen.yaml,tidewell:0"
    start = plan_run("tidewell:1", RunRequest(experiment.parameters("placebo"))).start
    assert isinstance(start, Case)
    assert start.items_from is not None
    assert start.items_from.scenario == "study/kitchen.yaml"
