"""Driving a conversation day by day: what is refused before it begins, what is shown while it waits, and pipes."""

import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import Cli
from support.forked import Forked

from tertulia.models.rehearsal import RehearsalModel
from tertulia.state.errors import ModelError

DIALOGUE = ("run", "tidewell", "--rehearse", "--rounds", "2")
TOWN = (
    "simulate",
    "tidewell",
    "--rehearse",
    "--encounters-per-day",
    "1",
    "--set",
    "max_turns=2",
    "--set",
    "ending=off",
)
REMOTE = "http://localhost:1/v1#parrot"


# --- refused before anything is loaded, or stored -------------------------------------------------------------------


@pytest.fixture
def no_model_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tertulia.models.loading.open_model", lambda *_, **__: pytest.fail("a model was opened"))


@pytest.mark.usefixtures("no_model_is_opened")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("run", "tidewell", "--model", REMOTE),
            ("--lambda 0.5 (not given here) needs scores", "set surrogate=smollm2"),
        ),
        (("run", "tidewell", "--model", "openai:x", "--lambda", "0.3"), ("--lambda 0.3 needs scores", "--lambda 0")),
        (("run", "tidewell", "--model", REMOTE, "--set", "surrogate=openai:x"), ("--set surrogate=openai:x",)),
        (("run", "tidewell", "--set", "judge=likelihood", "--set", "judge_model=openai:x"), ("judge=rating",)),
        (("run", "tidewell", "--model", "openai:", "--lambda", "0"), ("openai:NAME",)),
        (("simulate", "tidewell", "--model", REMOTE), ("needs scores", "set surrogate=smollm2")),
        (("run", "tidewell", "--set", "order=random"), ("--set order=random: ", "dialogue")),
        (("simulate", "tidewell", "--set", "seed=x"), ("--set seed=x: ",)),
    ],
)
def test_what_can_not_be_is_refused_before_there_is_a_store(
    cli: Cli, tmp_path: Path, arguments: Sequence[str], words: Sequence[str]
) -> None:
    cli(*arguments).complains(2, *words)
    assert list(tmp_path.iterdir()) == []


# --- pipes ----------------------------------------------------------------------------------------------------------


def unread(arguments: Sequence[str], folder: Path) -> int:
    """Return the exit code of a command in a folder, of which nobody reads more than a line."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    process = Forked([*arguments, "--store", str(folder / "tertulia.db")], folder / "said.txt", stdout=pipe)
    os.set_blocking(reading, True)
    while not ((folder / "said.txt").exists() if "--json" in arguments else os.read(reading, 1)):
        assert process.poll() is None
        time.sleep(0.01)
    os.close(reading)
    return process.wait()


@pytest.mark.parametrize(("command", "form"), [("run", ()), ("resume", ()), ("fork", ("--json",)), ("simulate", ())])
def test_where_nobody_reads_on_it_is_driven_to_its_end(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, form: tuple[str, ...]
) -> None:
    arguments: tuple[str, ...] = {"run": DIALOGUE, "simulate": TOWN}.get(command, (command, "@last"))
    if command == "fork":
        assert cli(*DIALOGUE).code == 0
        arguments += ("--at", "2")
    elif command == "resume":
        with monkeypatch.context() as patched:
            patched.setattr(RehearsalModel, "generate", _fail)
            assert cli(*DIALOGUE).code == 1
    assert unread([*arguments, *form], tmp_path) == 0
    with closing(sqlite3.connect("tertulia.db")) as store:
        assert store.execute("SELECT status FROM runs ORDER BY id DESC LIMIT 1").fetchone() == ("finished",)
        assert store.execute("SELECT count(*) FROM turns").fetchone()[0] >= 2
    if not form:
        assert "nobody reads the output any more" in Path("said.txt").read_text(encoding="utf-8")


async def _fail(*_: object) -> None:
    raise ModelError("gone")


# --- help -----------------------------------------------------------------------------------------------------------


def test_the_help_has_panels_exit_codes_and_defaults(cli: Cli) -> None:
    listed = cli("--help").out
    panels = [line.removesuffix(":") for line in listed.splitlines() if line.endswith(":") and line[0] != " "]
    assert panels == ["Options", "Converse", "Look", "Compare", "Measure", "Extend", "Maintain"]
    assert "..." not in listed.replace("[ARGS]...", "")
    assert "    130  interrupted, stopped or out of budget; the line to resume with is printed" in listed.splitlines()
    words = " ".join(cli("run", "--help").out.split())
    assert "information to remove; 0.5 in a dialogue, 0 in a group or an album chat, unless" in words
    assert "At most so many rounds: 16 in a dialogue" in words
    assert "100 in a group" in words


def test_the_version_is_that_of_the_distribution(cli: Cli) -> None:
    import importlib.metadata

    result = cli("--version")
    assert (result.code, result.out) == (0, f"tertulia {importlib.metadata.version('tertulia')}\n")


def test_settings_that_another_kind_of_conversation_looks_at_are_named(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    people = "participants:\n- name: Ann\n- name: Bo\n"
    file.write_text(f"name: two\ntime: 2026-05-04 09:00\n{people}parameters: {{order: random}}\n", encoding="utf-8")
    for scenario, settings, words in (
        (str(file), (), "a dialogue of two: order"),
        ("tidewell", ("tie_s=0.2", "album_pictures=1"), "a dialogue of two: tie_s, album_pictures"),
        ("team_building", ("album_pictures=1", "tie_s=0.2"), "a meeting: album_pictures"),
        ("tidewell", ("temperature=0.5",), ""),
    ):
        given = [part for setting in settings for part in ("--set", setting)]
        said = " ".join(cli("run", scenario, *given, "--rehearse", "--rounds", "1").err.split())
        assert ("without effect" in said) == bool(words)
        assert words in said
