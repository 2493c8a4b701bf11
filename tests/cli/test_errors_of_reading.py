"""What every reading command does with a usage error, a closed pipe and a shell that completes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import Cli
from support.stored import a_case, a_run, write_turns
from typer import Context

from tertulia.cli.terminal.commands import as_typed
from tertulia.cli.terminal.completion import complete_run, complete_scenario, complete_setting
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


def test_only_what_was_typed_is_named(cli: Cli) -> None:
    error = SettingError("removal_factor", 2.0, ": too much")
    assert as_typed(error, {"removal_factor": 2.0}) == "--lambda 2: too much"
    assert as_typed(error, {"settings": ["lambda=2"]}) == "--set lambda=2: too much"
    assert as_typed(error, {"settings": ["removal_factor = 2"]}) == "--set 'removal_factor = 2': too much"
    assert as_typed(error, {"settings": ["seed=2"]}) == "removal_factor=2.0: too much", "a command without --lambda"
    assert as_typed(SettingError("max_turns", 0, ": too few"), {"rounds": 0}) == "--rounds 0: too few"
    assert example_of("Do it.\n\n    Example: tertulia do it\n") == "tertulia do it"
    assert example_of(None) is None


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


# --- completion -----------------------------------------------------------------------------------------------------


class Typed(Context):
    """What was typed before the word that is completed."""

    def __init__(self, **params: object) -> None:
        self.params = dict(params)


@pytest.mark.parametrize("content", [None, b"", b"no database at all"])
def test_where_there_is_no_store_nothing_is_completed(cli: Cli, content: bytes | None) -> None:
    if content is not None:
        Path("tertulia.db").write_bytes(content)
    assert complete_run(Typed(), "k") == []
    assert Path("tertulia.db").exists() == (content is not None)


def test_scenarios_and_settings_are_completed(cli: Cli) -> None:
    Path("tea.yaml").touch()
    assert complete_scenario("t") == [("tidewell", "a town"), ("team_building", "a meeting"), ("tea.yaml", "a file")]
    assert [name for name, _ in complete_setting("lamb")] == ["lambda="]
    assert {"temperature=", "seed="} <= {name for name, _ in complete_setting("")}


@pytest.mark.parametrize(
    ("shell", "completed"),
    [
        ({"_TERTULIA_COMPLETE": "complete_bash", "COMP_WORDS": "tertulia show k", "COMP_CWORD": "2"}, "k3f9"),
        ({"_TERTULIA_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "tertulia show k"}, '(("k3f9":'),
    ],
)
def test_a_shell_completes(run: str, tmp_path: Path, shell: dict[str, str], completed: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **shell}
    code = (
        "import sys; sys.argv = ['tertulia']; from tertulia.cli.main import main\n"
        "try: main()\nfinally: print('tertulia.cli.commands.run' in sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert completed in done.stdout, done
    assert done.stderr.split()[-1] == "False", "no other command is imported"


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_stream_that_is_closed_from_the_start(run: str, tmp_path: Path, closed: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = f"{sys.executable} -m tertulia.cli.main show {run} {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
