"""Hostile answers of servers: drawn from the schemas of what each endpoint answers, with anything in any place.

1. `read`: every reader gives what can be stored, or refuses in a line that names the field and the value.
2. `spoken in runs`: whole runs by a server, some of whose answers are such. A run ends, or says in a line why not;
   all of it reads; and resumed with a server that answers as it should, it ends.
"""

import copy
import json
import math
import random
import re
import shutil
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from support.hostile_replies import DUO, TRIO, check_command, problems_of
from support.in_process import command
from support.protocol_server import Served, serving
from support.tally import Tally

from tertulia.models.rehearsal import RehearsalEmbedder
from tertulia.models.served import chat_errors
from tertulia.models.served.chat_errors import RefusedAnswerError
from tertulia.models.served.server_answers import (
    MOST_TOKENS,
    read_chat_answer,
    read_chat_logs,
    read_echo_logs,
    read_prompt_tokens,
)

Schema = Mapping[str, Any]

_COUNTS: Schema = {
    "type": "object",
    "properties": {"prompt_tokens": {"type": "integer"}, "completion_tokens": {"type": "integer"}},
}
_PART: Schema = {
    "type": "object",
    "properties": {"type": {"enum": ["text", "output_text", "reasoning", "image_url"]}, "text": {"type": "string"}},
}
_MESSAGE: Schema = {
    "type": "object",
    "properties": {
        "role": {"enum": ["assistant"]},
        "content": {"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "array", "items": _PART}]},
        "tool_calls": {"type": "array", "items": {"type": "object", "properties": {}}},
    },
}
_LOG: Schema = {"type": "number"}
_TOLD: Schema = {"type": "object", "properties": {"12": {"type": "object", "properties": {"logprob": _LOG}}}}

#: What each endpoint answers: chat completions, their `prompt_logprobs` (vLLM), completions with `echo`.
SCHEMAS: Mapping[str, Schema] = {
    "chat": {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "choices": {"type": "array", "items": {"type": "object", "properties": {"message": _MESSAGE}}},
            "usage": _COUNTS,
        },
    },
    "chat logs": {
        "type": "object",
        "properties": {
            "prompt_logprobs": {"type": "array", "items": {"anyOf": [{"type": "null"}, _TOLD]}},
            "usage": _COUNTS,
        },
    },
    "echo logs": {
        "type": "object",
        "properties": {
            "choices": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "logprobs": {
                            "type": "object",
                            "properties": {"token_logprobs": {"type": "array", "items": _LOG}},
                        }
                    },
                },
            },
            "usage": _COUNTS,
        },
    },
}

#: What may stand in any place, or where a string or a number is to stand.
_ANYTHING: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 7, 1576.0, 1.5, -0.5, -1e-9, 2**31, 2**63, -(2**70), 10**400),
    *(math.inf, -math.inf, math.nan, "", "x", "-0.5", "NaN", "true", "{}", "\x1b[31m", "\u2028", "\ud800", "9" * 5000),
    *([], {}, [None], [[]], {"text": "no"}, {"type": "text"}, [{"type": "text", "text": 4}], {"a": {"b": [1]}}),
)  # fmt: skip
_STRINGS = ("", "{}", "Yes.", '{"Mara": "Yes.", "ended": false}', "…", "\u202e", "word " * 50)
_NUMBERS = (0, 1, 3, 100, 1576.0, -0.5, -1e-9, -700.0, -1e308)

#: The chance that anything stands in a place, that a field is missing, and that an answer of a run is drawn at all.
_ANY, _MISSING, _ALTERED = 0.06, 0.06, 0.12


def drawn_answer(schema: Schema, drawn: random.Random) -> Any:
    """Return what fits a schema, save for the places where anything stands, and for fields that are missing."""
    if drawn.random() < _ANY:
        return copy.deepcopy(drawn.choice(_ANYTHING))
    if "anyOf" in schema:
        return drawn_answer(drawn.choice(schema["anyOf"]), drawn)
    if "enum" in schema:
        return drawn.choice(schema["enum"])
    if schema["type"] == "object":
        named = {name: inner for name, inner in schema["properties"].items() if drawn.random() >= _MISSING}
        return {name: drawn_answer(inner, drawn) for name, inner in named.items()}
    if schema["type"] == "array":
        return [drawn_answer(schema["items"], drawn) for _ in range(drawn.choice((0, 1, 1, 2, 5)))]
    if schema["type"] == "null":
        return None
    return drawn.choice(_STRINGS if schema["type"] == "string" else _NUMBERS)


def sent(answer: object) -> str:
    """Return an answer as a server sends it: numbers that are none in one of the ways in which servers write them."""
    return json.dumps(answer).replace("Infinity", "1e999")


