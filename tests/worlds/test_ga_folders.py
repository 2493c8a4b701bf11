"""Folders of Generative Agents runs as they lie on disk: their two forms, base towns, forks, and made-up texts."""

import json
import shutil
from datetime import datetime
from pathlib import Path

import pytest
from conftest import Cli
from support.ga_builder import RunBuilder, as_storage, chat, event, node, real_run

from tertulia.state.errors import ScenarioError
from tertulia.worlds.catalog import describe, list_cases, logged_cases, resolve
from tertulia.worlds.ga_files import read_run
from tertulia.worlds.generative_agents import read_log
from tertulia.worlds.log_words import is_made_up, without_made_up
from tertulia.worlds.town import FIRST_DAY, open_town

HELLO = [["Ann", "Hello Bea."], ["Bea", "Hello Ann."]]
BLANK = "this is blank"


@pytest.fixture
def run(tmp_path: Path) -> RunBuilder:
    """Ann and Bea talk at noon; before, Ann bakes, walks and kneads."""
    builder = RunBuilder(tmp_path / "run")
    for name in ("Ann", "Bea"):
        builder.person(name, event("08:00:00", name, "waking up"))
        builder.step("00:00:00", name, "sleeping @ Town:Mill:loft:bed")
    builder.step("09:00:00", "Ann", "baking @ Town:Mill:bakery:oven")
    builder.step("10:00:00", "Bea", "mending a net @ Town:Mill:yard:bench")
    builder.step("11:00:00", "Ann", "kneading @ Town:Mill:bakery:table")
    return builder.talk("12:00:00", "Ann", "Bea", HELLO)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A town in which nothing has happened."""
    builder = RunBuilder(tmp_path / "base")
    builder.person("Ann", currently="Ann plans a party. Ann is cold.", daily_plan_req="Ann bakes until noon.")
    builder.person("Bea", currently="", living_area="Town:Mill:loft").write()
    (tmp_path / "base/reverie").mkdir()
    meta = {"start_date": "June 25, 2022", "curr_time": "June 25, 2022, 09:10:00", "sec_per_step": 10, "step": 0}
    (tmp_path / "base/reverie/meta.json").write_text(json.dumps(meta))
    return tmp_path / "base"


# --- the two forms --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timed", [True, False])
def test_both_forms_of_a_run_give_equal_cases_and_towns(run: RunBuilder, tmp_path: Path, timed: bool) -> None:
    run.talk("15:00:00", "Bea", "Ann", [["Bea", "Rain."]])
    compressed = run.write()
    _require_equal(compressed, as_storage(compressed, tmp_path / "storage", timed))


def test_both_forms_of_the_published_run_give_equal_cases_and_towns(tmp_path: Path) -> None:
    _require_equal(real_run(), as_storage(real_run(), tmp_path / "storage"))


def _require_equal(compressed: Path, storage: Path) -> None:
    one, other = read_log(compressed), read_log(storage)
    cases = [one.case(number, "a run") for number in range(len(one.dialogues))]
    assert cases
    assert [other.case(number, "a run") for number in range(len(other.dialogues))] == cases
    rows = [json.dumps(describe(list_cases(f"ga:{folder}"))) for folder in (compressed, storage)]
    assert rows[1].replace(str(storage), str(compressed)) == rows[0]
    for from_log in (False, True):
        towns = [open_town(f"ga:{folder}", from_log) for folder in (compressed, storage)]
        assert towns[0].town.residents == towns[1].town.residents
        assert towns[0].memories == towns[1].memories


def test_a_town_that_begins_in_the_morning_has_its_steps_from_then(run: RunBuilder) -> None:
    folder = run.write()
    ends = {"curr_time": "February 13, 2023, 13:00:00", "step": 1440}  # four hours from nine o'clock on
    (folder / "meta.json").write_text(json.dumps({"start_date": "February 13, 2023", "sec_per_step": 10, **ends}))
    moves = {"0": {"Ann": {"description": "baking"}}, "1080": {"Ann": {"description": "dancing"}}}
    (folder / "master_movement.json").write_text(json.dumps(moves))
    assert read_log(folder).case(0, "a run").initiator.activity == "baking"


def test_steps_without_content_and_linked_ones_are_passed_over(run: RunBuilder, tmp_path: Path) -> None:
    storage = as_storage(run.write(), tmp_path / "storage")
    (storage / "movement/9999.json").touch()
    (storage / "movement/.DS_Store").touch()
    assert read_log(storage).case(0, "a run").initiator.activity == "kneading"
    (storage / "movement/9998.json").symlink_to(run.folder / "meta.json")
    assert "movement/9998.json" in read_log(storage).files.notes[-1]
    (storage / "movement/9997.json").mkdir()
    with pytest.raises(ScenarioError, match=r"movement/9997.json: .*(directory|regular)"):
        read_log(storage)
    (storage / "movement/9997.json").rmdir()
    (storage / "movement/9997.json").write_text('{"persona": 1}')
    with pytest.raises(ScenarioError, match=r"movement/9997.json: persona: "):
        read_log(storage)


def test_a_folder_of_runs_names_them(run: RunBuilder, tmp_path: Path) -> None:
    deeper = shutil.copytree(run.write(), tmp_path / "program" / "storage" / "run")
    for given, named in ((tmp_path, run.folder), (tmp_path / "program", deeper)):
        with pytest.raises(ScenarioError, match=rf"is a folder of Generative Agents runs; .*: .*{named}") as raised:
            read_run(given)
        assert "\n" not in str(raised.value)
    with pytest.raises(ScenarioError, match=rf"is a part of a Generative Agents run; give the run: {run.folder}"):
        read_run(run.folder / "personas" / "Ann")


# --- towns without a dialogue ---------------------------------------------------------------------------------------


def test_a_base_town_has_no_case_and_says_what_works(base: Path, cli: Cli) -> None:
    listed = cli("scenarios", f"ga:{base}", "--json")
    assert (listed.code, listed.json["cases"]) == (0, [])
    assert f"tertulia simulate ga:{base}" in listed.json["notes"][f"ga:{base}"][0]
    assert "no dialogue to start from" in cli("scenarios", f"ga:{base}").out
    for asked in (["run", f"ga:{base}", "--rehearse"], ["metrics", f"ga:{base}"], ["scenarios", f"ga:{base}:2"]):
        refused = cli(*asked)
        assert refused.code == 2
        assert (
            f"holds no dialogue to start from; let days pass there, with `tertulia simulate ga:{base}`" in refused.err
        )
    with pytest.raises(ScenarioError, match="no dialogue"):
        resolve(f"ga:{base}")
    with pytest.raises(ScenarioError, match="no dialogue"):
        logged_cases(f"ga:{base}")


def test_a_base_town_begins_on_its_first_day_with_people_s_plans(base: Path) -> None:
    opened = open_town(f"ga:{base}", from_log=False)
    assert opened.town.begins == datetime(2022, 6, 25)
    assert [memory.text for memory in opened.memories["Ann"]] == [
        "Ann plans a party.",
        "Ann is cold.",
        "Ann bakes until noon.",
    ]
    assert all(memory.created < opened.town.begins for memory in opened.memories["Ann"])
    assert (opened.memories["Bea"], opened.town.resident("Bea").persona.home) == ((), "loft at Mill")
    (base / "reverie/meta.json").unlink()
    assert open_town(f"ga:{base}", from_log=False).town.begins == FIRST_DAY
    with pytest.raises(ScenarioError, match="holds no dialogue, so --from-log has no encounters"):
        open_town(f"ga:{base}", from_log=True)


def test_days_pass_in_a_base_town(base: Path, cli: Cli) -> None:
    passed = cli("simulate", f"ga:{base}", "--rehearse", "--encounters-per-day", "2", "--set", "max_turns=2")
    assert passed.code == 0
    assert "nothing has happened in this town yet" in passed.err
    assert len(cli("runs", "--json").json["runs"]) >= 1


def test_without_movement_a_drawn_day_is_the_last_schedule(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "run").talk("12:00:00", "Ann", "Bea", HELLO)
    run.person("Ann", f_daily_schedule=[["sleeping", 360], ["ERROR", 60], ["baking", 300], ["dancing", 720]])
    folder = run.write()
    (day,) = open_town(f"ga:{folder}", from_log=False).town.resident("Ann").days
    assert [(habit.minute, habit.activity, habit.asleep) for habit in day] == [
        (0, "sleeping", True),
        (420, "baking", False),
        (720, "dancing", False),
    ]
    assert open_town(f"ga:{folder}", from_log=True).town.resident("Ann").days == ()


# --- forks ----------------------------------------------------------------------------------------------------------


def test_texts_that_forks_add_to_people_are_facts_or_withheld(run: RunBuilder) -> None:
    run.person("Ann", learned="Ann bakes.", gender="female", political_affiliation="Green", mood="sad", village_r=3)
    case = read_log(run.write()).case(0, "a run")
    assert case.initiator.persona.background == ("Ann bakes.", "Gender: female.", "Political affiliation: Green.")
    assert "currently, mood of Ann: the run holds them as of its end" in case.withheld


def test_people_whose_folders_have_other_names_go_by_their_own(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "run").person("NIU").person("Ann")
    run.scratches["NIU"]["name"] = "阿牛"
    assert sorted(read_run(run.write()).people) == ["Ann", "阿牛"]
    run.scratches["NIU"]["name"] = "Ann"
    with pytest.raises(ScenarioError, match=r"scratch.json: name: another folder of the run is 'Ann', too"):
        read_run(run.write())


# --- texts that the program made up ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        *(BLANK, "This is blank.", "I am hungry", "conversing with a housemate about morning greetings"),
        *("Ann ...", "For Ann's planning: ...", "Ann is ChatGPT ERROR", "TOKEN LIMIT EXCEEDED", "", "Ann False"),
        *("對於Ann的計畫: ...", "见解", "2.见解", "我餓了", "Ann is <fill in>"),
        "This is Ann's plan for Monday February 13: wake up and complete the morning routine at 8:00 am, eat breakfast "
        "at 7:00 am, read a book from 8:00 am to 12:00 pm, have lunch at 12:00 pm, take a nap from 1:00 pm to 4:00 pm.",
    ],
)
def test_a_text_in_the_place_of_a_reply_is_known(text: str) -> None:
    assert is_made_up(text, "Ann")


@pytest.mark.parametrize(
    "text",
    [
        *("Ann is hungry", "Ann is filling in a form that says this is blank", "For Ann's planning: call Bea ..."),
        *("Ann found an error in the ledger", "Ann is sleeping", "Ann的见解很深刻", "Ann is <fill in> neat"),
        "This is Ann's plan for Monday February 13: eat breakfast at 7:00 am, bake from 8:00 am to 12:00 pm.",
    ],
)
def test_a_reply_is_not_taken_for_one(text: str) -> None:
    assert not is_made_up(text, "Ann")


def test_lines_in_the_place_of_replies_are_known() -> None:
    assert without_made_up([["Ann", "Hi!"], ["Bea", "Hi!"]]) == []
    assert without_made_up([["Ann", "Hi!"], ["Bea", "Hi! Nice to see you."]]) != []
    assert without_made_up([["Ann", "No."], ["Bea", "..."], ["Ann", "None."]]) == [["Ann", "No."], ["Ann", "None."]]


def test_made_up_texts_are_left_out_of_cases_and_counted(run: RunBuilder) -> None:
    kept = read_log(run.write()).case(0, "a run")
    thoughts = [node("thought", "09:30:00", text, "Ann", "is", text) for text in (BLANK, "Ann ...")]
    later = node("thought", "13:00:00", BLANK, "Bea", "is", BLANK)
    run.person("Ann", *thoughts).person("Bea", later)
    run.step("11:30:00", "Ann", "ChatGPT ERROR @ Town:Mill:bakery:oven")
    run.talk("14:00:00", "Ann", "Bea", [["Ann", "Hi!"], ["Bea", "Hi!"]])
    run.talk("15:00:00", "Ann", "Bea", [["Ann", "Rain."], ["Bea", "..."]])
    log = read_log(run.write())
    case = log.case(0, "a run")
    assert [memory.text for memory in case.initiator.memories] == [memory.text for memory in kept.initiator.memories]
    assert case.initiator.activity == "kneading"
    assert [note for note in case.withheld if note not in kept.withheld] == [
        "2 records of Ann: the program's own words for a reply that failed"
    ]
    assert (log.memory_counts(0), log.made_up_counts(0)) == ({"Ann": 3, "Bea": 1}, {"Ann": 2, "Bea": 0})
    assert [[line.text for line in dialogue.utterances] for dialogue in log.dialogues] == [
        ["Hello Bea.", "Hello Ann."],
        ["Rain."],
    ]
    assert log.skipped["without_text"] == 2
    described = describe(list_cases(f"ga:{run.folder}"))
    assert described["cases"][0]["made_up"] == {"Ann": 2, "Bea": 0}
    assert described["notes"][0].endswith("texts of 2 of 2 people: the program's own words for a reply that failed")


def test_made_up_texts_are_no_memories_or_habits_of_a_town(run: RunBuilder) -> None:
    run.person("Ann", node("thought", "09:30:00", BLANK, "Ann", "is", BLANK), event("10:30:00", "Ann", "LLM ERROR"))
    run.step("11:30:00", "Ann", "TOKEN LIMIT EXCEEDED @ Town:Mill:bakery:oven")
    opened = open_town(f"ga:{run.write()}", from_log=False)
    assert not [memory for memory in opened.memories["Ann"] if "blank" in memory.text or "ERROR" in memory.text]
    assert [habit.activity for habit in opened.town.resident("Ann").days[0]] == ["sleeping", "baking", "kneading"]
    assert opened.town.withheld[-1].startswith("3 texts of 1 of 2 people")


@pytest.mark.parametrize(("last_hour", "days"), [(0, 1), (20, 1), (21, 2)])
def test_a_last_day_that_breaks_off_before_the_evening_is_no_day(run: RunBuilder, last_hour: int, days: int) -> None:
    seconds = 24 * 3600 + last_hour * 3600 + 130
    run.movement[str(seconds // 10)] = {"Ann": {"movement": [1, 2], "description": "sleeping @ a:b:c:d", "chat": None}}
    town = open_town(f"ga:{run.write()}", from_log=False).town
    assert len(town.resident("Ann").days) == days
    assert len(town.resident("Bea").days) == 1


def test_a_summary_in_the_place_of_a_reply_is_no_memory(run: RunBuilder) -> None:
    summary = "conversing with a housemate about morning greetings"
    run.person("Ann", chat("11:00:00", "Ann", "Bea", [["Bea", "Morning."], ["Ann", "Rain, then."]], summary))
    case = read_log(run.write()).case(1, "a run")
    assert [memory.text for memory in case.initiator.memories] == ["Ann is waking up"]
    assert len(case.previous_dialogues) == 1


def test_the_published_run_has_one_made_up_text_after_its_last_case() -> None:
    log = read_log(real_run())
    assert log.files.made_up_note == "1 text of 1 of 3 people: the program's own words for a reply that failed"
    assert not [counts for number in range(8) if any(counts := log.made_up_counts(number).values())]
