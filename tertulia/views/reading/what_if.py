"""The units that another λ would remove from a prompt, on the scores that a run recorded; no model is called."""

from random import Random

from tertulia.state.errors import NotFoundError
from tertulia.state.parameters import Parameters
from tertulia.state.records import Prompt, RunRecord, TurnRecord


def removed_at(
    run: RunRecord, record: TurnRecord, prompt: Prompt | None, removal_factor: float, part: str = ""
) -> tuple[str, ...]:
    """Return the ids of the units that another λ in [0, 1] would remove in a turn, or in a part of it.

    Raises:
        UsageError: λ is out of its range.
        NotFoundError: The turn has no recorded scores.
    """
    from tertulia.nodes.utterance.prune import chosen_units
    from tertulia.prompts.remove import removed_with_blocks

    parameters = Parameters.model_validate(run.parameters).with_settings({}, removal_factor=removal_factor)
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
    drawn_from = placebo_of(run, record, part)
    chosen = chosen_units(prompt.units, record.scores, parameters.removal_factor, parameters, drawn_from)
    return removed_with_blocks(prompt, chosen)


def placebo_of(run: RunRecord, record: TurnRecord, part: str = "") -> Random:
    """Return the generator of a turn's placebo, or of that of a part of it, as the turn had it."""
    from tertulia.nodes.utterance.walks.placebo import placebo_generator

    parameters = Parameters.model_validate(run.parameters)
    case_seed = parameters.case_seed if parameters.prompt_draws == "case" else run.seed
    # A run that is stored has its case's seed as a number.
    seed = case_seed if isinstance(case_seed, int) else run.seed
    return placebo_generator(seed, record.turn.turn, record.turn.speaker or "", part)
