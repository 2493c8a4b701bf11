"""Any chat model as a `LanguageModel`, for all that needs only text: hosted, or on servers of the user's.

1. A prompt of units becomes messages (`chat_messages`); there is no tokenizer. Pictures are sent if the user
   asks for it (`sight=pictures`), or if LangChain's profile of the provider's model has image input.
2. The reply is a JSON object: by schema if the provider can, and repaired in any case (`repair`). An unreadable
   one is asked for again, with a description of its fault.
3. Requests wait for their turn, and are repeated while a failure may pass (`remote_requests`); a final failure
   becomes one line (`chat_errors`), and so does an answer that no model gives
   (`answer_limits`). No key is ever in an error, a record or a representation.

4. Parts of requests that a server refuses by name are left out of further ones (`refusals`), and the reply says which
   sampling was.

Names and providers are in `chat_names`; the provider or server is behind `chat_client`. LangChain is imported when
a hosted model is opened, and not before.
"""

import asyncio
import random
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from pydantic import SecretStr

from tertulia.models.rehearsal import RehearsalTokenizer
from tertulia.models.served.chat_client import ChatAnswer, ChatClient, Message
from tertulia.models.served.chat_errors import (
    RefusedPicturesError,
    is_unexplained,
    refuses_pictures,
    shortened_message,
)
from tertulia.models.served.chat_messages import (
    as_taken,
    characters_of,
    has_repeated_roles,
    messages_of,
    shows_pictures,
)
from tertulia.models.served.chat_names import (
    ADDRESS,
    TRAITS,
    check_chat_name,
    key_variable,
    keys_of_servers,
    split_addresses,
)
from tertulia.models.served.cut_answers import is_cut, room_note, unread
from tertulia.models.served.langchain_client import LangChainClient
from tertulia.models.served.refusals import (
    FIELDS,
    LIMITS,
    NEGATIVE_TOP_K,
    REPEATED,
    SCHEMA,
    SYSTEM,
    WHOLE,
    refusal_note,
    refused_parts,
)
from tertulia.models.served.remote_requests import RemoteRequests, event_loop
from tertulia.models.served.repair import Scene, UnusableReplyError, read_answer, read_prose
from tertulia.models.served.server_answers import cut_note
from tertulia.models.served.server_client import ServerClient
from tertulia.models.served.servers import Server
from tertulia.models.served.thoughts import split_thought
from tertulia.prompts.placeholders import form_of
from tertulia.prompts.shape import ask_again, schema_of, shown_form
from tertulia.state.errors import AttentionUnavailableError, ModelError
from tertulia.state.language_model import (
    NO_ATTENTION,
    Activity,
    GenerationRequest,
    PictureLookup,
    RenderedPrompt,
    Report,
    ScoringOptions,
    ignore_activity,
)
from tertulia.state.parameters import Parameters
from tertulia.state.randomness import keyed_generator
from tertulia.state.records import Reply
from tertulia.state.text import without_codes

T = TypeVar("T")

#: How often a model is asked again for a reply that can't be read.
_REPEATS = 4

#: Characters of an unreadable answer that the model is shown again.
_LONGEST_AGAIN = 2000


def open_chat_model(
    name: str,
    parameters: Parameters,
    key: str | None,
    report: Report = ignore_activity,
    recorded_as: str | None = None,
) -> "ChatModel":
    """Return the chat model of that name.

    Args:
        name: `PROVIDER:NAME`, or the address of a server that speaks OpenAI's protocol, `#`, and the model's name; of
            several servers of one model, the addresses with commas between them.
        parameters: The limits: timeout, retries, concurrency, requests a minute, length.
        key: The value of the environment variable of `chat_names.key_variable`.
        report: Is called whenever the model waits (see `state.language_model.Report`).
        recorded_as: The name by which runs know it, if the user names other servers of it; else `name`.

    Raises:
        UsageError: The name is incomplete, or the provider is unknown.
        ModelError: Its package is missing, or its key.
    """
    check_chat_name(name)
    if name.startswith(ADDRESS):
        addresses, model = split_addresses(name)
        keys = keys_of_servers(addresses, key or "")
        servers = [Server(address, SecretStr(keys[address])) for address in addresses]
        return ChatModel(
            recorded_as or name, ServerClient(model, parameters.max_reply_tokens), servers, parameters, report
        )
    provider, _, model = name.partition(":")
    variable = key_variable(name)
    if variable and not key:
        raise ModelError(
            f"{name} needs a key; set {variable} to it in the environment (in Python: api_keys={{{variable!r}: …}})"
        )
    client = LangChainClient(provider, model, parameters, key)
    return ChatModel(name, client, [Server(key=SecretStr(key or ""))], parameters, report)


