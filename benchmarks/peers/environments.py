"""A virtual environment for each neighbour, with the versions written down beside this file."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def python_of(name: str, folder: Path) -> Path:
    """Return the interpreter of a neighbour's environment; it is made, and everything installed, where it is missing.

    All distributions are pinned, and nothing is resolved: those that a neighbour declares without needing them for a
    conversation (SDialog's and Concordia's bring gigabytes) are not among them. PyTorch is installed first and by
    itself, so that pip picks the build for the machine.

    Args:
        name: The neighbour; `requirements-NAME.txt` holds its distributions.
        folder: Where the environments are.
    """
    requirements, installed = HERE / f"requirements-{name}.txt", folder / name / "installed.txt"
    python = folder / name / "bin" / "python"
    pins = requirements.read_text(encoding="utf-8")
    if not installed.exists() or installed.read_text(encoding="utf-8") != pins:
        subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if torch := [pin for pin in pins.splitlines() if pin.startswith("torch==")]:
            subprocess.run([*pip, *torch], check=True)
        subprocess.run([*pip, "--no-deps", "-r", str(requirements)], check=True)
        installed.write_text(pins, encoding="utf-8")
    return python.absolute()
