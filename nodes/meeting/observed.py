"""Look up what a user's node of a cognition reads from the store, and store the texts that it writes."""

from collections.abc import Callable, Mapping
from typing import Any

from tertulia.nodes.meeting.view import View
from tertulia.state.cognition import Assessment, Bid, Finding, InformationNeed, MechanismChoice
from tertulia.state.context import Context
from tertulia.state.observed import BidSeen, HeardLine, MechanismSeen, Rewritten

State = Mapping[str, Any]


def observed(keys: tuple[str, ...], state: State, context: Context) -> dict[str, Any]:
    """Return the observed keys (`state.observed.Observed`) among these, with their values."""
    found = [key for key in keys if key in _READERS]
    view = View.of(state, context) if found else None  # type: ignore[arg-type]
    return {key: value for key in found if view and (value := _READERS[key](view, state)) is not None}


def store_texts(place: str, node: str, texts: Mapping[str, str], state: State, context: Context) -> None:
    """Store the situation or the thought that a node has written, and what they were before.

    Args:
        state: The agent's, with the update of the node.
    """
    view = View.of(state, context)  # type: ignore[arg-type]
    before, mind = _assessment(view), state["mind"]
    fields = {"emotion": mind["emotion"], "emotion_strength": mind["emotion_strength"], **texts}
    if before is None:
        written = Assessment(**({"situation": "", "thought": "", "done": tuple(view.done())} | fields))
    else:
        written = before.model_copy(update=fields)
        was = Rewritten(node=node, situation=before.situation, thought=before.thought)
        context.store.save_step(context.run, view.round, view.name, place, was)
    context.store.save_step(context.run, view.round, view.name, "assess", written)


def _assessment(view: View) -> Assessment | None:
    return view.context.store.step(view.context.run, view.round, view.name, "assess", Assessment)


def _heard(view: View, state: State) -> list[HeardLine]:
    return [HeardLine(turn=line.turn, speaker=line.speaker, text=line.text) for line in view.lines()]


def _last_bids(view: View, state: State) -> dict[str, BidSeen]:
    bids = view.context.store.steps(view.context.run, "bid", Bid, view.round - 1, view.round - 1)
    return {
        agent: BidSeen(willing=bid.willing, willingness=bid.willingness, latency_s=bid.latency_s, won=bid.won)
        for (_, agent), bid in bids.items()
    }


def _mechanisms(view: View, state: State) -> dict[str, MechanismSeen]:
    store, run = view.context.store, view.context.run
    need = store.step(run, view.round, view.name, "choose_mechanisms", InformationNeed)
    chosen = {name: MechanismChoice(active=True, reason="") for name in state.get("active", ())}
    seen = {}
    for name, choice in {**chosen, **(need.mechanisms if need else {})}.items():
        finding = store.step(run, view.round, view.name, name, Finding) if choice.active else None
        lines, problem = ([], None) if finding is None else ([*finding.lines], finding.problem)
        seen[name] = MechanismSeen(active=choice.active, reason=choice.reason, lines=lines, problem=problem)
    return seen


def _situation(view: View, state: State) -> str | None:
    found = _assessment(view)
    return None if found is None else found.situation


def _thought(view: View, state: State) -> str | None:
    found = _assessment(view)
    return None if found is None else found.thought


_READERS: Mapping[str, Callable[[View, State], Any]] = {
    "heard": _heard,
    "last_bids": _last_bids,
    "mechanisms": _mechanisms,
    "situation": _situation,
    "thought": _thought,
}