class ChatModel:
    """Implements `state.language_model.LanguageModel` for all that needs only text."""

    def __init__(
        self,
        id: str,
        client: ChatClient,
        servers: Sequence[Server],
        parameters: Parameters,
        report: Report = ignore_activity,
    ) -> None:
        sees = client.sees_pictures if parameters.sight == "auto" else parameters.sight == "pictures"
        self.id, self.traits = id, replace(TRAITS, sees_pictures=sees, takes_min_p=id.startswith(ADDRESS))
        #: Estimates the number of tokens; the provider's own count comes with each reply.
        self.tokenizer = RehearsalTokenizer()
        self._client = client
        self._room = parameters.max_reply_tokens
        self._requests = RemoteRequests(id, parameters, servers, report)
        self._report = report
        self._told: set[str] = set()
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
        return await asyncio.wrap_future(self._in_loop(lambda: self._replies(asked)))

    async def _replies(self, asked: Sequence[tuple[GenerationRequest, Sequence[Message]]]) -> list[list[Reply]]:
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
        self,
        prompt: RenderedPrompt,
        responses: Sequence[Sequence[int]],
        options: ScoringOptions,
        spans: Sequence[tuple[int, int]] | None = None,
    ) -> list[dict[str, float]]:
        """Raise: a chat model shows no attention."""
        raise self._attention_unavailable()

    def tells_likelihoods(self) -> bool:
        """Return whether a server says how likely a text is (see the contract); servers are asked once."""
        asked = self._in_loop(lambda: self._requests.send(self._client.tells_likelihoods, self._jitter()))
        return asked.result()

    async def log_likelihood(self, prompt: RenderedPrompt, reply: Reply) -> float:
        """Return the mean log-probability of the reply's first text after the prompt, in nats per token.

        Raises:
            ModelError: The model does not tell, or its servers fail.
        """
        logs = await self.text_log_likelihoods(prompt, reply)
        return sum(logs) / len(logs)

    async def text_log_likelihoods(
        self, prompt: RenderedPrompt, reply: Reply, tokens: int | None = None
    ) -> list[float]:
        """Return the log-probability of each token of the reply's first text after the prompt (see the contract).

        Raises:
            ModelError: The model does not tell, or its servers fail.
        """
        return await asyncio.wrap_future(self._in_loop(lambda: self._text_log_likelihoods(prompt, reply, tokens)))

    async def _text_log_likelihoods(self, prompt: RenderedPrompt, reply: Reply, tokens: int | None) -> list[float]:
        async def ask(server: Server) -> list[float]:
            if not await self._client.tells_likelihoods(server):
                raise ModelError(
                    f"{self.id} does not tell how likely a text is; set judge=rating, or judge_model to a local "
                    "model, and take a scorer that needs no likelihood"
                )
            return await self._client.text_log_likelihoods(server, prompt, reply, tokens)

        return await self._requests.send(ask, self._jitter())

    def _jitter(self) -> random.Random:
        """Return a generator for the waits before retries of a request that draws nothing else."""
        return keyed_generator(0, node="log_likelihood", agent=self.id)

    def _in_loop(self, asked: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(asked(), event_loop())

    async def probabilities(self, prompt: RenderedPrompt, options: Sequence[str]) -> list[float]:
        """Raise: a chat model shows no probabilities."""
        raise ModelError(f"{self.id} does not tell how likely a text is; set ending=reply")

    def _attention_unavailable(self) -> AttentionUnavailableError:
        return AttentionUnavailableError(f"{self.id} {NO_ATTENTION}")

    async def _reply(self, request: GenerationRequest, asked: Sequence[Message], generator: random.Random) -> Reply:
        """Return one reply; an unreadable one is asked for again, with a description of its fault.

        An answer that was cut at a limit that was sent is asked for again with twice the room.
        """
        fields, messages = request.fields, [*asked]
        seed, room = generator.getrandbits(31), self._room
        prompt_tokens = reply_tokens = 0
        problem, answer = "", ChatAnswer("", 0, 0)
        for attempt in range(1 + _REPEATS):
            asking = partial(self._answer, messages, request, seed, None if room == self._room else room)
            answer = await self._requests.send(asking, generator)
            self._tell_once("answer", answer.note)
            prompt_tokens += answer.prompt_tokens
            reply_tokens += answer.reply_tokens
            more = room * 2 if room and is_cut(answer) and attempt < _REPEATS else None
            try:
                reply = self._read(answer, request)
            except UnusableReplyError as error:
                problem = str(error)
                if more is None:
                    again = ask_again(fields, error.in_words(request.language), request.language)
                    said = split_thought(answer.text).rest.strip()[:_LONGEST_AGAIN]
                    messages += [("assistant", said or "…"), ("user", again)]
            else:
                if reply.remark is None or more is None:
                    is_counted = prompt_tokens or answer.note
                    usage = (prompt_tokens, reply_tokens) if is_counted else None
                    thought = without_codes("\n".join(filter(None, (answer.thought, reply.thought)))) or None
                    return reply.model_copy(update={"usage": usage, "unsent": answer.unsent, "thought": thought})
            if is_cut(answer):
                self._tell_once("room", room_note(room, more))
            room = more or room
        raise ModelError(unread(self.id, problem, answer, 1 + _REPEATS, room))

    def _read(self, answer: ChatAnswer, request: GenerationRequest) -> Reply:
        """Return the reply of an answer; if no field is required, one that is no object is taken verbatim."""
        prompt = request.prompt.source
        speaker = prompt.speaker if prompt is not None else ""
        scene = Scene(speaker, tuple(name for name in request.people if name != speaker), request.actions)
        forms = form_of(prompt), shown_form(request.fields, request.language)
        try:
            return read_answer(answer.text, request.fields, self.tokenizer, forms, scene, is_cut=is_cut(answer))
        except UnusableReplyError:
            if not all(field.is_optional for field in request.fields):
                raise
            return read_prose(answer.text, request.fields, scene, is_cut=is_cut(answer))

    async def _answer(
        self, messages: Sequence[Message], request: GenerationRequest, seed: int, room: int | None, server: Server
    ) -> ChatAnswer:
        """Return the answer to one request; parts that the server refuses by name are left out from then on.

        A refusal that names nothing is taken for a slip once: a gateway on the way may have refused.

        Args:
            room: The tokens that it may have, if they are more than usual.
        """
        slips = 0
        while True:
            refused = frozenset(server.refused)
            taken = as_taken(messages, SYSTEM in refused, REPEATED in refused)
            wanted = self._client.sampling(server, request, seed)
            sampling = {name: value for name, value in wanted.items() if name not in refused}
            if room is not None:
                sampling |= self._client.limit(room)
            schema = None if SCHEMA in refused else schema_of(request.fields, request.language)
            try:
                answer = await self._client.answer(server, taken, schema, sampling)
            except Exception as error:
                if shows_pictures(messages) and refuses_pictures(error):
                    raise RefusedPicturesError from error
                parts = refused_parts(error, {*_parts_of(taken, schema), *sampling} - refused)
                slips += not parts
                if not parts and (slips > 1 or not is_unexplained(error)):
                    raise
                if "top_k" in parts and sampling["top_k"] < 0:
                    parts = parts - {"top_k"} | {NEGATIVE_TOP_K}  # 0 may be the value that means off there
                self._leave_out(server, parts, error)
                continue
            recorded = () if "generation_config" in sampling else ("temperature", "top_p")
            unsent = {*wanted, *recorded} - sampling.keys()
            self._tell_once("cut", cut_note(characters_of(taken), answer.prompt_tokens))
            return replace(answer, unsent=tuple(sorted(unsent)))

    def _leave_out(self, server: Server, parts: Collection[str], error: Exception) -> None:
        """Note that a server is not sent some parts of requests any more, and tell it once for each."""
        server.refused.update(parts)
        message = shortened_message(error, server.key.get_secret_value())
        for part in sorted({*parts} - {NEGATIVE_TOP_K}):
            self._tell_once(part, refusal_note(part, message))

    def _tell_once(self, kind: str, note: str) -> None:
        """Report a note of a kind, the first time that there is one."""
        if note and kind not in self._told:
            self._told.add(kind)
            self._report(Activity(f"{self.id} {note}", is_note=True))


def _parts_of(messages: Sequence[Message], schema: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the parts of a request, besides its sampling, that a server may refuse."""
    yield from (WHOLE, FIELDS, "stream_options", *LIMITS)
    if schema is not None:
        yield SCHEMA
    if any(role == "system" for role, _ in messages):
        yield SYSTEM
    if has_repeated_roles(messages):
        yield REPEATED
