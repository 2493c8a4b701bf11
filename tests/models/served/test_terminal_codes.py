"""Codes that a terminal would obey, in all that a server sends: none in an exception, a store, a document or a note."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from support.commands import Cli
from support.hostile_server import answering, head

import tertulia as tt
from tertulia.state.errors import ModelError, ScenarioError, TertuliaError
from tertulia.state.text import without_codes

EVIL = "x\x1b[31mred\x1b]0;title\x07\x9b2J\x85\u202egnirts\u2066\u2028\r\nnew\x00\x08"

#: Characters of C0 and C1 but the tab and the line break, and changes of direction.
CODES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

OVER = "Did the conversation end with Emeka Obiora's utterance?"


def whole(body: Any, status: str = "200 OK", **headers: str) -> list[bytes]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return [head(status, Content_Type="application/json", Content_Length=str(len(content)), **headers), content]


def a_choice(text: Any, **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text, **message}, "finish_reason": EVIL}], "model": EVIL, EVIL: EVIL}


REFUSALS: dict[str, Callable[[], Iterable[bytes]]] = {
    "an error of OpenAI's": lambda: whole(
        {"error": dict.fromkeys(("message", "type", "code", "param"), EVIL)}, "400 No"
    ),
    "an error that is a text": lambda: whole({"error": EVIL}, "500 No"),
    "an error in a whole answer": lambda: whole({"error": {"message": EVIL}}),
    "no JSON": lambda: whole(EVIL.encode(), "503 No"),
    "C1 as one byte": lambda: whole(b"\x9b31m\x1b[2J", "500 No", Content_Encoding="identity"),
    "details of FastAPI": lambda: whole({"detail": [{"loc": ["body", EVIL], "msg": EVIL, "type": EVIL}]}, "422 No"),
    "a model that nobody serves": lambda: whole({"error": {"message": EVIL}}, "404 No"),
    "too many requests": lambda: whole({"message": EVIL}, "429 No", Retry_After="\x1b[31m"),
    "a prompt that is too long": lambda: whole({"error": {"message": f"{EVIL} context length"}}, "400 No"),
    "a reason": lambda: [head("500 \x1b[31mNo", Content_Length="0")],
    "a redirect": lambda: [head("302 Found", Location="http://127.0.0.1:1/\x9b31m")],
    "an encoding": lambda: [head(Content_Encoding="\x1b[2J"), b"x"],
    "a content of another type": lambda: whole(a_choice({EVIL: EVIL})),
    "words that can't be read": lambda: whole(a_choice("", reasoning_content=EVIL)),
    "an object that can't be read": lambda: whole(a_choice(json.dumps({EVIL: EVIL}))),
    "an event": lambda: whole(b"data: " + json.dumps({"error": {"message": EVIL}}).encode() + b"\n\n"),
}


def run(model: str) -> tt.Run:
    return tt.run("tidewell", model=model, rounds=1, removal_factor=0, settings={"max_retries": 0}, store="s.db")


@pytest.mark.parametrize("answer", REFUSALS.values(), ids=REFUSALS.keys())
def test_an_exception_and_the_store_have_no_codes_of_a_server(
    answer: Callable[[], Iterable[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with answering(lambda path: answer()) as hostile, pytest.raises(ModelError) as raised:
        run(hostile.model)
    with sqlite3.connect("s.db") as store:
        ((stored,),) = store.execute("SELECT error FROM runs")
    for told in (str(raised.value), stored):
        assert not CODES.search(told)
        assert "\n" not in told


def test_a_thought_and_the_table_of_a_server_have_none(cli: Cli) -> None:
    said = json.dumps({"Emeka Obiora": f"It is late {EVIL}.", OVER: True})

    def answer(path: str) -> Iterable[bytes]:
        if path.endswith("models"):
            return whole({"data": [{"id": EVIL}]})
        return whole(a_choice(said, reasoning_content=f"one\n{EVIL}"))

    with answering(answer) as hostile:
        turn = run(hostile.model).turn(1)
        table = cli("doctor", "--server", hostile.model, "--json").json
    assert turn.text.startswith("It is late x")
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028]", turn.text)
    document = cli("show", "@last", "--turn", 1, "--json", "--store", "s.db").json
    thought = document["candidates"][0]["thought"]
    assert thought.startswith("one\nx�[31mred")
    for told in (thought, json.dumps(table, ensure_ascii=False)):
        assert not CODES.search(told)


def test_every_error_of_ours_is_one_line_without_codes() -> None:
    for kind in (TertuliaError, ModelError, ScenarioError):
        assert str(kind(EVIL)) == "x�[31mred�]0;title��2J��gnirts��� new��"
    assert without_codes("a\tb\nc") == "a\tb\nc"
