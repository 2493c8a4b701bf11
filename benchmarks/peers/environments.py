"""A virtual environment for each neighbour, with the versions written down beside this file."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def python_of(name: str, folder: Path) -> Path:
    """Return the interpreter of a neighbour's environment; it is made, and everything installed, where it is missing.

    Nothing is resolved: all distributions are pinned, and those that a neighbour declares without needing them for a
    conversation (SDialog's and Concordia's bring gigabytes) are not among them.

    Args:
        name: The neighbour; `requirements-NAME.txt` holds its distributions.
        folder: Where the environments are.
    """
    environment = folder / name
    requirements = HERE / f"requirements-{name}.txt"
    installed = environment / "installed.txt"
    python = environment / "bin" / "python"
    if installed.exists() and installed.read_text(encoding="utf-8") == requirements.read_text(encoding="utf-8"):
        return python
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "-r", str(requirements)], check=True)
    installed.write_text(requirements.read_text(encoding="utf-8"), encoding="utf-8")
    return python
