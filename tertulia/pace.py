"""Why a turn had the λ that it had, in words: what `nodes/pace.py` found before it, found again from the store."""

from state.parameters import Parameters
from state.records import RunRecord
from state.store import Store


def pace_in_words(store: Store, run: RunRecord, turn: int) -> str | None:
    """Return why the prompt of a turn was pruned, or not; `None` where that is so in every turn.

    Args:
        store: Where the run is stored.
        run: The run.
        turn: The turn, from 1.
    """
    from nodes.pace import prunes, repetition_of, words_of

    parameters = Parameters.of_record(run.parameters)
    if parameters.pruning == "every":
        return None
    said = [words_of(spoken.text) for spoken in store.turns(run.run, 1, turn - 1) if spoken.speaker is not None]
    does = "pruned" if prunes(parameters, said) else "not pruned"
    if parameters.pruning == "first":
        return f"pruning=first: {does}, as utterance {len(said) + 1} where {parameters.pruning_turns} are"
    share = repetition_of(parameters, said)
    if share is None:
        return f"pruning=when_repetitive: {does}, as nothing could be repeated yet"
    last = min(len(said), parameters.running_window)
    relation = "below" if share < parameters.repetition_threshold else "not below"
    return (
        f"pruning=when_repetitive: {does}, as dist-3 over the last {last} utterances was {share:.3f}, "
        f"{relation} {parameters.repetition_threshold:g}"
    )
