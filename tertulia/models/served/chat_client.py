"""The interface of the client of a chat model's provider, or of its servers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tertulia.models.served.chat_messages import Content
from tertulia.models.served.servers import Server
from tertulia.state.language_model import GenerationRequest, RenderedPrompt
from tertulia.state.records import Reply

Message = tuple[str, Content]


@dataclass(frozen=True)
class ChatAnswer:
    """An answer of a chat model, with the provider's token counts; 0 for a provider that counts nothing.

    Attributes:
        note: For the user, if there is one; it continues a sentence that begins with the model's name.
        thought: The reasoning that came in a field of its own, apart from the text.
        unsent: Parameters of sampling that were left out of the request, as the model or its server takes none such.
        finish: The provider's word for why the answer ends, such as `stop` and `length`; empty if it has none.
    """

    text: str
    prompt_tokens: int
    reply_tokens: int
    note: str = ""
    thought: str = ""
    finish: str = ""
    unsent: tuple[str, ...] = ()


class ChatClient(Protocol):
    """Asks for one answer at a time; errors are raised as they come (`chat_errors` explains them)."""

    @property
    def sees_pictures(self) -> bool:
        """Whether the model is known to take pictures."""

    def sampling(self, server: Server, request: GenerationRequest, seed: int) -> dict[str, Any]:
        """Return the sampling of a request by the provider's names, what runs do not record off; not yet without
        parameters that the server refused.
        """

    def limit(self, tokens: int) -> dict[str, int]:
        """Return the limit of an answer by the provider's names for it."""

    async def tells_likelihoods(self, server: Server) -> bool:
        """Return whether a server says how likely a text is to the model."""

    async def text_log_likelihoods(
        self, server: Server, prompt: RenderedPrompt, reply: Reply, tokens: int | None
    ) -> list[float]:
        """Return the log-probability of each token of a reply's first text after a prompt, in nats.

        Args:
            tokens: How many these are; `None`: they are to be counted.
        """

    async def answer(
        self,
        server: Server,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        sampling: Mapping[str, Any],
    ) -> ChatAnswer:
        """Return the answer to messages.

        Args:
            messages: By role; contents as LangChain has them.
            schema: JSON Schema of the answer; `None`: it is described in words alone.
            sampling: All parameters of sampling that are sent.
        """
