"""A seat in the page: a line is stored once for its turn, and a seat's token opens that seat alone."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.requests_to_page import ask
from support.seats import TOKEN, perceived, post, question, send, sit, until
from support.viewer_page import serving

import tertulia
from tertulia.state.errors import UsageError
from tertulia.state.seat import LONGEST
from tertulia.storage.store import SqlStore
from tertulia.viewer.documents.actions import seats_arguments
from tertulia.viewer.seats import SeatOfRun, SeatTokens
from tertulia.viewer.server import build_app

COMMAND = [sys.executable, "-m", "tertulia.cli.main"]
EMEKA, LEILA = "Emeka Obiora", "Leila Haddad"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("seats") / "t.db"
    tertulia.run("tidewell", rounds=4, rehearse=True, store=path, progress=False, settings={"ending": "off"})
    tertulia.run("team_building", rounds=4, rehearse=True, store=path, progress=False)
    return path


def run_of(store: Path, scenario: str) -> str:
    return next(run.id for run in tertulia.open_store(store).runs() if run.scenario == scenario and run.parent is None)


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    with serving(store, TOKEN, COMMAND) as address:
        yield address


@pytest.fixture(scope="module")
def meeting(address: str, store: Path) -> tuple[str, dict[str, str]]:
    """A meeting in which two have seats, and are asked in its first round; nobody answers."""
    run, tokens = sit(address, run_of(store, "team_building"), "Bob", "Eva")
    for token in tokens.values():
        question(address, token, 1)
    return run, tokens


def said(store: Path, run: str, agent: str) -> list[str]:
    return [turn.text for turn in tertulia.open_store(store).run(run).turns if turn.speaker == agent]


# --- a line for a turn ----------------------------------------------------------------------------------------------


def test_a_dialogue_is_held_from_the_page(address: str, store: Path) -> None:
    run, tokens = sit(address, run_of(store, "tidewell"), EMEKA)
    token = tokens[EMEKA]
    asked = question(address, token)
    assert (asked["turn"], asked["may_pass"]) == (1, False)
    seen = perceived(address, token)
    assert seen["role"][0] == f"You are {EMEKA}, with {LEILA}."
    assert seen["memories"]
    assert send(address, token, 1, "Good morning.").json == {"turn": 1, "words": "Good morning.", "again": False}
    question(address, token, 3)
    assert [line["text"] for line in perceived(address, token)["lines"] if line["own"]] == ["Good morning."]
    late = send(address, token, 1, "Good evening.")
    assert (late.status, late.json["error"]) == (
        409,
        "Turn 1 is over; the conversation is at turn 3. Your line was not sent.",
    )
    assert send(address, token, 3, "I have to go.").status == 200
    until(lambda: perceived(address, token)["status"] == "finished")
    assert said(store, run, EMEKA) == ["Good morning.", "I have to go."]
    over = send(address, token, 5, "One more thing.")
    assert (over.status, over.json["error"]) == (409, "The conversation is over. Your line was not sent.")


def test_a_line_that_is_sent_twice_is_one_line_and_another_one_is_refused(address: str, store: Path) -> None:
    run, tokens = sit(address, run_of(store, "team_building"), "Bob", "Eva")
    bob, eva = tokens["Bob"], tokens["Eva"]
    for token in (bob, eva):
        question(address, token, 1)
    answers = [send(address, bob, 1, "To the lake.").json["again"] for _ in range(3)]
    assert answers == [False, True, True]
    other = send(address, bob, 1, "To the hills.")
    assert (other.status, "already said “To the lake.”" in other.json["error"]) == (409, True)
    waiting = perceived(address, bob)
    assert (waiting["asked"], waiting["answered"], waiting["waiting_for"]) == (None, "To the lake.", ["Eva"])
    assert send(address, eva, 1, "").status == 200
    question(address, eva, 2)
    assert said(store, run, "Bob") in (["To the lake."], [])
    race = perceived(address, bob)["race"]
    assert race["clock"] == "waits"
    assert all(latency > 0 for latency in race["others_s"])
    with SqlStore.open(store) as opened:
        typed = opened.file.rows("SELECT agent, record FROM steps WHERE run = ? AND node = 'speak_by_hand'", run)
    assert {row["agent"]: json.loads(row["record"])["words"] for row in typed} == {"Bob": "To the lake.", "Eva": ""}


def test_who_leaves_is_an_agent_from_that_turn_on(address: str, store: Path) -> None:
    run, tokens = sit(address, run_of(store, "tidewell"), EMEKA)
    token = tokens[EMEKA]
    question(address, token, 1)
    assert send(address, token, 1, "Good morning.").status == 200
    question(address, token, 3)
    assert post(address, "api/seat", {"leave": True}, {"X-Tertulia-Seat": token}).json == {"left": True}
    until(lambda: perceived(address, token)["status"] == "finished")
    first, second = said(store, run, EMEKA)
    assert first == "Good morning."
    assert second
    shown = tertulia.open_store(store).run(run)
    assert [turn.turn for turn in shown.turns] == [1, 2, 3, 4]
    with SqlStore.open(store) as opened:
        origins = [opened.candidates(run, turn)[0].origin for turn in (1, 3)]
    assert origins[0] == "by_hand" != origins[1]
    assert perceived(address, token)["left"]


def test_who_leaves_a_meeting_while_they_are_asked_thinks_in_that_very_round(address: str, store: Path) -> None:
    run, tokens = sit(address, run_of(store, "team_building"), "Bob", "Eva")
    for token in tokens.values():
        question(address, token, 1)
    assert send(address, tokens["Eva"], 1, "To the lake.").status == 200
    assert post(address, "api/seat", {"leave": True}, {"X-Tertulia-Seat": tokens["Bob"]}).status == 200
    for turn in (2, 3, 4):
        question(address, tokens["Eva"], turn)
        assert send(address, tokens["Eva"], turn, "").status == 200
    until(lambda: perceived(address, tokens["Eva"])["status"] == "finished")
    with SqlStore.open(store) as opened:
        rounds = opened.file.rows("SELECT round FROM steps WHERE run = ? AND node = 'assess' AND agent = 'Bob'", run)
        lines = [turn.text for turn in opened.turns(run) if turn.speaker == "Eva"]
    assert sorted(row["round"] for row in rounds) == [1, 2, 3, 4]
    assert lines in ([], ["To the lake."])


# --- bad input ------------------------------------------------------------------------------------------------------


def test_an_empty_line_and_one_of_100000_characters_are_refused_in_a_sentence(address: str, store: Path) -> None:
    _, tokens = sit(address, run_of(store, "tidewell"), EMEKA)
    token = tokens[EMEKA]
    question(address, token, 1)
    for words, problem in (
        (" \t\n", "Type what you want to say: nobody else can speak now."),
        ("x" * 100_000, f"The line has 100,000 characters; one line has at most {LONGEST:,}."),
    ):
        answer = send(address, token, 1, words)
        assert answer.status == 400
        assert answer.json["error"].startswith(problem)
    assert send(address, token, 1, "x" * 3_000_000).status == 413
    assert perceived(address, token)["asked"]["turn"] == 1


@pytest.mark.parametrize("body", [[], {}, {"turn": "1", "words": "x", "seconds": None}, {"leave": False}, {"turn": 1}])
def test_what_is_no_line_is_refused(address: str, meeting: tuple[str, dict[str, str]], body: object) -> None:
    answer = post(address, "api/seat", body, {"X-Tertulia-Seat": meeting[1]["Bob"]})
    assert answer.status == 400
    assert answer.json["error"]


def test_two_seats_for_one_person_are_refused(address: str, store: Path, meeting: tuple[str, dict[str, str]]) -> None:
    run = meeting[0]
    second = post(address, "api/seats", {"run": run, "agent": "Bob", "withdraw": False})
    assert second.status == 400
    assert second.json["error"].startswith(f"The seat of Bob in run {run} is given already, and is for one person.")
    twice = post(address, "api/start", {"action": "sit", "run": run, "at": 1, "agents": ["Bob", "Bob"]})
    assert (twice.status, twice.json["error"]) == (400, "two seats for one person: name each once")
    with pytest.raises(UsageError, match="one seat, for one person"):
        tertulia.run("team_building", rehearse=True, store=store, seat="Bob, bob", ask=lambda _: None)


@pytest.mark.parametrize(("agent", "status"), [("Alice", 400), ("Nobody", 400), ("", 400)])
def test_an_invitation_is_for_a_seat_that_there_is(
    address: str, meeting: tuple[str, dict[str, str]], agent: str, status: int
) -> None:
    answer = post(address, "api/seats", {"run": meeting[0], "agent": agent, "withdraw": False})
    assert (answer.status, "no person has the seat" in answer.json["error"]) == (status, True)


def test_only_participants_are_offered_a_seat(store: Path) -> None:
    with SqlStore.open(store) as opened:
        run = run_of(store, "team_building")
        assert seats_arguments(opened, run, 2, ["Bob", "Eva"]) == ["fork", run, "--at", "2", "--seat=Bob,Eva"]
        for agents in ([], ["Nobody"], ["--store"], [1]):
            with pytest.raises(UsageError, match="Alice"):
                seats_arguments(opened, run, 2, agents)


# --- who may what ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["api/runs", "api/start", "api/changes", "api/seats", "api/store", "nothing", "api/runs/@last/turns"]
)
def test_a_seats_token_opens_nothing_else(address: str, meeting: tuple[str, dict[str, str]], path: str) -> None:
    token = meeting[1]["Bob"]
    for answer in (
        ask(address, path, {"X-Tertulia-Seat": token}),
        ask(address, f"{path}?seat={token}"),
        post(address, path, {"action": "resume", "run": "@last"}, {"X-Tertulia-Seat": token}),
        post(address, f"{path}?token={token}", {}, {"X-Tertulia-Token": token}),
    ):
        assert answer.status == 403
        assert b"team_building" not in answer.body


@pytest.mark.parametrize("path", ["", "viewer.js", "api/seat", "api/seat/changes"])
def test_another_token_opens_no_seat(address: str, meeting: tuple[str, dict[str, str]], path: str) -> None:
    token = meeting[1]["Bob"]
    for given in ("", "wrong", token[:-1], token + "x", TOKEN):
        for answer in (ask(address, f"{path}?seat={given}"), ask(address, path, {"X-Tertulia-Seat": given})):
            assert answer.status == 403
            assert token.encode() not in answer.body
    assert ask(address, path, {"X-Tertulia-Seat": token, "Origin": "https://evil.example"}).status == 403
    assert ask(address, f"{path}?seat={token}", {"Host": "evil.example"}).status == 403


def test_the_line_of_another_person_is_refused(address: str, meeting: tuple[str, dict[str, str]]) -> None:
    answer = send(address, meeting[1]["Bob"], 1, "As Eva.", agent="Eva")
    assert (answer.status, answer.json["error"]) == (
        403,
        "This invitation is for Bob alone; nobody else's line can be sent.",
    )
    assert ask(address, f"api/seat?token={TOKEN}").status == 403  # not even who holds the viewer types for somebody


def test_a_person_is_not_told_what_others_think(address: str, meeting: tuple[str, dict[str, str]], store: Path) -> None:
    run, tokens = meeting
    seen = json.dumps(perceived(address, tokens["Bob"]))
    with SqlStore.open(store) as opened:
        until(lambda: opened.file.rows("SELECT 1 FROM steps WHERE run = ? AND node = 'assess'", run))
        thoughts = [
            json.loads(row["record"])["thought"]
            for row in opened.file.rows("SELECT record FROM steps WHERE run = ? AND node = 'assess'", run)
        ]
    assert thoughts
    assert not [thought for thought in thoughts if thought in seen]
    eva = opened_secret(store, run, "Eva")
    assert eva not in seen


def opened_secret(store: Path, run: str, agent: str) -> str:
    """What only one participant wants."""
    with SqlStore.open(store) as opened:
        goals = opened.start(run).participant(agent).goals  # type: ignore[union-attr]
    return str(goals[0].text)


def test_an_address_with_a_seats_token_is_in_no_referrer_and_its_page_has_no_other_token(
    address: str, meeting: tuple[str, dict[str, str]]
) -> None:
    token = meeting[1]["Bob"]
    answer = ask(address, f"?seat={token}")
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert f"viewer.js?seat={token}".encode() in answer.body
    assert b"?token=" not in answer.body


def test_without_allow_runs_there_are_no_seats(store: Path) -> None:
    with serving(store, TOKEN) as address:
        for path in ("api/seats?run=@last", "api/seat", "api/seat/changes"):
            assert ask(address, path, {"X-Tertulia-Token": TOKEN}).status == 404
        assert post(address, "api/seats", {"run": "@last", "agent": "Bob", "withdraw": False}).status in (404, 405)
        sitting = {"action": "sit", "run": "@last", "at": 1, "agents": ["Bob"]}
        assert post(address, "api/start", sitting).status == 404
        assert ask(address, "api/seat", {"X-Tertulia-Seat": "x"}).status == 403
    assert build_app(store, TOKEN).state.close() is None


def test_an_invitation_is_withdrawn(address: str, store: Path) -> None:
    run, tokens = sit(address, run_of(store, "team_building"), "Bob")
    assert post(address, "api/seats", {"run": run, "agent": "Bob", "withdraw": True}).json == {"token": None}
    gone = ask(address, "api/seat", {"X-Tertulia-Seat": tokens["Bob"]})
    assert (gone.status, "withdrawn" in gone.json["error"]) == (403, True)


def test_tokens_outlive_the_server_in_a_file_of_this_user_alone(tmp_path: Path) -> None:
    file, seat = tmp_path / "config" / "seats.json", SeatOfRun("k3f9", "Bob")
    token = SeatTokens(tmp_path / "a.db", file).give(seat)
    assert file.stat().st_mode & 0o077 == 0
    again = SeatTokens(tmp_path / "a.db", file)
    assert (again.seat_of(token), again.token_of(seat)) == (seat, token)
    assert SeatTokens(tmp_path / "b.db", file).seat_of(token) is None
    with pytest.raises(UsageError, match="given already"):
        again.give(seat)
    again.withdraw(seat)
    assert SeatTokens(tmp_path / "a.db", file).seat_of(token) is None
    file.write_text("{")
    assert SeatTokens(tmp_path / "a.db", file).token_of(seat) is None
