"""Answers that a limit cut short: more room, a note, and the model's own words in the end; thoughts in a run."""

import json
from typing import Any

import pytest
from support.chat_case import a_chat_model, a_request
from support.commands import Cli
from support.protocol_server import Served, values_for

from tertulia.models.served.chat import open_chat_model
from tertulia.state.errors import ModelError
from tertulia.state.language_model import Activity
from tertulia.state.parameters import Parameters

SPOKEN = '{"over?": false, "Ana": "It was lent in spring. And nob'


def answering(served: Served, *answers: tuple[str, str, str]) -> None:
    """Have a server give these answers, one after another: text, reasoning, `finish_reason`; the last for ever."""

    def answer(request: dict[str, Any]) -> tuple[int, Any]:
        text, thought, finish = answers[min(len(served.requests), len(answers)) - 1]
        message = {"role": "assistant", "content": text, "reasoning_content": thought}
        return 200, {"choices": [{"message": message, "finish_reason": finish}], "usage": {"prompt_tokens": 9}}

    served.instead = answer


async def test_a_cut_answer_gets_twice_the_room(served: Served) -> None:
    whole = '{"Ana": "It was lent in spring.", "over?": false}'
    answering(served, (SPOKEN, "", "length"), ("", "We have to", "max_tokens"), (whole, "Done.", "stop"))
    told: list[str] = []

    def report(activity: Activity) -> None:
        told.append(activity.text)

    model = open_chat_model(served.model, Parameters(max_reply_tokens=100), None, report)
    (reply,) = await model.generate(a_request())
    assert [request["max_tokens"] for request in served.requests] == [100, 200, 400]
    assert len({json.dumps(request["messages"]) for request in served.requests}) == 1
    assert (reply.fields["Ana"], reply.thought, reply.remark) == ("It was lent in spring.", "Done.", None)
    assert [note for note in told if "max_reply_tokens=100; it is asked again with 200" in note]


async def test_speech_that_no_room_can_mend_ends_with_a_sentence_and_says_so(served: Served) -> None:
    answering(served, (SPOKEN, "", "length"))
    (reply,) = await a_chat_model(served).generate(a_request())
    assert len(served.requests) == 1
    assert (reply.fields["Ana"], reply.remark) == (
        "It was lent in spring.",
        "the answer breaks off: said up to its last whole sentence",
    )
    answering(served, (SPOKEN, "", "length"))
    (reply,) = await a_chat_model(served, max_reply_tokens=16).generate(a_request())
    assert [request["max_tokens"] for request in served.requests[1:]] == [16, 32, 64, 128, 256]
    assert reply.remark is not None


async def test_the_last_error_has_the_models_own_words(served: Served) -> None:
    answering(served, ("", "We have to answer", "length"))
    with pytest.raises(ModelError) as caught:
        await a_chat_model(served).generate(a_request())
    message = str(caught.value)
    assert "finish_reason length; it wrote nothing; its reasoning begins 'We have to answer'" in message
    assert "max_reply_tokens" in message
    answering(served, ("<think>Hm.</think>I would rather not.", "", "stop"))
    with pytest.raises(ModelError, match=r"it wrote 'I would rather not\.'; its reasoning begins 'Hm\.'"):
        await a_chat_model(served).generate(a_request())


def test_a_run_keeps_thoughts_and_actions_apart(cli: Cli, served: Served) -> None:
    def thinking(request: dict[str, Any]) -> str:
        fields = values_for(request)
        said = {key: f"*nods* {value}" if isinstance(value, str) else value for key, value in fields.items()}
        return f"<think>SECRET, in short.</think>{json.dumps(said)}"

    served.answer = thinking
    setting = ("--model", served.model, "--lambda", "0", "--set", "actions=apart", "--rounds", "2")
    run = cli("run", "tidewell", *setting, "--json").json["run"]
    asked = json.dumps(served.requests)
    assert "SECRET" not in asked
    assert "nods" not in asked
    shown = cli("show", run, "--json").json
    assert "SECRET" not in json.dumps(shown)
    for turn in shown["turns"]:
        assert turn["with_actions"] == f"*nods* {turn['text']}"
    assert "*nods*" in cli("show", run).out
    (candidate,) = cli("show", run, "--turn", "1", "--json").json["candidates"]
    assert candidate["thought"] == "SECRET, in short."
    assert "it thought, and did not say: SECRET" in cli("show", run, "--turn", "1").out
    assert "SECRET" not in cli("export", run, "--markdown", "-").out
