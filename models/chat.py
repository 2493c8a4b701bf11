"""Any chat model of LangChain as a `LanguageModel`, for all that needs only text: hosted, or on a server of one's own.

1. A prompt of units becomes messages, as `prompts.render.as_messages` has them; there is no tokenizer to be had.
2. The reply is a JSON object: by schema where the provider can, and read with patience in any case (`models.repair`).
   One that can't be read is asked for again, with what was wrong.
3. What fails for a while (limits, a busy server, a line that breaks) is tried again, later each time; what fails for
   good is told in one line. No key is ever in an error, a record or a representation.

LangChain is imported when a model is opened, and not before.
"""

import asyncio
import email.utils
import importlib.util
import json
import random
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from models.rehearsal import RehearsalTokenizer
from models.repair import UnusableReplyError, read_answer
from prompts.render import as_messages
from prompts.shape import ask_again, ask_for, schema_of
from state.errors import (
    AttentionUnavailableError,
    ContextWindowError,
    ModelError,
    TertuliaError,
    UsageError,
    extra_hint,
    nearest_hint,
)
from state.language_model import NO_ATTENTION, GenerationRequest, ModelTraits, RenderedPrompt, ScoringOptions
from state.parameters import Parameters
from state.records import Reply

#: What suits a model that was trained to follow instructions, and shows nothing but text.
TRAITS = ModelTraits(context_window=None, layout="single_message", judge="rating", ending="reply", text_only=True)

#: How often a model is asked again for a reply that can't be read.
_AGAIN = 4
#: Seconds until the first retry, and at most.
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 60.0
#: Seconds that a server may ask for; where it wants more, the run stops and can be resumed then.
_PATIENCE_S = 300.0
#: Statuses that may pass: of a request that came too late, met another, or was one too many.
_PASSING = (408, 409, 425, 429)
#: Characters of somebody else's message that an error shows.
_SHOWN = 200


@dataclass(frozen=True)
class Provider:
    """Where a provider's models come from.

    Attributes:
        package: The distribution that knows the provider.
        install: What installs it.
        key: The environment variable with the key; `None` if it needs none, or LangChain's class finds it by itself.
    """

    package: str
    install: str
    key: str | None


def _by_pip(package: str, key: str | None) -> Provider:
    return Provider(package, f"pip install {package}", key)


#: By LangChain's name of the provider. The first three have extras of their own; others that LangChain knows will do.
PROVIDERS = {
    "openai": Provider("langchain-openai", extra_hint("chat"), "OPENAI_API_KEY"),
    "anthropic": Provider("langchain-anthropic", extra_hint("anthropic"), "ANTHROPIC_API_KEY"),
    "ollama": Provider("langchain-ollama", extra_hint("ollama"), None),
    "deepseek": _by_pip("langchain-deepseek", "DEEPSEEK_API_KEY"),
    "google_genai": _by_pip("langchain-google-genai", "GOOGLE_API_KEY"),
    "groq": _by_pip("langchain-groq", "GROQ_API_KEY"),
    "mistralai": _by_pip("langchain-mistralai", "MISTRAL_API_KEY"),
    "openrouter": _by_pip("langchain-openrouter", "OPENROUTER_API_KEY"),
    "xai": _by_pip("langchain-xai", "XAI_API_KEY"),
    "bedrock_converse": _by_pip("langchain-aws", None),
}

_ADDRESS = ("http://", "https://")
#: Models that draw by a seed, if their server does.
_SEEDED = (*_ADDRESS, "ollama:")

#: The variable with the key of a server of one's own: no other key is ever sent there.
SERVER_KEY = "TERTULIA_SERVER_KEY"


def is_chat_name(name: str) -> bool:
    """Whether a name is that of a chat model: `PROVIDER:NAME`, or `http://ADDRESS#NAME`."""
    return bool(re.match(r"[a-z_]+:", name)) or name.startswith(_ADDRESS)


def key_variable(name: str) -> str | None:
    """Return the environment variable that has the key of a chat model; `None` where none is known."""
    if name.startswith(_ADDRESS):
        return SERVER_KEY
    provider = PROVIDERS.get(name.partition(":")[0])
    return provider.key if provider else None


def check_chat_name(name: str) -> None:
    """Refuse a name that no chat model can have.

    Raises:
        UsageError: It is incomplete, or an address that holds a key.
    """
    if name.startswith(_ADDRESS):
        _split_address(name)
    elif not name.partition(":")[2]:
        raise UsageError(f"{name} write {name}NAME, the name that the provider has for the model")


