"""Answers of servers of any shape: read, asked for again, or refused in a line with the field; stores stay whole."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from support.commands import Cli
from support.hostile_answers import asked_in_runs, read_answers
from support.protocol_server import Served

from tertulia.models.served.chat_errors import RefusedAnswerError
from tertulia.models.served.server_answers import count_note, read_chat_answer, token_count

PARTS = {"choices": [{"message": {"content": [{"type": "text", "text": "{"}, {"type": "thinking"}, "}"]}}], "usage": {}}


def test_whatever_is_read_can_be_stored() -> None:
    assert not read_answers(1000, "here").problems


@pytest.mark.parametrize(
    ("told", "count"), [(1576, 1576), (1576.0, 1576), (1.5, 0), (math.inf, 0), (2**63, 0), (-1, 0), (True, 0), ("9", 0)]
)
def test_a_count_that_is_none_is_zero_and_noted(told: Any, count: int) -> None:
    assert token_count(told) == count
    assert bool(count_note({"usage.prompt_tokens": told})) == (count == 0)


def test_the_text_of_parts_is_joined() -> None:
    assert read_chat_answer(PARTS).text == "{}"


@pytest.mark.parametrize("content", [7, True, {"text": "no"}, [1], [{"type": "text", "text": 4}]])
def test_a_content_that_is_no_text_is_refused(content: Any) -> None:
    with pytest.raises(RefusedAnswerError, match=r"answers with choices\.0\.message\.content="):
        read_chat_answer({"choices": [{"message": {"content": content}}]})


# --- whole runs -----------------------------------------------------------------------------------------------------


def changing(*way: str | int, value: str) -> Callable[[bytes], bytes]:
    """Return what puts a value, written as in JSON, into every answer that has this field."""

    def change(body: bytes) -> bytes:
        answer = json.loads(body)
        holder = answer
        try:
            for key in way[:-1]:
                holder = holder[key]
            assert way[-1] in holder or isinstance(holder, list)
        except (KeyError, IndexError, TypeError, AssertionError):
            return body
        holder[way[-1]] = "@here@"
        return json.dumps(answer).replace('"@here@"', value).encode()

    return change


@pytest.mark.usefixtures("without_weights")
@pytest.mark.parametrize("count", ["1576.0", "1e999", '"many"', "null"])
def test_a_run_is_not_lost_to_what_a_server_counts(cli: Cli, served: Served, count: str) -> None:
    served.altered = changing("usage", "prompt_tokens", value=count)
    told = cli("run", "tidewell", "--rounds", "2", "--model", served.model, "--lambda", "0", "--json")
    run = told.json["run"]
    assert told.err.count("counts tokens as usage.prompt_tokens=") == (count not in ("1576.0", "null"))
    total = cli("show", run, "--cost", "--json").json["total"]
    assert (total["prompt_tokens"] == 0) == (count not in ("1576.0", "null"))
    assert cli("export", run, "--format", "jsonl").code == 0
    assert cli("resume", run).code in (0, 2)


#: Has the server asked how likely a text is.
JUDGED = (
    *("--lambda", "0.5", "--set", "nodes.score=embedding_similarity"),
    *("--set", "judge=likelihood", "--set", "inconsistency_threshold=0.1"),
)


@pytest.mark.usefixtures("without_weights")
@pytest.mark.parametrize("is_probed", [False, True], ids=["at the probe", "in the run"])
@pytest.mark.parametrize(("way", "log"), [("chat", "NaN"), ("chat", "true"), ("echo", "0.5"), ("echo", "[]")])
def test_a_log_probability_that_is_none_ends_a_run_in_a_line(
    cli: Cli, served: Served, way: Literal["chat", "echo"], log: str, is_probed: bool
) -> None:
    """It is that of the last token of a prompt, which counts; the last of an echo is that of a token behind it."""
    served.tells = way
    if way == "chat":
        change = changing("prompt_logprobs", -1, value=f'{{"5": {{"logprob": {log}}}}}')
    else:
        change = changing("choices", 0, "logprobs", "token_logprobs", -2, value=log)
    told: list[bytes] = []

    def altered(body: bytes) -> bytes:
        if change(body) == body:
            return body
        told.append(body)
        return body if is_probed and len(told) == 1 else change(body)

    served.altered = altered
    ended = cli("run", "tidewell", "--rounds", "1", "--model", served.model, *JUDGED)
    ended.complains(1, served.address, "answers with", "logprobs.")
    assert len(told) == 1 + is_probed


def test_runs_survive_answers_of_any_shape(tmp_path: Path) -> None:
    assert not asked_in_runs(10, "here", tmp_path).problems
