"""`people import` and `people export`: from a file to a scenario that runs, and out again."""

import csv
import json
from pathlib import Path

import pytest
import yaml
from support.character_files import AGENT, CARD_V2, CARD_V3, LOREBOOK, PROFILE, encoded, json_file, png
from support.commands import Cli


@pytest.fixture
def files(cli: Cli, tmp_path: Path) -> Path:
    folder = Path.cwd()
    (folder / "mirela.png").write_bytes(png({"ccv3": encoded(CARD_V3)}))
    json_file(folder, AGENT, "tobias.json")
    json_file(folder, LOREBOOK, "book.json")
    return folder


def test_a_card_alone_meets_a_visitor_and_the_scenario_runs(cli: Cli, files: Path) -> None:
    done = cli("people", "import", "mirela.png", "--to", "mirela.yaml")
    assert done.code == 0, done.err
    assert "not taken of" in done.err
    assert "Speak as {{char}}." in done.err
    assert "talk with them: tertulia run mirela.yaml" in done.err
    values = yaml.safe_load(Path("mirela.yaml").read_text())
    assert [person["name"] for person in values["participants"]] == ["Mirela Stan", "Visitor"]
    assert values["description"] == "Visitor has lost a key."
    assert values["participants"][1]["memories"][:2] == [
        "About Mirela Stan: Clothes: grey coat, boots",
        "About Mirela Stan: Habits: counts her steps",
    ]
    run = cli("run", "mirela.yaml", "--rehearse", "--rounds", "2")
    assert run.code == 0, run.err
    again = cli("people", "import", "mirela.png", "--to", "mirela.yaml")
    assert (again.code, "exists already" in again.err) == (2, True)


def test_a_visitor_has_a_name_in_the_facts_that_they_know(cli: Cli, files: Path) -> None:
    data = {"name": "Mira", "description": "{{char}} trusts {{user}}. {{user}} saved her dog."}
    json_file(files, {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}, "mira.json")
    values = yaml.safe_load(cli("people", "import", "mira.json", "--user", "Bob").out)
    assert values["participants"] == [
        {"name": "Mira", "background": ["Mira trusts Bob.", "Bob saved her dog."]},
        {"name": "Bob", "memories": ["Mira trusts Bob.", "About Mira: Bob saved her dog."]},
    ]


def test_several_files_are_a_meeting_and_a_lorebook_goes_to_all(cli: Cli, files: Path) -> None:
    json_file(files, PROFILE, "noor.json")
    done = cli(
        "people", "import", "mirela.png", "tobias.json", "noor.json", "book.json", "--user", "Uma", "--to", "m.yaml"
    )
    assert done.code == 0, done.err
    values = yaml.safe_load(Path("m.yaml").read_text())
    assert values["kind"] == "group_chat"
    assert all(person["memories"] for person in values["participants"])
    assert "Habits: She never lends a key to Uma." in values["participants"][0]["background"]
    assert values["participants"][1]["relations"] == {"Rosa": "Your sister, who keeps goats."}
    assert cli("run", "m.yaml", "--rehearse", "--rounds", "2").code == 0


def test_a_lorebook_alone_says_that_a_guide_knows_it(cli: Cli, files: Path) -> None:
    done = cli("people", "import", "book.json")
    assert done.code == 0, done.err
    assert "note: book.json has no person: 'Guide' knows it; give a card beside it" in done.err
    assert yaml.safe_load(done.out)["participants"][0]["name"] == "Guide"


def test_the_document_has_values_and_what_is_not_taken(cli: Cli, files: Path) -> None:
    [person] = json.loads(cli("people", "import", "tobias.json", "--json").out)["people"]
    assert person["kind"] == "a TinyTroupe agent"
    assert person["values"]["home"] == "Chur"
    assert person["not_taken"][0]["field"] == "mental_state"


def test_the_prompts_that_show_a_field_are_told(cli: Cli, files: Path) -> None:
    done = cli("people", "check", "mirela.png")
    assert done.code == 0, done.err
    assert "Mirela Stan" in done.out
    assert all(field in done.out for field in ("character", "examples", "memories"))
    assert cli("people", "check", "mirela.png", "tobias.json", "--json").json["people"][1]["name"] == "Tobias Kern"


