"""A line that a person has rewritten is marked wherever the conversation is told again."""

from pathlib import Path

import pytest
from support.commands import Cli

from tertulia.state.line_edit import EDITED, PAUSED, LineEdit, Pause
from tertulia.storage.store import SqlStore

MARK = "✎ rewritten by a person"
WORDS = "I would rather stay."


@pytest.fixture(params=["tidewell", "team_building"])
def run(cli: Cli, request: pytest.FixtureRequest) -> tuple[str, str]:
    """A run whose second line a person rewrote, and what was printed as it was held."""
    like = cli("run", request.param, "--rehearse", "--rounds", 5, "--set", "ending=off", "--json").json["run"]
    with SqlStore.open(Path("tertulia.db")) as store:
        spoken = [turn.turn for turn in store.turns(like) if turn.speaker]
        record = store.run(like).model_copy(update={"run": "w0rd", "turns": 0, "status": "interrupted"})
        store.create_run(record, store.start(like))
        store.save_step("w0rd", spoken[1], "", PAUSED, Pause())
        store.save_step("w0rd", spoken[1], "", EDITED, LineEdit(words=WORDS))
    live = cli("resume", "w0rd")
    assert live.code == 0, live.err
    return "w0rd", live.out


def marked(told: str) -> list[str]:
    """The lines that are marked, without their clocks and marks."""
    return [line.partition(f"  {MARK}")[0].rpartition(": ")[2] for line in told.splitlines() if MARK in line]


def test_the_mark_stands_behind_that_line_alone(cli: Cli, run: tuple[str, str]) -> None:
    edited = next(turn for turn in cli("show", run[0], "--json").json["turns"] if turn["text"] == WORDS)
    number, speaker = edited["turn"], edited["speaker"]
    assert edited["edited"] is True
    asked = [("replay",), ("replay", "--from", number, "--to", number), ("show",), ("show", "--turn", number)]
    for command, *options in asked:
        assert marked(cli(command, run[0], *options).out) == [WORDS], (command, options)
    assert marked(run[1]) == [WORDS]
    for told in (cli("show", run[0], "--agent", speaker), cli("timeline", run[0])):
        assert MARK.split()[1] in told.out
    documents = [cli(*words, "--json").json["turns"] for words in (("replay", run[0]), ("timeline", run[0]))]
    for turns in documents:
        assert [turn["text"] for turn in turns if turn.get("edited")] == [WORDS]


def test_a_fork_that_says_something_else_there_is_not_marked(cli: Cli, run: tuple[str, str]) -> None:
    turn = next(turn["turn"] for turn in cli("show", run[0], "--json").json["turns"] if turn["text"] == WORDS)
    forked = cli("fork", run[0], "--at", turn, "--say", "Let us go.", "--json")
    assert forked.code == 0, forked.err
    told = cli("replay", forked.json["run"]).out
    assert "Let us go." in told
    assert MARK not in told
    later = cli("fork", run[0], "--at", turn + 1, "--json").json["run"]
    assert marked(cli("replay", later).out) == [WORDS]
