"""Conversations that the page begins: people of every source, each wrong field in a line, the cost, and no writing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.new_runs import COMMAND, asked, begun, of_files, person
from support.requests_to_page import Answer, ask
from support.seats import TOKEN, post, until
from support.viewer_page import serving

from tertulia.lab.experiments.call_times import CallTimes
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.new_run import dry_run_document

SERVED = "http://localhost:9/v1#small"
IDA = person("Ida Falk", "Keeps the ferry.\n\nIs patient.", "Ida lost a key in March.\n Ida met Jonas at the quay. ")
JONAS = person("Jonas Brandt")
SCENARIO = """
name: the lost key
time: "2024-05-14 09:30:00"
place: the kitchen
description: A key is missing.
participants:
  - {name: Ida Falk, memories: [Ida has had the key since March.]}
  - {name: Jonas Brandt}
previous_dialogues:
  - {time: "2024-05-13 20:00:00", lines: [[Jonas Brandt, "Is the door locked?"]]}
parameters: {max_turns: 5}
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
def address(store: Path) -> Iterator[str]:
    with serving(store, TOKEN, COMMAND, models=[SERVED]) as address:
        yield address


def typed(*people: object, **changes: object) -> dict[str, object]:
    return of_files(typed=[*people], **changes)


def brought(address: str, text: str, name: str = "people.yaml") -> str:
    sent = {"Origin": address.rstrip("/"), "Content-Type": "application/octet-stream", "X-Tertulia-Token": TOKEN}
    answer = ask(address, f"api/people?name={name}", sent, "POST", text.encode())
    assert answer.status == 200, answer.body
    return str(answer.json["file"])


def get(address: str, path: str) -> Answer:
    return ask(address, path, {"X-Tertulia-Token": TOKEN})


def scenario_of(address: str, people: dict[str, object]) -> dict[str, Any]:
    answer = post(address, "api/new/scenario", {"people": people})
    assert answer.status == 200, answer.body
    return dict(yaml.safe_load(answer.json["text"]))


def test_the_page_is_offered_what_the_command_lists_and_the_models_it_may_use(address: str) -> None:
    offered = get(address, "api/new").json
    cases = {case["scenario"]: case for case in offered["cases"]}
    assert [*cases][-4:] == ["team_building", "ferry_timetable", "mothers_house", "villagers"]
    assert cases["tidewell:7"]["people"] == ["Emeka Obiora", "Leila Haddad"]
    assert cases["tidewell:7"]["place"] == "market place at Quay Square"
    models = [("smollm2", False), ("rehearsal", False), (SERVED, True)]
    assert [(model["name"], model["is_served"]) for model in offered["models"]] == models


def test_typed_people_are_a_scenario_with_their_facts_memories_place_and_date(address: str) -> None:
    own = scenario_of(address, typed(IDA, JONAS, place="the quay", time="2031-01-02T03:04", situation="It rains."))
    assert own["participants"] == [
        {
            "name": "Ida Falk",
            "background": ["Keeps the ferry.", "Is patient."],
            "memories": ["Ida lost a key in March.", "Ida met Jonas at the quay."],
        },
        {"name": "Jonas Brandt"},
    ]
    assert (own["name"], own["place"], own["description"]) == ("Ida Falk and Jonas Brandt", "the quay", "It rains.")
    assert str(own["time"]) == "2031-01-02 03:04:00"
    meeting = scenario_of(address, typed(IDA, JONAS, person("Runa")))
    assert (meeting["kind"], len(meeting["participants"])) == ("group_chat", 3)


def test_a_brought_person_meets_a_typed_one(address: str) -> None:
    table = brought(address, "name,job\nIda Roos,painter\n", "people.csv")
    own = scenario_of(address, of_files(table, typed=[JONAS]))
    assert [person["name"] for person in own["participants"]] == ["Ida Roos", "Jonas Brandt"]
    again = post(address, "api/new/scenario", {"people": of_files(table, typed=[person("ida  roos")])})
    assert (again.status, [*again.json["fields"]]) == (400, ["typed.0.name"])
    twice = post(address, "api/new/scenario", {"people": of_files(table, typed=[person("Ida Roos")])})
    assert twice.json["fields"]["typed.0.name"] == "'Ida Roos' is there already; give them names that differ"


