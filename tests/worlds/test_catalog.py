import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.ga_builder import RunBuilder, event

from tertulia.state.errors import NotFoundError, ScenarioError, UsageError
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import GROUP_CHAT
from tertulia.worlds.catalog import MEETINGS, TOWNS, describe, list_cases, resolve, sample_evenly, settings_of

FILE = """\
name: two words
time: 2024-05-14 09:30:00
participants:
  - {name: Ida, memories: [Ida has a key.]}
  - {name: Jon, memories: [Jon has a coat., Jon is cold.]}
parameters: {lambda: 0.3}
"""


@pytest.fixture
def run(tmp_path: Path) -> str:
    """A run of two cases; before the first, Bea remembers nothing."""
    builder = RunBuilder(tmp_path / "a:run").person("Ann", event("08:00:00", "Ann", "baking bread"))
    builder.talk("09:00:00", "Ann", "Bea", [["Ann", "Hello."]])
    builder.talk("12:00:00", "Ann", "Bea", [["Bea", "Hello again."]])
    return f"ga:{builder.write()}"


@pytest.fixture
def file(tmp_path: Path) -> str:
    at = tmp_path / "words.yaml"
    at.write_text(FILE, encoding="utf-8")
    return str(at)


def test_a_case_of_a_run_is_named_by_its_number(run: str) -> None:
    case = resolve(f"{run}:1")
    assert (case.scenario, case.initiator.persona.name) == (f"{run}:1", "Bea")


def test_rows_are_those_of_the_contract(run: str) -> None:
    described = json.loads(json.dumps(describe(list_cases(f"{run}:1"))))
    assert described["skipped"] == {"without_text": 0, "partner_without_folder": 0}
    (row,) = described["cases"]
    assert row.pop("left_out")
    assert row == {
        "case": 1,
        "scenario": f"{run}:1",
        "time": "2023-02-13 12:00:00",
        "initiator": "Bea",
        "partner": "Ann",
        "memories": {"Bea": 1, "Ann": 2},
        "previous_dialogues": 1,
        "place": None,
    }


def test_a_scenario_file(file: str) -> None:
    assert (resolve(file).scenario, settings_of(file)) == (file, {"lambda": 0.3})
    assert describe(list_cases(file))["cases"][0]["memories"] == {"Ida": 1, "Jon": 2}


@pytest.mark.parametrize("name", MEETINGS)
def test_a_shipped_meeting_is_resolved_by_its_name(name: str) -> None:
    meeting = resolve(name, ("one", "two"))
    assert isinstance(meeting, Meeting)
    assert (meeting.scenario, meeting.mechanisms) == (name, ("one", "two"))
    ends_as_scheduled = {**GROUP_CHAT, "max_minutes": None}
    assert settings_of(name) == ends_as_scheduled | {"removal_factor": 0}


def test_mechanisms_of_a_file_are_checked_wherever_it_is_read(tmp_path: Path) -> None:
    at = tmp_path / "meeting.yaml"
    at.write_text(
        "name: x\ndescription: y\ntime: 2024-05-14\nparticipants: [{name: A}, {name: B}]\nmechanisms: [tow]\n"
    )
    for read in (resolve, list_cases, settings_of):
        assert read(str(at)), "nothing is known"
        with pytest.raises(
            ScenarioError, match=r":5: mechanisms\[0\]: unknown mechanism 'tow' \(did you mean 'two'\?\)"
        ):
            read(str(at), ("one", "two"))


@pytest.mark.parametrize("town", TOWNS)
def test_a_shipped_town_has_what_a_default_needs(town: str) -> None:
    listing = list_cases(town)
    assert resolve(town).time == listing.cases[-1].case.time, "alone, it is its last case"
    assert resolve(town).previous_dialogues
    for listed in listing.cases:
        case = listed.case
        assert case.place
        for participant in (case.initiator, case.partner):
            assert len(participant.memories) >= 40
            assert participant.activity
            assert participant.persona.background


@pytest.mark.parametrize(
    ("scenario", "error", "complaint"),
    [
        ("tidewel", NotFoundError, r"unknown scenario 'tidewel' \(did you mean 'tidewell'\?\)"),
        ("team_building:0", ScenarioError, "a meeting is a single case; write team_building"),
        ("tidewell:x", ScenarioError, "'x' is not the number of a case"),
        ("tidewell:99", NotFoundError, "there is no case 99: the run has "),
        ("ga:", ScenarioError, "'ga:' names no folder"),
        ("ga:/nowhere/at/all:3", NotFoundError, "^/nowhere/at/all: there is no such folder"),
        ("nowhere.yaml", NotFoundError, "there is no scenario file 'nowhere.yaml'"),
        ("/", NotFoundError, "write ga:/"),
        ("ga:" + "x" * 5000, NotFoundError, "there is no such folder"),
    ],
)
def test_bad_names_are_told_what_to_do(scenario: str, error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        resolve(scenario)
    with pytest.raises(error, match=complaint):
        list_cases(scenario)


@given(st.integers(1, 400), st.integers(1, 60))
def test_a_sample_is_even_and_in_order(total: int, count: int) -> None:
    sample = sample_evenly(range(total), count)
    assert len(sample) == min(total, count)
    gaps = {after - before for before, after in pairwise(sample)}
    assert not gaps or (min(gaps) >= 1 and max(gaps) - min(gaps) <= 1)
    assert abs(sample[0] - (total - 1 - sample[-1])) <= 1, "as far from the beginning as from the end"


def test_a_sample_of_none_is_refused() -> None:
    with pytest.raises(UsageError, match="can't sample 0 cases"):
        sample_evenly([1, 2], 0)
