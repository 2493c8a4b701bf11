"""Checks what a release needs, and leaves its wheel in a folder.

`python -m tests.support.release --out dist` (`make release-check`) checks, for the version of pyproject.toml, that the
changelog has a section, builds the wheel, has twine read what will be shown of it, and rehearses with it in an
environment where nothing else is. With `--tag v0.5.0`, as the workflow calls it, the tag must be that version, and
nothing may stand under *Unreleased*.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

from .package import ROOT
from .ranges import environment, rehearse
from .wheel import build_wheel, pip

#: Reads the metadata as an index does.
TWINE = "twine==7.0.0"


def problem_of(version: str, changelog: str, tag: str | None = None) -> str | None:
    """Return why this version can't be released; `None` if it can, as far as its texts tell.

    Args:
        version: That of pyproject.toml, `0.5.0`.
        tag: What starts the release, `v0.5.0`; `None` before it is made.
    """
    sections = dict(re.findall(r"^## (\S+)[^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL))
    if tag is not None and tag != f"v{version}":
        return f"the tag {tag} is not that of the version in pyproject.toml: v{version}"
    if not sections.get(version, "").strip():
        return f"CHANGELOG.md has no section of version {version}; write `## {version}` and what is new for users"
    if tag is not None and sections.get("Unreleased", "").strip():
        return f"CHANGELOG.md has lines under Unreleased; move them below `## {version}`"
    return None


def check_metadata(wheel: Path) -> None:
    """Raise `CalledProcessError` if an index would refuse the wheel, or could not show its description."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, symlinks=True)
        python = Path(folder, "bin", "python")
        pip("install", TWINE, python=python)
        subprocess.run([python, "-m", "twine", "check", "--strict", wheel], check=True)


def main() -> None:
    """Check, and leave the wheel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tag")
    parser.add_argument("--out", type=Path, default=Path("dist"))
    options = parser.parse_args()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if problem := problem_of(version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), options.tag):
        sys.exit(f"error: {problem}")
    with tempfile.TemporaryDirectory() as built, tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(built))
        check_metadata(wheel)
        with environment("newest", wheel, sys.executable) as commands:
            rehearse(commands, Path(folder))
        options.out.mkdir(exist_ok=True)
        print((options.out / wheel.name).write_bytes(wheel.read_bytes()), "bytes:", options.out / wheel.name)


if __name__ == "__main__":
    main()
