"""Files of people that are sent as the page sends them: read, listed, refused in a line; a conversation begins."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from support.character_files import AGENT, CARD_V2, FRAGMENT, LOREBOOK, encoded, png
from support.new_runs import COMMAND, asked, begun, of_files
from support.requests_to_page import Answer, ask
from support.seats import TOKEN, invited, post, question, send, until
from support.viewer_page import serving

from tertulia.storage.store import SqlStore
from tertulia.viewer.people import LARGEST_FILE

CARD = png({"chara": encoded(CARD_V2)})
TABLE = b"name,job,description\nIda Roos,painter,Paints the bridge.\nFaisal Amrani,,Keeps the night counter.\n"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
def address(store: Path) -> Iterator[str]:
    with serving(store, TOKEN, COMMAND) as address:
        yield address


def bring(address: str, content: bytes, name: str = "mirela.png", **headers: str) -> Answer:
    sent = {"Origin": address.rstrip("/"), "Content-Type": "application/octet-stream", "X-Tertulia-Token": TOKEN}
    given = {**sent, **{key.replace("_", "-"): value for key, value in headers.items()}}
    return ask(address, f"api/people?name={quote(name)}", {k: v for k, v in given.items() if v}, "POST", content)


def brought(address: str, content: bytes, name: str = "mirela.png") -> str:
    answer = bring(address, content, name)
    assert answer.status == 200, answer.body
    return str(answer.json["file"])


def shown(address: str, *files: str) -> dict[str, Any]:
    answer = ask(address, f"api/people?files={','.join(files)}", {"X-Tertulia-Token": TOKEN})
    assert answer.status == 200, answer.body
    return dict(answer.json)


def test_a_card_is_shown_as_it_was_read_with_what_was_not_taken(address: str) -> None:
    page = shown(address, brought(address, CARD, "mi\u202erela.png\n"))
    assert [file["name"] for file in page["files"]] == ["mi�rela.png"]
    (person,) = page["people"]
    fields = {field["field"]: field["values"] for field in person["fields"]}
    assert (person["name"], person["kind"]) == ("Mirela Stan", "a card, version 2")
    assert fields["character"] == ["exact, wary"]
    assert "Habits: Mirela Stan mends locks in Port Ost." in fields["background"]
    assert "*wipes her hands* Which door, Visitor?" in fields["examples"]
    assert "The quay sank in April. (called up by quay, harbour)" in " ".join(fields["memories"])
    left = {entry["field"]: entry["goes_to"] for entry in person["not_taken"]}
    assert "not obeyed" in left["system_prompt"]
    assert (page["situation"], page["visitor"], page["problem"]) == ("Visitor has lost a key.", "Visitor", None)


def test_people_are_collected_from_several_files_in_any_order(address: str) -> None:
    lore = brought(address, json.dumps(LOREBOOK).encode(), "lore.json")
    fragment = brought(address, json.dumps(FRAGMENT).encode(), "fragment.json")
    assert "without a name" in shown(address, fragment)["problem"]
    agent, table = brought(address, json.dumps(AGENT).encode(), "agent.json"), brought(address, TABLE, "people.csv")
    page = shown(address, lore, fragment, agent, table)
    assert [person["name"] for person in page["people"]] == ["Tobias Kern", "Ida Roos", "Faisal Amrani"]
    assert (page["visitor"], page["problem"]) == (None, None)
    for person in page["people"]:
        assert any("ferry" in value for field in person["fields"] for value in field["values"])
    again = brought(address, TABLE, "again.csv")
    assert "Ida Roos" in shown(address, table, again)["problem"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("picture.png", png({}), "without a card"),
        ("other.json", b'{"scripts": {"build": "tsc"}}', "no people are found"),
        ("empty.json", b"", "is empty"),
        ("broken.png", b"\x89PNG\r\n\x1a\n" + b"\xff" * 50, "without a card"),
        ("<b>x</b>.json", b"{", "<b>x</b>.json: broken JSON"),
        ("../../etc/passwd", b"root:x:0", "../../etc/passwd: no people"),
        ("two.csv", b"name,age\nIda,3\nIda,4\n", "Ida"),
        ("long.json", json.dumps({"name": "N", "background": "w " * 1_500_000}).encode(), "take"),
    ],
)
def test_another_file_is_refused_in_a_line_with_its_own_name(
    address: str, store: Path, name: str, content: bytes, said: str
) -> None:
    answer = bring(address, content, name)
    assert answer.status == 400
    assert said in answer.json["error"]
    assert "\n" not in answer.json["error"]
    assert "/tmp" not in answer.json["error"]
    assert [*store.parent.iterdir()] == []


def test_a_file_over_the_limit_is_refused_in_a_line(address: str) -> None:
    answer = bring(address, b"\0" * (LARGEST_FILE + 1_000_000), "large.png")
    assert (answer.status, answer.json["error"]) == (
        413,
        "large.png is larger than 50 MB, the most that a file may have.",
    )


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": ""}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"X_Tertulia_Token": "wrong"}, 403),
        ({"Content_Type": "text/plain"}, 400),
        ({"Content_Type": "multipart/form-data"}, 400),
    ],
)
def test_people_are_brought_by_the_page_alone(address: str, headers: dict[str, str], status: int) -> None:
    assert bring(address, CARD, **headers).status == status


def test_a_page_that_starts_nothing_takes_no_people(store: Path) -> None:
    with serving(store, TOKEN) as address:
        assert bring(address, CARD).status in (404, 405)
        assert post(address, "api/new/begin", asked(of_files("x"))).status in (404, 405)


def test_the_scenario_is_that_of_the_import_with_a_situation_of_ones_own(address: str) -> None:
    file = brought(address, CARD)
    body = of_files(file, visitor="Ines")
    answer = post(address, "api/new/scenario", {"people": body}).json
    own = yaml.safe_load(answer["text"])
    assert answer["name"] == "mirela_stan.yaml"
    assert own["description"] == "Ines has lost a key."
    assert [person["name"] for person in own["participants"]] == ["Mirela Stan", "Ines"]

    def changed(**changes: object) -> dict[str, Any]:
        sent = {"people": body | changes}
        return dict(yaml.safe_load(post(address, "api/new/scenario", sent).json["text"]))

    assert changed(situation="At night:\n- rain")["description"] == "At night: - rain"
    assert changed(situation="")["description"] == "Mirela Stan and Ines meet and talk."
    placed = changed(place="the quay", time="2031-01-02T03:04")
    assert (placed["place"], str(placed["time"])) == ("the quay", "2031-01-02 03:04:00")


def test_cards_of_one_scenario_make_one_situation_and_begin_today(address: str) -> None:
    card = {"description": "Waits.", "first_mes": "Hello.", "scenario": "{{char}} and {{user}} wait at Low Pier."}
    files = [brought(address, json.dumps(card | {"name": name}).encode(), name) for name in ("Oona", "Brill")]
    together = shown(address, *files)
    assert (together["situation"], together["time"]) == ("Oona and Brill wait at Low Pier.", None)
    own = yaml.safe_load(post(address, "api/new/scenario", {"people": of_files(*files)}).json["text"])
    assert own["description"] == "Oona and Brill wait at Low Pier."
    assert timedelta(0) <= datetime.now() - datetime.fromisoformat(str(own["time"])) < timedelta(hours=2)
    again = brought(address, json.dumps(card | {"name": "Oona"}).encode(), "again")
    in_conflict = shown(address, files[0], again)
    assert in_conflict["situation"] == "Oona and somebody wait at Low Pier."
    assert in_conflict["problem"] == "again: name: 'Oona' is there already; give them names that differ"


def test_a_memory_of_no_time_is_told_beside_the_people_and_nothing_begins(address: str) -> None:
    table = b'name,memories\nIda,y\nBo,"[{""text"": ""x"", ""time"": ""3 March 2024""}]"\n'
    file = brought(address, table, "people.csv")
    problem = "people.csv: row 3: memories[0].time: takes a time such as 2024-05-14 09:30:00, not '3 March 2024'"
    document = shown(address, file)
    assert (document["problem"], document["time"]) == (problem, None)
    answer = post(address, "api/new/begin", asked(of_files(file)))
    assert (answer.status, answer.json["error"]) == (400, problem)


def test_lists_within_a_value_are_shown_in_words(address: str) -> None:
    goal = {"name": "Ida", "goals": [{"goal": "leave", "sub_goals": ["pack", "pay"]}], "weights": {"goal": 0.5}}
    (person,) = shown(address, brought(address, json.dumps([goal]).encode(), "ida.json"))["people"]
    assert {field["field"]: field["values"] for field in person["fields"]} == {
        "goals": ["(goal: leave; sub_goals: pack, pay)"],
        "weights": ["goal: 0.5"],
    }


def test_a_visitor_of_the_cards_name_is_a_line_beside_the_field(address: str) -> None:
    file = brought(address, CARD)
    answer = post(address, "api/new/begin", asked(of_files(file, visitor="mirela  Stan"))).json
    assert answer["fields"] == {"visitor": "Mirela Stan is already the card's name; take another"}


def test_a_person_who_is_brought_alone_meets_the_visitor_in_a_seat(address: str, store: Path) -> None:
    file = brought(address, CARD)
    run, scenario = begun(address, asked(of_files(file, visitor="Ines"), **{"lambda": 0.5}))
    assert scenario == "mirela_stan.yaml"
    token = invited(address, run, "Ines")
    assert bring(address, CARD, X_Tertulia_Token="", X_Tertulia_Seat=token).status == 403
    turn = question(address, token)["turn"]
    assert send(address, token, turn, "The key is in the canal.").status == 200
    with SqlStore.open(store) as opened:
        record = opened.run(run)
        until(lambda: opened.run(run).turns >= turn)
        assert opened.turns(run)[turn - 1].text == "The key is in the canal."
    assert (record.parameters["removal_factor"], record.parameters["seat"]) == (0.5, "Ines")
    assert record.rehearsed


def test_a_meeting_begins_beside_the_store_and_nothing_is_overwritten(address: str, store: Path) -> None:
    (store.parent / "ida_roos.yaml").write_text("mine", encoding="utf-8")
    table = brought(address, TABLE, "people.csv")
    run, scenario = begun(address, asked(of_files(table)))
    assert scenario == "ida_roos_2.yaml"
    assert (store.parent / "ida_roos.yaml").read_text(encoding="utf-8") == "mine"
    with SqlStore.open(store) as opened:
        assert [*opened.start(run).names] == ["Ida Roos", "Faisal Amrani"]
        assert opened.run(run).parameters["seat"] is None
    _, again = begun(address, asked(of_files(table)))
    assert again == scenario
    _, other = begun(address, asked(of_files(table, situation="It is late.")))
    assert other == "ida_roos_3.yaml"
