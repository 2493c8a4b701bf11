"""A chat model behind the small server of tests, and what it is asked."""

import random
from typing import Any

from support.protocol_server import Served

from tertulia.models.rehearsal import RehearsalTokenizer
from tertulia.models.served.chat import ChatModel, open_chat_model
from tertulia.prompts.render import render
from tertulia.state.language_model import GenerationRequest, ReplyField
from tertulia.state.parameters import Parameters
from tertulia.state.records import Prompt, Unit

SPEECH = (ReplyField("Ana", "speech"),)
FIELDS = (*SPEECH, ReplyField("over?", "boolean"))
KEY = "sk-a-secret-of-mine-1234567890"


def a_chat_model(served: Served, key: str | None = None, **limits: Any) -> ChatModel:
    """Return the model of this server; by default it retries three times."""
    return open_chat_model(served.model, Parameters(**{"max_retries": 3, **limits}), key)


def a_request(
    *texts: str, fields: tuple[ReplyField, ...] = FIELDS, rows: int = 1, layout: str = "single_message"
) -> GenerationRequest:
    """Return the request for an utterance of Ana, with so many rows, each with a seed."""
    units = [Unit(id=f"task.{i}", block="task", kind="text", text=text) for i, text in enumerate(texts or ("Speak.",))]
    prompt = Prompt(units=tuple(units), speaker="Ana", layout=layout)
    generators = tuple(random.Random(row) for row in range(rows))
    return GenerationRequest(render(prompt, RehearsalTokenizer()), fields, generators, 0.8, 0.9)
