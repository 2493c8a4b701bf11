"""Training data of a model: tokens, and which of them are learned. Knows nothing of prompts."""

from dataclasses import dataclass

#: The highest grade of a draft: it makes sense, and carries the conversation on.
GOOD = 2


@dataclass(frozen=True)
class Draft:
    """A draft of what comes next, and the grade that a reader gave it.

    Attributes:
        tokens: The text, and the end of its message.
        text: How many of them are the text.
        grade: 2: it makes sense and carries the conversation on; 1: it makes sense, and says little; 0: it makes none.
    """

    tokens: tuple[int, ...]
    text: int
    grade: int


@dataclass(frozen=True)
class TrainingSequence:
    """Tokens of a conversation, and the ascending half-open spans `[first, past_last)` of tokens that are learned.

    Attributes:
        source: The kind of call that it teaches.
        drafts: What could come after the tokens. Good ones are learned, and better ones preferred to worse ones.
    """

    tokens: tuple[int, ...]
    learned: tuple[tuple[int, int], ...]
    source: str
    drafts: tuple[Draft, ...] = ()

    @property
    def count(self) -> int:
        """The number of tokens that are learned."""
        spans = sum(past_last - first for first, past_last in self.learned)
        return spans + sum(len(draft.tokens) for draft in self.drafts if draft.grade == GOOD)
