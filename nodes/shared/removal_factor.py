"""The λ of a turn: as it is set, 0 if the policy lets the prompt be, or steered to a diversity that is asked for.

The spoken lines decide, and nothing else: a fork or a run that goes on finds the same λ. Source of policies: APP App. D
and Limitations.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tertulia.nodes.shared.steering import Observation, steer
from tertulia.state.context import Context
from tertulia.state.graph_state import UtteranceState
from tertulia.state.parameters import Parameters
from tertulia.state.setpoint import Setpoint
from tertulia.state.store import Store
from tertulia.state.words import words

#: The length of the runs of words by whose repetition a dialogue counts as repetitive.
_N = 3

#: So many utterances must have been said before any can repeat another.
_LEAST_UTTERANCES = 2

#: The last utterances over which pruning=when_repetitive takes dist-3.
REPETITION_WINDOW = 6

Words = tuple[str, ...]


@dataclass(frozen=True)
class PastUtterance:
    """An utterance as those that follow may take it into account.

    Attributes:
        words: Its words, in lower case.
        removal_factor: λ that was in force; `None` if it was not λ that made it.
        inconsistency: The judge's figure of the line; `None` if it was not judged.
    """

    turn: int
    words: Words
    removal_factor: float | None = None
    inconsistency: float | None = None


class History:
    """The utterances of a conversation so far; each is read from the store once."""

    def __init__(self) -> None:
        self._read = 0  # the last turn that was read
        self._utterances: list[PastUtterance] = []

    @classmethod
    def before(cls, context: Context, turn: int) -> list[PastUtterance]:
        """Return the utterances before a turn, oldest first, without silences."""
        history: History | None = context.kept.get(cls)
        if history is None or history._read >= turn:  # the run is driven anew from an earlier turn
            history = context.kept[cls] = cls()
        is_steered = context.parameters.setpoint is not None
        history._utterances += past_utterances(context.store, context.run, history._read + 1, turn - 1, is_steered)
        history._read = turn - 1
        return history._utterances


def past_utterances(store: Store, run: str, first: int, last: int, is_steered: bool) -> list[PastUtterance]:
    """Return the utterances from a turn to another; with λ and inconsistency only if they steer the next ones."""
    utterances = [
        PastUtterance(turn.turn, words_of(turn.text))
        for turn in store.turns(run, first, last)
        if turn.speaker is not None
    ]
    return [_with_figures(store, run, utterance) for utterance in utterances] if is_steered else utterances


def _with_figures(store: Store, run: str, utterance: PastUtterance) -> PastUtterance:
    record = store.turn_record(run, utterance.turn)
    figures = {candidate.attempt: candidate.inconsistency for candidate in store.candidates(run, utterance.turn)}
    return PastUtterance(utterance.turn, utterance.words, record.removal_factor, figures.get(record.chosen))


def words_of(text: str) -> Words:
    """Return the words of an utterance, in lower case."""
    return tuple(word.lower() for word in words(text))


def distinct_share(utterances: Sequence[Words], n: int = _N) -> float | None:
    """Return distinct n-grams over all n-grams of utterances, in (0, 1]; `None` if none has n words.

    This is dist-N (Li et al. 2016) within a dialogue; APP has it over the dialogues of a case.
    """
    grams = [gram for words in utterances for gram in zip(*(words[skip:] for skip in range(n)), strict=False)]
    return len(set(grams)) / len(grams) if grams else None


def find_removal_factor(state: UtteranceState, context: Context) -> float | None:
    """Return λ for the prompt of this turn, given the earlier lines; `None` if `retain` is set instead."""
    parameters = context.parameters
    if parameters.diversity is not None and parameters.setpoint is not None:
        observed = observations(parameters.setpoint, History.before(context, state["turn"]))
        return steer(parameters.setpoint, parameters.diversity, observed).removal_factor
    if parameters.pruning != "every":
        utterances = [utterance.words for utterance in History.before(context, state["turn"])]
        if not prunes(parameters, utterances):
            return 0.0
    return None if parameters.retain is not None else parameters.removal_factor


def removal_factor_of(state: UtteranceState, parameters: Parameters) -> float | None:
    """Return λ as it is in force in this turn; of a user's node that does not read it, that of the run."""
    return state.get("removal_factor", None if parameters.retain is not None else parameters.removal_factor)


def observations(setpoint: Setpoint, utterances: Sequence[PastUtterance]) -> list[Observation]:
    """Return the observations after each utterance by which λ is steered."""
    running = running_measures([utterance.words for utterance in utterances], setpoint.n, setpoint.window)
    return [
        Observation(measure, utterance.removal_factor, utterance.inconsistency)
        for utterance, measure in zip(utterances, running, strict=True)
    ]


def running_measures(utterances: Sequence[Words], n: int, window: int) -> list[float | None]:
    """Return dist-N over the last utterances, after each utterance."""
    return [distinct_share(utterances[max(0, count - window) : count], n) for count in range(1, len(utterances) + 1)]


def prunes(parameters: Parameters, utterances: Sequence[Words]) -> bool:
    """Whether the policy has the next prompt pruned, after these utterances of the conversation."""
    match parameters.pruning:
        case "first":
            return len(utterances) < parameters.pruning_turns
        case "when_repetitive":
            share = repetition_of(parameters, utterances)
            return share is not None and share < parameters.repetition_threshold
    return True


def repetition_of(parameters: Parameters, utterances: Sequence[Words]) -> float | None:
    """Return dist-3 over the last utterances; `None` if there are too few to repeat each other."""
    return distinct_share(utterances[-REPETITION_WINDOW:]) if len(utterances) >= _LEAST_UTTERANCES else None
