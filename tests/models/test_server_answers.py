"""Answers of servers of any shape: read, asked for again, or refused in a line with the field; stores stay whole."""

import copy
import json
import math
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import Cli
from support.protocol_server import Served

from models.chat_errors import RefusedAnswerError
from models.server_answers import (
    MOST_TOKENS,
    count_note,
    read_chat_answer,
    read_chat_logs,
    read_echo_logs,
    read_prompt_tokens,
    token_count,
)

pytest.importorskip("httpx2")

CHAT = {
    "id": "chatcmpl-1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "{}", "reasoning": "…"}}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 20},
}
PARTS = {"choices": [{"message": {"content": [{"type": "text", "text": "{"}, {"type": "thinking"}, "}"]}}], "usage": {}}
CHAT_LOGS = {
    "prompt_logprobs": [None, {"12": {"logprob": -0.5, "rank": 1}}, {"7": {"logprob": 0}}],
    "usage": {"prompt_tokens": 3},
}
ECHO_LOGS = {"choices": [{"logprobs": {"token_logprobs": [None, -0.5, -1e-9]}}], "usage": {"prompt_tokens": 3}}

anything = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(2**62, 2**70),
        st.floats(),
        st.text(),
        st.sampled_from((1576.0, 1.5, math.inf, -math.inf, math.nan, 0.5, -0.5, "-0.5", "")),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value in an answer."""
    yield before
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*before, key))


@st.composite
def answers(draw: st.DrawFn) -> Any:
    """An answer of one of the endpoints, in which some values are anything, or missing."""
    answer = copy.deepcopy(draw(st.sampled_from((CHAT, PARTS, CHAT_LOGS, ECHO_LOGS))))
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from([place for place in places(answer) if place]))
        holder: Any = answer
        for key in way:
            holder = holder[key]
        if draw(st.booleans()) and isinstance(holder, dict):
            del holder[last]
        else:
            holder[last] = draw(anything)
        if not answer:
            break
    return answer


def read(reader: Callable[[Any], Any], answer: Any) -> Any:
    """Return what is read; `None` where it is refused, in a line."""
    refused = ""
    try:
        return reader(answer)
    except RefusedAnswerError as error:
        refused = str(error)
    assert re.fullmatch(r"answers with .{0,300}", refused)
    return None


@settings(deadline=None, max_examples=20 * settings.default.max_examples)
@given(answer=answers())
def test_whatever_is_read_can_be_stored(answer: Any) -> None:
    answer = json.loads(json.dumps(answer))
    chat = read(read_chat_answer, answer)
    if chat is not None:
        assert isinstance(chat.text, str)
        assert all(
            type(count) is int and 0 <= count <= MOST_TOKENS for count in (chat.prompt_tokens, chat.reply_tokens)
        )
    for reader in (read_chat_logs, read_echo_logs):
        for log in read(reader, answer) or ():
            assert log is None or (type(log) is float and -math.inf < log <= 0)
    assert type(read(read_prompt_tokens, answer)) in (int, type(None))


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
@pytest.mark.parametrize("count", ["1576.0", "1.5", "1e999", str(2**63), '"many"', "true", "[1]", "null"])
def test_a_run_is_not_lost_to_what_a_server_counts(cli: Cli, served: Served, count: str) -> None:
    served.altered = changing("usage", "prompt_tokens", value=count)
    told = cli("run", "tidewell", "--rounds", "2", "--model", served.model, "--lambda", "0", "--json")
    run = told.json["run"]
    assert told.err.count("counts tokens as usage.prompt_tokens=") == (count not in ("1576.0", "null"))
    total = cli("show", run, "--cost", "--json").json["total"]
    assert (total["prompt_tokens"] == 0) == (count not in ("1576.0", "null"))
    assert cli("export", run, "--format", "jsonl").code == 0
    assert cli("resume", run).code in (0, 2)


@pytest.mark.usefixtures("without_weights")
@pytest.mark.parametrize("content", ["7", "true", '{"a": 1}', "[" * 3000 + "]" * 3000, "NaN"])
def test_a_content_that_is_no_text_ends_a_run_in_a_line(cli: Cli, served: Served, content: str) -> None:
    served.altered = changing("choices", 0, "message", "content", value=content)
    ended = cli("run", "tidewell", "--rounds", "1", "--model", served.model, "--lambda", "0")
    ended.complains(1, served.address, "answers with")


@pytest.mark.usefixtures("without_weights")
def test_a_content_in_parts_is_the_same_text(cli: Cli, served: Served) -> None:
    command = ("run", "tidewell", "--rounds", "2", "--model", served.model, "--lambda", "0", "--json")
    plain = cli("show", cli(*command).json["run"], "--json").json["turns"]

    def in_parts(body: bytes) -> bytes:
        text = json.loads(body)["choices"][0]["message"]["content"]
        parts = [{"type": "text", "text": text[:9]}, {"type": "thinking", "thinking": "…"}, text[9:]]
        return changing("choices", 0, "message", "content", value=json.dumps(parts))(body)

    served.altered = in_parts
    assert cli("show", cli(*command).json["run"], "--json").json["turns"] == plain


#: Has the server asked how likely a text is.
JUDGED = (
    *("--lambda", "0.5", "--set", "nodes.score=embedding_similarity"),
    *("--set", "judge=likelihood", "--set", "inconsistency_threshold=0.1"),
)


@pytest.mark.usefixtures("without_weights")
@pytest.mark.parametrize("is_probed", [False, True], ids=["at the probe", "in the run"])
@pytest.mark.parametrize("way", ["chat", "echo"])
@pytest.mark.parametrize("log", ["NaN", "Infinity", "-Infinity", "0.5", '"-0.5"', "true", "{}", "[]"])
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


@pytest.mark.usefixtures("without_weights")
@pytest.mark.parametrize("logs", ["[null, {}]", "{}", "7", "true", '"no"', "[[1]]", '[{"5": 1}]', '[{"5": {}}]'])
def test_a_wrong_shape_at_the_probe_ends_a_run_in_a_line(cli: Cli, served: Served, logs: str) -> None:
    served.tells = "chat"
    served.altered = changing("prompt_logprobs", value=logs)
    ended = cli("run", "tidewell", "--rounds", "1", "--model", served.model, *JUDGED)
    ended.complains(1, served.address, "answers with prompt_logprobs")


@pytest.mark.usefixtures("without_weights")
def test_runs_survive_answers_of_any_shape(cli: Cli, served: Served) -> None:
    drawn = random.Random(1)
    values = ("null", "true", "-1", "1.5", "1e999", "NaN", '""', '"x"', "[]", "{}", '[{"type": "text"}]', str(2**63))

    def change(body: bytes) -> bytes:
        answer = json.loads(body)
        *way, last = drawn.choice([place for place in places(answer) if place])
        return changing(*way, last, value=drawn.choice(values))(body) if drawn.random() < 0.3 else body

    served.altered = change
    for seed in range(12):
        ran = cli("run", "tidewell", "--rounds", "2", "--model", served.model, "--lambda", "0", "--seed", str(seed))
        assert ran.code in (0, 1)
        assert not re.search(r"Traceback|\.py, line \d+", ran.err), ran.err
    for run in cli("runs", "--json").json["runs"]:
        for command in (
            ("show", run["run"]),
            ("show", run["run"], "--cost"),
            ("export", run["run"], "--format", "jsonl"),
        ):
            assert "damaged" not in cli(*command).err