def test_a_scenario_that_is_brought_is_taken_whole(address: str) -> None:
    file = brought(address, SCENARIO)
    shown = get(address, f"api/people?files={file}").json
    assert (shown["place"], shown["time"], shown["visitor"]) == ("the kitchen", "2024-05-14T09:30", None)
    assert [person["not_taken"] for person in shown["people"]] == [[], []]
    assert scenario_of(address, of_files(file)) == yaml.safe_load(SCENARIO)
    changed = scenario_of(address, of_files(file, place="the yard", situation="Two keys are missing."))
    assert (changed["place"], changed["description"]) == ("the yard", "Two keys are missing.")
    assert changed["parameters"] == {"max_turns": 5}
    early = post(address, "api/new/scenario", {"people": of_files(file, time="2024-05-13T00:00")})
    assert (early.status, "not before" in early.json["error"]) == (400, True)


def test_a_scenario_that_names_code_lends_its_people_alone(address: str) -> None:
    file = brought(address, f"{SCENARIO}extensions: [mine.py]\n")
    assert "extensions" not in scenario_of(address, of_files(file))
    (first, _) = get(address, f"api/people?files={file}").json["people"]
    assert "extensions" in [left["field"] for left in first["not_taken"]]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"people": {"scenario": "nowhere"}}, "scenario"),
        ({"people": {"scenario": "/etc/passwd"}}, "scenario"),
        ({"people": typed(IDA)}, "typed.1.name"),
        ({"people": typed(IDA, IDA)}, "typed.1.name"),
        ({"people": typed(IDA, person(" \n"))}, "typed.1.name"),
        ({"people": typed(IDA, person("N" * 81))}, "typed.1.name"),
        ({"people": typed(person("Ida", "w" * 10_001), JONAS)}, "typed.0.who"),
        ({"people": typed(person("Ida", "", "m\n" * 201), JONAS)}, "typed.0.memories"),
        ({"people": typed(IDA, JONAS, situation="s" * 10_001)}, "situation"),
        ({"people": typed(IDA, JONAS, place="p" * 81)}, "place"),
        ({"people": typed(IDA, JONAS, time="soon")}, "time"),
        ({"people": typed(IDA, JONAS, time="2024-05-14T09:30Z")}, "time"),
        ({"people": typed(IDA, JONAS, visitor="V" * 81)}, "visitor"),
        ({"people": of_files("gone")}, "files"),
        ({"lambda": 1.5}, "lambda"),
        ({"lambda": True}, "lambda"),
        ({"lambda": "0.5"}, "lambda"),
        ({"model": "http://evil.example/v1#m"}, "model"),
        ({"model": "openai:other"}, "model"),
        ({"seed": ""}, "seed"),
        ({"seed": "1.5"}, "seed"),
        ({"seed": "--rehearse"}, "seed"),
        ({"rounds": "0"}, "rounds"),
        ({"rounds": "many"}, "rounds"),
        ({"people": typed(*[person(f"P{at}") for at in range(7)])}, None),
        ({"people": typed({"name": "Ida"})}, None),
        ({"people": typed("Ida")}, None),
        ({"people": typed(IDA, JONAS, files="x")}, None),
        ({"people": None}, None),
        ({"key": "sk-1"}, None),
    ],
    ids=str,
)
def test_each_wrong_field_is_a_line_beside_it_and_starts_and_writes_nothing(
    address: str, store: Path, changes: dict[str, object], field: str | None
) -> None:
    for path in ("api/new/begin", "api/new/cost"):
        answer = post(address, path, asked(typed(IDA, JONAS)) | changes)
        assert (answer.status, [*answer.json.get("fields", [None])]) == (400, [field])
        assert answer.json["error"]
        assert "\n" not in answer.json["error"]
    assert get(address, "api/start").json["commands"] == []
    assert [*store.parent.iterdir()] == []


