"""Any chat model of LangChain as a `LanguageModel`, for all that needs only text: hosted, or on the user's server.

1. A prompt of units becomes messages (`models.chat_messages`); there is no tokenizer. Pictures are sent where the user
   asks for it (`sight=pictures`), or where LangChain's profile of the provider's model has image input.
2. The reply is a JSON object: by schema where the provider can, and repaired in any case (`models.repair`). One that
   can't be read is asked for again, with what was wrong.
3. Requests wait for their turn, and are repeated while a failure may pass (`models.remote_requests`); what fails for
   good becomes one line (`models.chat_errors`), and so does an answer that no model gives
   (`models.answer_limits`). No key is ever in an error, a record or a representation.

Names and providers are in `models.chat_names`. LangChain is imported when a model is opened, and not before.
"""

import asyncio
import importlib.util
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import SecretStr

from models.answer_limits import client_options, limit_answers
from models.chat_errors import RefusedPicturesError, refuses_pictures, refuses_schemas, shortened_message
from models.chat_messages import Content, messages_of, shows_pictures
from models.chat_names import ADDRESS, PROVIDERS, SEEDED, TRAITS, check_chat_name, key_variable, split_address
from models.rehearsal import RehearsalTokenizer
from models.remote_requests import RemoteRequests, event_loop
from models.repair import UnusableReplyError, read_answer
from prompts.placeholders import form_of
from prompts.shape import ask_again, schema_of, shown_form
from state.errors import AttentionUnavailableError, ModelError, UsageError, extra_hint, nearest_hint
from state.language_model import (
    NO_ATTENTION,
    GenerationRequest,
    PictureLookup,
    RenderedPrompt,
    Report,
    ScoringOptions,
    ignore_activity,
)
from state.parameters import Parameters
from state.records import Reply

#: How often a model is asked again for a reply that can't be read.
_REPEATS = 4

_Message = tuple[str, Content]


def open_chat_model(
    name: str, parameters: Parameters, key: str | None, report: Report = ignore_activity
) -> "ChatModel":
    """Return the chat model of that name.

    Args:
        name: `PROVIDER:NAME`, or the address of a server that speaks OpenAI's protocol, `#`, and the model's name.
        parameters: The limits: timeout, retries, concurrency, requests a minute, length.
        key: What `models.chat_names.key_variable` has in the environment.
        report: Is called whenever the model waits (see `state.language_model.Report`).

    Raises:
        UsageError: The name is incomplete, or the provider is unknown.
        ModelError: Its package is missing, or its key.
    """
    return ChatModel(name, _open_client(name, parameters, key), parameters, key, report)


def _open_client(name: str, parameters: Parameters, key: str | None) -> Any:
    """Return LangChain's model for a name."""
    if name.startswith(ADDRESS):
        address, model = split_address(name)
        credentials: dict[str, Any] = {"base_url": address, "api_key": key or "none"}
        return _init_client("openai", model, parameters, key, **credentials, use_responses_api=False)
    check_chat_name(name)
    provider, _, model = name.partition(":")
    variable = key_variable(name)
    if variable and not key:
        raise ModelError(
            f"{name} needs a key; set {variable} to it in the environment (in Python: api_keys={{{variable!r}: …}})"
        )
    credentials = {"api_key": key} if key else {}
    return _init_client(provider, model, parameters, key, **credentials)


