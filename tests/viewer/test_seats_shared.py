"""Seats of a store with several servers, over any of its paths; numbers that no page sends; runs that were killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import stop_between_writes
from support.requests_to_page import ask
from support.seats import TOKEN, driver_of, invited, perceived, post, question, send, sit, until
from support.viewer_page import serving

import tertulia
from tertulia.state.errors import UsageError
from tertulia.viewer.seats import SeatOfRun, SeatTokens
from tertulia.viewer.starting import Starter

COMMAND = [sys.executable, "-m", "tertulia.cli.main"]
BOB = SeatOfRun("k3f9", "Bob")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shared") / "t.db"
    tertulia.run("team_building", rounds=3, rehearse=True, store=path, progress=False)
    return path


@pytest.fixture(scope="module")
def servers(store: Path) -> Iterator[tuple[str, str]]:
    with serving(store, TOKEN, COMMAND) as first, serving(store, TOKEN, COMMAND) as second:
        yield first, second


@pytest.fixture(scope="module")
def seats(servers: tuple[str, str], store: Path) -> tuple[str, dict[str, str]]:
    run, tokens = sit(servers[0], tertulia.open_store(store).run().id, "Bob", "Eva")
    for token in tokens.values():
        question(servers[0], token, 1)
    return run, tokens


# --- several servers ------------------------------------------------------------------------------------------------


def test_two_servers_know_what_each_other_gives_and_withdraws(
    servers: tuple[str, str], seats: tuple[str, dict[str, str]]
) -> None:
    first, second = servers
    run, tokens = seats
    assert perceived(second, tokens["Bob"])["agent"] == "Bob"  # given by the first
    assert post(second, "api/seats", {"run": run, "agent": "Bob", "withdraw": True}).status == 200
    assert ask(first, "api/seat", {"X-Tertulia-Seat": tokens["Bob"]}).status == 403
    tokens["Bob"] = invited(second, run, "Bob")
    assert post(first, "api/seats", {"run": run, "agent": "Eva", "withdraw": True}).status == 200
    tokens["Eva"] = invited(first, run, "Eva")  # neither writes what it remembers
    for address in servers:
        assert [perceived(address, tokens[agent])["agent"] for agent in ("Bob", "Eva")] == ["Bob", "Eva"]
        people = ask(address, f"api/seats?run={run}&token={TOKEN}").json["people"]
        assert {person["name"]: person["token"] for person in people} == {
            **dict.fromkeys(("Alice", "Cindy", "David")),
            **tokens,
        }


_GIVES = """
import sys
from pathlib import Path
from tertulia.viewer.seats import SeatOfRun, SeatTokens
folder, me = Path(sys.argv[1]), sys.argv[2]
tokens = SeatTokens(folder / f"{int(me) % 2}.db", folder / "config" / "seats.json")
for number in range(25):
    seat = SeatOfRun(me, str(number))
    token = tokens.give(seat)
    if number % 2:
        tokens.withdraw(seat)
    else:
        print(token, number)
