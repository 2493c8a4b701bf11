"""The server of the page: documents, changes, and what it answers where something is wrong."""

import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.requests_to_page import ask, watching
from support.viewer_page import serving

import tertulia
from tertulia.viewer import server
from tertulia.viewer.server import json_text

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("server") / "t.db"
    tertulia.run("tidewell", rehearse=True, rounds=3, removal_factor=0.5, store=path, progress=False)
    return path


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    with serving(store) as address:
        yield address


def test_a_document_is_answered_under_the_beginning_of_an_id_too(address: str) -> None:
    (listed,) = ask(address, "api/runs").json["runs"]
    for name in (listed["run"], listed["run"][:2], "@last", "%40last"):
        document = ask(address, f"api/runs/{name}")
        assert document.status == 200
        assert document.json["run"] == listed["run"]
    assert (
        ask(address, f"api/runs/{listed['run']}/turns").json["turns"][1:]
        == (ask(address, f"api/runs/{listed['run']}/turns?after=1").json["turns"])
    )


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("api/runs/zzzz", 404),
        ("api/runs/@last/turns/0", 404),
        ("api/runs/@last/turns/99", 404),
        ("api/runs/@last/turns/99999999999999999999", 404),
        ("api/runs/@last/turns/%D9%A3", 404),
        ("api/runs/@last/turns?after=x", 400),
        ("api/runs/@last/turns?after=99999999999999999999", 400),
        ("api/runs/@last/opening", 400),
        ("api/runs/@last/agents/Nobody", 404),
        ("api/runs/%00", 404),
        ("api/runs/%ff%fe", 404),
        ("api/runs/a%2Fb", 404),
        ("api/runs/..%2f..%2fetc%2fpasswd", 404),
        ("api/" + "x" * 20_000, 404),
        ("api", 404),
        ("%61pi/runs", 404),
        ("etc/passwd", 404),
        ("%2e%2e%2fserver.py", 404),
        ("..%5cserver.py", 404),
    ],
)
def test_an_odd_address_is_told_and_nothing_else(address: str, path: str, status: int) -> None:
    answer = ask(address, path)
    assert answer.status == status
    assert b"Traceback" not in answer.body
    if path.startswith("api/"):
        assert list(answer.json) == ["error"]
        assert answer.json["error"]


