"""A process that writes to a store until it is killed."""

import os
import subprocess
import sys
from pathlib import Path


def written_before_kill(code: str, store: Path, lines: int) -> list[int]:
    """Run code that prints a number for each thing that it has stored; kill it after so many, and return them."""
    folders = os.pathsep.join(str(folder) for folder in Path(__file__).parents[1:3])
    command = [sys.executable, "-c", code, str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": folders}) as writer:
        assert writer.stdout is not None
        numbers = [int(writer.stdout.readline()) for _ in range(lines)]
        writer.kill()
    return numbers
