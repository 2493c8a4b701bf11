"""A line that a person has rewritten is marked wherever the conversation is told again."""

from pathlib import Path

import pytest
from support.commands import Cli

from tertulia.state.line_edit import EDITED, PAUSED, LineEdit, Pause
from tertulia.storage.store import SqlStore

MARK = "✎ rewritten by a person"
WORDS = "I would rather stay."


@pytest.fixture(params=["tidewell", "team_building"])
def run(cli: Cli, request: pytest.FixtureRequest) -> str:
    """A run whose second line a person rewrote."""
    like = cli("run", request.param, "--rehearse", "--rounds", 5, "--set", "ending=off", "--json").json["run"]
    with SqlStore.open(Path("tertulia.db")) as store:
        spoken = [turn.turn for turn in store.turns(like) if turn.speaker]
        record = store.run(like).model_copy(update={"run": "w0rd", "turns": 0, "status": "interrupted"})
        store.create_run(record, store.start(like))
        store.save_step("w0rd", spoken[1], "", PAUSED, Pause())
        store.save_step("w0rd", spoken[1], "", EDITED, LineEdit(words=WORDS))
    resumed = cli("resume", "w0rd")
    assert resumed.code == 0, resumed.err
    assert marked(resumed.out) == [WORDS]  # also as it goes on
    return "w0rd"


def marked(told: str) -> list[str]:
    """The lines that are marked, without their clocks and marks."""
    return [line.partition(f"  {MARK}")[0].rpartition(": ")[2] for line in told.splitlines() if MARK in line]


def test_the_mark_stands_behind_that_line_alone(cli: Cli, run: str) -> None:
    edited = next(turn for turn in cli("show", run, "--json").json["turns"] if turn["text"] == WORDS)
    number, speaker = edited["turn"], edited["speaker"]
    assert edited["edited"] is True
    asked = [("replay",), ("replay", "--from", number, "--to", number), ("show",), ("show", "--turn", number)]
    for command, *options in asked:
        assert marked(cli(command, run, *options).out) == [WORDS], (command, options)
    for told in (cli("show", run, "--agent", speaker), cli("timeline", run)):
        assert MARK.split()[1] in told.out
    documents = [cli(*words, "--json").json["turns"] for words in (("replay", run), ("timeline", run))]
    for turns in documents:
        assert [turn["text"] for turn in turns if turn.get("edited")] == [WORDS]
