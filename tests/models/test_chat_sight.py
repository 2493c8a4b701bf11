"""Chat models that are sent pictures: where they stand, who is sent them, and servers that refuse them."""

import base64
import io
import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image
from support.chat_case import FIELDS
from support.protocol_server import Served, serving

from tertulia.models.rehearsal import RehearsalTokenizer
from tertulia.models.served.chat import ChatModel, open_chat_model
from tertulia.prompts.render import render
from tertulia.runs.access.suited import require_sight
from tertulia.state.errors import ModelError, SettingError
from tertulia.state.language_model import GenerationRequest
from tertulia.state.parameters import Parameters
from tertulia.state.records import Prompt, Unit


def _picture(format: str) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (3, 2), "red").save(file, format)
    return file.getvalue()


PICTURES = {"one": _picture("PNG"), "two": _picture("JPEG"), "bad": b"<svg/>"}


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as server:
        yield server


def a_model(served: Served, sight: str = "pictures", **limits: Any) -> ChatModel:
    model = open_chat_model(served.model, Parameters(sight=sight, **{"max_retries": 3, **limits}), None)  # type: ignore[arg-type]
    model.use_pictures(PICTURES.__getitem__)
    return model


def a_request(*pictures: str, layout: str = "single_message", rows: int = 1) -> GenerationRequest:
    units = [Unit(id="a", block="album", kind="text", text="This is shown:")]
    units += [
        Unit(id=f"p{i}", block="picture", kind="item", text=f"caption of {name}", picture=name)
        for i, name in enumerate(pictures)
    ]
    units += [Unit(id=id, block="task", kind="text", text=text) for id, text in (("b", "Look at it."), ("c", "Speak."))]
    prompt = render(Prompt(units=tuple(units), speaker="Ana", layout=layout), RehearsalTokenizer())
    return GenerationRequest(prompt, FIELDS, tuple(random.Random(row) for row in range(rows)), 0.8, 0.9)


async def test_pictures_are_sent_in_the_place_of_their_units(served: Served) -> None:
    (reply,) = await a_model(served).generate(a_request("one", "two"))
    assert reply.fields["Ana"]
    (message,) = served.requests[0]["messages"]
    assert message["role"] == "user"
    kinds = [part["type"] for part in message["content"]]
    assert kinds == ["text", "image_url", "image_url", "text", "text"]
    texts = [part["text"] for part in message["content"] if part["type"] == "text"]
    assert texts[:2] == ["This is shown:", "Look at it.\nSpeak."]
    assert '"Ana"' in texts[2]
    urls = [part["image_url"]["url"] for part in message["content"] if part["type"] == "image_url"]
    assert [url.partition(",")[0] for url in urls] == ["data:image/png;base64", "data:image/jpeg;base64"]
    assert [base64.b64decode(url.partition(",")[2]) for url in urls] == [PICTURES["one"], PICTURES["two"]]


@pytest.mark.parametrize("sight", ["captions", "auto"])
async def test_captions_are_sent_where_nobody_says_that_it_sees(served: Served, sight: str) -> None:
    model = a_model(served, sight)
    assert not model.traits.sees_pictures
    await model.generate(a_request("one"))
    (message,) = served.requests[0]["messages"]
    assert message["content"].startswith("This is shown:\ncaption of one\nLook at it.\nSpeak.\n")


@pytest.mark.parametrize(("name", "sees"), [("openai:gpt-4o", True), ("openai:gpt-4", False), ("openai:nobody", False)])
def test_the_profile_of_a_provider_s_model_says_whether_it_sees(name: str, sees: bool) -> None:
    for sight, expected in (("auto", sees), ("captions", False), ("pictures", True)):
        model = open_chat_model(name, Parameters(sight=sight), "sk-none")  # type: ignore[arg-type]
        assert model.traits.sees_pictures == expected
    blind = open_chat_model(name, Parameters(sight="captions"), "sk-none").traits
    with pytest.raises(SettingError, match="sight=pictures"):
        require_sight(blind, Parameters(sight="pictures"))


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "Invalid content type. image_url is only supported by certain models."),
        (400, "parrot is not a multimodal model"),
        (404, "No endpoints found that support image input"),
        (400, "Failed to deserialize the JSON body: messages[0]: unknown variant `image_url`, expected `text`"),
        (422, "messages.0.content: Input should be a valid string"),
        (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    ],
)
async def test_a_server_that_refuses_pictures_is_one_line(served: Served, status: int, words: str) -> None:
    served.refuses_pictures = (status, words)
    model = a_model(served)
    with pytest.raises(ModelError, match=r"refuses pictures \(\d+: .*set sight=captions") as raised:
        await model.generate(a_request("one"))
    assert "\n" not in str(raised.value)
    assert served.model in str(raised.value)
    assert len(served.requests) == 1, "neither tried again nor asked without a schema"
    await model.generate(a_request())


async def test_what_is_no_picture_is_not_sent(served: Served) -> None:
    with pytest.raises(ModelError, match="a picture can't be read"):
        await a_model(served).generate(a_request("bad"))
    assert served.requests == []


async def test_pictures_are_looked_up_in_the_thread_that_asks(served: Served) -> None:
    model, threads = a_model(served), []

    def lookup(name: str) -> bytes:
        threads.append(threading.current_thread())
        return PICTURES[name]

    model.use_pictures(lookup)
    await model.generate_batch([a_request("one", rows=2), a_request(), a_request("two")])
    assert threads == [threading.current_thread()] * 2
    assert sum("image_url" in str(request["messages"]) for request in served.requests) == 3
