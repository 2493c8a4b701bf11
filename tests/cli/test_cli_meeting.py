"""Running a meeting from the command line, from its flags to its last round."""

from pathlib import Path

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


@pytest.mark.parametrize("name", MEETINGS)
def test_the_shipped_meetings_run(cli: Cli, name: str) -> None:
    ended = cli("run", name, "--rehearse", "--rounds", "2", "--json").json
    assert ended == {"run": ended["run"], "status": "finished", "turns": 2}
    people = [attendee.persona.name for attendee in resolve(name, tuple(MECHANISMS)).participants]  # type: ignore[union-attr]
    shown = cli("show", ended["run"], "--json").json
    assert {turn["speaker"] for turn in shown["turns"]} <= {None, *people}
    assert shown["parameters"]["removal_factor"] == 0


def test_thoughts_are_told_on_demand(cli: Cli) -> None:
    result = cli("run", a_file(), "--rehearse", "--rounds", "2", "--thoughts")
    assert result.code == 0
    assert result.out.count("self driven;") == 2
    assert "self driven;" not in cli("run", a_file(), "--rehearse", "--rounds", "2").out


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
