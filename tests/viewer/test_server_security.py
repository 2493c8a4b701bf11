"""Another origin, another host name, or a request without the token gets nothing (SECURITY.md)."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect
from support.requests_to_page import ask
from support.viewer_page import serving

import tertulia
from tertulia.viewer.server import build_app

TOKEN = "a-token_that-nobody-guesses"

#: One of every kind of request: the page, its files, a document, the events, what was started.
PATHS = ("", "viewer.js", "viewer.css", "api/runs", "api/changes", "api/start", "nothing", "report?experiment=grid")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("security") / "t.db"
    tertulia.run("tidewell", rehearse=True, rounds=2, store=path, progress=False)
    return path


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    with serving(store) as address:
        yield address


@pytest.fixture(scope="module")
def guarded(store: Path) -> Iterator[str]:
    with serving(store, TOKEN, ["false"]) as address:
        yield address


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost",
        "127.0.0.1.evil.example:{port}",
        "",
    ],
)
def test_another_host_name_gets_nothing(address: str, path: str, host: str) -> None:
    answer = ask(address, path, {"Host": host.format(port=urlsplit(address).port)})
    assert answer.status in (400, 403)
    assert b"tidewell" not in answer.body
    assert b"<html" not in answer.body


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_the_names_of_the_loopback_are_the_servers(address: str, name: str) -> None:
    assert ask(address, "api/runs", {"Host": f"{name}:{urlsplit(address).port}"}).status == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
    ids=str,
)
def test_another_origin_gets_nothing(address: str, path: str, headers: dict[str, str]) -> None:
    answer = ask(address, path, headers)
    assert answer.status == 403
    assert b"tidewell" not in answer.body
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("path", PATHS)
def test_a_link_of_another_site_leads_to_the_page_alone(address: str, path: str) -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert ask(address, path, followed).status == (200 if path == "" else 403)
    assert ask(address, path, followed, method="POST", body=b"").status == 403


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("given", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", "%ff"])
def test_without_the_token_there_is_nothing(guarded: str, path: str, given: str | None) -> None:
    answers = [ask(guarded, path, {"Cookie": f"token={given}", "Authorization": f"Bearer {given}"})]
    if given is not None:
        answers += [ask(guarded, f"{path}?token={given}"), ask(guarded, path, {"X-Tertulia-Token": given})]
    for answer in answers:
        assert answer.status == 403
        assert b"tidewell" not in answer.body
        assert TOKEN.encode() not in answer.body
    assert ask(guarded, path, method="POST", body=b"{}").status == 403


def test_with_the_token_there_is_all(guarded: str) -> None:
    for headers, query in (({"X-Tertulia-Token": TOKEN}, ""), ({}, f"?token={TOKEN}")):
        assert len(ask(guarded, f"api/runs{query}", headers).json["runs"]) == 1
        assert ask(guarded, f"{query}", headers).status == 200
    assert ask(guarded, f"api/runs?token={TOKEN}", {"Origin": "https://evil.example"}).status == 403
    assert ask(guarded, f"api/runs?token={TOKEN}", {"Host": "evil.example"}).status == 403


@pytest.mark.parametrize("path", [*PATHS[:4], "api/runs/zzzz", "nothing"])
def test_every_answer_has_the_headers(address: str, path: str) -> None:
    for answer in (ask(address, path), ask(address, path, {"Host": "evil.example"})):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "set-cookie" not in answer.headers


def test_nothing_is_started_without_a_token(store: Path) -> None:
    with pytest.raises(ValueError, match="token"):
        build_app(store, command=["true"])


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({}, b"{}", 403),
        ({"Origin": "https://evil.example", "Content-Type": "application/json"}, b"{}", 403),
        ({"Origin": "SAME", "Content-Type": "text/plain"}, b"{}", 400),
        ({"Origin": "SAME", "Content-Type": "application/json"}, b"", 400),
        ({"Origin": "SAME", "Content-Type": "application/json"}, b"\xff", 400),
        ({"Origin": "SAME", "Content-Type": "application/json"}, b"[" * 16_000, 400),
        ({"Origin": "SAME", "Content-Type": "application/json"}, b" " * 70_000, 413),
        ({"Origin": "SAME", "Content-Type": "application/json"}, b'{"action": "gc", "run": "@last"}', 400),
        ({"Origin": "SAME", "Content-Type": "application/json"}, b'{"action": "resume", "run": "zzzz"}', 404),
        ({"Origin": "SAME", "Content-Type": "application/json"}, b'{"action": "resume", "run": "@last", "x": 1}', 400),
    ],
    ids=str,
)
def test_a_command_is_started_only_as_the_page_asks_for_it(
    guarded: str, headers: dict[str, str], body: bytes, status: int
) -> None:
    sent = {name: value.replace("SAME", guarded.rstrip("/")) for name, value in headers.items()}
    answer = ask(guarded, f"api/start?token={TOKEN}", sent, "POST", body)
    assert answer.status == status
    assert answer.json["error"]
    assert ask(guarded, f"api/start?token={TOKEN}").json == {"can_start": True, "can_check": False, "commands": []}


# --- in a browser ---------------------------------------------------------------------------------------------------


def test_a_page_of_another_origin_reads_nothing_in_a_browser(page: Page, address: str, store: Path) -> None:
    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    try:
        page.goto(f"http://127.0.0.1:{site.server_port}/")
        read = page.evaluate(_ATTEMPTS, address)
    finally:
        site.shutdown()
        site.server_close()
    assert read == {"cors": "refused", "opaque": "refused", "script": "refused", "events": "refused"}
    assert [frame.url for frame in page.frames[1:]] == ["chrome-error://chromewebdata/"]


#: Another site tries what it can: a fetch in both modes, a script, events, and a frame.
_ATTEMPTS = """async (address) => {
  const loaded = (element) => new Promise((done) => {
    element.onload = () => done("loaded");
    element.onerror = () => done("refused");
    document.documentElement.append(element);
  });
  const fetched = (mode) => fetch(address + "api/runs", { mode }).then(() => "read", () => "refused");
  const events = new EventSource(address + "api/changes");
  const told = new Promise((done) => {
    events.onmessage = () => done("read");
    events.onerror = () => done("refused");
  });
  const frame = document.createElement("iframe");
  frame.src = address;
  await loaded(frame);
  return {
    cors: await fetched("cors"),
    opaque: await fetched("no-cors"),
    script: await loaded(Object.assign(document.createElement("script"), { src: address + "viewer.js" })),
    events: await told,
  };
}"""


def test_the_address_with_the_token_opens_the_page_in_a_new_browser(page: Page, guarded: str, store: Path) -> None:
    (run,) = tertulia.open_store(store).runs()
    page.goto(f"{guarded}?token={TOKEN}#/runs/{run.id}")
    expect(page.get_by_text(run.turns[0].text, exact=True).first).to_be_visible()
    assert f"token={TOKEN}" in page.url
    assert page.context.cookies() == []
    answer = page.goto(guarded)
    assert answer is not None
    assert answer.status == 403
