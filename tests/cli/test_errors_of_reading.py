"""What every reading command does with a usage error, a closed pipe and a shell that completes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import Cli
from support.stored import a_case, a_run, write_turns

from tertulia.cli.terminal.commands import as_typed, with_options
from tertulia.cli.terminal.remedies import example_of
from tertulia.state.errors import SettingError
from tertulia.storage.store import SqlStore

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(cli: Cli) -> str:
    """A run of three turns in the store of this folder."""
    with SqlStore.open(Path("tertulia.db"), create=True) as opened:
        opened.create_run(a_run("k3f9", status="finished"), a_case())
        write_turns(opened, "k3f9", 1, 3)
    return "k3f9"


# --- usage errors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("show k3f9 --turn 1 --lambda 1.5", ["--lambda 1.5: takes 1 at most"]),
        ("show k3f9 --lambda 0.5", ["--turn N"]),
        ("show", ["RUN", "tertulia show @last"]),
        ("show k3f9 --turn x", ["--turn x: takes a whole number"]),
        ("graph utterance --set lambda=much", ["--set lambda=much: takes a number"]),
        ("graph utterance --set temperature=9x", ["--set temperature=9x: takes a number"]),
        ("nodes lst", ["lst"]),
        ("score nothing.json", ["--response", "tertulia score"]),
        ("metrics k3f9 --by nothing", ["--by nothing"]),
        ("runs rm", ["RUN", "tertulia runs rm"]),
    ],
)
def test_a_usage_error_names_options_as_typed_and_shows_the_example_where_something_is_missing(
    cli: Cli, run: str, arguments: str, words: list[str]
) -> None:
    cli(*arguments.split()).complains(2, *words)


def test_other_errors_show_no_example(cli: Cli, run: str) -> None:
    for arguments in (("show", "zzzz"), ("show", run, "--turn", "9"), ("scenarios", "broken.yaml")):
        Path("broken.yaml").write_text("name: 3", encoding="utf-8")
        assert "for example" not in cli(*arguments).err


def test_only_what_was_typed_is_named(cli: Cli) -> None:
    error = SettingError("removal_factor", 2.0, ": too much")
    assert as_typed(error, {"removal_factor": 2.0}) == "--lambda 2: too much"
    assert as_typed(error, {"settings": ["lambda=2"]}) == "--set lambda=2: too much"
    assert as_typed(error, {"settings": ["removal_factor = 2"]}) == "--set 'removal_factor = 2': too much"
    assert as_typed(error, {"settings": ["seed=2"]}) == "removal_factor=2.0: too much", "a command without --lambda"
    assert as_typed(SettingError("max_turns", 0, ": too few"), {"rounds": 0}) == "--rounds 0: too few"
    assert example_of("Do it.\n\n    Example: tertulia do it\n") == "tertulia do it"
    assert example_of(None) is None


@pytest.mark.parametrize(
    ("message", "printed"),
    [
        ("take another with store=…", "take another with --store"),
        ("give its file with extensions=['my node.py']", "give its file with --extension 'my node.py'"),
        ("or take model='smollm2'", "or take --model smollm2"),
        ("mine failed: ValueError: model='x', store='y'", "mine failed: ValueError: model='x', store='y'"),
    ],
)
def test_a_remedy_names_options_and_what_is_quoted_stays(message: str, printed: str) -> None:
    assert with_options(message) == printed


# --- pipes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["show k3f9 --turn 2", "export k3f9 --jsonl -"])
def test_a_closed_pipe_ends_a_command_quietly(run: str, tmp_path: Path, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "tertulia.cli.main", *command.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_stream_that_is_closed_from_the_start(run: str, tmp_path: Path, closed: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = f"{sys.executable} -m tertulia.cli.main show {run} {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
