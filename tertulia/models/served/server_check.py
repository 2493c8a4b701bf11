"""The features that a server honours, by some two dozen small requests: as runs send them, with one feature changed.

1. The four ways to make draws certain (a temperature near 0, a tiny top-p, one token of top-k, min-p 1) show in answers
   that are the same at two seeds, if answers at a high temperature differ.
2. A feature that the server refuses by name is not honoured; one that it passes over without a word shows only in its
   answers. If these show nothing, nothing is claimed.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import SecretStr

from tertulia.models.served.chat_client import ChatAnswer, Message
from tertulia.models.served.chat_errors import as_model_error, shortened_message
from tertulia.models.served.chat_names import ADDRESS, check_chat_name, keys_of_servers, split_addresses
from tertulia.models.served.refusals import FIELDS, LIMITS, REPEATED, SCHEMA, SYSTEM, WHOLE, refused_parts
from tertulia.models.served.remote_requests import event_loop
from tertulia.models.served.server_client import ServerClient, read_object
from tertulia.models.served.server_streams import is_stream
from tertulia.models.served.servers import Server
from tertulia.state.errors import UsageError
from tertulia.state.server_table import ServerFinding, ServerTable
from tertulia.state.text import clean

#: Seconds until an answer, and tokens of it.
_TIMEOUT_S, _TOKENS = 120.0, 12

_ASKED: Sequence[Message] = (("user", "Name some animals of the sea, in any order."),)

#: A temperature at which hardly two answers are alike.
_HOT = 2.0

#: Ways to make a draw certain, by the feature that they show.
_CERTAIN: Mapping[str, dict[str, float]] = {
    "temperature": {"temperature": 0.01},
    "top_p": {"top_p": 1e-6},
    "top_k": {"top_k": 1},
    "min_p": {"min_p": 1.0},
}

#: An answer that no model gives unless it must.
_FORM: Mapping[str, Any] = {
    "title": "answer",
    "description": "The answer.",
    "type": "object",
    "properties": {"heron": {"type": "string", "enum": ["grey-7"]}},
    "required": ["heron"],
    "additionalProperties": False,
}

#: Fields for the length of a context window, in servers' descriptions of models and of themselves.
_WINDOWS = ("n_ctx", "max_model_len", "loaded_context_length", "max_context_length", "context_length", "context_window")

Found = tuple[bool | None, str]


def check_server(name: str, key: str | None) -> ServerTable:
    """Return the features that the first server of a name honours.

    Args:
        name: `http://HOST:PORT/v1#NAME`.
        key: The value of the environment variable of `chat_names.key_variable`.

    Raises:
        UsageError: The name is none of a server.
        ModelError: The server can't be reached, or answers no plain request.
    """
    if not name.startswith(ADDRESS):
        raise UsageError(f"{name} is no server; write http://HOST:PORT/v1#NAME")
    check_chat_name(name)
    (address, *_), model = split_addresses(name)
    server = Server(address, SecretStr(keys_of_servers([address], key or "")[address]))
    return asyncio.run_coroutine_threadsafe(_Check(name, model, server).table(), event_loop()).result()


class _Check:
    """The questions to a server; used in `event_loop` only."""

    def __init__(self, name: str, model: str, server: Server) -> None:
        self._name, self._model, self._server = name, model, server
        self._client = ServerClient(model, None)
        self._requests = 0
        self._thought = ""

    async def table(self) -> ServerTable:
        """Ask everything, one after another: answers of a server may depend on those that it gives beside them."""
        try:
            first = await self._answer(temperature=_HOT, seed=1)
        except Exception as error:
            key = self._server.key.get_secret_value()
            raise as_model_error(error, self._name, key=key, timeout_s=_TIMEOUT_S, attempts=1) from None
        found: dict[str, Found] = {"model": await self._listed()}
        found |= await self._sampling(first)
        questions: dict[str, Callable[[], Awaitable[Found]]] = {
            "JSON Schema": self._schema,
            "log-probabilities of answers": self._logprobs,
            "log-probabilities of prompts": self._likelihoods,
            "context window": self._window,
            "system messages": lambda: self._takes(SYSTEM, [("system", "You are a diver."), *_ASKED]),
            "a role twice on end": lambda: self._takes(REPEATED, [("user", "Hello."), *_ASKED]),
            "streaming": self._stream,
        }
        for feature, question in questions.items():
            found[feature] = await self._found(question)
        found["reasoning apart"] = (True, "") if self._thought else (None, "no answer had any")
        found["counts of tokens"] = (bool(first.prompt_tokens), f"{first.prompt_tokens} read")
        found["why an answer ends"] = (bool(first.finish), first.finish)
        return ServerTable(
            server=self._name,
            checked=datetime.now(UTC).isoformat(timespec="seconds"),
            requests=self._requests,
            findings=tuple(
                ServerFinding(feature=feature, honoured=honoured, seen=clean(seen))
                for feature, (honoured, seen) in found.items()
            ),
        )

    async def _found(self, question: Callable[[], Awaitable[Found]]) -> Found:
        try:
            return await question()
        except Exception as error:
            return False, shortened_message(error, self._server.key.get_secret_value())

    async def _answer(
        self, messages: Sequence[Message] = _ASKED, schema: Mapping[str, Any] | None = None, **changes: Any
    ) -> ChatAnswer:
        """Return the answer to a request as runs send it, but for some parameters; refused parts are left out."""
        while True:
            refused = frozenset(self._server.refused)
            recorded = {"temperature": 1.0, "top_p": 1.0, "min_p": 0.0} | changes
            seed = int(recorded.pop("seed", 1))
            body = {**self._client.as_taken(self._server, recorded, seed), "max_tokens": 256 if schema else _TOKENS}
            sent = {field: value for field, value in body.items() if field not in refused}
            self._requests += 1
            try:
                async with asyncio.timeout(_TIMEOUT_S):
                    answer = await self._client.answer(self._server, messages, schema, sent)
            except Exception as error:
                parts = {*sent, *LIMITS, WHOLE, FIELDS, *({SCHEMA} if schema else ()), *_roles(messages)} - refused
                if not (found := refused_parts(error, parts)):
                    raise
                self._server.refused |= found
                if found & {SCHEMA, SYSTEM, REPEATED}:
                    raise
                continue
            self._thought = self._thought or answer.thought
            return answer

    async def _sampling(self, first: ChatAnswer) -> dict[str, Found]:
        """Return whether draws follow the seed and the parameters."""
        again, second = await self._hot(1), await self._hot(2)
        texts = [_shown(answer) for answer in (first, again, second)]
        varies = len({*texts}) > 1
        found: dict[str, Found] = {"seed": self._seed(texts)}
        for feature, certain in _CERTAIN.items():
            if feature in self._server.refused:
                found[feature] = False, "refused by name: left out, and recorded as unknown"
                continue
            changes: dict[str, Any] = {"temperature": _HOT, **certain}
            drawn = [_shown(await self._answer(seed=seed, **changes)) for seed in (1, 2)]
            if feature in self._server.refused:
                found[feature] = False, "refused by name: left out, and recorded as unknown"
            elif not varies:
                found[feature] = None, f"all answers are alike, at temperature {_HOT:g} too"
            else:
                same = drawn[0] == drawn[1]
                found[feature] = same, "" if same else f"answers differ at {_in_words(certain)}"
        if not varies:
            found["temperature"] = False, f"all answers are alike, at temperature {_HOT:g} too"
        return found

    async def _hot(self, seed: int) -> ChatAnswer:
        return await self._answer(temperature=_HOT, seed=seed)

    def _seed(self, texts: Sequence[str]) -> Found:
        if "seed" in self._server.refused:
            return False, "refused by name: left out, and recorded as unknown"
        first, again, second = texts
        if first != again:
            return False, "answers to one seed differ"
        return (None, "all answers are alike") if first == second else (True, "")

    async def _listed(self) -> Found:
        models = await self._described("models")
        names = [str(model.get("id")) for model in _dictionaries(models.get("data"))]
        if self._model in names:
            return True, ""
        return None, f"answers; it lists {', '.join(names[:3])}" if names else "answers; it lists no models"

    async def _schema(self) -> Found:
        answer = await self._answer(schema=_FORM)
        try:
            held = json.loads(answer.text)
        except (ValueError, RecursionError):
            held = None
        return (True, "") if held == {"heron": "grey-7"} else (False, "passed over without a word")

    async def _logprobs(self) -> Found:
        body = {"model": self._model, "messages": _plain(_ASKED), "max_tokens": 1, "logprobs": True, "top_logprobs": 1}
        self._requests += 1
        first = next(
            _dictionaries((await self._client.post(self._server, "chat/completions", body)).get("choices")), {}
        )
        told = first.get("logprobs")
        return (True, "") if isinstance(told, dict) and told.get("content") else (False, "none in the answer")

    async def _likelihoods(self) -> Found:
        self._requests += 2
        return (True, "") if await self._client.tells_likelihoods(self._server) else (False, "in neither known way")

    async def _window(self) -> Found:
        descriptions = [await self._described("models"), await self._described("/props")]
        tokens = next((window for description in descriptions for window in _windows(description, self._model)), None)
        return (None, "it does not tell") if tokens is None else (True, f"{tokens:,} tokens")

    async def _takes(self, part: str, messages: Sequence[Message]) -> Found:
        await self._answer(messages)
        return (False, "refused") if part in self._server.refused else (True, "")

    async def _stream(self) -> Found:
        body = {"model": self._model, "messages": _plain(_ASKED), "max_tokens": _TOKENS, "stream": True}
        self._requests += 1
        response = await self._client.exchange(self._server, "POST", "chat/completions", body)
        read_object(response)
        if not is_stream(response.content):
            return False, "answers in one piece"
        return True, "in streams only" if WHOLE in self._server.refused else ""

    async def _described(self, path: str) -> dict[str, Any]:
        """Return a description that a server gives of itself; empty without."""
        self._requests += 1
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                return read_object(await self._client.exchange(self._server, "GET", path))
        except Exception:
            return {}


def _shown(answer: ChatAnswer) -> str:
    """Return all that a model wrote: a short answer of a model that thinks may be a thought alone."""
    return answer.thought + answer.text


def _roles(messages: Sequence[Message]) -> Iterator[str]:
    roles = [role for role, _ in messages]
    if "system" in roles:
        yield SYSTEM
    if roles.count("user") > 1:
        yield REPEATED


def _plain(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [{"role": role, "content": content} for role, content in messages]


def _dictionaries(value: object) -> Iterator[dict[str, Any]]:
    yield from (item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict))


def _windows(description: dict[str, Any], model: str) -> Iterator[int]:
    """Yield the lengths of context windows in a description of a server or of its models, the model's own first."""
    models = sorted(_dictionaries(description.get("data")), key=lambda told: told.get("id") != model)
    described = [part for told in models[:1] for part in (told.get("meta"), told)]
    for part in (*described, description.get("default_generation_settings"), description):
        values = (part.get(name) for name in _WINDOWS) if isinstance(part, dict) else ()
        yield from (value for value in values if type(value) is int and value > 0)


def _in_words(parameters: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in parameters.items())
