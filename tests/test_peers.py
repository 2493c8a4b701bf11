"""The benchmark beside the neighbours, without any of them: what is told, answered, measured and shown."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import environments, measuring, tables
from benchmarks.peers.answers import answer
from benchmarks.peers.cases import DIALOGUE, MEETING, MEMORIES, conversation
from benchmarks.peers.drivers.conversation import Conversation, Report
from benchmarks.peers.measuring import Killed, Measured, System

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[1]
PEERS = ROOT / "benchmarks" / "peers"

#: Speaks by one request an utterance, and keeps each in a file.
SPEAKER = """
import http.client, json, os, sys
from pathlib import Path
from urllib.parse import urlparse
given = json.loads(Path(sys.argv[-1]).read_text())
kept = Path(given["folder"]) / "lines.txt"
lines = kept.read_text().splitlines() if given["resumes"] and kept.exists() else []
before = len(lines)
while len(lines) < given["turns"]:
    address = urlparse(given["address"])
    client = http.client.HTTPConnection(address.hostname, address.port)
    body = {"model": given["model"], "messages": [{"role": "user", "content": f"line {len(lines)}"}]}
    client.request("POST", address.path + "/chat/completions", json.dumps(body))
    response = client.getresponse()
    answered = json.loads(response.read())
    if response.status != 200:
        sys.exit(answered["error"]["message"])
    lines.append(answered["choices"][0]["message"]["content"])
    kept.write_text("\\n".join(lines))
print("something else")
print(json.dumps({"turns": [["Ann", line] for line in lines], "kept": before, "wall_s": 0.5, "cpu_s": 0.01,
                  "other_cpu_s": 2.0, "peak_mb": 70.0}))
"""


@pytest.fixture
def speaker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An interpreter that runs the speaker in the place of a driver, with a server that takes no time."""
    monkeypatch.setattr(measuring, "LATENCY_S", 0)
    monkeypatch.setattr(measuring, "_STILL_S", 0.2)
    monkeypatch.setattr(measuring, "tokens", lambda text: len(text.split()))
    (tmp_path / "speaker.py").write_text(SPEAKER, encoding="utf-8")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path}/speaker.py" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return python


SPEAKING = System("Speaker", "none", (DIALOGUE,))


@pytest.mark.parametrize(("scenario", "people"), [(MEETING, 5), (DIALOGUE, 2)])
def test_a_conversation_is_told_in_words_and_survives_the_way_to_a_driver(scenario: str, people: int) -> None:
    told = conversation(scenario, 3, "http://localhost:1/v1", "parrot", Path("somewhere"))
    assert Conversation.loads(told.dumps()) == told
    assert len(told.people) == people
    assert told.is_meeting == (people > 2)
    for person in told.people:
        assert person.name in person.persona
        assert 0 < len(person.memories) <= MEMORIES


def test_a_conversation_is_measured_from_outside(speaker: Path) -> None:
    measured = measuring.measure(SPEAKING, speaker, DIALOGUE, 3, 0)
    assert measured.report
    assert len(measured.report.turns) == measured.requests == measured.answers == 3
    assert measured.prompt_tokens == 6
    assert measured.stored_bytes > 0


