"""Servers of models as people run them, with the embedded weights: installed by `make servers`, started by tests."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

ROOT = Path(__file__).parents[2]
#: The packages of the servers, beside those of the tests.
PACKAGES = ROOT / ".servers"
NOT_INSTALLED = "xllamacpp is not installed; install it with: make servers"

#: Seconds until a server must answer.
_READY_S = 120.0


def are_installed() -> bool:
    """Return whether `make servers` was run."""
    return (PACKAGES / "xllamacpp").is_dir() and (PACKAGES / "fastapi").is_dir()


@contextmanager
def llama_cpp(weights: Path) -> Iterator[str]:
    """Provide the address of llama.cpp's server of a GGUF file; its context has 4096 tokens, its thread is one."""
    script = Path(__file__).parent / "servers" / "llama.py"
    with _running([str(script), str(weights)], "{port}") as address:
        yield address


@contextmanager
def transformers_serve(folder: Path) -> Iterator[str]:
    """Provide the address of `transformers serve` of a folder."""
    command = ["-c", "import sys; from transformers.cli.transformers import main; sys.exit(main())", "serve"]
    with _running([*command, "--device", "cpu", "--host", "127.0.0.1", str(folder), "--port"], "{port}") as address:
        yield address


@contextmanager
def _running(command: list[str], port_form: str) -> Iterator[str]:
    """Run Python with the servers' packages until its `/health` answers, and end it afterwards."""
    if not are_installed():
        pytest.skip(NOT_INSTALLED)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    surroundings = os.environ | {"PYTHONPATH": str(PACKAGES), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    started = [sys.executable, *command, port_form.format(port=port)]
    with tempfile.TemporaryFile() as log:  # and no pipe: servers write much, and would wait for a reader
        process = subprocess.Popen(started, env=surroundings, stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait(process, log, f"http://127.0.0.1:{port}/health")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], log: IO[bytes], health: str) -> None:
    """Wait until a server is ready.

    Raises:
        AssertionError: It ended, with what it printed; or it is not ready in time.
    """
    until = time.monotonic() + _READY_S
    while time.monotonic() < until:
        if process.poll() is not None:
            log.seek(0)
            raise AssertionError(log.read().decode(errors="replace")[-2000:])
        try:
            with urllib.request.urlopen(health, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"{health} does not answer within {_READY_S:g} s")