def test_what_no_server_accepts_ends_no_server(address: str) -> None:
    with suppress(ConnectionError):  # it may hang up before it has read all of it
        assert ask(address, "api/runs?" + "x" * 200_000).status == 400
    assert ask(address, "api/runs", {"Host": "127.0.0.1:\xff"}).status in (400, 403)
    assert ask(address, "api/runs").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_the_server_only_reads(address: str, method: str) -> None:
    assert ask(address, "api/runs", method=method).status == 405
    assert ask(address, "api/start", method=method, body=b"{}").status in (404, 405)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
        b"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /api/runs HTTP/1.1\r\n",
    ],
)
def test_a_request_that_never_ends_is_not_waited_for(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr("tertulia.viewer.serving.REQUEST_WITHIN_S", 0.5, raising=False)
    served = Path(shutil.copy(store, tmp_path / "t.db"))
    with serving(served) as address, watching(address) as changes:
        next(changes)  # which is answered for as long as the page is open
        with socket.create_connection((urlsplit(address).hostname, urlsplit(address).port), timeout=10) as connection:
            connection.sendall(sent)
            connection.settimeout(0.1)
            for _ in range(100):
                with suppress(TimeoutError):
                    if not connection.recv(65536):
                        break
                    continue
                with suppress(OSError):
                    connection.sendall(b"x"[: len(sent)])  # it drips
            else:
                pytest.fail("the connection is still open")
        served.unlink()
        assert next(changes)["run"] is None


def test_the_page_says_how_it_is_built_where_it_is_not(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "BUILT", tmp_path)
    answer = ask(address)
    assert (answer.status, answer.headers["content-type"]) == (404, "text/plain; charset=utf-8")
    assert b"make viewer" in answer.body


def test_what_is_unexpected_is_logged_and_not_shown(
    address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a secret of the program")

    monkeypatch.setattr(server, "document_at", fail)
    answer = ask(address, "api/runs")
    assert answer.status == 500
    assert b"secret" not in answer.body
    assert "a secret of the program" in caplog.text


def test_json_holds_whatever_a_store_does() -> None:
    document = {"text": "\ud800 \x00 \u2028 </script>", "number": [math.nan, math.inf, 0.1], "inner": {"a": -math.inf}}
    read = json.loads(json_text(document), parse_constant=lambda name: pytest.fail(name))
    assert read == {"text": document["text"], "number": [None, None, 0.1], "inner": {"a": None}}
    assert json_text({"text": "\ud800é"}).isascii()


def test_a_large_document_is_compressed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "document_at", lambda *_: {"text": "word " * 40_000})
    compressed = ask(address, "api/runs", {"Accept-Encoding": "gzip"})
    assert compressed.headers["content-encoding"] == "gzip"
    assert len(compressed.body) < 20_000 < len(ask(address, "api/runs").body)


# --- the file of the store ------------------------------------------------------------------------------------------


def test_a_store_appears_and_disappears_and_is_damaged_under_the_page(store: Path, tmp_path: Path) -> None:
    served = tmp_path / "t.db"
    with serving(served) as address, watching(address) as changes:
        assert ask(address, "api/runs").json["runs"] == []
        empty = next(changes)
        shutil.copy(store, served)
        appeared = next(changes)
        assert appeared["runs"] != empty["runs"]
        assert len(ask(address, "api/runs").json["runs"]) == 1

        (tmp_path / "other.db").write_bytes(b"no store" * 1000)
        os.replace(tmp_path / "other.db", served)
        assert "is not a Tertulia store" in next(changes)["error"]
        answer = ask(address, "api/runs")
        assert answer.status == 500
        assert answer.json["error"].startswith(f"{served} is not a Tertulia store")

        served.unlink()
        assert next(changes)["runs"] == empty["runs"]
        shutil.copy(store, served)
        assert next(changes)["runs"] == appeared["runs"]


# --- changes --------------------------------------------------------------------------------------------------------


def test_every_page_is_told_of_a_turn_as_it_comes(store: Path, tmp_path: Path) -> None:
    served = tmp_path / "t.db"
    shutil.copy(store, served)
    with serving(served) as address, watching(address, "?run=@last") as first, watching(address) as second:
        before = next(first)
        assert before["run"] == {"run": before["run"]["run"], "status": "finished", "turns": 3, "driven": False}
        assert next(second) == {"runs": before["runs"], "run": None}
        run = tertulia.open_store(served).run(before["run"]["run"]).fork(3, rounds=4, progress=False)
        assert _until(first, "finished", False, run.id)["turns"] == 4
        assert next(second)["runs"] != before["runs"]


def test_a_run_whose_process_was_killed_is_told_apart_from_one_that_goes_on(tmp_path: Path) -> None:
    store, pace = tmp_path / "t.db", tmp_path / "slow.py"
    pace.write_text(_SLOW.format(root=str(ROOT)))
    with serving(store) as address, watching(address, "?run=@last") as changes:
        process = subprocess.Popen([sys.executable, str(pace), str(store)], cwd=ROOT)
        try:
            going_on = _until(changes, "running", True)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        killed = _until(changes, "running", False)
        assert killed["run"] == going_on["run"]
        assert ask(address, "api/runs").json["runs"][0]["status"] == "running"  # as `runs` has it
        assert ask(address, "api/runs/@last/actions").json["resume"] == ["resume", killed["run"]]
        tertulia.open_store(store).run(killed["run"]).resume(progress=False)
        assert _until(changes, "finished", False)["turns"] == 2


#: Drives a run whose first turn is held up for a minute.
_SLOW = """
import sys, time
sys.path.insert(0, {root!r})
import tertulia
import tertulia.runs.driving.conversation as conversation

def hold(*_, **__):
    time.sleep(60)

conversation.drive = hold
tertulia.run("tidewell", rehearse=True, rounds=2, store=sys.argv[1], progress=False)
"""


def _until(changes: Iterator[dict[str, Any]], status: str, is_driven: bool, run: str | None = None) -> dict[str, Any]:
    for change in changes:
        stands: dict[str, Any] = change["run"] or {}
        is_wanted = run in (None, stands.get("run"))
        if is_wanted and (stands.get("status"), stands.get("driven")) == (status, is_driven):
            return stands
    raise AssertionError("the stream has ended")
