"""Training data of a model: tokens, and which of them are learned. Knows nothing of prompts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingSequence:
    """Tokens of a conversation, and the ascending half-open spans `[first, past_last)` of tokens that are learned.

    The source is the kind of call that it teaches.
    """

    tokens: tuple[int, ...]
    learned: tuple[tuple[int, int], ...]
    source: str

    @property
    def count(self) -> int:
        """The number of tokens that are learned."""
        return sum(past_last - first for first, past_last in self.learned)