def read_answers(count: int, seed: str) -> Tally:
    """Draw answers, and read each by the readers of all endpoints."""
    tally = Tally()
    for number in range(count):
        drawn = random.Random(f"{seed} {number}")
        text = sent(drawn_answer(SCHEMAS[drawn.choice([*SCHEMAS])], drawn))
        tally.count(problems_of(partial(check_read, text), f"answer {seed} {number} {text:.200}"))
    return tally


def check_read(text: str) -> None:
    """Assert that every reader gives what can be stored, or refuses an answer in a line."""
    answer = json.loads(text)
    if not isinstance(answer, dict):  # what asks refuses it before it is read
        return
    chat = _read(read_chat_answer, answer)
    if chat is not None:
        assert isinstance(chat.text, str)
        assert all(type(n) is int and 0 <= n <= MOST_TOKENS for n in (chat.prompt_tokens, chat.reply_tokens)), chat
    for reader in (read_chat_logs, read_echo_logs):
        for log in _read(reader, answer) or ():
            assert log is None or (type(log) is float and -math.inf < log <= 0), log
    assert type(_read(read_prompt_tokens, answer)) in (int, type(None))


def _read(reader: Callable[[Any], Any], answer: Any) -> Any:
    refused = ""
    try:
        return reader(answer)
    except RefusedAnswerError as error:
        refused = str(error)
    assert re.fullmatch(r"answers with .{1,300}", refused), refused
    return None


def asked_in_runs(count: int, seed: str, folder: Path) -> Tally:
    """Let a server answer so many requests of whole runs, and resume each run with a server that answers as it should.

    Args:
        count: Of answers.
        seed: Of the runs, and of what is drawn for each answer.
        folder: For the stores; those with problems are kept.
    """
    tally, number = Tally(), 0
    with ExitStack() as opened:
        opened.enter_context(patch.object(chat_errors, "FIRST_WAIT_S", 0.001))
        opened.enter_context(patch("tertulia.models.loading.open_embedder", lambda *_: RehearsalEmbedder()))
        served = opened.enter_context(serving())
        while tally.tried < count:
            drawn = random.Random(f"{seed} {number}")
            place = folder / str(number)
            place.mkdir(parents=True)
            hostile = Hostile(drawn)
            served.altered = hostile
            check = partial(_run, served, hostile, place, drawn)
            problems = problems_of(check, f"run {seed} {number} (kept: {place})", _RUN_LIMIT_S)
            tally.count(problems, max(1, hostile.answered))
            if not problems:
                shutil.rmtree(place)
            number += 1
    return tally


#: Seconds that a run, what is read of it, and its resumption may take.
_RUN_LIMIT_S = 120.0


class Hostile:
    """Puts what is drawn from a schema in the place of some answers; as a whole, or of one field.

    Attributes:
        answered: How many answers it has let through, changed or not.
    """

    def __init__(self, drawn: random.Random) -> None:
        self._drawn, self._lock, self.answered = drawn, threading.Lock(), 0

    def __call__(self, body: bytes) -> bytes:
        """Return what is sent instead of an answer."""
        with self._lock:
            self.answered += 1
            if self._drawn.random() >= _ALTERED:
                return body
            answer = json.loads(body)
            logs = "chat logs" if "prompt_logprobs" in answer else "echo logs" if b"token_logprobs" in body else "chat"
            other = drawn_answer(SCHEMAS[logs], self._drawn)
            if isinstance(other, dict) and self._drawn.random() < 0.7:
                name = self._drawn.choice([*SCHEMAS[logs]["properties"]])
                other = {**answer, name: other.get(name)}
            return sent(other).encode()


def _run(served: Served, hostile: Hostile, place: Path, drawn: random.Random) -> None:
    scenario, store = place / "scenario.yaml", place / "tertulia.db"
    scenario.write_text(drawn.choice((DUO, TRIO)), encoding="utf-8")
    served.tells = drawn.choice((None, "chat", "echo"))
    judged = ["--set", "judge=likelihood", "--set", "inconsistency_threshold=0.1"] if served.tells else []
    options = ["--lambda", "0.5", "--set", "nodes.score=embedding_similarity", *judged]

    def run(*arguments: object) -> Any:
        return check_command(command(*arguments, "--store", store))

    model = ("--model", served.model)
    run("run", scenario, *model, "--rounds", "3", "--seed", str(drawn.randrange(2**32)), *options)
    if not store.exists():  # refused at the probe, before the run was there
        return
    for words in (("show", "@last", "--json"), ("show", "@last", "--cost"), ("export", "@last", "--jsonl", "-")):
        read = run(*words)
        assert read.code == 0 or "no turn" in read.err, read
    served.altered = bytes
    ended = run("resume", "@last", *model)
    assert ended.code == 0 or "finished" in ended.err, ended