def open_chat_model(name: str, parameters: Parameters, key: str | None) -> "ChatModel":
    """Return the chat model of that name.

    Args:
        name: `PROVIDER:NAME`, or the address of a server that speaks OpenAI's protocol, `#`, and the model's name.
        parameters: The limits: timeout, retries, concurrency, requests a minute, length.
        key: What `key_variable` has in the environment.

    Raises:
        UsageError: The name is incomplete, or the provider is unknown.
        ModelError: Its package is missing, or its key.
    """
    if name.startswith(_ADDRESS):
        address, model = _split_address(name)
        opened = _init("openai", model, parameters, key, base_url=address, api_key=key or "none")
        return ChatModel(name, opened, parameters, key)
    check_chat_name(name)
    provider, _, model = name.partition(":")
    variable = key_variable(name)
    if variable and not key:
        raise ModelError(f"{name} needs a key; set {variable} to it in the environment")
    own = {"api_key": key} if key else {}
    return ChatModel(name, _init(provider, model, parameters, key, **own), parameters, key)


def _split_address(name: str) -> tuple[str, str]:
    address, _, model = name.partition("#")
    try:
        parts = urlsplit(address)
        known = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        known = False
    if not known:
        raise UsageError("a server's address is not one; write http://HOST:PORT/v1#NAME")
    if parts.username is not None or parts.password is not None or parts.query:
        raise UsageError(f"a server's address holds no key: it would be stored; set {SERVER_KEY} in the environment")
    if not model:
        raise UsageError(f"{address}: the model's name is missing; write {address}#NAME")
    return address, model


def _init(provider: str, model: str, parameters: Parameters, key: str | None, **own: Any) -> Any:
    """Return LangChain's model, whose own retries and timeouts are off: they are counted here."""
    known = PROVIDERS.get(provider)
    if importlib.util.find_spec("langchain") is None:
        raise ModelError(f"hosted models need LangChain; run: {extra_hint('chat')}")
    from langchain.chat_models import init_chat_model

    limits: dict[str, Any] = {} if provider == "ollama" else {"max_retries": 0}
    if parameters.max_reply_tokens is not None:
        limits["num_predict" if provider == "ollama" else "max_tokens"] = parameters.max_reply_tokens
    try:
        # Where graphs are traced, LangChain would stream; what is cut then reads as if it were whole.
        return init_chat_model(model, model_provider=provider, disable_streaming=True, **limits, **own)
    except ImportError:
        install = known.install if known else f"pip install langchain-{provider.replace('_', '-')}"
        raise ModelError(f"{provider}:{model} needs another package; run: {install}") from None
    except ValueError as error:
        if known is None and "nsupported" in str(error):
            raise UsageError(f"unknown provider {provider!r}{nearest_hint(provider, PROVIDERS)}") from None
        raise ModelError(f"{provider}:{model} can't be opened: {_in_short(error, key or '')}") from None


