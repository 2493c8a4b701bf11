"""What tests share: the command line in an empty folder; one thread per process, for
machines that are shared; and how much `make fuzz` tries."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from support.commands import Cli, Result

os.environ.setdefault("OMP_NUM_THREADS", "1")

# No deadline: the machine is shared, and time is measured in benchmarks/.
settings.register_profile("suite", deadline=None)
settings.register_profile("full", max_examples=2000, deadline=None)
settings.load_profile("suite")


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cli:
    """Run a command in this process, in an empty folder."""
    from cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TERTULIA_STORE", raising=False)

    def run(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["tertulia", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit:
            main()
        return Result(exit.value.code or 0, *capsys.readouterr())

    return run
