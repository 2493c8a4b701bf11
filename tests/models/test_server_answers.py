"""Answers of servers of any shape: read, asked for again, or refused in a line with the field; stores stay whole."""

import math
import re
from pathlib import Path
from typing import Any

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


@pytest.mark.usefixtures("without_weights")
@pytest.mark.parametrize("count", ["1576.0", "1e999", '"many"', "null"])
def test_a_run_is_not_lost_to_what_a_server_counts(cli: Cli, served: Served, count: str) -> None:
    served.altered = lambda body: re.sub(rb'("prompt_tokens": )\d+', rb"\g<1>" + count.encode(), body)
    told = cli("run", "tidewell", "--rounds", "2", "--model", served.model, "--lambda", "0", "--json")
    run = told.json["run"]
    assert told.err.count("counts tokens as usage.prompt_tokens=") == (count not in ("1576.0", "null"))
    total = cli("show", run, "--cost", "--json").json["total"]
    assert (total["prompt_tokens"] == 0) == (count not in ("1576.0", "null"))
    assert cli("export", run, "--format", "jsonl").code == 0
    assert cli("resume", run).code in (0, 2)


def test_runs_survive_answers_of_any_shape(tmp_path: Path) -> None:
    assert not asked_in_runs(10, "here", tmp_path).problems
