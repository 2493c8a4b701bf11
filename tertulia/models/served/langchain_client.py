"""Models of hosted providers, and of Ollama, through LangChain's classes; imported when a model is opened."""

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from tertulia.models.served.answer_limits import client_options, limit_answers
from tertulia.models.served.chat_client import ChatAnswer, Message
from tertulia.models.served.chat_errors import shortened_message
from tertulia.models.served.chat_names import PROVIDERS
from tertulia.models.served.server_answers import count_note, finish_in, thought_in, token_count
from tertulia.models.served.servers import Server
from tertulia.state.errors import ModelError, UsageError, extra_hint, nearest_hint
from tertulia.state.language_model import GenerationRequest, RenderedPrompt
from tertulia.state.parameters import Parameters
from tertulia.state.records import Reply


class LangChainClient:
    """Implements `chat_client.ChatClient` for a provider that LangChain knows."""

    def __init__(self, provider: str, model: str, parameters: Parameters, key: str | None) -> None:
        """Open LangChain's chat model without retries of its own: `remote_requests` makes them.

        Raises:
            UsageError: The provider is unknown.
            ModelError: Its package is missing, or the model can't be opened.
        """
        known = PROVIDERS.get(provider)
        if importlib.util.find_spec("langchain") is None:
            raise ModelError(f"hosted models need LangChain; run: {extra_hint('chat')}")
        from langchain.chat_models import init_chat_model

        self._is_ollama = provider == "ollama"
        options: dict[str, Any] = client_options(provider) | ({"api_key": key} if key else {})
        if not self._is_ollama:
            options["max_retries"] = 0
        if parameters.max_reply_tokens is not None:
            options |= self.limit(parameters.max_reply_tokens)
        try:
            # In traced graphs, LangChain would stream; an answer that is cut then reads as if it were whole.
            self.model = init_chat_model(model, model_provider=provider, disable_streaming=True, **options)
        except ImportError:
            install = known.install if known else f"pip install langchain-{provider.replace('_', '-')}"
            raise ModelError(f"{provider}:{model} needs another package; run: {install}") from None
        except ValueError as error:
            if known is None and "nsupported" in str(error):
                raise UsageError(f"unknown provider {provider!r}{nearest_hint(provider, PROVIDERS)}") from None
            raise ModelError(f"{provider}:{model} can't be opened: {shortened_message(error, key or '')}") from None
        limit_answers(self.model)

    @property
    def sees_pictures(self) -> bool:
        """Whether LangChain's profile of the provider's model says that it takes pictures."""
        profile = getattr(self.model, "profile", None)
        return bool(profile and profile.get("image_inputs"))

    def sampling(self, server: Server, request: GenerationRequest, seed: int) -> dict[str, Any]:
        """Return the parameters that LangChain's class has (see the protocol); Ollama's cuts and penalty are off."""
        sampling: dict[str, Any] = {"temperature": request.temperature, "top_p": request.top_p}
        if self._is_ollama:
            sampling |= {"top_k": 0, "repeat_penalty": 1.0, "seed": seed}
        return {name: value for name, value in sampling.items() if name in type(self.model).model_fields}

    def limit(self, tokens: int) -> dict[str, int]:
        """Return the limit of an answer as LangChain's class has it."""
        return {"num_predict" if self._is_ollama else "max_tokens": tokens}

    async def tells_likelihoods(self, server: Server) -> bool:
        """Return that no provider does."""
        return False

    async def text_log_likelihoods(
        self, server: Server, prompt: RenderedPrompt, reply: Reply, tokens: int | None
    ) -> list[float]:
        """Raise: no provider tells."""
        raise NotImplementedError

    async def answer(
        self,
        server: Server,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        sampling: Mapping[str, Any],
    ) -> ChatAnswer:
        """Return the answer to messages (see the protocol)."""
        config: Any = {"callbacks": []}  # or events of the graph would carry every prompt
        client: Any = self.model.model_copy(update=dict(sampling))
        if schema is None:
            answer = await client.ainvoke(list(messages), config)
        else:
            shaped = client.with_structured_output(dict(schema), method="json_schema", include_raw=True)
            answer = (await shaped.ainvoke(list(messages), config))["raw"]
        usage = answer.usage_metadata or {}
        counts = {name: usage.get(name) for name in ("input_tokens", "output_tokens")}
        read, written = map(token_count, counts.values())
        thought = thought_in({**answer.additional_kwargs, "content": answer.content})
        told = answer.response_metadata or {}
        finish = finish_in(told.get("finish_reason") or told.get("stop_reason") or told.get("done_reason"))
        return ChatAnswer(str(answer.text), read, written, count_note(counts), thought, finish)
