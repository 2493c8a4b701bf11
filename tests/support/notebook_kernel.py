"""A kernel of this Python for notebooks that tests execute."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def kernel_of_this_python(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a kernel that sees this checkout; all its files lie in the folder."""
    specification = folder / "jupyter" / "kernels" / "this_python" / "kernel.json"
    specification.parent.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    specification.write_text(json.dumps({"argv": command, "display_name": "this Python", "language": "python"}))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # threads that wait for each other take minutes beside other tests
    for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(variable, str(folder / variable))
    return "this_python"
