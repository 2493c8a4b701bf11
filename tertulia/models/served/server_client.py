"""Models on servers that speak OpenAI's protocol (vLLM, SGLang, llama.cpp, …), asked without a library of a provider.

A request takes two thirds of the processor's time that it takes through LangChain and OpenAI's client, and hundreds of
conversations wait for that time. The bodies are those that these two would send, with the sampling that runs record
none of beside, as off.
"""

import importlib.util
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from tertulia.models.served.answer_limits import add_limits
from tertulia.models.served.chat_client import ChatAnswer, Message
from tertulia.models.served.chat_errors import RefusedAnswerError
from tertulia.models.served.chat_messages import Content
from tertulia.models.served.chat_names import origin_of
from tertulia.models.served.refusals import FIELDS, LIMITS, NEGATIVE_TOP_K, WHOLE
from tertulia.models.served.server_answers import read_chat_answer
from tertulia.models.served.server_likelihood import ServerLikelihoods
from tertulia.models.served.server_streams import is_stream, joined_stream
from tertulia.models.served.servers import Server
from tertulia.state.errors import ModelError, extra_hint
from tertulia.state.language_model import GenerationRequest, RenderedPrompt
from tertulia.state.records import Reply

#: Requests in flight for which an HTTP client is opened: it walks through all its connections for each request.
_OF_A_CLIENT = 8


#: Sampling that runs record none of, off: a server's own defaults, or those of its model's files, would act otherwise.
#: `repeat_penalty` is of llama.cpp and LM Studio, `repetition_penalty` of vLLM and SGLang; `samplers` has llama.cpp
#: draw in the order of models here: temperature first, so that `top_p` and `min_p` hold at the temperature.
_OFF: Mapping[str, Any] = {
    "repeat_penalty": 1.0,
    "repetition_penalty": 1.0,
    "samplers": ["top_k", "temperature", "top_p", "min_p"],
}


class ServerError(Exception):
    """An error in an answer, in the server's words; the headers of the response may say when to try again.

    Attributes:
        status_code: The HTTP status; of an error in an answer of status 200 the error's own code, else 200.
        code, kind: As the server tells them; `None` without.
        fields: The fields of the request that the error names, apart from its words.
        counts: The tokens of the prompt and of the context window, if it tells them.
    """

    def __init__(self, response: Any, body: Any = None) -> None:
        """Read the body of a response, unless the error in it is given."""
        try:
            body = response.json() if body is None else body
        except (ValueError, RecursionError):
            body = response.text
        error = body.get("error", body) if isinstance(body, dict) else body
        described = error if isinstance(error, dict) else {}
        told = described.get("message") or described.get("detail") or described.get("msg") or error
        details = _details(told)
        super().__init__(_in_words(details) if details else str(told or response.reason_phrase))
        code = described.get("code")
        self.response, self.code, self.kind = response, _plain(code), _plain(described.get("type"))
        self.status_code = int(response.status_code)
        if self.status_code < 400:
            number = int(code) if isinstance(code, int | str) and str(code).isdecimal() and len(str(code)) == 3 else 0
            self.status_code = number if number >= 400 else 200
        locations = [part for detail in details for part in _list(detail.get("loc"))]
        self.fields = frozenset(part for part in (*locations, described.get("param")) if isinstance(part, str))
        counts = {"n_prompt_tokens": "tokens of the prompt", "n_ctx": "of the window"}
        found = [
            f"{described[name]} {words}"
            for name, words in counts.items()
            if type(described.get(name)) is int and str(described[name]) not in str(told)
        ]
        self.counts = ", ".join(found)


def _plain(value: object) -> str | int | None:
    return value if isinstance(value, str | int) else None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _details(told: object) -> list[dict[str, Any]]:
    """Return the details of a validation error, as FastAPI's servers tell it."""
    listed = told.get("detail") if isinstance(told, dict) else told
    return [detail for detail in _list(listed) if isinstance(detail, dict)]


def _in_words(details: Sequence[dict[str, Any]]) -> str:
    return "; ".join(
        f"{'.'.join(map(str, _list(detail.get('loc'))))}: {detail.get('msg') or detail.get('type')}"
        for detail in details
    )