"""


def test_processes_that_give_and_withdraw_at_once_lose_and_revive_none(tmp_path: Path) -> None:
    words = [sys.executable, "-c", _GIVES, str(tmp_path)]
    started = [subprocess.Popen([*words, str(me)], stdout=subprocess.PIPE, text=True) for me in range(6)]
    given = {
        (me, int(number)): token
        for me, process in enumerate(started)
        for token, number in (line.split() for line in process.communicate(timeout=120)[0].splitlines())
    }
    kept = json.loads((tmp_path / "config" / "seats.json").read_text())
    assert kept == {
        str(tmp_path / f"{half}.db"): {
            token: {"run": str(me), "agent": str(number)} for (me, number), token in given.items() if me % 2 == half
        }
        for half in (0, 1)
    }
    assert len(given) == 6 * 13
    assert not [*(tmp_path / "config").glob("tmp*")]


def test_a_seat_is_that_of_a_store_under_any_of_its_names_and_of_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, here, there = tmp_path / "seats.json", tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    (here / "tertulia.db").write_bytes(b"")
    monkeypatch.chdir(here)
    token = SeatTokens(Path("tertulia.db"), file).give(BOB)
    (there / "link.db").symlink_to(here / "tertulia.db")
    for path in (here / "tertulia.db", there / ".." / "here" / "tertulia.db", there / "link.db"):
        assert SeatTokens(path, file).seat_of(token) == BOB
    shutil.copy(here / "tertulia.db", there / "tertulia.db")
    monkeypatch.chdir(there)
    assert SeatTokens(Path("tertulia.db"), file).seat_of(token) is None


def test_seats_that_can_not_be_kept_are_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "seats.json").mkdir()
    tokens = SeatTokens(tmp_path / "t.db", tmp_path / "seats.json")
    assert tokens.seat_of("x") is None
    with pytest.raises(UsageError, match=r"invitations can't be kept in .*seats\.json: Is a directory"):
        tokens.give(BOB)
    for odd in ("[" * 100_000, '{"%s": 7}', '{"%s": {"x": {"run": 1}}}', '{"%s": {"x": 3}}', "\udcff"):
        file = tmp_path / "odd.json"
        file.write_text(odd.replace("%s", str(tmp_path / "t.db")), errors="surrogateescape")
        assert SeatTokens(tmp_path / "t.db", file).seat_of("x") is None


# --- numbers --------------------------------------------------------------------------------------------------------

NUMBERS = (
    "1e999",
    "-1e999",
    "NaN",
    "Infinity",
    str(2**63),
    "1" * 5000,
    "true",
    '"1"',
    '"\\ud800"',
    "[" * 2000 + "]" * 2000,
)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("api/seat", '{"turn": %s, "words": "x", "seconds": 1}'),
        ("api/seat", '{"turn": 1, "words": "x", "seconds": %s, "more": 1}'),
        ("api/start", '{"action": "fork", "run": "@last", "at": %s, "settings": {}}'),
        ("api/start", '{"action": "sit", "run": "@last", "at": %s, "agents": ["Bob"]}'),
        ("api/start", '{"action": "fork", "run": "@last", "at": 1, "settings": {"seed": %s}, "changes": {"say": 1}}'),
        ("api/start", '{"action": "fork", "run": "@last", "at": 1, "settings": {%s: 1}}'),
        ("api/pause", '{"run": "@last", "turn": %s, "words": null, "again": false}'),
        ("api/new/begin", '{"people": {}, "lambda": %s, "model": "rehearsal", "seed": "1", "rounds": ""}'),
    ],
)
def test_numbers_that_no_page_sends_are_refused_in_a_sentence(
    servers: tuple[str, str], seats: tuple[str, dict[str, str]], path: str, body: str
) -> None:
    address, token = servers[0], seats[1]["Bob"]
    headers = {"X-Tertulia-Seat": token} if path == "api/seat" else {"X-Tertulia-Token": TOKEN}
    sent = {"Origin": address.rstrip("/"), "Content-Type": "application/json"} | headers
    for number in NUMBERS:
        answer = ask(address, path, sent, "POST", body.replace("%s", number).encode())
        assert (answer.status, bool(answer.json["error"])) == (400, True), (number[:20], answer.body)


def test_an_answer_after_more_seconds_than_anybody_waits_is_taken(
    servers: tuple[str, str], seats: tuple[str, dict[str, str]]
) -> None:
    for seconds in (float("inf"), float("nan")):  # Python writes both as JSON
        assert send(servers[0], seats[1]["Bob"], 1, "Hello.", seconds=seconds).status == 400
    assert send(servers[0], seats[1]["Bob"], 1, "Hello.", seconds=1.5e308).status == 200


# --- commands -------------------------------------------------------------------------------------------------------


def test_commands_that_have_ended_keep_no_file_open(store: Path) -> None:
    before, says = open_files(), "import sys; print('run k3f9', file=sys.stderr)"
    starter = Starter(store, [sys.executable, "-c", says])
    for _ in range(6):
        command = starter.start(["fork"])
        command.process.wait()
        assert (command.document()["run"], command.document()["exit_code"]) == ("k3f9", 0)
    assert open_files() <= before


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_run_killed_after_the_last_line_goes_on_from_a_seat(servers: tuple[str, str], store: Path) -> None:
    address = servers[0]
    parent = next(run.id for run in tertulia.open_store(store).runs() if run.parent is None)
    run, tokens = sit(address, parent, "Bob", at=2)
    bob = tokens["Bob"]
    question(address, bob, 2)
    driver = driver_of(parent, "2")
    stop_between_writes(driver, store)
    assert send(address, bob, 2, "To the lake.").status == 200  # stored, and the run can't take it
    os.kill(driver, signal.SIGKILL)
    until(lambda: not perceived(address, bob)["driven"])
    assert perceived(address, bob)["asked"] is None
    going = post(address, "api/seat", {"go_on": True}, {"X-Tertulia-Seat": bob})
    assert (going.status, going.json["run"]) == (200, run)
    assert question(address, bob, 3)["turn"] == 3
    assert send(address, bob, 3, "").status == 200
    until(lambda: perceived(address, bob)["status"] == "finished")
