"""Running a meeting from the command line, from its flags to its last round."""

import pytest
from support.commands import Cli

from tertulia.nodes.mechanisms.registry import MECHANISMS
from tertulia.worlds.catalog import MEETINGS, resolve

MEETING = ("run", "team_building", "--rehearse", "--rounds", "2")


@pytest.mark.parametrize("name", MEETINGS)
def test_the_shipped_meetings_run(cli: Cli, name: str) -> None:
    ended = cli("run", name, "--rehearse", "--rounds", "2", "--json").json
    assert [line["turn"] for line in ended.pop("lines")] == [1, 2]
    assert ended == {"run": ended["run"], "status": "finished", "turns": 2, "ended_by": "rounds"}
    people = [attendee.persona.name for attendee in resolve(name, tuple(MECHANISMS)).participants]  # type: ignore[union-attr]
    shown = cli("show", ended["run"], "--json").json
    assert {turn["speaker"] for turn in shown["turns"]} <= {None, *people}
    assert shown["parameters"]["removal_factor"] == 0


def test_thoughts_are_told_on_demand(cli: Cli) -> None:
    result = cli(*MEETING, "--thoughts")
    assert result.code == 0
    assert result.out.count("self driven;") == 2
    assert "self driven;" not in cli(*MEETING).out
