"""Models on servers that speak OpenAI's protocol (vLLM, SGLang, llama.cpp, …), asked without a library of a provider.

A request takes two thirds of the processor's time that it takes through LangChain and OpenAI's client, and hundreds of
conversations wait for that time. The bodies are those that these two would send.
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
from tertulia.models.served.server_answers import read_chat_answer
from tertulia.models.served.server_likelihood import ServerLikelihoods
from tertulia.models.served.servers import Server
from tertulia.state.errors import ModelError, extra_hint
from tertulia.state.language_model import RenderedPrompt
from tertulia.state.records import Reply

#: Requests in flight for which an HTTP client is opened: it walks through all its connections for each request.
_OF_A_CLIENT = 8


class ServerError(Exception):
    """An answer with an error status, in the server's words, and with its code if it has one.

    The headers of the response may say when to try again.
    """

    def __init__(self, response: Any) -> None:
        try:
            body = response.json()
        except ValueError:
            body = response.text
        error = body.get("error", body) if isinstance(body, dict) else body
        described = error if isinstance(error, dict) else {}
        super().__init__(str(described.get("message") or described.get("detail") or error or response.reason_phrase))
        code = described.get("code")
        self.status_code, self.response = int(response.status_code), response
        self.code = code if isinstance(code, str) else None


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
            self._fixed["max_completion_tokens"] = max_reply_tokens
        self._clients: dict[Server, list[Any]] = {}
        self._likelihoods = ServerLikelihoods(model, self.post)

    def accepts(self, sampling: str) -> bool:
        """Whether requests may name this parameter: the server itself refuses unknown ones."""
        return True

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
        sampling: Mapping[str, float],
    ) -> ChatAnswer:
        """Return the answer to messages (see the protocol)."""
        asked = [{"content": _content(content), "role": role} for role, content in messages]
        body = {"messages": asked, **self._fixed, **sampling, "stream": False}
        if schema is not None:
            body["response_format"] = _response_format(schema)
        return read_chat_answer(await self.post(server, "chat/completions", body))

    async def post(self, server: Server, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the object with which a server answers.

        Raises:
            ServerError: It answered with an error.
            RefusedAnswerError: With an object that is against the protocol.
            json.JSONDecodeError: With something else.
        """
        headers = {"Content-Type": "application/json"}
        if key := server.key.get_secret_value():
            headers["Authorization"] = f"Bearer {key}"
        sent = json.dumps(body, ensure_ascii=False).encode("utf-8")
        response = await self._client(server).post(f"{server.address}/{path}", content=sent, headers=headers)
        if response.status_code >= 400:
            raise ServerError(response)
        try:
            answer = json.loads(response.content)
        except RecursionError:
            raise RefusedAnswerError("answers with JSON that is nested too deeply") from None
        if not isinstance(answer, dict):
            raise json.JSONDecodeError("no object", response.text[:80], 0)
        return answer

    def _client(self, server: Server) -> Any:
        """Return one of a server's HTTP clients, by how much the server is asked at the time."""
        clients = self._clients.setdefault(server, [])
        place = max(0, server.in_flight - 1) // _OF_A_CLIENT
        while len(clients) <= place:
            clients.append(_open_client())
        return clients[place]


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
