"""CPU seconds of a rehearsal until its first line is printed, and modules that it should not import."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tertulia.cli.environment import cache_folder
from tertulia.models.local.embedded import CONVERSION
from tertulia.models.local.embedded import folder as embedded_folder

#: What only models of this machine, embedders, reports and servers need: a light installation has none of it.
NOT_LIGHT = ("torch", "transformers", "tokenizers", "scipy", "pandas", "matplotlib", "PIL", "langchain", "ray")

#: Runs the command line, and ends the process when its first line of a conversation was printed, as nothing waits in
#: a buffer; prints CPU seconds by then, and which of the modules that a light installation lacks were imported.
_UNTIL_FIRST_LINE = f"""
import os, resource, sys
from tertulia.cli.main import main

class Printed:
    def __init__(self, stream):
        self.stream = stream

    def write(self, text):
        self.stream.write(text)
        if '00:00' in text:
            self.stream.flush()
            used = resource.getrusage(resource.RUSAGE_SELF)
            heavy = sorted(set({NOT_LIGHT!r}) & set(sys.modules))
            print('line', used.ru_utime + used.ru_stime, ' '.join(heavy), sep='\\t', file=sys.stderr, flush=True)
            os._exit(0)
        return len(text)

    def __getattr__(self, name):
        return getattr(self.stream, name)

sys.stdout = Printed(sys.stdout)
sys.argv = ['tertulia', *sys.argv[1:]]
main()
"""


@contextmanager
def new_folder() -> Iterator[tuple[list[str], dict[str, str]]]:
    """Provide the option that names a new store, and the environment with a cache of the converted model alone."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / CONVERSION).symlink_to(embedded_folder(cache_folder()))
        yield ["--store", str(Path(folder) / "startup.db")], {"TERTULIA_CACHE": folder}


def first_line() -> tuple[float, list[str]]:
    """Return the CPU seconds until a rehearsed run prints its first line, and modules that it should not import."""
    with new_folder() as (named, environment):
        run = ["run", "tidewell", "--rehearse", "--rounds", "1", *named]
        settings = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
        command = [sys.executable, "-c", _UNTIL_FIRST_LINE, *run]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=settings)
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("line\t"))
    _, seconds, heavy = line.split("\t")
    return float(seconds), heavy.split()
