"""The other ways to revise and to vary on the command line: shown, exported, and refused with words."""

import json
from typing import Any

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
