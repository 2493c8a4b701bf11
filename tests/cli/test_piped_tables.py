"""In a pipe nothing is cut, broken or padded: what a command prints as JSON stands whole in what it prints as text."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tertulia

pytestmark = pytest.mark.full

#: A name, a label and words that no narrow table would have room for.
LABEL = "a label that is a good deal longer than any column of a table would have room for on a terminal of 80 columns"
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}

#: Commands that read, and the keys of their JSON whose texts are cells of what they print.
READING = {
    ("runs",): ("status", "scenario", "model", "label"),
    ("show", "MEETING"): ("text", "speaker"),
    ("show", "MEETING", "--turn", "2"): ("text",),
    ("timeline", "MEETING"): ("thought", "text"),
    ("diff", "DIALOGUE", "FORK"): (),
    ("diff", "DIALOGUE", "FORK", "--turn", "2"): (),
    ("metrics", "DIALOGUE", "FORK"): ("case",),
    ("stats", "MEETING"): ("agent",),
    ("behaviour", "DIALOGUE", "--embedder", "rehearsal"): (),
    ("days",): ("simulation", "town"),
    ("days", "TOWN", "--encounters"): ("run", "place"),
    ("lab", "list"): ("experiment",),
    ("scenarios",): (),
    ("settings",): ("name", "about"),
    ("doctor",): ("python",),
    ("show", "ALBUM"): ("plan",),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of runs, a fork, a town and an experiment."""
    path = tmp_path_factory.mktemp("piped")
    how: dict[str, Any] = {"rehearse": True, "store": path / "tertulia.db", "progress": False}
    tertulia.run("team_building", rounds=3, label=LABEL, **how)
    tertulia.run("villagers", rounds=2, agents=3, label="album", **how)
    tertulia.run("tidewell", rounds=3, settings={"ending": "off"}, label="dialogue", **how)
    for arguments in (
        ("fork", "@last", "--at", "2", "--lambda", "1", "--label", "fork"),
        ("simulate", "tidewell", "--days", "1", "--rehearse", "--set", "max_turns=2"),
        ("sweep", "tidewell", "--lambda", "0,1", "--trials", "1", "--rounds", "2", "--rehearse", "--name", "of λ"),
    ):
        piped(path, *arguments)
    return path


def piped(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        [str(Path(sys.executable).parent / "tertulia"), *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=120,
    ).stdout


def _texts(document: Any, keys: tuple[str, ...]) -> Iterator[str]:
    """Yield the texts under these keys, at any depth."""
    if isinstance(document, list):
        for entry in document:
            yield from _texts(entry, keys)
    elif isinstance(document, dict):
        for key, value in document.items():
            if key in keys and isinstance(value, str) and value:
                yield value
            yield from _texts(value, keys)


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_cells_are_whole_and_nothing_is_padded(folder: Path, arguments: tuple[str, ...]) -> None:
    rows = json.loads(piped(folder, "runs", "--json"))["runs"]
    named = {"MEETING": LABEL, "ALBUM": "album", "DIALOGUE": "dialogue", "FORK": "fork"}
    runs = {name: next(row["run"] for row in rows if row["label"] == label) for name, label in named.items()}
    runs["TOWN"] = "@last"
    words = [runs.get(word, word) for word in arguments]
    printed = piped(folder, *words)
    lines = printed.splitlines()
    assert lines
    assert [line for line in lines if line != line.rstrip()] == [], "no line is padded"
    assert not any(set(line) & set("│┃┌━") for line in lines), "no box is drawn"
    keys = READING[arguments]
    if keys:
        for text in _texts(json.loads(piped(folder, *words, "--json")), keys):
            assert " ".join(text.split()) in " ".join(printed.split()), text
