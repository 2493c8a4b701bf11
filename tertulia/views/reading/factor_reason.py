"""The reason for the λ of a turn: the findings of `nodes/shared/removal_factor.py`, computed again from the store."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tertulia.state.parameters import Parameters
from tertulia.state.records import RunRecord
from tertulia.state.store import Store

if TYPE_CHECKING:
    from tertulia.nodes.shared.steering import Steering


@dataclass(frozen=True)
class FactorReason:
    """The reason for the λ of a turn in words, and how it was steered; `None` if a policy decides."""

    reason: str
    steering: "Steering | None" = None


def read_factor_reason(store: Store, run: RunRecord, turn: int) -> FactorReason | None:
    """Return the reason for the λ of a turn (from 1); `None` if all turns have the run's λ."""
    from tertulia.nodes.shared.removal_factor import observations, past_utterances
    from tertulia.nodes.shared.steering import steer

    parameters = Parameters.model_validate(run.parameters)
    if parameters.diversity is not None and parameters.setpoint is not None:
        utterances = past_utterances(store, run.run, 1, turn - 1, is_steered=True)
        steering = steer(parameters.setpoint, parameters.diversity, observations(parameters.setpoint, utterances))
        return FactorReason(_steered(parameters, steering), steering)
    if parameters.pruning == "every":
        return None
    words = [utterance.words for utterance in past_utterances(store, run.run, 1, turn - 1, False)]
    return FactorReason(_policy(parameters, words))


def _policy(parameters: Parameters, utterances: list[tuple[str, ...]]) -> str:
    from tertulia.nodes.shared.removal_factor import REPETITION_WINDOW, prunes, repetition_of

    does = "pruned" if prunes(parameters, utterances) else "not pruned"
    if parameters.pruning == "first":
        return f"pruning=first: {does}, as utterance {len(utterances) + 1} where {parameters.pruning_turns} are"
    share = repetition_of(parameters, utterances)
    if share is None:
        return f"pruning=when_repetitive: {does}, as nothing could be repeated yet"
    last = min(len(utterances), REPETITION_WINDOW)
    relation = "below" if share < parameters.repetition_threshold else "not below"
    return (
        f"pruning=when_repetitive: {does}, as dist-3 over the last {last} utterances was {share:.3f}, "
        f"{relation} {parameters.repetition_threshold:g}"
    )


def _steered(parameters: Parameters, steering: "Steering") -> str:
    setpoint = parameters.setpoint
    assert setpoint is not None
    asked = f"λ = {steering.removal_factor:.3f} for {setpoint.metric} = {parameters.diversity:g}"
    begins = f"calibrated {steering.calibrated:.3f}"
    if steering.deviation is None:
        return f"{asked}: {begins}"
    beside = "above" if steering.deviation > 0 else "below"
    running = f"dist-{setpoint.n} so far is {abs(steering.deviation):.3f} {beside} what it should be"
    moves = f"diversity asks for {steering.for_diversity:+.3f}, consistency for {steering.for_consistency:+.3f}"
    return f"{asked}: {begins}; {running}: {moves}, a part of it in each turn"