def test_all_wrong_fields_are_told_at_once(address: str) -> None:
    nobody = person(" ", "w" * 10_001)
    body = asked(typed(nobody, nobody, place="p" * 81, time="soon"), seed="x", rounds="-1", **{"lambda": 2})
    told = {"place", "time", "typed.0.name", "typed.0.who", "typed.1.name", "typed.1.who", "lambda", "seed", "rounds"}
    for path in ("api/new/begin", "api/new/cost"):
        answer = post(address, path, body)
        assert {*answer.json["fields"]} == told
        assert all(answer.json["fields"].values())
    nobody_typed = post(address, "api/new/begin", asked(typed(), seed="x")).json["fields"]
    assert {*nobody_typed} == {"typed.0.name", "typed.1.name", "seed"}


def test_a_model_on_a_server_that_is_not_there_is_refused_at_once(address: str, store: Path) -> None:
    answer = post(address, "api/new/begin", asked(typed(IDA, JONAS), model=SERVED)).json
    assert answer["fields"] == {"model": f"{SERVED} can't be reached: see that its server runs, and begin again"}
    assert get(address, "api/start").json["commands"] == []
    assert [*store.parent.iterdir()] == []


def test_a_conversation_of_each_source_begins(address: str, store: Path) -> None:
    run, file = begun(address, asked(typed(IDA, JONAS), rounds="2", seed="-3", **{"lambda": 0.4}))
    shipped, none = begun(address, asked({"scenario": "tidewell:7"}, rounds="1"))
    whole, named = begun(address, asked(of_files(brought(address, SCENARIO))))
    assert (file, none, named) == ("ida_falk.yaml", None, "the_lost_key.yaml")
    with SqlStore.open(store) as opened:
        record = opened.run(run)
        assert (record.seed, record.parameters["removal_factor"], record.parameters["max_turns"]) == (-3, 0.4, 2)
        assert record.rehearsed
        assert opened.run(shipped).scenario == "tidewell:7"
        assert opened.run(whole).parameters["max_turns"] == 5
        until(lambda: all(opened.run(id).status == "finished" for id in (run, shipped, whole)))


def test_the_cost_is_that_of_a_dry_run_and_stores_nothing(address: str, store: Path) -> None:
    answer = post(address, "api/new/cost", asked(typed(IDA, JONAS), rounds="3"))
    assert answer.status == 200, answer.body
    cost = answer.json
    assert (cost["turns"], cost["calls"] >= 3, cost["tokens_read"] > cost["tokens_written"] > 0) == (3, True, True)
    assert 0 < cost["seconds"] < 60
    served = post(address, "api/new/cost", asked(typed(IDA, JONAS), rounds="2", model=SERVED, **{"lambda": 0.5})).json
    assert (served["turns"], served["seconds"]) == (2, None)  # without a run of that model
    assert not store.exists()


def test_the_expected_time_is_that_of_earlier_calls_of_the_same_steps() -> None:
    total = {"calls": 3, "prompt_tokens": 30, "reply_tokens": 6}
    rows = [{"node": "generate", "calls": 2}, {"node": "judge", "calls": 1}]
    times = CallTimes({"generate": 4.0, "score": 2.0}, "as in one conversation", concurrent=8)
    found = dry_run_document({"turns": 2, "cost": rows, "total": total}, times, None)
    assert found["seconds"] == 2 * 4 + 3


def test_a_page_that_may_not_write_is_offered_nothing(store: Path) -> None:
    with serving(store, TOKEN) as address:
        assert get(address, "api/new").status == 404
        for path in ("begin", "cost", "scenario"):
            assert post(address, f"api/new/{path}", asked(typed(IDA, JONAS))).status in (404, 405)


def test_only_the_page_itself_begins_a_conversation(address: str) -> None:
    body = asked(typed(IDA, JONAS))
    foreign = {"Origin": "https://evil.example", "Content-Type": "application/json", "X-Tertulia-Token": TOKEN}
    for headers in (foreign, {"X-Tertulia-Token": "wrong"}, {"X-Tertulia-Seat": TOKEN}):
        assert post(address, "api/new/begin", body, headers).status == 403