class ServerClient:
    """Implements `chat_client.ChatClient` for servers of the user's; used in `remote_requests.event_loop` only.

    It is not known to see pictures, as any model may be served under a name.
    """

    sees_pictures = False

    def __init__(self, model: str, max_reply_tokens: int | None) -> None:
        """Note the name of the model on the servers, and how much it may write.

        Raises:
            ModelError: The HTTP library is missing.
        """
        if importlib.util.find_spec("httpx2") is None:
            raise ModelError(f"models on servers need httpx2; run: {extra_hint('chat')}")
        _certificates()  # here, and not in the loop in which the other models' requests wait
        self._fixed: dict[str, Any] = {"model": model}
        if max_reply_tokens is not None:
            self._fixed |= dict.fromkeys(LIMITS, max_reply_tokens)
        self._clients: dict[Server, list[Any]] = {}
        self._likelihoods = ServerLikelihoods(model, self.post)

    def sampling(self, server: Server, request: GenerationRequest, seed: int) -> dict[str, Any]:
        """Return all that is known to act on the drawing of tokens on servers (see the protocol)."""
        recorded = {"temperature": request.temperature, "top_p": request.top_p, "min_p": request.min_p}
        return self.as_taken(server, recorded, seed)

    def as_taken(self, server: Server, recorded: Mapping[str, float], seed: int) -> dict[str, Any]:
        """Return sampling in the form that a server takes, and all that runs do not record off."""
        if FIELDS in server.refused:
            config = {"do_sample": True, "top_k": 0, "repetition_penalty": 1.0, **recorded}
            return {"seed": seed, "generation_config": json.dumps(config)}
        return {"top_k": 0 if NEGATIVE_TOP_K in server.refused else -1, **_OFF, **recorded, "seed": seed}

    async def tells_likelihoods(self, server: Server) -> bool:
        """Return whether a server returns log-probabilities of prompts; it is asked once."""
        return await self._likelihoods.are_told_by(server)

    async def text_log_likelihoods(
        self, server: Server, prompt: RenderedPrompt, reply: Reply, tokens: int | None
    ) -> list[float]:
        """Return the log-probability of each token of a reply's first text (see `server_likelihood`)."""
        return await self._likelihoods.of_tokens(server, prompt, reply, tokens)

    async def answer(
        self,
        server: Server,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        sampling: Mapping[str, Any],
    ) -> ChatAnswer:
        """Return the answer to messages (see the protocol)."""
        asked = [{"content": _content(content), "role": role} for role, content in messages]
        body = {"messages": asked, **self._fixed, **sampling}
        if WHOLE in server.refused:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        else:
            body["stream"] = False
        if schema is not None:
            body["response_format"] = _response_format(schema)
        for name in server.refused & body.keys():
            del body[name]
        return read_chat_answer(await self.post(server, "chat/completions", body))

    async def post(self, server: Server, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the object with which a server answers.

        Raises:
            ServerError: It answered with an error, whatever the status.
            RefusedAnswerError: With an object that is against the protocol.
            json.JSONDecodeError: With something else.
        """
        return read_object(await self.exchange(server, "POST", path, body))

    async def exchange(self, server: Server, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the response of a server, whatever its status; a path that begins with a slash is its host's."""
        headers = {"Content-Type": "application/json"}
        if key := server.key.get_secret_value():
            headers["Authorization"] = f"Bearer {key}"
        sent = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8")
        base = f"{server.address}/" if not path.startswith("/") else str(origin_of(server.address))
        return await self._client(server).request(method, f"{base}{path}", content=sent, headers=headers)

    def _client(self, server: Server) -> Any:
        """Return one of a server's HTTP clients, by how much the server is asked at the time."""
        clients = self._clients.setdefault(server, [])
        place = max(0, server.in_flight - 1) // _OF_A_CLIENT
        while len(clients) <= place:
            clients.append(_open_client())
        return clients[place]


def read_object(response: Any) -> dict[str, Any]:
    """Return the object of a response, a stream's joined (see `ServerClient.post` for errors)."""
    if response.status_code >= 400:
        raise ServerError(response)
    try:
        content = response.content
        answer = joined_stream(content) if is_stream(content) else json.loads(content)
    except RecursionError:
        raise RefusedAnswerError("answers with JSON that is nested too deeply") from None
    if not isinstance(answer, dict):
        raise json.JSONDecodeError("no object", response.text[:80], 0)
    if answer.get("error") and not answer.get("choices"):
        raise ServerError(response, answer)
    return answer


@cache
def _certificates() -> Any:
    """Return the certificates that verify servers: read once, as it takes longer than a request."""
    import httpx2

    return httpx2.create_ssl_context()


def _open_client() -> Any:
    import httpx2

    unlimited = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    client = httpx2.AsyncClient(verify=_certificates(), timeout=None, follow_redirects=True, limits=unlimited)
    add_limits(client)
    return client


def _content(content: Content) -> Any:
    if isinstance(content, str):
        return content
    return [
        {"type": "image_url", "image_url": {"url": f"data:{block['mime_type']};base64,{block['base64']}"}}
        if block["type"] == "image"
        else block
        for block in content
    ]


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    rest = dict(schema)
    named = {"name": rest.pop("title"), "description": rest.pop("description"), "strict": False, "schema": rest}
    return {"type": "json_schema", "json_schema": named}
