"""Training data of a model: tokens, and which of them are learned. Knows nothing of prompts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingSequence:
    """Tokens of a conversation, and the ascending half-open spans `[first, past_last)` of tokens that are learned.

    Attributes:
        source: The kind of call that it teaches.
        drafts: What a model said in place of each learned span; empty if the spans are only learned.
        leads: How much likelier to that model each span was than its draft, in nats.
    """

    tokens: tuple[int, ...]
    learned: tuple[tuple[int, int], ...]
    source: str
    drafts: tuple[tuple[int, ...], ...] = ()
    leads: tuple[float, ...] = ()

    @property
    def count(self) -> int:
        """The number of tokens that are learned."""
        return sum(past_last - first for first, past_last in self.learned)
