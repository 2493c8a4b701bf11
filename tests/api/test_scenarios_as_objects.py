"""Runs of scenarios that are objects: the same as of their files, stored whole, and trusted by who made them."""

from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.protocol_server import Served

import tertulia as tt

OPENING = "Listen to that bucket. Which repair do we want?"
EXTENSION = """
from pathlib import Path

import tertulia as tt


@tt.scorer
def longest(units):
    Path("executed").touch()
    return [len(unit.text) for unit in units]


NODES = (longest,)
"""


def a_meeting(**fields: Any) -> tt.Meeting:
    people = tt.generate_people(5, seed=1)
    opening = (people[0].name, OPENING)
    return tt.Meeting("the roof", people, time="2026-05-14 18:00", description="One repair.", opening=opening, **fields)


def a_case(**fields: Any) -> tt.Case:
    return tt.Case("harbour cafe", tt.generate_people(2, seed=2), time="2026-05-14 18:00", **fields)


@pytest.mark.parametrize("make", [a_case, a_meeting])
def test_a_run_of_an_object_is_the_run_of_its_file(make: Any, cli: Cli) -> None:
    scenario = make(parameters={"removal_factor": 0.5})
    run = tt.run(scenario, rounds=4, rehearse=True)
    assert run.scenario == f"object:{scenario.name}"
    scenario.write("it.yaml")
    of_file = tt.run("it.yaml", rounds=4, rehearse=True)
    comparison = tt.diff(run, of_file)
    assert [difference.path for difference in comparison.comparison.settings] == [("scenario",)]
    assert comparison.first_divergence is None
    assert any(turn.speaker for turn in run.turns)
    assert tt.diff(tt.run(scenario, rounds=4, rehearse=True), of_file).is_same  # it is in that file now
    assert cli("run", "it.yaml", "--rehearse", "--rounds", "4").code == 0
    assert tt.diff(tt.open_store("tertulia.db").run(), of_file).is_same


async def test_two_objects_of_one_name_are_two_cases() -> None:
    cases = [a_case(place=place) for place in ("the quay", "the mill")]
    experiment = await tt.asweep(cases, trials=1, rounds=2, rehearse=True)
    assert len(set(experiment.cases)) == 2
    assert experiment.name in experiment.stop().text


# --- trust ----------------------------------------------------------------------------------------------------------


def test_an_extension_of_one_s_own_object_is_one_s_own_and_that_of_a_file_the_file_s() -> None:
    Path("longest.py").write_text(EXTENSION, encoding="utf-8")
    mine = a_case(extensions=["longest.py"], nodes={"score": "longest"}, parameters={"removal_factor": 0.5})
    mine.write("received.yaml")
    received = tt.Case.read("received.yaml")
    with pytest.raises(tt.TertuliaError, match="tertulia trust"):
        tt.run(received, rounds=1, rehearse=True)
    with pytest.raises(tt.TertuliaError, match="tertulia trust"):
        tt.run(received.replace(place="elsewhere"), rounds=1, rehearse=True)
    assert not Path("executed").exists()
    assert tt.run(mine, rounds=2, rehearse=True).status == "finished"
    assert Path("executed").exists()


def test_a_server_that_one_s_own_person_has_is_one_s_own_and_that_of_a_file_the_file_s(served: Served) -> None:
    server = served.model
    people = [tt.Person(name="Ana", model=server), tt.Person(name="Bo")]
    fields: dict[str, Any] = {"time": "2026-05-14 18:00", "description": "One repair."}
    mine = tt.Meeting("mine", people, parameters={"removal_factor": 0}, **fields)
    mine.write("received.yaml")
    Path("people.csv").write_text(f"name,model\nAna,{server}\nBo,\n", encoding="utf-8")
    received = tt.Meeting.read("received.yaml")
    for untrusted in (
        received,
        received.replace(place="elsewhere"),
        tt.Meeting("m", received.participants, **fields),
        tt.Meeting("m", tt.people_from("people.csv"), **fields),
    ):
        assert untrusted.named == frozenset()
        with pytest.raises(tt.TertuliaError, match="is named by a file, and not by you"):
            tt.run(untrusted, rounds=1, removal_factor=0, model="openai:other")
    assert not served.requests
    with pytest.raises(tt.ModelError, match="OPENAI_API_KEY"):  # the server is no matter any more
        tt.run(mine, rounds=1, removal_factor=0, model="openai:other")
    assert mine.named == frozenset({server})
