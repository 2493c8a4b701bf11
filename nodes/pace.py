"""The λ of a turn: where the policy of pruning lets a prompt be, λ is 0. Source: APP App. D and Limitations.

What has been said decides, and nothing else: a fork or a run that goes on finds the same λ.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from state.context import Context
from state.graph_state import UtteranceState
from state.parameters import Parameters
from state.words import words

#: The length of the runs of words by whose repetition a dialogue counts as repetitive.
_N = 3

#: So many utterances must have been said before any can repeat another.
_LEAST_UTTERANCES = 2

Words = tuple[str, ...]


@dataclass(frozen=True)
class Said:
    """An utterance as it stands behind those that follow.

    Attributes:
        turn: Its turn.
        words: Its words, in lower case.
    """

    turn: int
    words: Words


class History:
    """The utterances of a conversation so far; each is read from the store once."""

    def __init__(self) -> None:
        self._read = 0  # the last turn that was read
        self._said: list[Said] = []

    @classmethod
    def before(cls, context: Context, turn: int) -> list[Said]:
        """Return the utterances before a turn, oldest first, without silences."""
        history: History | None = context.kept.get(cls)
        if history is None or history._read >= turn:  # the run is driven anew from an earlier turn
            history = context.kept[cls] = cls()
        for spoken in context.store.turns(context.run, history._read + 1, turn - 1):
            if spoken.speaker is not None:
                history._said.append(Said(spoken.turn, words_of(spoken.text)))
        history._read = turn - 1
        return history._said


def words_of(text: str) -> Words:
    """Return the words of an utterance, in lower case."""
    return tuple(word.lower() for word in words(text))


def distinct_share(utterances: Sequence[Words], n: int = _N) -> float | None:
    """Return distinct n-grams over all n-grams of utterances, in (0, 1]; `None` if none has n words.

    This is dist-N (Li et al. 2016) within a dialogue; APP has it over the dialogues of a case.
    """
    grams = [gram for said in utterances for gram in zip(*(said[skip:] for skip in range(n)), strict=False)]
    return len(set(grams)) / len(grams) if grams else None


def removal_factor_in_force(state: UtteranceState, context: Context) -> float | None:
    """Return the λ by which the prompt of this turn is pruned; `None` where `retain` stands in its place.

    Args:
        state: Its `turn` counts; what was said before it is read from the store.
        context: Of the speaker.
    """
    parameters = context.parameters
    if parameters.pruning != "every":
        said = [utterance.words for utterance in History.before(context, state["turn"])]
        if not prunes(parameters, said):
            return 0.0
    return None if parameters.retain is not None else parameters.removal_factor


def prunes(parameters: Parameters, said: Sequence[Words]) -> bool:
    """Whether the policy has the next prompt pruned, after these utterances of the conversation."""
    match parameters.pruning:
        case "first":
            return len(said) < parameters.pruning_turns
        case "when_repetitive":
            share = repetition_of(parameters, said)
            return share is not None and share < parameters.repetition_threshold
    return True


def repetition_of(parameters: Parameters, said: Sequence[Words]) -> float | None:
    """Return dist-3 over the last utterances; `None` where there are too few to repeat each other."""
    return distinct_share(said[-parameters.running_window :]) if len(said) >= _LEAST_UTTERANCES else None
