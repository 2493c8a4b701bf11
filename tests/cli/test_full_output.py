"""Output at a full device: one line, exit 1, and nothing that the interpreter adds; the work goes on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import Cli, rehearse

FULL = "error: the output: No space left on device"


def into_full(*arguments: str, **environment: str) -> tuple[int, list[str]]:
    """Run a command whose output goes to a full device, and return its exit code and its lines of errors."""
    command = [sys.executable, "-c", "from tertulia.cli import program; program()", *arguments]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, env=environment or None, check=False
        )
    return done.returncode, done.stderr.decode().splitlines()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        ("show", "--help"),
        ("show", "@last"),
        ("show", "@last", "--turn", "1", "--json"),
        ("diff", "@last", "{first}", "--exit-code"),
        ("export", "@last", "--jsonl", "-"),
        ("scenarios", "--schema"),
    ],
    ids=" ".join,
)
def test_data_that_can_t_be_written_is_one_line(cli: Cli, arguments: tuple[str, ...]) -> None:
    first = rehearse(cli)
    rehearse(cli, "--seed", "2")
    assert into_full(*(argument.format(first=first) for argument in arguments)) == (1, [FULL])


def test_so_is_the_completion_of_a_shell() -> None:
    completion = {"_TERTULIA_COMPLETE": "complete_bash", "COMP_WORDS": "tertulia sh", "COMP_CWORD": "1"}
    assert into_full(**completion) == (1, [FULL])


@pytest.mark.parametrize("arguments", [(), ("--json",)], ids=["turns", "json"])
def test_a_run_goes_on_to_its_end(cli: Cli, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    code, errors = into_full("run", "tidewell", "--rehearse", "--rounds", "3", *arguments)
    assert (code, errors[-1]) == (1, FULL)
    going_on = "the output can't be written (No space left on device); the work goes on"
    assert errors[1:-1] == [going_on, *([] if arguments else ["finished after 3 turns: it was to have no more rounds"])]
    (run,) = cli("runs", "--json").json["runs"]
    assert (run["status"], run["turns"]) == ("finished", 3)


@pytest.mark.parametrize("arguments", [("run", "tidewell", "--rounds", "3"), ("simulate", "tidewell")])
def test_work_goes_on_without_standard_error(cli: Cli, arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", "from tertulia.cli import program; program()", *arguments, "--rehearse", "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=full, check=False)
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "finished")