def test_people_go_out_and_come_back(cli: Cli, files: Path) -> None:
    assert cli("people", "export", "mirela.png", "tobias.json", "--to", "cards").code == 0
    assert sorted(file.name for file in Path("cards").iterdir()) == ["Mirela_Stan.json", "Tobias_Kern.json"]
    done = cli(
        "people", "export", "cards/Mirela_Stan.json", "cards/Tobias_Kern.json", "--format", "csv", "--to", "p.csv"
    )
    assert done.code == 0, done.err
    before = json.loads(cli("people", "import", "mirela.png", "tobias.json", "--json").out)["people"]
    after = json.loads(cli("people", "import", "p.csv", "--json").out)["people"]
    assert [person["values"] for person in after] == [person["values"] for person in before]


def test_columns_are_named_and_left_out(cli: Cli, files: Path) -> None:
    (files / "t.csv").write_text("Who,What,Id\nIda,painter,1\nBo,pilot,2\n")
    options = ("--column", "Who=name", "--column", "What=occupation", "--column", "Id=")
    people = json.loads(cli("people", "import", "t.csv", *options, "--json").out)["people"]
    assert people[0]["values"] == {"name": "Ida", "occupation": "painter"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("import", "none.png"), 3, "there is no file 'none.png'"),
        (("import", "mirela.png", "mirela.png"), 2, "is there already"),
        (("import", "broken.json"), 2, "broken JSON in line 1"),
        (("import", "t.csv", "--column", "Wo=name"), 2, "--column Wo: t.csv: row 1 has no such column"),
        (("import", "t.csv", "--column", "Who"), 2, "--column Who: takes TITLE=FIELD"),
        (("export", "t.csv", "--column", "Who=name"), 2, "a card is of one person, and there are 2"),
        (("export", "mirela.png", "--format", "docx"), 2, "--format docx: takes card_v3, csv, json"),
        (("export", "mirela.png", "--to", "t.csv"), 2, "t.csv exists already"),
    ],
)
def test_what_can_t_be_done_is_said_in_a_line(
    cli: Cli, files: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    (files / "broken.json").write_text('{"name": ')
    (files / "t.csv").write_text("Who\nIda\nBo\n")
    done = cli("people", *arguments)
    assert (done.code, done.out) == (code, "")
    assert words in done.err
    assert done.err.count("\n") == 1, done.err


@pytest.mark.parametrize("command", ["import", "check"])
@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("memories", '[{"text": "x", "time": "3 March 2024"}]', "memories[0].time: takes a time such as"),
        ("memories", '[{"text": "x", "importance": 11}]', "memories[0].importance: takes 10 at most, not 11"),
        ("propensity", "2", "propensity: takes 1 at most, not '2'"),
        ("latency", "fast", "latency: takes "),
    ],
)
def test_a_wrong_value_is_told_by_row_and_field(cli: Cli, command: str, column: str, value: str, words: str) -> None:
    with Path("t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("name", column), ("Ida", ""), ("Bo", value)])
    done = cli("people", command, "t.csv")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"error: t.csv: row 3: {words}")


@pytest.mark.parametrize("rows", ["Ida,0.7\nBo,0.5\n", "Ida,0.7\nBo,\n", "Ida,0.7\n"])
def test_people_with_a_field_of_meetings_are_a_meeting(cli: Cli, rows: str) -> None:
    Path("t.csv").write_text(f"name,weights.goal\n{rows}")
    done = cli("people", "import", "t.csv", "--to", "t.yaml")
    assert done.code == 0, done.err
    values = yaml.safe_load(Path("t.yaml").read_text())
    assert (values["kind"], values["participants"][0]["weights"]) == ("group_chat", {"goal": "0.7"})
    assert cli("run", "t.yaml", "--rehearse", "--rounds", "2").code == 0


def test_a_value_that_does_not_fit_the_others_is_told_by_person_not_by_line(cli: Cli) -> None:
    Path("t.csv").write_text('name,traits,schedule.joins\nIda,,9:15\nBo,"open, closed",\n')
    errors = cli("people", "import", "t.csv").err.splitlines()
    assert [error.partition(";")[0] for error in errors] == [
        "error: the scenario of these people: Bo: traits[1]: 'closed' and 'open' are both of openness",
        "error: the scenario of these people: Ida: schedule.joins: 2026-05-14 09:15:00 is before the start, "
        "2026-05-14 10:00:00",
    ]


def test_version_2_and_3_of_a_card_are_told_apart(cli: Cli, files: Path) -> None:
    json_file(files, CARD_V2, "two.json")
    assert json.loads(cli("people", "import", "two.json", "--json").out)["people"][0]["kind"] == "a card, version 2"
