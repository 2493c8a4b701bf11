"""Exports, read by the libraries that they are for: in the environment of `make readers`, or the one of the tests."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "readers"
ENVIRONMENT = ROOT / ".readers" / "bin" / "python"

#: The module that each script imports.
MODULES = {
    "inspect": "inspect_ai.log",
    "dataset": "datasets",
    "mlflow": "mlflow.tracking",
    "spans": "opentelemetry.proto.trace.v1.trace_pb2",
    "sdialog": "sdialog",
}
#: Nothing is fetched or written at home; MLflow opens folders where it is asked to.
SURROUNDINGS = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "MLFLOW_ALLOW_FILE_STORE": "true"}


@cache
def python_with(script: str) -> str | None:
    """Return an interpreter that has the library of a script; `None` if neither has."""
    pythons = [python for python in (str(ENVIRONMENT), sys.executable) if Path(python).exists()]
    return next((python for python in pythons if _imports(python, MODULES[script])), None)


def _imports(python: str, module: str) -> bool:
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def read_by(script: str, *arguments: Path) -> Any:
    """Return what a library reads in an export; the test is skipped where the library is not installed."""
    python = python_with(script)
    if python is None:
        remedy = "pip install sdialog" if script == "sdialog" else "make readers"  # it needs torch
        pytest.skip(f"{MODULES[script]} is not installed; install it with: {remedy}")
    command = [python, str(SCRIPTS / f"read_{script}.py"), *map(str, arguments)]
    home = {"HOME": str(arguments[0].parent)}
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | SURROUNDINGS | home)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])