def test_what_fails_says_why(speaker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.protocol_server.Served.next_failure", lambda served: "500")
    measured = measuring.measure(SPEAKING, speaker, DIALOGUE, 3, 1)
    assert (measured.report, measured.failure) == (None, "The server had an error")
    assert "0 of 1" in tables.of_failures([("Speaker", [measured])])


def test_a_kill_counts_what_is_kept_and_what_is_paid_again(speaker: Path) -> None:
    killed = measuring.kill(SPEAKING, speaker, DIALOGUE, 4, 2)
    assert (killed.before, killed.after, killed.kept) == (2, 2, 2)
    assert [name for name, _ in killed.files] == ["lines.txt"]
    assert "| Speaker | 2 of 4 | 2 | 0 | `lines.txt`, 0 KB |" in tables.of_kills([("Speaker", killed, 4)])


def a_measurement(wall_s: float, turns: int = 2) -> Measured:
    report = Report((("Ann", "Hello."),) * turns, 0, wall_s, 0.02, 1.5, 70.0)
    return Measured(report, "", 8, 8, 800, 40, 3.0, 4096)


def test_a_figure_is_a_median_with_its_spread_and_what_fails_is_left_out() -> None:
    failed = Measured(None, "no", 1, 0, 0, 0, 1.0, 0)
    table = tables.of_speed([("A | B", [a_measurement(0.5), a_measurement(0.7), a_measurement(0.6), failed])])
    names, _, cells = table.splitlines()
    shown = dict(zip(names.strip("| ").split(" | "), cells.strip("| ").split(" | ")[1:], strict=True))
    assert cells.startswith("| A / B | 2 | ")
    assert shown["wall s a turn"] == "0.60 (0.50–0.70)"
    assert shown["CPU ms a turn"] == "20"
    assert shown["requests a turn"] == "4.0"


def test_what_holds_nothing_has_no_figures() -> None:
    table = tables.of_speed([("A", [Measured(None, "no", 1, 0, 0, 0, 1.0, 0)])])
    assert set(table.splitlines()[-1].strip("| ").split(" | ")[1:]) == {"–"}
    assert "| A | 3 of 4 | 0 | – | nothing |" in tables.of_kills([("A", Killed(3, None, (), 0), 4)])


def asked(content: str, **fields: Any) -> str:
    return answer({"model": "parrot", "messages": [{"role": "user", "content": content}], **fields})


@pytest.mark.parametrize(
    ("question", "is_sensible"),
    [
        ("Then select the next role from ['Ann', 'Ben'] to play. Only return the role.", {"Ann", "Ben"}.__contains__),
        (
            "Question: Is it over?\n  (a) Yes\n  (b) No\nAnswer: (\n"
            "Respond EXACTLY with one of the following strings:\na\nb.",
            "b".__eq__,
        ),
        (
            "Question: Whose turn is next?\n  (a) Ann\n  (b) Ben\nAnswer: (\n"
            "Respond EXACTLY with one of the following strings:\na\nb.",
            {"a", "b"}.__contains__,
        ),
        (
            "If not terminating, here are the valid participant names (case-sensitive) and their descriptions:\n"
            "Ann: a baker, who says: rise\nBen: a pilot",
            lambda text: json.loads(text)["terminate"] is False and json.loads(text)["next_speaker"] in ("Ann", "Ben"),
        ),
        (
            'Answer in JSON: {"text": "what you say", "ended": "true or false", "next": "one of: Ann, Ben"}',
            lambda text: json.loads(text)["ended"] is False and json.loads(text)["next"] in ("Ann", "Ben"),
        ),
        ("What do you say? {nothing to fill in}", lambda text: text.endswith(".")),
    ],
)
def test_everybody_is_answered_as_they_ask(question: str, is_sensible: Callable[[str], bool]) -> None:
    assert is_sensible(asked(question))
    assert asked(question) == asked(question)


def test_a_whole_dialogue_has_the_turns_that_were_asked_for() -> None:
    text = asked('{"name": "Ann"} Write exactly 4 turns.', response_format={"json_schema": {"name": "dialog"}})
    assert [len(turn) for turn in json.loads(text)["dialog"]] == [2] * 4


@pytest.mark.parametrize("file", sorted(PEERS.glob("requirements-*.txt")), ids=lambda file: file.stem)
def test_every_neighbour_is_pinned_and_has_a_driver(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    assert lines
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    assert (PEERS / "drivers" / f"{file.stem.removeprefix('requirements-')}.py").exists()


def test_an_environment_takes_torch_by_itself_and_tertulia_its_own_lock() -> None:
    alone, others = environments.arguments_of("sdialog")
    assert re.fullmatch(r"torch==[\d.]+", *alone)
    assert others[0] == "--no-deps"
    assert not set(alone) & set(others)
    assert [arguments[0] for arguments in environments.arguments_of("langgraph")] == ["--no-deps"]
    light = [word for arguments in environments.arguments_of("tertulia") for word in arguments]
    assert {"requirements.lock", ".[embedder]"} < set(light)
    assert not any("torch" in word for word in light)


def test_a_neighbour_without_its_python_is_left_out_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match=r"concordia needs python3\.12.*--only"):
        environments.interpreter("concordia")
    assert environments.interpreter("autogen") == sys.executable
