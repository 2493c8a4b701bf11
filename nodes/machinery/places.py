"""The places of the graphs for nodes of choice, and the keys that a node has to write there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any, Literal, get_type_hints

from tertulia.prompts.remove import problem_of_removed
from tertulia.state.context import Context
from tertulia.state.graph_state import CognitionInput, CognitionState, GroupState, UtteranceInput, UtteranceState
from tertulia.state.inner_places import AddressState, RatingState
from tertulia.state.observed import Observed

GraphName = Literal["utterance", "cognition", "group_chat", "town"]

#: By graph, or by a place inside another step: the state, and the keys of it that every node is given.
_STATES: Mapping[str, tuple[type, tuple[str, ...]]] = {
    "utterance": (UtteranceState, tuple(UtteranceInput.__annotations__)),
    "cognition": (CognitionState, tuple(CognitionInput.__annotations__)),
    "group_chat": (GroupState, ("round", "turn", "present", "sim_time_s", "silence_s")),
    "read_address": (AddressState, ("round", "turn", "speaker", "line", "listeners")),
    "rate_importance": (RatingState, ("round", "agent", "memories", "contents")),
}


#: A check of an update's values: from the update, the state and the context to the fault in them, if any.
Fits = Callable[[Mapping[str, Any], Mapping[str, Any], Context], str | None]


def _fits_always(update: Mapping[str, Any], state: Mapping[str, Any], context: Context) -> str | None:
    return None


@dataclass(frozen=True)
class Place:
    """A place in a graph, and the keys that a node there has to write.

    Attributes:
        name: The name of the graph's node, or of a place inside another step; `after_…` and `read_address` are empty
            unless a node is chosen for it.
        writes: State keys that a node here always writes.
        may_write: State keys that it may write besides.
        observes: Keys of `Observed` that it may read; `situation` and `thought` it may also write.
    """

    name: str
    graph: GraphName
    writes: tuple[str, ...]
    may_write: tuple[str, ...] = ()
    observes: tuple[str, ...] = ()
    fits: Fits = _fits_always

    @property
    def given(self) -> tuple[str, ...]:
        """The state keys that every node here is given, declared or not: speaker, time, people present."""
        return _state_of(self.name, self.graph)[1]

    @property
    def types(self) -> Mapping[str, Any]:
        """The type of every key of the state, and of what it observes."""
        state = _types_of(_state_of(self.name, self.graph)[0])
        seen = {key: kind for key, kind in _types_of(Observed).items() if key in (*self.observes, *self.may_write)}
        return {**state, **seen} if seen else state


def _state_of(place: str, graph: GraphName) -> tuple[type, tuple[str, ...]]:
    return _STATES.get(place) or _STATES[graph]


@lru_cache
def _types_of(state: type) -> Mapping[str, Any]:
    return get_type_hints(state)


def _scores_fit(update: Mapping[str, Any], state: Mapping[str, Any], context: Context) -> str | None:
    scores, units = update["scores"], [unit.id for unit in context.store.prompt(state["prompt"]).units]
    if scores is None or update["scored_by"] is None:
        return "scores and scored_by say what was scored and by whom; None stands for neither here"
    if missing := [unit for unit in units if unit not in scores]:
        return f"scores has none for {len(missing)} of {len(units)} units, the first of them {missing[0]!r}"
    if unknown := next((unit for unit in scores if unit not in units), None):
        return f"scores has one for {unknown!r}, which is no unit of the prompt"
    below = next((unit for unit, score in scores.items() if score < 0), None)
    if below is not None:
        return f"scores[{below!r}] is {scores[below]}; a score is 0 or more"
    if isfinite(total := sum(map(float, scores.values()))):  # λ removes a share of it
        return None
    highest = max(scores, key=lambda unit: scores[unit])
    return f"scores add up to {total}, the highest of them {scores[highest]} of {highest!r}; make them smaller"


def _removed_fit(update: Mapping[str, Any], state: Mapping[str, Any], context: Context) -> str | None:
    prompt = context.store.prompt(state["prompt"])
    if problem := problem_of_removed(prompt, update["removed"]):
        return problem
    units = {unit.id: unit for unit in prompt.units}
    for removed in update["removed"]:
        if units[removed].kind == "item" and not units[removed].removable:
            return f"removed has {removed!r}, which can't be removed"
    return None


def _judgement_fits(update: Mapping[str, Any], state: Mapping[str, Any], context: Context) -> str | None:
    judged, before = update["inconsistency"], state["inconsistency"]
    if judged[:-1] != before or len(judged) != len(before) + 1:
        return "inconsistency is what it was, with the figure of the candidate at hand after it"
    if update["conflict"] and len(before) >= context.of(state["speaker"]).parameters.revisions_max:
        return "conflict is True where no backup is left, and nothing may be rewritten (revision, max_rollbacks)"
    return None


def _speaker_fits(update: Mapping[str, Any], state: Mapping[str, Any], context: Context) -> str | None:
    if update["speaker"] and update["speaker"] not in state["present"]:
        return f"speaker is {update['speaker']!r}, who is not there"
    if update["sim_time_s"] < state["sim_time_s"]:
        return "sim_time_s runs backwards"
    return None


def _bids_fit(update: Mapping[str, Any], state: Mapping[str, Any], context: Context) -> str | None:
    name = state["agent"]
    wrong = next((key for key in ("minds", "bids") if list(update[key]) != [name]), None)
    return None if wrong is None else f"{wrong} has one entry, the agent's own, {name!r}"


def _address_fits(update: Mapping[str, Any], state: Mapping[str, Any], context: Context) -> str | None:
    unknown = next((name for name in update["address"]["asked"] if name not in state["listeners"]), None)
    return None if unknown is None else f"address asks {unknown!r}, who is no listener"


def _importance_fits(update: Mapping[str, Any], state: Mapping[str, Any], context: Context) -> str | None:
    importance, count = update["importance"], len(state["memories"])
    if importance is None:
        return None
    if len(importance) != count:
        return f"importance has {len(importance)} numbers for {count} memories"
    outside = next((number for number in importance if not 1 <= number <= 10), None)
    return None if outside is None else f"importance has {outside}; it is from 1 to 10"


#: What an agent's cognition can observe before mechanisms are chosen, and after; and the texts of an assessment.
_EARLY = ("heard", "last_bids")
_CHOSEN = (*_EARLY, "mechanisms")
TEXTS = ("situation", "thought")

#: The places, in the order in which the graphs go through them. Nodes that only keep records have none.
PLACES: Mapping[str, Place] = {
    place.name: place
    for place in (
        Place("read_address", "group_chat", ("address",), fits=_address_fits),
        Place("perceive", "cognition", ("mind",), observes=_EARLY),
        Place("after_perceive", "cognition", (), ("mind",), _EARLY),
        Place("choose_mechanisms", "cognition", ("active",), ("mind",), _EARLY),
        Place("run_mechanisms", "cognition", ("mind",), (), _CHOSEN),
        Place("assess", "cognition", ("mind",), TEXTS, _CHOSEN),
        Place("after_assess", "cognition", (), ("mind", *TEXTS), (*_CHOSEN, *TEXTS)),
        Place("decide", "cognition", ("minds", "bids"), (), (*_CHOSEN, *TEXTS), _bids_fit),
        Place("race", "group_chat", ("speaker", "sim_time_s", "minds"), fits=_speaker_fits),
        Place("retrieve_memory", "utterance", ("prompt",)),
        Place("vary_prompt", "utterance", ("prompt",)),
        Place("score", "utterance", ("scores", "scored_by"), fits=_scores_fit),
        Place("prune", "utterance", ("removed",), fits=_removed_fit),
        Place("generate", "utterance", (), may_write=("attempt", "set_aside")),
        Place("sense", "utterance", (), may_write=("attempt", "set_aside")),
        Place("judge", "utterance", ("inconsistency", "conflict", "judged_by"), fits=_judgement_fits),
        Place("choose_revision", "utterance", ("rewritable",)),
        Place("rewrite", "utterance", ("attempt", "set_aside")),
        Place("roll_back", "utterance", ("attempt",), ("set_aside",)),
        Place("select_candidate", "utterance", ("chosen", "rollbacks")),
        Place("score_line", "utterance", ("line_scores", "line_scored_by")),
        Place("decide_ending", "utterance", ("ended",)),
        Place("rate_importance", "town", ("importance",), fits=_importance_fits),
    )
}