def _init_client(provider: str, model: str, parameters: Parameters, key: str | None, **options: Any) -> Any:
    """Return LangChain's chat model without retries of its own: `models.remote_requests` makes them."""
    known = PROVIDERS.get(provider)
    if importlib.util.find_spec("langchain") is None:
        raise ModelError(f"hosted models need LangChain; run: {extra_hint('chat')}")
    from langchain.chat_models import init_chat_model

    limits = client_options(provider)
    if provider != "ollama":
        limits["max_retries"] = 0
    if parameters.max_reply_tokens is not None:
        limits["num_predict" if provider == "ollama" else "max_tokens"] = parameters.max_reply_tokens
    try:
        # Where graphs are traced, LangChain would stream; what is cut then reads as if it were whole.
        client = init_chat_model(model, model_provider=provider, disable_streaming=True, **limits, **options)
    except ImportError:
        install = known.install if known else f"pip install langchain-{provider.replace('_', '-')}"
        raise ModelError(f"{provider}:{model} needs another package; run: {install}") from None
    except ValueError as error:
        if known is None and "nsupported" in str(error):
            raise UsageError(f"unknown provider {provider!r}{nearest_hint(provider, PROVIDERS)}") from None
        raise ModelError(f"{provider}:{model} can't be opened: {shortened_message(error, key or '')}") from None
    limit_answers(client)
    return client


