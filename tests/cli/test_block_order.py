"""The order of the blocks in each layout: what chat turns can't have is refused with the reason."""

import pytest
from support.commands import Cli

RUN = ("run", "tidewell", "--rehearse", "--rounds", "2", "--lambda", "0")


@pytest.mark.parametrize("order", ["cempb", "bmpce", "current_dialogue,memory"])
def test_nothing_stands_behind_a_dialogue_that_is_chat_turns(cli: Cli, order: str) -> None:
    refused = cli(*RUN, "--set", "layout=chat_turns", "--set", f"block_order={order}")
    refused.complains(2, "block_order=", "would stand behind the current dialogue", "set layout=single_message")
    assert cli("runs", "--json").json["runs"] == []
    assert cli(*RUN, "--set", f"block_order={order}").code == 0


def test_human_needs_count_as_a_block_that_stands_behind(cli: Cli) -> None:
    settings = ("--set", "layout=chat_turns", "--set", "block_order=ech", "--set")
    cli(*RUN, *settings, "human_needs=true").complains(2, "block_order=ech: h would stand behind")
    assert cli(*RUN, *settings, "human_needs=false").code == 0


def test_a_fork_into_such_an_order_is_refused_and_the_run_is_kept(cli: Cli) -> None:
    run = str(cli(*RUN, "--set", "layout=chat_turns", "--json").json["run"])
    cli("fork", run, "--at", "2", "--set", "block_order=cempb").complains(2, "would stand behind")
    assert [known["run"] for known in cli("runs", "--json").json["runs"]] == [run]
