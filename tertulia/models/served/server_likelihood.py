"""The likelihood of a text to a model on a server, from the log-probabilities of prompts that some servers return.

Two ways are known, and which of them a server has is found out by asking it once:

1. vLLM's chat completions: the prompt breaks off in its last message, the reply (`continue_final_message`), and
   `prompt_logprobs` are those of the prompt's tokens.
2. Completions with `echo`: the prompt is plain lines, as for a local model without a chat template.

The tokens of a text are those by which the prompt grows when the text is added: the server counts them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from tertulia.models.served.server_answers import read_chat_logs, read_echo_logs, read_prompt_tokens
from tertulia.models.served.servers import Server
from tertulia.prompts.render import as_messages, text_of
from tertulia.state.errors import ModelError
from tertulia.state.language_model import RenderedPrompt
from tertulia.state.records import Reply
from tertulia.state.text import whole_characters

Way = Literal["chat", "echo"]

#: Statuses with which servers refuse a parameter, or a path, that they do not know.
_UNKNOWN = (400, 404, 405, 422, 501)

#: A test of a server: a prompt, and the beginning and the end of a reply.
_TRIED = ([("user", "Say hello.")], "Hello", " there")

_Messages = Sequence[tuple[str, str]]


class Post(Protocol):
    """Posts a body to a path of a server and returns the object with which it answers."""

    async def __call__(self, server: Server, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer."""


class ServerLikelihoods:
    """Reads log-probabilities from the servers of one model."""

    def __init__(self, model: str, post: Post) -> None:
        """Note the model's name on the servers, and how they are asked."""
        self._model, self._post = model, post
        self._ways: dict[Server, Way | None] = {}

    async def are_told_by(self, server: Server) -> bool:
        """Return whether a server returns log-probabilities of prompts; it is asked once."""
        if server not in self._ways:
            self._ways[server] = await self._way_of(server)
        return self._ways[server] is not None

    async def of_tokens(
        self, server: Server, prompt: RenderedPrompt, reply: Reply, tokens: int | None = None
    ) -> list[float]:
        """Return the log-probability of each token of the reply's first text after the prompt, in nats.

        The server must be one of those that tell.

        Args:
            tokens: How many these are, if that is known from another prompt: they are not counted again then, which
                spares one of two requests.

        Raises:
            ModelError: Its answer has none.
        """
        way = self._ways[server]
        assert prompt.source is not None
        assert way is not None
        before, text = _first_text(reply, prompt.reply_prefix)
        messages = [(role, whole_characters(text_of(units))) for role, units in as_messages(prompt.source)]
        return await self._logs_of(server, way, messages, before, text, tokens)

    async def _way_of(self, server: Server) -> Way | None:
        for way in ("chat", "echo"):
            try:
                if await self._logs_of(server, way, *_TRIED):
                    return way
            except Exception as error:
                if not isinstance(error, ModelError) and getattr(error, "status_code", None) not in _UNKNOWN:
                    raise
        return None

    async def _logs_of(
        self, server: Server, way: Way, messages: _Messages, before: str, text: str, tokens: int | None = None
    ) -> list[float]:
        """Return the log-probabilities of the tokens of a text, of which there are so many, or which are counted.

        Raises:
            ModelError: The answer has none.
            RefusedAnswerError: Its log-probabilities are against the protocol.
        """
        path = "chat/completions" if way == "chat" else "completions"
        body_of = _chat_body if way == "chat" else _echo_body
        first = None
        if tokens is None:
            shorter = await self._post(server, path, {"model": self._model, **body_of(messages, before, False)})
            first = read_prompt_tokens(shorter)
        longer = await self._post(server, path, {"model": self._model, **body_of(messages, before + text, True)})
        past_last = read_prompt_tokens(longer)
        first = past_last - (tokens or 0) if first is None else first
        told = (read_chat_logs if way == "chat" else read_echo_logs)(longer)[:past_last]
        logs = [log for log in told[first:] if log is not None]
        if not 0 < first < past_last or len(logs) != past_last - first:
            raise ModelError(f"{server.address} returned no log-probabilities of a prompt")
        return logs


def _first_text(reply: Reply, reply_prefix: str) -> tuple[str, str]:
    """Return the first text of a reply as it was written, and all of the reply before it."""
    first = next((value for value in reply.fields.values() if isinstance(value, str)), None)
    written = reply.text.removeprefix(reply_prefix)
    text = written if first is None else json.dumps(first, ensure_ascii=False)[1:-1]
    return whole_characters(reply_prefix + written.partition(text)[0]), whole_characters(text)


def _chat_body(messages: _Messages, reply: str, tells: bool) -> dict[str, Any]:
    asked = [{"role": role, "content": content} for role, content in (*messages, ("assistant", reply))]
    ending = {"add_generation_prompt": False, "continue_final_message": True}
    return {"messages": asked, **ending, "max_tokens": 1, **({"prompt_logprobs": 0} if tells else {})}


def _echo_body(messages: _Messages, reply: str, tells: bool) -> dict[str, Any]:
    lines = "\n".join([*(content for _, content in messages), reply])
    return {"prompt": lines, "max_tokens": 1, **({"echo": True, "logprobs": 1} if tells else {})}