class ChatModel:
    """Implements `state.language_model.LanguageModel` for all that needs only text."""

    def __init__(
        self, id: str, client: Any, parameters: Parameters, key: str | None, report: Report = ignore_activity
    ) -> None:
        self.id, self.traits = id, replace(TRAITS, sees_pictures=_sees(id, client, parameters))
        #: Estimates the number of tokens; the provider's own count comes with each reply.
        self.tokenizer = RehearsalTokenizer()
        self._client = client
        self._requests = RemoteRequests(id, parameters, SecretStr(key or ""), report)
        self._knows_schemas = True
        self._lookup: PictureLookup | None = None

    def __repr__(self) -> str:
        return f"ChatModel({self.id!r})"

    def use_pictures(self, lookup: PictureLookup) -> None:
        """Take the bytes of pictures from there, in the thread that asks for replies."""
        self._lookup = lookup if self.traits.sees_pictures else None

    async def generate(self, request: GenerationRequest) -> list[Reply]:
        """Return one reply per generator of the request, each asked for by itself (see the contract)."""
        return (await self.generate_batch([request]))[0]

    async def generate_batch(self, requests: Sequence[GenerationRequest]) -> list[list[Reply]]:
        """Return the replies to several prompts, all asked for at the same time; one list per request."""
        asked = [
            (request, messages_of(request, self._lookup)) for request in requests
        ]  # here: the store is of a thread
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._replies(asked), event_loop()))

    async def _replies(self, asked: Sequence[tuple[GenerationRequest, Sequence[_Message]]]) -> list[list[Reply]]:
        pending = [
            self._reply(request, messages, generator) for request, messages in asked for generator in request.generators
        ]
        replies = iter(await asyncio.gather(*pending))
        return [[next(replies) for _ in request.generators] for request, _ in asked]

    async def generate_scored(
        self, request: GenerationRequest, options: ScoringOptions
    ) -> tuple[list[Reply], dict[str, float]]:
        """Raise: a chat model shows no attention."""
        raise self._attention_unavailable()

    async def score(
        self, prompt: RenderedPrompt, responses: Sequence[Sequence[int]], options: ScoringOptions
    ) -> list[dict[str, float]]:
        """Raise: a chat model shows no attention."""
        raise self._attention_unavailable()

    async def log_likelihood(self, prompt: RenderedPrompt, reply: Reply) -> float:
        """Raise: a chat model shows no probabilities."""
        raise ModelError(
            f"{self.id} does not tell how likely a text is; set judge=rating, or judge_model to a local model, "
            "and take a scorer that needs no likelihood"
        )

    async def probabilities(self, prompt: RenderedPrompt, options: Sequence[str]) -> list[float]:
        """Raise: a chat model shows no probabilities."""
        raise ModelError(f"{self.id} does not tell how likely a text is; set ending=reply")

    def _attention_unavailable(self) -> AttentionUnavailableError:
        return AttentionUnavailableError(f"{self.id} {NO_ATTENTION}")

    async def _reply(self, request: GenerationRequest, asked: Sequence[_Message], generator: random.Random) -> Reply:
        """Return one reply; one that can't be read is asked for again, with what was wrong."""
        fields, messages = request.fields, [*asked]
        seed = generator.getrandbits(31)
        prompt_tokens = reply_tokens = 0
        problem, forms = "", (form_of(request.prompt.source), shown_form(fields, request.language))
        for _ in range(1 + _REPEATS):
            answer = await self._requests.send(partial(self._answer, messages, request, seed), generator)
            usage = answer.usage_metadata or {}
            prompt_tokens += usage.get("input_tokens", 0)
            reply_tokens += usage.get("output_tokens", 0)
            text = str(answer.text)
            try:
                reply = read_answer(text, fields, self.tokenizer, forms)
            except UnusableReplyError as error:
                problem = str(error)
                again = ask_again(fields, error.in_words(request.language), request.language)
                messages += [("assistant", text.strip()[:2000] or "…"), ("user", again)]
                continue
            return reply.model_copy(update={"usage": (prompt_tokens, reply_tokens) if prompt_tokens else None})
        raise ModelError(
            f"{self.id} gave no reply that can be read, {1 + _REPEATS} times ({problem}); resume to ask again, "
            "or take another model"
        )

    async def _answer(self, messages: Sequence[_Message], request: GenerationRequest, seed: int) -> Any:
        """Return the answer to one request: by JSON Schema, until the model turns out to know none."""
        try:
            return await self._answer_as_known(messages, request, seed)
        except Exception as error:
            if shows_pictures(messages) and refuses_pictures(error):
                raise RefusedPicturesError from error
            raise

    async def _answer_as_known(self, messages: Sequence[_Message], request: GenerationRequest, seed: int) -> Any:
        sampling = self._sampling(request, seed)
        config: Any = {"callbacks": []}  # or events of the graph would carry every prompt
        if self._knows_schemas:
            try:
                return await self._answer_by_schema(
                    messages, schema_of(request.fields, request.language), sampling, config
                )
            except Exception as error:
                if not refuses_schemas(error) or (shows_pictures(messages) and refuses_pictures(error)):
                    raise
                self._knows_schemas = False
        return await self._client.model_copy(update=sampling).ainvoke(messages, config)

    async def _answer_by_schema(
        self, messages: Sequence[_Message], schema: dict[str, Any], sampling: dict[str, float], config: Any
    ) -> Any:
        if self.id.startswith(ADDRESS):
            # The same request, past the library's walks by type through schema and answer: half of what a call took.
            body = {"response_format": _response_format(schema), **sampling}
            return await self._client.ainvoke(messages, config, extra_body=body)
        client = self._client.model_copy(update=sampling)
        shaped = client.with_structured_output(schema, method="json_schema", include_raw=True)
        return (await shaped.ainvoke(messages, config))["raw"]

    def _sampling(self, request: GenerationRequest, seed: int) -> dict[str, float]:
        """Return the sampling of a request, as the client takes it; 1 is every provider's default, and is not sent."""
        chosen = {"temperature": request.temperature, "top_p": request.top_p}
        sampling: dict[str, float] = {name: value for name, value in chosen.items() if value != 1}
        if self.id.startswith(SEEDED):
            sampling["seed"] = seed
        for name in sampling:
            if name not in type(self._client).model_fields:
                raise ModelError(f"{self.id} takes no {name}; set {name}=1")
        return sampling


def _sees(id: str, client: Any, parameters: Parameters) -> bool:
    """Return whether a model is sent pictures: as the user says, else as its provider's own profile says.

    The name of a model on the user's server says nothing: any model may be served under it.
    """
    if parameters.sight != "auto":
        return parameters.sight == "pictures"
    profile = None if id.startswith(ADDRESS) else getattr(client, "profile", None)
    return bool(profile and profile.get("image_inputs"))


def _response_format(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema as OpenAI's protocol has it, as LangChain would write it."""
    rest = dict(schema)
    named = {"name": rest.pop("title"), "description": rest.pop("description"), "strict": False, "schema": rest}
    return {"type": "json_schema", "json_schema": named}
