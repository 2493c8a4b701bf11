"""Edits of the state between inner steps (`update_state`): each is checked as the next step begins.

Every step writes, under `written`, the state that it leaves. So the next one knows which keys were edited: some may be,
right before the step that reads them; any other edit would make the record untrue.
"""

import json
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any
from zlib import crc32

from tertulia.langgraph.states import HostedUtteranceState
from tertulia.prompts.remove import problem_of_removed, removed_with_blocks
from tertulia.state.errors import UsageError
from tertulia.state.graph_state import EDITED_SCORES, ExchangeState, GroupState, updated
from tertulia.state.records import Prompt

State = Mapping[str, Any]

#: The keys that steps write, but the outcomes of turns before.
_WATCHED = ({*HostedUtteranceState.__annotations__} | {*ExchangeState.__annotations__, *GroupState.__annotations__}) - {
    "written",
    "utterances",
    "exchanges",
}


def with_written(state: State, update: State) -> dict[str, Any]:
    """Return the update of a step, with what it leaves: scalars as they are, others by checksum."""
    left = updated(state, update)
    known = {key: _noted(left[key]) for key in sorted(_WATCHED & left.keys())}
    return {**update, "written": {**(state.get("written") or {}), **known}}


def accepted(state: State, place: str, prompt_of: Callable[[str], Prompt] | None = None) -> dict[str, Any]:
    """Return the edits with which a step goes on, in full.

    Args:
        place: The step.
        prompt_of: Reads the prompt of a hash; needed by the steps before which an edit is accepted.

    Raises:
        UsageError: A key was edited that may not be before this step, or has a value that it can't have.
    """
    written = state.get("written")
    if not written:
        return {}
    edited = [
        key for key in sorted(_WATCHED & state.keys()) if key not in written or written[key] != _noted(state[key])
    ]
    for key in edited:
        before, _ = _EDITABLE.get(key, ("", None))
        if not before or place != before:
            raise UsageError(f"{key} is {state[key]!r:.80}; {_way(key, before, written)}")
    update: dict[str, Any] = {}
    for key in edited:
        assert prompt_of is not None
        update |= _EDITABLE[key][1](state, prompt_of(state["prompt"]))
    return update


def _way(key: str, before: str, written: State) -> str:
    value = written.get(key)
    was = "go on from the checkpoint before" if _is_checksum(value) or key not in written else f"write {value!r} again"
    if before:
        return f"it can be edited only at a pause before {before}: {was}, or go back there"
    return f"no edit can change it, as it tells what was done: {was}"


def _noted(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    try:
        plain = json.dumps(value, sort_keys=True, default=str)
    except (TypeError, ValueError):  # no step writes keys of several types, or a value within itself
        return {"crc32": None}
    return {"crc32": crc32(plain.encode())}


def _is_checksum(value: Any) -> bool:
    return isinstance(value, Mapping)


# --- the keys that may be edited ------------------------------------------------------------------------------------


def _removed(state: State, prompt: Prompt) -> dict[str, Any]:
    removed = state["removed"]
    if problem := problem_of_removed(prompt, removed):
        raise UsageError(problem)
    removable = [unit.id for unit in prompt.units if unit.removable and unit.id in removed]
    gone = removed_with_blocks(prompt, removable)
    if stays := next((unit for unit in removed if unit not in gone), None):
        raise UsageError(
            f"removed has {stays!r}, which λ may not remove: a fixed unit, or a text of a block that keeps items; "
            "leave it out"
        )
    return {"removed": list(gone)}


def _scores(state: State, prompt: Prompt) -> dict[str, Any]:
    scores, ids = state["scores"], {unit.id for unit in prompt.units}
    way = "give every unit that λ may remove a number from 0, by id, as in the state before the edit"
    if not isinstance(scores, Mapping):
        raise UsageError(f"scores is {scores!r:.80}; {way}")
    for unit, score in scores.items():
        if unit not in ids:
            raise UsageError(f"scores has {unit!r:.80}, which is no id of a unit of the prompt; {way}")
        if isinstance(score, bool) or not isinstance(score, int | float) or not isfinite(score) or score < 0:
            raise UsageError(f"scores has {score!r:.80} for {unit}; {way}")
    if lacks := next((unit.id for unit in prompt.units if unit.removable and unit.id not in scores), None):
        raise UsageError(f"scores has none for {lacks}; {way}")
    return {"scores": dict(scores), "scored_by": f"{state['scored_by']}{EDITED_SCORES}"}


def _removal_factor(state: State, _prompt: Prompt) -> dict[str, Any]:
    factor = state["removal_factor"]
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 <= factor <= 1:
        raise UsageError(f"removal_factor is {factor!r:.80}; λ is a number from 0 to 1")
    return {"removal_factor": float(factor)}


#: By key, the step before which it may be edited, and its check, which returns the edit in full.
_EDITABLE: Mapping[str, tuple[str, Callable[[State, Prompt], dict[str, Any]]]] = {
    "scores": ("prune", _scores),
    "removal_factor": ("prune", _removal_factor),
    "removed": ("generate", _removed),
}
