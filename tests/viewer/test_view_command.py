"""`tertulia view`: its line, its port, what it refuses, and how it ends."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.commands import Cli
from support.requests_to_page import ask, watching

import tertulia
from tertulia.storage.schema import SCHEMA_VERSION

ROOT = Path(__file__).parents[2]

#: Kept out of a process that only serves: they take seconds to import.
HEAVY = {"torch", "transformers", "sentence_transformers", "langgraph", "langchain_core", "pandas", "scipy"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("command") / "t.db"
    tertulia.run("tidewell", rehearse=True, rounds=2, store=path, progress=False)
    return path


def started(*arguments: str, code: str | None = None, **environment: str) -> "subprocess.Popen[str]":
    program = ["-m", "tertulia.cli.main"] if code is None else ["-c", code]
    return subprocess.Popen(
        [sys.executable, *program, "view", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def viewing(*arguments: str, **environment: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Yield the line that a viewer prints, and its process; without a browser, and at any port unless one is given."""
    port = () if "--port" in arguments else ("--port", "0")
    process = started(*arguments, *port, "--no-open", **environment)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.communicate()


def base(line: str) -> str:
    return f"http://{urlsplit(line).netloc}/"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_answers_and_ends_at_once_with_open_streams(store: Path, number: signal.Signals) -> None:
    (run,) = tertulia.open_store(store).runs()
    with viewing(run.id[:3], "--store", str(store)) as (line, process), watching(base(line), "?run=@last") as changes:
        assert line == f"{base(line)}#/runs/{run.id}"
        assert urlsplit(line).hostname == "127.0.0.1"
        assert ask(base(line)).status == 200
        assert next(changes)["run"]["run"] == run.id
        process.send_signal(number)
        assert process.wait(5) == 130
        assert process.communicate() == ("", "")


def test_a_port_in_use_leads_to_the_next_free_one_and_the_line_is_json_where_asked_for(store: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with viewing("--port", str(port), "--json", "--store", str(store)) as (line, process):
            assert list(json.loads(line)) == ["schema_version", "url"]
            found = urlsplit(json.loads(line)["url"]).port
            assert found is not None
            assert port < found < port + 100
            assert ask(json.loads(line)["url"], "api/runs").status == 200
            process.send_signal(signal.SIGINT)
            assert process.communicate()[1] == f"port {port} is in use; this is port {found}\n"


def test_what_can_not_be_served_is_told_before_anything_is(cli: Cli, store: Path, tmp_path: Path) -> None:
    damaged, newer = tmp_path / "damaged.db", tmp_path / "newer.db"
    damaged.write_bytes(store.read_bytes()[:5000])
    newer.write_bytes(store.read_bytes())
    with sqlite3.connect(newer) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    for code, words, *arguments in (
        (2, "65536", "--port", "65536", "--store", store),
        (2, "give --allow-runs with it", "--model", "openai:small", "--store", store),
        (3, "no run 'zzzz' in ", "zzzz", "--store", store),
        (1, "", "--store", damaged),
        (1, str(SCHEMA_VERSION + 1), "--store", newer),
    ):
        result = cli("view", "--no-open", *arguments)
        result.complains(code, words)
        assert (result.out, len(result.err.splitlines())) == ("", 1)


@pytest.mark.full
def test_a_browser_gets_the_address_and_makes_no_noise(store: Path, tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(
        f'#!/bin/sh\necho noise; echo noise >&2; printf %s "$1" > {opened}.part; mv {opened}.part {opened}\n'
    )
    browser.chmod(0o700)
    for options in ([], ["--token"]):
        opened.unlink(missing_ok=True)
        process = started("--port", "0", "--store", str(store), *options, BROWSER=str(browser))
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        until = time.monotonic() + 10
        while not opened.exists() and time.monotonic() < until:
            time.sleep(0.02)
        assert ask(base(line), "api/runs").status == (403 if options else 200)
        if options:  # other users see the arguments of a process: the token is in a file
            page = Path(urlsplit(opened.read_text()).path)
            assert line.partition("?token=")[2] in page.read_text()
            assert page.parent.stat().st_mode & 0o077 == 0
        else:
            assert opened.read_text() == line
        process.send_signal(signal.SIGINT)
        assert process.communicate() == ("", "")


def test_serving_imports_nothing_heavy(store: Path) -> None:
    code = (
        "import atexit, sys; atexit.register(lambda: print(*{m.partition('.')[0] for m in sys.modules})); "
        "from tertulia.cli.main import main; main()"
    )
    process = started("--port", "0", "--no-open", "--store", str(store), code=code)
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    (run,) = ask(line, "api/runs").json["runs"]
    for path in ("", "/turns", "/turns/1", "/turns/1/cost", "/figures", "/actions"):
        assert ask(line, f"api/runs/{run['run']}{path}").status == 200
    process.send_signal(signal.SIGINT)
    loaded = process.communicate()[0].split()
    assert "uvicorn" in loaded
    assert not HEAVY & set(loaded)


def test_what_was_started_is_interrupted_with_the_server_and_can_be_resumed(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "t.db"
    copy.write_bytes(store.read_bytes())
    with viewing("--allow-runs", "--store", str(copy)) as (line, process):
        token, headers = urlsplit(line).query, {"Origin": base(line).rstrip("/"), "Content-Type": "application/json"}
        assert len(token.removeprefix("token=")) >= 32
        assert ask(base(line), "api/runs").status == 403
        # A seat waits for a person, so that the run can't end by itself before it is interrupted.
        asked = {"action": "sit", "run": "@last", "at": 1, "agents": ["Emeka Obiora"]}
        assert ask(base(line), f"api/start?{token}", headers, "POST", json.dumps(asked).encode()).status == 200
        with watching(base(line), f"?run=@last&{token}") as changes:
            fork = next(change["run"] for change in changes if change["run"] and change["run"]["driven"])
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    assert f"to go on: tertulia resume {fork['run']} --store {copy}" in told
    until = time.monotonic() + 10
    run = tertulia.open_store(copy).run(fork["run"])
    while run.status == "running" and time.monotonic() < until:
        time.sleep(0.05)
    assert run.status == "interrupted"