class ChatModel:
    """Implements `state.language_model.LanguageModel` for all that needs only text."""

    def __init__(self, id: str, model: Any, parameters: Parameters, key: str | None) -> None:
        self.id, self.traits = id, TRAITS
        #: Counts tokens about as a model does; those that were really read and written come with each reply.
        self.tokenizer = RehearsalTokenizer()
        self._model, self._key = model, SecretStr(key or "")
        self._retries, self._timeout_s = parameters.max_retries, parameters.request_timeout_s
        self._pace = _Pace(parameters.requests_per_minute)
        self._places = asyncio.Semaphore(parameters.max_concurrency)
        self._knows_schemas = True

    def __repr__(self) -> str:
        return f"ChatModel({self.id!r})"

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        """Return one reply per generator of the request, each asked for by itself (see the contract)."""
        return (await self.generate_batch([request]))[0]

    async def generate_batch(self, requests: Sequence[GenerationRequest]) -> list[list[Reply]]:
        """Return the replies to several prompts, all asked for at the same time; one list per request."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._replies(requests), _line()))

    async def _replies(self, requests: Sequence[GenerationRequest]) -> list[list[Reply]]:
        asked = [self._reply(request, generator) for request in requests for generator in request.generators]
        replies = iter(await asyncio.gather(*asked))
        return [[next(replies) for _ in request.generators] for request in requests]

    async def generate_scored(
        self, request: GenerationRequest, options: ScoringOptions
    ) -> tuple[list[Reply], dict[str, float]]:
        """Raise: there is no attention to be seen."""
        raise self._shows_no_attention()

    async def score(
        self, prompt: RenderedPrompt, responses: Sequence[Sequence[int]], options: ScoringOptions
    ) -> list[dict[str, float]]:
        """Raise: there is no attention to be seen."""
        raise self._shows_no_attention()

    async def log_likelihood(self, prompt: RenderedPrompt, reply: Reply) -> float:
        """Raise: there are no probabilities to be seen."""
        raise ModelError(
            f"{self.id} does not tell how likely a text is; set judge=rating, or judge_model to a local model, "
            "and take a scorer that needs no likelihood"
        )

    async def probabilities(self, prompt: RenderedPrompt, options: Sequence[str]) -> list[float]:
        """Raise: there are no probabilities to be seen."""
        raise ModelError(f"{self.id} does not tell how likely a text is; set ending=reply")

    def _shows_no_attention(self) -> AttentionUnavailableError:
        return AttentionUnavailableError(f"{self.id} {NO_ATTENTION}")

    async def _reply(self, request: GenerationRequest, generator: random.Random) -> Reply:
        """Return one reply; one that can't be read is asked for again, with what was wrong."""
        assert request.prompt.source is not None
        fields = request.fields
        messages: list[tuple[str, str]] = [
            (role, _sendable("\n".join(unit.text for unit in units)))
            for role, units in as_messages(request.prompt.source)
        ]
        said = messages.pop()[1] + "\n" if messages[-1][0] == "user" else ""
        messages.append(("user", said + ask_for(fields)))
        seed = generator.getrandbits(31)
        read = written = 0
        problem = ""
        for _ in range(1 + _AGAIN):
            answer = await self._ask(messages, request, generator, seed)
            usage = answer.usage_metadata or {}
            read, written = read + usage.get("input_tokens", 0), written + usage.get("output_tokens", 0)
            text = str(answer.text)
            try:
                reply = read_answer(text, fields, self.tokenizer)
            except UnusableReplyError as error:
                problem = str(error)
                messages += [("assistant", text.strip()[:2000] or "…"), ("user", ask_again(fields, problem))]
                continue
            return reply.model_copy(update={"usage": (read, written) if read else None})
        raise ModelError(
            f"{self.id} gave no reply that can be read, {1 + _AGAIN} times ({problem}); resume to ask again, "
            "or take another model"
        )

    async def _ask(
        self, messages: Sequence[tuple[str, str]], request: GenerationRequest, generator: random.Random, seed: int
    ) -> Any:
        """Return the model's answer, tried again while what fails may pass."""
        for attempt in range(self._retries + 1):
            try:
                async with self._places:
                    await self._pace.wait()
                    async with asyncio.timeout(self._timeout_s):
                        return await self._answer(messages, request, seed)
            except TertuliaError:
                raise
            except Exception as error:
                wait_s = _wait_s(error, attempt, generator)
                if wait_s is None or attempt == self._retries:
                    raise self._told(error, attempt) from None
            await asyncio.sleep(wait_s)
        raise AssertionError  # the last attempt returns or raises

    async def _answer(self, messages: Sequence[tuple[str, str]], request: GenerationRequest, seed: int) -> Any:
        model = self._sampling(request, seed)
        config: Any = {"callbacks": []}  # or events of the graph would carry every prompt
        if self._knows_schemas:
            try:
                shaped = model.with_structured_output(schema_of(request.fields), method="json_schema", include_raw=True)
                return (await shaped.ainvoke(messages, config))["raw"]
            except Exception as error:
                if not _refuses_schemas(error):
                    raise
                self._knows_schemas = False
        return await model.ainvoke(messages, config)

    def _sampling(self, request: GenerationRequest, seed: int) -> Any:
        """Return the model as it samples for a request; 1 is what every provider takes, and is not sent."""
        chosen = {"temperature": request.temperature, "top_p": request.top_p}
        sampling: dict[str, float] = {name: value for name, value in chosen.items() if value != 1}
        if self.id.startswith(_SEEDED):
            sampling["seed"] = seed
        for name in sampling:
            if name not in type(self._model).model_fields:
                raise ModelError(f"{self.id} takes no {name}; set {name}=1")
        return self._model.model_copy(update=sampling)

    def _told(self, error: Exception, attempt: int) -> ModelError:
        """Return what failed for good in one line, with what to do about it."""
        status = _status(error)
        times = f" ({attempt + 1} times)" if attempt else ""
        said = _in_short(error, self._key.get_secret_value())
        variable = key_variable(self.id)
        if status in (401, 403):
            key = f" the key in {variable}" if self._key else f"; it wants a key in {variable}" if variable else ""
            return ModelError(f"{self.id} refuses{key} ({status}); see that it is right, then resume")
        if status == 404:
            return ModelError(f"{self.id}: nobody serves a model of that name there (404: {said}); see the name")
        if status == 429:
            return ModelError(
                f"{self.id} is over its limit{times} (429: {said}); resume later, or set requests_per_minute"
            )
        if getattr(error, "code", None) == "context_length_exceeded":
            return ContextWindowError(
                f"{self.id}: the prompt does not fit its context window ({said}); set memory_items_max"
            )
        if status is not None and status < 500:
            return ModelError(f"{self.id} refuses the request ({status}: {said}); see docs/models.md")
        if status is not None:
            return ModelError(f"{self.id} failed{times} ({status}: {said}); resume when it is up again")
        if _is_timeout(error):
            return ModelError(
                f"{self.id} did not answer within {self._timeout_s:g} s{times}; resume, or set request_timeout_s"
            )
        return ModelError(
            f"{self.id} can't be reached, or its answer breaks off{times} ({said}); see that it runs, then resume"
        )


