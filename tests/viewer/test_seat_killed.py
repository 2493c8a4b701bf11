"""Three people in a meeting of five, whose server, and then the run itself, are killed: no line is lost or doubled."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.requests_to_page import ask
from support.seats import driver_of, perceived, post, question, send, sit, until

import tertulia
from tertulia.state.seat import Answer, Invitation
from tertulia.storage.store import SqlStore

pytestmark = pytest.mark.full

SEATED = ("Alice", "Bob", "Eva")
ROUNDS = 5


class Host:
    """`tertulia view --allow-runs` in a process of its own, always at the same port."""

    def __init__(self, store: Path, config: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._words = ["view", "--allow-runs", "--no-open", "--port", str(self.port), "--store", str(store)]
        self._environment = {**os.environ, "TERTULIA_CONFIG": str(config)}
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "tertulia.cli.main", *self._words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, env=self._environment, text=True)
        assert self.process.stdout is not None
        found = re.match(r"(http://127\.0\.0\.1:(\d+)/)\?token=(\S+)", self.process.stdout.readline())
        assert found is not None
        assert int(found[2]) == self.port
        self.address, self.token = found[1], found[3]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "t.db"
    tertulia.run("team_building", rounds=ROUNDS, rehearse=True, store=path, progress=False)
    return path


@pytest.fixture
def host(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    host = Host(store, tmp_path / "config")
    monkeypatch.setattr("support.seats.TOKEN", host.token)
    yield host
    host.process.send_signal(signal.SIGINT)
    host.process.wait(20)


def line(agent: str, turn: int) -> str:
    """What somebody says: Bob in every round, the others in every second one."""
    return f"{agent} for round {turn}." if agent == "Bob" or turn % 2 else ""


def test_a_server_and_a_run_that_are_killed_lose_and_double_no_line(
    host: Host, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = tertulia.open_store(store).run().id
    run, tokens = sit(host.address, parent, *SEATED)
    bob = tokens["Bob"]
    question(host.address, bob, 1)
    assert send(host.address, bob, 1, line("Bob", 1)).json["again"] is False

    host.kill()  # in the middle of round 1: one has sent, two have not
    host.start()
    monkeypatch.setattr("support.seats.TOKEN", host.token)
    assert perceived(host.address, bob)["answered"] == line("Bob", 1)
    assert send(host.address, bob, 1, line("Bob", 1)).json["again"] is True  # the page did not know whether it arrived
    assert send(host.address, bob, 1, "Something else.").status == 409
    assert ask(host.address, "api/runs", {"X-Tertulia-Seat": bob}).status == 403
    for agent in ("Alice", "Eva"):
        question(host.address, tokens[agent], 1)
        assert send(host.address, tokens[agent], 1, line(agent, 1)).status == 200

    question(host.address, bob, 2)
    assert send(host.address, bob, 2, line("Bob", 2)).status == 200
    os.kill(driver_of(parent), signal.SIGKILL)  # in the middle of round 2; it was the fork of the parent
    until(lambda: not perceived(host.address, bob)["driven"])
    assert perceived(host.address, tokens["Eva"])["asked"]["turn"] == 2
    assert send(host.address, tokens["Eva"], 2, line("Eva", 2)).status == 200  # with it the run goes on
    until(lambda: perceived(host.address, bob)["driven"])
    assert send(host.address, tokens["Alice"], 2, line("Alice", 2)).status == 200
    for turn in range(3, ROUNDS + 1):
        for agent in SEATED:
            question(host.address, tokens[agent], turn)
            assert send(host.address, tokens[agent], turn, line(agent, turn)).status == 200
    until(lambda: perceived(host.address, bob)["status"] == "finished")

    with SqlStore.open(store) as opened:
        typed = opened.steps(run, "speak_by_hand", Answer)
        turns = [(turn.turn, turn.speaker, turn.text) for turn in opened.turns(run)]
    rounds = range(1, ROUNDS + 1)
    assert {key: answer.words for key, answer in typed.items()} == {
        (round, agent): line(agent, round) for round in rounds for agent in SEATED
    }
    assert [turn for turn, _, _ in turns] == [*rounds]
    assert turns == undisturbed(store)
    assert post(host.address, "api/seats", {"run": run, "agent": "Bob", "withdraw": False}).status == 400


def undisturbed(store: Path) -> list[tuple[int, str | None, str]]:
    """The turns of the same meeting with the same lines, typed without a page."""

    def say(invitation: Invitation) -> Answer:
        return Answer(words=line(invitation.agent, invitation.turn))

    twin = tertulia.run(
        "team_building",
        rounds=ROUNDS,
        rehearse=True,
        seat=",".join(SEATED),
        ask=say,
        store=store.with_name("twin.db"),
        progress=False,
    )
    return [(turn.turn, turn.speaker, turn.text) for turn in twin.turns]
