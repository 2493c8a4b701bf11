"""`tertulia scenarios` lists populations, and what is wrong with one ends a run before anything is stored."""

from pathlib import Path

import pytest
from support.commands import Cli


def test_villagers_are_listed(cli: Cli) -> None:
    listed = cli("scenarios").out
    assert (
        "tertulia run villagers\nVillagers and their albums, Saturday 16 May 2026, 10:00, the village green\n" in listed
    )
    (case,) = cli("scenarios", "villagers", "--json").json["cases"]
    assert (case["scenario"], len(case["participants"]), case["place"]) == ("villagers", 32, "the village green")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--set", "agents=1"], 2, "--set agents=1: an album chat needs two or more"),
        (["--set", "villagers=none.json"], 3, "there is no file of villagers 'none.json'"),
        (["--set", "villagers=same.json"], 2, "'a' is there already, as villager 1, 'A'"),
        (["--set", "pictures=none"], 3, "there is no folder none of pictures"),
        (["--set", "pictures=."], 2, "broken.png: is no picture of the kinds PNG, JPEG"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_stored(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.png").write_text("no picture")
    Path("same.json").write_text('[{"name": "A", "album": ["x"]}, {"name": "a", "album": ["x"]}]')
    cli("run", "villagers", "--rehearse", "--store", "new.db", *arguments).complains(code, words)
    assert not Path("new.db").exists()
