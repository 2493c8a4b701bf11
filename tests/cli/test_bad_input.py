"""Arguments, files and stores that a command can't use: one line for every error, and nothing that a terminal obeys."""

import sqlite3
from pathlib import Path

import pytest
from support.commands import Cli, Result, rehearse, write_prompt


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("run", 2, ["SCENARIO"]),
        ("run tidewell --rehearse --lambda 1.5", 2, ["--lambda 1.5: takes 1 at most"]),
        ("run tidewell --rehearse --lambda nan", 2, ["--lambda nan: ", "finite"]),
        ("run tidewell --rehearse --lambda much", 2, ["--lambda much: takes a number"]),
        ("run tidewell --rehearse --seed x", 2, ["--seed x: takes a whole number"]),
        ("run tidewell --rehearse --set lambda=much", 2, ["--set lambda=much: "]),
        ("run tidewell --rehearse --set inconsistency_threshold=nan", 2, ["inconsistency_threshold=nan"]),
        ("run tidewell --rehearse --set lamda=1", 2, ["'lamda'", "did you mean 'lambda'"]),
        ("run tidewell --rehearse --set temperatur=1", 2, ["did you mean 'temperature'"]),
        ("run tidewell --rehearse --set temperature", 2, ["temperature", "KEY=VALUE"]),
        ("run tidewell --rehearse --set =1", 2, ["KEY=VALUE"]),
        ("run tidewell --rehearse --set block_order=bmxc", 2, ["'x'", "m memory"]),
        ("run tidewell --rehearse --set removable_blocks=mc", 2, ["current dialogue"]),
        ("run tidewell --rehearse --rounds 0", 2, ["--rounds 0: "]),
        ("run tidewell --rehearse --set precision=float8", 2, ["float8", "float32"]),
        ("run tidewel --rehearse", 3, ["'tidewel'", "did you mean 'tidewell'"]),
        ("run tidewell:99 --rehearse", 3, ["no case 99", "0 to 7"]),
        ("run nowhere.yaml", 3, ["nowhere.yaml"]),
        ("run ga:nowhere", 3, ["nowhere"]),
        ("run ga:. --rehearse", 2, ["personas"]),
        ("run tidewell --model smolm2", 3, ["'smolm2'", "did you mean 'smollm2'"]),
        ("run tidewell --rehearse --store nowhere/tertulia.db", 1, ["nowhere/tertulia.db", "folder"]),
        ("scenarios nothing", 3, ["'nothing'", "tidewell"]),
        ("scenarios --sample 0", 2, ["0 cases"]),
        ("metrics nothing.jsonl", 3, ["nothing.jsonl"]),
        ("metrics .", 2, ["directory"]),
        ("score nothing.json --response Yes", 3, ["nothing.json"]),
        ("score . --response Yes", 2, ["directory"]),
        ("show @last", 3, ["tertulia.db"]),
        ("resume k3f9", 3, ["k3f9"]),
    ],
)
def test_bad_arguments(cli: Cli, arguments: str, code: int, words: list[str]) -> None:
    result = cli(*arguments.split())
    result.complains(code, *words)
    assert result.out == ""


def test_odd_prompt_files(cli: Cli, tmp_path: Path) -> None:
    def score(at: Path, response: str = "Yes.") -> Result:
        return cli("score", str(at), "--model", "rehearsal", "--response", response)

    at = tmp_path / "prompt.json"
    score(write_prompt(at, "one"), "").complains(2, "response 1 is empty")
    score(write_prompt(at, "one", "one")).complains(2, "'one'", "twice")
    score(write_prompt(at, 7)).complains(2, "units.0.id", "takes a text, not 7")
    score(write_prompt(at)).complains(2, "no units")
    for content, words in (
        (b'{"units": [\n{"id"}]}', ["line 2"]),
        (b'{"units": 3}', ["units"]),
        (b"[]", ["prompt.json"]),
        (b"", ["not JSON"]),
        (b"\xff\xfe", ["prompt.json"]),
        (b"[" * 200_000, ["not JSON"]),
    ):
        at.write_bytes(content)
        score(at).complains(2, *words)


def test_odd_stores(cli: Cli, tmp_path: Path) -> None:
    at = tmp_path / "tertulia.db"
    at.write_bytes(b"no database at all " * 100)
    cli("runs").complains(1, "tertulia.db", "not a Tertulia store")
    at.unlink()
    rehearse(cli)
    with sqlite3.connect(at) as store:
        store.execute("PRAGMA user_version = 99")
    store.close()
    cli("runs").complains(1, "tertulia.db", "newer")
    cli("run", "tidewell", "--rehearse").complains(1, "newer")
