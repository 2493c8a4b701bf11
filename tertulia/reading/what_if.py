"""What another λ would remove from a prompt, on the scores that a run recorded; no model is called."""

from tertulia.state.errors import NotFoundError
from tertulia.state.parameters import Parameters
from tertulia.state.records import Prompt, RunRecord, TurnRecord


def removed_at(run: RunRecord, record: TurnRecord, prompt: Prompt | None, removal_factor: float) -> tuple[str, ...]:
    """Return the ids of the units that another λ in [0, 1] would remove in a turn.

    Raises:
        UsageError: λ is out of its range.
        NotFoundError: The turn has no recorded scores.
    """
    from tertulia.nodes.utterance.prune import prune_units
    from tertulia.prompts.remove import removed_with_blocks

    parameters = Parameters.model_validate(run.parameters).with_settings({"removal_factor": removal_factor})
    where = f"turn {record.turn.turn} of run {run.run}"
    if record.turn.speaker is None:
        raise NotFoundError(f"{where} is a silence: there was no prompt; look into a turn in which somebody speaks")
    if prompt is None:
        raise NotFoundError(f"{where} was written by hand: there was no prompt; look into a turn that a model has made")
    if record.scores is None:
        raise NotFoundError(
            f"{where} has no recorded scores: λ was 0 there, where nothing is scored; "
            "set record_scores=true for a run to record them"
        )
    chosen = prune_units(
        prompt.units, record.scores, parameters.removal_factor, parameters.removal_order, parameters.removal_walk
    )
    return removed_with_blocks(prompt, chosen)
