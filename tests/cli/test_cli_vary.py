"""The other ways to revise and to vary on the command line: shown, exported, compared, and refused with words."""

import json
from typing import Any

import pytest
from support.commands import Cli

RUN = ("run", "tidewell", "--rehearse", "--rounds", "2", "--set", "ending=off", "--json")
STRICT = ("--set", "inconsistency_threshold=3")  # with the stand-in most lines conflict


def made(cli: Cli, *settings: str) -> str:
    return str(cli(*RUN, *(part for setting in settings for part in ("--set", setting)), *STRICT).json["run"])


def turn(cli: Cli, run: str, number: int = 2) -> dict[str, Any]:
    return cli("show", run, "--turn", str(number), "--json").json


def test_what_was_rewritten_is_shown_and_exported(cli: Cli) -> None:
    run = made(cli, "revision=rewrite")
    shown = turn(cli, run)
    origins = [candidate["origin"] for candidate in shown["candidates"]]
    assert [origin for origin in origins if origin != "vetoed"] == ["drawn", *["rewritten"] * shown["rewritings"]]
    assert shown["rewritings"] > 0
    assert shown["rollbacks"] == 0
    said = cli("show", run, "--turn", "2").out
    assert f"0 rolled back, {shown['rewritings']} rewritten" in said
    assert said.count("(rewritten)") == shown["rewritings"]
    lines = [json.loads(line) for line in cli("export", run, "--jsonl", "-").out.splitlines()]
    assert (
        next(line for line in lines if line["kind"] == "turn" and line["turn"] == 2)["candidates"]
        == shown["candidates"]
    )
    assert {line["node"] for line in lines if line["kind"] == "call"} >= {"generate", "judge", "rewrite"}
    assert "rewrite" in [visit["node"] for visit in cli("show", run, "--node", "all", "--json").json["visits"]]


def test_whether_it_could_be_rewritten_is_shown(cli: Cli) -> None:
    run = made(cli, "revision=combined")
    shown = [candidate for n in (1, 2) for candidate in turn(cli, run, n)["candidates"]]
    assert {candidate["rewritable"] for candidate in shown} > {None}
    words = cli("show", run, "--turn", "1").out + cli("show", run, "--turn", "2").out
    for rewritable, verdict in ((True, "suffices"), (False, "does not suffice")):
        times = sum(candidate["rewritable"] is rewritable for candidate in shown)
        assert words.count(f"what was removed {verdict} to rewrite it") == times


def test_runs_that_revise_otherwise_differ_in_the_setting_and_in_what_came_of_it(cli: Cli) -> None:
    differing = cli("diff", made(cli, "revision=rollback"), made(cli, "revision=rewrite"), "--json").json
    assert {"path": ["parameters", "revision"], "a": "rollback", "b": "rewrite"} in differing["settings"]
    changes = {tuple(difference["path"]): difference["b"] for difference in differing["turns"][0]["differences"]}
    assert any(path[0] == "candidates" and "rewritten" in json.dumps(b) for path, b in changes.items())


def test_names_of_the_prompt_are_told_with_the_turn(cli: Cli) -> None:
    run = made(cli, "names=famous")
    units = turn(cli, run, 1)["units"]
    assert any("Harry Potter" in unit["text"] for unit in units)
    assert not any("Emeka" in unit["text"] for unit in units)
    assert "Emeka Obiora is Harry Potter, put back in what is said" in cli("show", run, "--turn", "1").out
    assert [turn["speaker"] for turn in cli("show", run, "--json").json["turns"]] == ["Emeka Obiora", "Leila Haddad"]


def test_one_retained_item_and_candidates_of_one_reply_are_told(cli: Cli) -> None:
    run = made(cli, "retain=lowest", "retain_block=e", "generation=sequential")
    shown, words = turn(cli, run), cli("show", run, "--turn", "2").out
    kept = [unit for unit in shown["units"] if unit["removable"] and not unit["removed"]]
    assert [unit["block"] for unit in kept] == ["environment"]
    assert "removable items were removed but the lowest of environment" in words
    assert len(shown["candidates"]) == 10
    assert "10 candidates in one reply" in words


def test_lengths_and_blocks_are_in_what_is_shown(cli: Cli) -> None:
    run = made(cli, "block_lengths=m=4", "removed_blocks=pe")
    blocks = [unit["block"] for unit in turn(cli, run)["units"] if unit["kind"] == "item"]
    assert blocks.count("memory") == 4
    assert not {"previous_dialogues", "environment"} & set(blocks)
    assert "varied: blocks left out: pe; lengths: m=4" in cli("show", run, "--turn", "2").out


REFUSED = (
    ("names=Bob=Al", ("nobody here is called 'Bob'", "Emeka Obiora, Leila Haddad")),
    ("names=famos", ("write own, famous, rare, or pairs A=B,C=D",)),
    ("removed_blocks=bz", ("unknown block letter 'z'", "p previous_dialogues")),
    ("block_lengths=m=0", ("'m=0' is no length of a block",)),
)


def test_what_makes_no_sense_is_refused_before_anything_is_made(cli: Cli) -> None:
    for setting, words in REFUSED:
        cli(*RUN, "--set", setting).complains(2, *words)
    assert cli("runs", "--json").json["runs"] == []
    parent = made(cli)
    for setting, words in REFUSED:
        cli("fork", parent, "--at", "2", "--set", setting).complains(2, *words)
    assert len(cli("runs", "--json").json["runs"]) == 1


def test_a_length_that_cant_be_reached_is_told_where_it_is_met(cli: Cli) -> None:
    cli(*RUN, "--set", "block_lengths=p=13w").complains(2, "p=13w can't be reached", "set p~13w")
    (failed,) = cli("runs", "--json").json["runs"]
    assert (failed["status"], failed["turns"]) == ("failed", 0)
    again = cli("resume", failed["run"])
    assert f"to go on: tertulia fork {failed['run']} --at 1 --set KEY=VALUE" in again.err
    again.complains(2, "p=13w can't be reached")
    assert cli("fork", failed["run"], "--at", "1", "--set", "block_lengths=p~13w", "--json").json["turns"] == 2


def test_what_is_retained_stands_where_lambda_would(cli: Cli) -> None:
    run = made(cli, "retain=highest", "retain_block=h", "revision=off")
    assert "retained: the highest of human needs" in cli("show", run).out
    words = cli("show", run, "--turn", "1").out
    assert "were removed (this prompt has no human needs to retain one of)" in words
    assert "0 rolled back, revision=off" in words
    what_if = cli("show", run, "--turn", "1", "--lambda", "0.5").out
    assert "would be removed at λ = 0.5, were the highest of human needs not retained" in what_if
    assert ", all but the highest of human needs:" in cli("export", run, "--markdown", "-", "--thoughts").out


COMBINED = ("names=famous", "block_lengths=m=5", "retain=highest", "generation=sequential", "revision=combined")


@pytest.mark.parametrize("scenario", ["tidewell", "team_building"])
def test_all_ways_at_once_go_on_in_a_fork_as_they_would_have(cli: Cli, scenario: str) -> None:
    settings = [part for setting in (*COMBINED, "ending=off") for part in ("--set", setting)]
    run = cli("run", scenario, "--rehearse", "--rounds", "3", *settings, *STRICT, "--json").json["run"]
    fork = cli("fork", run, "--at", "2", "--json").json["run"]
    assert cli("diff", run, fork, "--exit-code").code == 0
    other = cli("fork", run, "--at", "2", "--set", "names=own", "--json").json["run"]
    assert cli("diff", run, other, "--exit-code").code == 4
