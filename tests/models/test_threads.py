"""How the threads of torch wait: passively, unless the user has said otherwise; seen in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: Forgets what this environment says, and imports as a user of Python does.
BEGINNING = """
import os, sys
for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"):
    os.environ.pop(name, None)
os.environ.update({environment})
{before}
"""
IMPORTED = """
from tertulia.models.loading import device_and_dtype
device_and_dtype("auto")
from tertulia.models.local.threads import threads_in_force
import torch
threads, wait = threads_in_force()
assert threads == torch.get_num_threads()
print(wait, os.environ.get("OMP_WAIT_POLICY"), sep="; ")
"""
DOCTOR = """
from tertulia.cli.main import main
sys.argv = ["tertulia", "doctor"]
main()
"""


def run(code: str, before: str = "", environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    beginning = BEGINNING.format(environment=environment or {}, before=before)
    shown = {**os.environ, "OMP_DISPLAY_ENV": "verbose"}
    return subprocess.run([sys.executable, "-c", beginning + code], cwd=ROOT, env=shown, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("before", "environment", "expected"),
    [
        ("", {}, "passive; PASSIVE"),
        ("import tertulia", {}, "passive; PASSIVE"),
        ("", {"OMP_WAIT_POLICY": "ACTIVE"}, "active; ACTIVE"),
        ("", {"OMP_WAIT_POLICY": "passive"}, "passive; passive"),
        ("", {"GOMP_SPINCOUNT": "7"}, "GOMP_SPINCOUNT=7; None"),
        ("", {"KMP_BLOCKTIME": "0"}, "KMP_BLOCKTIME=0; None"),
        ("import tertulia; os.environ['OMP_WAIT_POLICY'] = 'ACTIVE'", {}, "active; ACTIVE"),
        ("import torch", {}, "active for a while; None"),
        ("import torch", {"OMP_WAIT_POLICY": "ACTIVE"}, "active; ACTIVE"),
    ],
)
def test_threads_wait_passively_unless_the_user_has_said_how(
    before: str, environment: dict[str, str], expected: str
) -> None:
    assert run(IMPORTED, before, environment).stdout.strip() == expected


def test_openmp_itself_has_read_it() -> None:
    shown = run("import models, torch").stderr
    if "GOMP_SPINCOUNT" not in shown:
        pytest.skip("torch is not built with libgomp here")
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in shown
    assert "GOMP_SPINCOUNT = '0'" in shown


def test_doctor_says_how_many_threads_there_are_and_how_they_wait() -> None:
    table = run(DOCTOR, environment={"OMP_NUM_THREADS": "1"}).stdout
    assert [line.split() for line in table.splitlines() if line.startswith("threads")] == [
        ["threads", "1", "(waiting:", "passive)"]
    ]