def _sendable(text: str) -> str:
    """Return a text without halves of surrogate pairs, which can't be sent."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@cache
def _line() -> asyncio.AbstractEventLoop:
    """Return the event loop in which requests are made, in a thread of its own.

    Connections outlive the loop of a run there, and a local model at work does not make answers look late.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="remote models", daemon=True).start()
    return loop


class _Pace:
    """Lets so many requests begin in a minute, evenly."""

    def __init__(self, per_minute: float | None) -> None:
        self._apart_s = 60 / per_minute if per_minute else 0.0
        self._next = 0.0

    async def wait(self) -> None:
        """Wait until the next request may begin."""
        now = time.monotonic()
        begin = max(now, self._next)
        self._next = begin + self._apart_s
        await asyncio.sleep(begin - now)


def _wait_s(error: Exception, attempt: int, generator: random.Random) -> float | None:
    """Return how long to wait before the next attempt; `None` if another would fail as well."""
    status = _status(error)
    if getattr(error, "code", None) == "insufficient_quota":
        return None
    if status is not None and status not in _PASSING and status < 500:
        return None
    if status is None and not _is_of_the_line(error):
        return None
    wait_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0**attempt) * (0.5 + generator.random())
    asked_s = _retry_after_s(error)
    if asked_s is None:
        return wait_s
    return asked_s * (1 + generator.random() / 4) if asked_s <= _PATIENCE_S else None


def _retry_after_s(error: Exception) -> float | None:
    """Return the seconds that a server asks to wait, as it may say them: a number, or a date."""
    said = getattr(getattr(error, "response", None), "headers", {}).get("retry-after")
    if said is None:
        return None
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
    except ValueError:
        return None


def _status(error: BaseException) -> int | None:
    """Return the HTTP status that an error of a provider's library carries, whichever library it is."""
    for one in (error, getattr(error, "response", None)):
        status = getattr(one, "status_code", None)
        if isinstance(status, int) and status >= 400:
            return status
    return None


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _is_of_the_line(error: Exception) -> bool:
    """Whether a request did not come through, or its answer only in part."""
    return any(
        isinstance(one, OSError | json.JSONDecodeError) or "ransport" in " ".join(b.__name__ for b in type(one).__mro__)
        for one in _chain(error)
    )


def _is_timeout(error: Exception) -> bool:
    return any(isinstance(one, TimeoutError) or "Timeout" in type(one).__name__ for one in _chain(error))


def _refuses_schemas(error: Exception) -> bool:
    """Whether a model, or its server, knows no JSON Schema."""
    if isinstance(error, NotImplementedError):
        return True
    return _status(error) in (400, 422) and bool(re.search(r"response_format|schema|json|format", str(error), re.I))


def _in_short(error: BaseException, key: str) -> str:
    """Return what somebody else's error says, on one line and without the key."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = re.sub(r"^Error code: \d+ - ", "", text)
    text = text.replace(key, "…") if key else text
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
