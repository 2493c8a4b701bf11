"""Running a meeting from the command line, from its flags to its last round."""

from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli

from tertulia.nodes.mechanisms.registry import MECHANISMS
from tertulia.worlds.catalog import MEETINGS, resolve

MEETING = """
kind: group_chat
name: tea
description: Three people have tea.
time: 2026-05-14 15:00:00
participants:
  - name: 'Ana "the Net" 🦆'
    traits: [extroverted]
    latency: proactive
    model: rehearsal
  - name: Bo
  - name: Cy
    {cy}
{more}
"""


def a_file(more: str = "", cy: str = "age: 30") -> str:
    path = Path("tea.yaml")
    path.write_text(MEETING.format(more=more, cy=cy), encoding="utf-8")
    return str(path)


def conversation(cli: Cli, run: str) -> Any:
    """All that `show` tells of a run and of each of its turns, but for its id."""
    shown = cli("show", run, "--json").json
    turns = [cli("show", run, "--turn", turn["turn"], "--json").json for turn in shown["turns"]]
    return [{key: value for key, value in turn.items() if key != "run"} for turn in turns]


@pytest.mark.parametrize("name", MEETINGS)
def test_the_shipped_meetings_run(cli: Cli, name: str) -> None:
    ended = cli("run", name, "--rehearse", "--rounds", "2", "--json").json
    assert ended == {"run": ended["run"], "status": "finished", "turns": 2}
    people = [attendee.persona.name for attendee in resolve(name, tuple(MECHANISMS)).participants]  # type: ignore[union-attr]
    shown = cli("show", ended["run"], "--json").json
    assert {turn["speaker"] for turn in shown["turns"]} <= {None, *people}
    assert shown["parameters"]["removal_factor"] == 0


def test_the_nine_of_the_ferry_are_nine() -> None:
    assert len(resolve("ferry_timetable", tuple(MECHANISMS)).participants) == 9  # type: ignore[union-attr]


def test_a_round_of_a_meeting_is_told_with_its_cognition(cli: Cli) -> None:
    run = cli("run", a_file(), "--rehearse", "--rounds", "2", "--json").json["run"]
    turn = cli("show", run, "--turn", "1", "--json").json
    assert [agent["agent"] for agent in turn["cognition"]] == ['Ana "the Net" 🦆', "Bo", "Cy"]
    for agent in turn["cognition"]:
        assert set(agent["mechanisms"]) == set(MECHANISMS)
        assert {"thought", "willingness", "willingness_parts", "similarity", "persistence", "won"} <= set(agent)
        assert agent["latency_scale_s"] > 0
    won = [agent["agent"] for agent in turn["cognition"] if agent["won"]]
    assert won == ([turn["speaker"]] if turn["speaker"] else [])


@pytest.mark.parametrize("order", ["rule_based", "centralised", "random", "designated"])
def test_another_order_is_one_flag_away(cli: Cli, order: str) -> None:
    run = cli("run", a_file(), "--rehearse", "--set", f"order={order}", "--rounds", "2", "--json").json["run"]
    shown = cli("show", run, "--json").json
    assert shown["order"] == order
    assert all(turn["speaker"] for turn in shown["turns"])


def test_a_dialogue_of_two_has_no_order(cli: Cli) -> None:
    cli("run", "tidewell", "--rehearse", "--set", "order=random").complains(
        2, "tidewell", "--set order=random", "meetings"
    )


def test_thoughts_are_told_on_demand(cli: Cli) -> None:
    result = cli("run", a_file(), "--rehearse", "--rounds", "2", "--thoughts")
    assert result.code == 0
    assert result.out.count("self driven;") == 2
    assert "self driven;" not in cli("run", a_file(), "--rehearse", "--rounds", "2").out


def test_the_same_seed_gives_the_same_meeting(cli: Cli) -> None:
    runs = [
        cli("run", a_file(), "--rehearse", "--rounds", "3", "--seed", seed, "--json").json["run"] for seed in (1, 1, 2)
    ]
    first, again, other = (conversation(cli, run) for run in runs)
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "order=nonsense"], ["order", "nonsense", "self_driven"]),
        (["--set", "willingness_threshold=1.5"], ["1.5"]),
        (["--set", "similarity_cutoff=2"], ["similarity_cutoff"]),
        (["--set", "removable_blocks=s"], ["situation"]),
    ],
)
def test_what_cannot_be_is_refused_before_a_run(cli: Cli, arguments: list[str], words: list[str]) -> None:
    cli("run", a_file(), "--rehearse", *arguments).complains(2, *words)
    assert cli("runs", "--json").json["runs"] == []


@pytest.mark.parametrize(
    ("more", "cy", "words"),
    [
        ("mechanisms: [telepathy]", "age: 30", ["telepathy", "tea.yaml:14"]),
        ("order: loudest", "age: 30", ["loudest", "tea.yaml:14"]),
        ("goals: [{goal: win}]", "age: 30", ["owner", "tea.yaml:14"]),
        ("", "weights: {topic: 1.1, goal: 0, emotion: 0, personality: 0}", ["tea.yaml:13"]),
        ("", "schedule: {leaves: '14:00'}", ["tea.yaml:13"]),
    ],
)
def test_a_mistake_in_a_meeting_names_its_line(cli: Cli, more: str, cy: str, words: list[str]) -> None:
    cli("run", a_file(more, cy), "--rehearse").complains(2, *words)


def test_a_participant_with_a_remote_model_needs_a_surrogate(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", a_file(cy="model: 'openai:x'"), "--lambda", "0.5")
    result.complains(2, "--lambda 0.5 needs scores", "set surrogate=smollm2")
    assert [file.name for file in tmp_path.iterdir()] == ["tea.yaml"]
