"""Builds the wheel of this checkout."""

import shutil
import subprocess
import sys
from pathlib import Path

from .package import PACKAGE, ROOT


def pip(*arguments: object, python: Path | str = sys.executable) -> None:
    """Run pip of this environment, on that of `python`; raises `CalledProcessError` if it fails."""
    quiet = ("--quiet", "--disable-pip-version-check", "--python", python)
    subprocess.run([sys.executable, "-m", "pip", *map(str, (*quiet, *arguments))], check=True)


def build_wheel(folder: Path) -> Path:
    """Return the wheel, built from a copy: setuptools builds beside the sources, and keeps what was there."""
    shutil.copytree(PACKAGE, folder / "source" / "tertulia", ignore=shutil.ignore_patterns("__pycache__", "page"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, folder / "source")
    (built,) = folder.glob("tertulia-*.whl")
    return built
