"""How the threads of torch wait: passively, unless the user has said otherwise."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tertulia.models.local.threads import threads_in_force, wait_passively

ROOT = Path(__file__).parents[2]


DOCTOR = "from tertulia.cli.main import main; sys.argv = ['tertulia', 'doctor']; main()"
SAID_HOW = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run code as a user of Python does who has not said how threads wait."""
    shown = {name: value for name, value in os.environ.items() if name not in SAID_HOW}
    shown |= {"OMP_DISPLAY_ENV": "verbose", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", f"import os, sys\n{code}"]
    return subprocess.run(command, cwd=ROOT, env=shown, capture_output=True, text=True)


@pytest.mark.full
@pytest.mark.parametrize(
    ("is_loaded", "environment", "expected"),
    [
        (False, {}, ("passive", "PASSIVE")),
        (False, {"OMP_WAIT_POLICY": "ACTIVE"}, ("active", "ACTIVE")),
        (False, {"OMP_WAIT_POLICY": "passive"}, ("passive", "passive")),
        (False, {"GOMP_SPINCOUNT": "7"}, ("GOMP_SPINCOUNT=7", None)),
        (False, {"KMP_BLOCKTIME": "0"}, ("KMP_BLOCKTIME=0", None)),
        (True, {}, ("active for a while", None)),
        (True, {"OMP_WAIT_POLICY": "ACTIVE"}, ("active", "ACTIVE")),
    ],
)
def test_threads_wait_passively_unless_the_user_has_said_how(
    monkeypatch: pytest.MonkeyPatch, is_loaded: bool, environment: dict[str, str], expected: tuple[str, str | None]
) -> None:
    with monkeypatch.context() as patched:
        for name in SAID_HOW:
            patched.setenv(name, environment.get(name, ""))  # so that what is written there is undone
            if name not in environment:
                del os.environ[name]
        with patched.context() as loading:
            loading.setitem(sys.modules, "torch", None)
            if not is_loaded:
                del sys.modules["torch"]
            wait_passively()
        assert (threads_in_force()[1], os.environ.get("OMP_WAIT_POLICY")) == expected


def test_doctor_says_how_many_threads_there_are_and_how_they_wait() -> None:
    table = run(f"import tertulia\n{DOCTOR}").stdout
    assert [line.split() for line in table.splitlines() if line.startswith("threads")] == [
        ["threads", "1", "(waiting:", "passive)"]
    ]
