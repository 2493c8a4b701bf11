"""The state before and after every node of a turn."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from tertulia.state.cognition import Assessment, Finding, InformationNeed, Visit
from tertulia.state.context import Context
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import NotFoundError, nearest_hint
from tertulia.state.graph_state import CognitionOutput, updated
from tertulia.state.meeting import Meeting
from tertulia.state.observed import Rewritten
from tertulia.state.parameters import Parameters
from tertulia.state.records import HOSTED_SCENARIO, RunRecord
from tertulia.state.store import Store
from tertulia.views.reading.shared_turns import as_it_was

#: The nodes of a cognition that write or follow the texts of an assessment.
_HAVE_TEXTS = ("assess", "after_assess", "decide")


def read_visits(
    store: Store, run: RunRecord, turn: int | None = None, node: str | None = None, agent: str | None = None
) -> list[tuple[int, Visit]]:
    """Return the executions of nodes, each with its turn: of all, or of one turn, node or agent.

    The executions of an agent are those of their cognition, and of the turns in which they speak. Those of a mechanism
    have its reason before, and its finding after.

    Args:
        node: The name of a node, of its place, or of a mechanism; `None`: all nodes.

    Raises:
        NotFoundError: The run has no such node, or nothing is known of the turn.
    """
    turns = range(1, run.turns + 1) if turn is None else [turn]
    visits: list[tuple[int, Visit]] = []
    for number in turns:
        trace = store.trace(run.run, number)
        if trace is None and run.scenario == HOSTED_SCENARIO:
            if found := _rewritings(store, run, turns, node, agent):
                return found
            raise NotFoundError(
                f"turn {number} of run {run.run} was a step of another program's graph: its checkpoints have the "
                "states between its own steps (graph.get_state_history), nothing keeps those of an agent's thinking; "
                f"show {run.run} --turn {number} has what came of them"
            )
        if trace is None:
            raise NotFoundError(
                f"what was executed in turn {number} of run {run.run} is not in the store: it was removed; --turn N "
                "shows another"
            )
        visits += [(number, visit) for visit in trace.visits]
    if node is not None:
        visits = _executions_of(store, run, visits, node, turn)
    chosen = [of for of in visits if agent in (None, of[1].agent or of[1].before.get("speaker"))]
    return [(number, _as_given(store, as_it_was(store, run, number), visit)) for number, visit in chosen]


def _rewritings(
    store: Store, run: RunRecord, turns: Sequence[int], node: str | None, agent: str | None
) -> list[tuple[int, Visit]]:
    """Return the executions of a user's node that rewrote thoughts in a hosted meeting: the store has both."""
    nodes: dict[str, str] = dict(run.parameters.get("nodes") or {})  # type: ignore[call-overload]
    if node not in ("after_assess", nodes.get("after_assess", "after_assess")):
        return []
    rounds = store.steps(run.run, "after_assess", Rewritten, min(turns), max(turns), agent)
    visits = [Visit(node="after_assess", agent=who, before={"round": round}, update=None) for round, who in rounds]
    return [(visit.before["round"], _with_assessment(store, run, visit)) for visit in visits]


def _executions_of(
    store: Store, run: RunRecord, visits: Sequence[tuple[int, Visit]], name: str, turn: int | None
) -> list[tuple[int, Visit]]:
    """Return the executions of a node or a mechanism; `NotFoundError` if there is none."""
    from tertulia.nodes.machinery.places import PLACES
    from tertulia.nodes.machinery.registry import DEFAULT_SCORER, NODES

    chosen: dict[str, str] = dict(run.parameters.get("nodes") or {})  # type: ignore[call-overload]
    by = {place: chosen.get(place, DEFAULT_SCORER if place == "score" else place) for place in PLACES}
    place = next((place for place, node in by.items() if node == name), name)
    if found := [(number, visit) for number, visit in visits if visit.node == place]:
        return found
    if place == "read_address":
        opened = [(number, visit) for number, visit in visits if visit.node == "open_round"]
        found = [(number, _inner(visit, place, (visit.update or {}).get("address"))) for number, visit in opened]
    if not found:
        found = list(_findings(store, run, visits, name))
    is_of_town = place in PLACES and PLACES[place].graph == "town"
    if not found and is_of_town and (simulation := store.dependents_of(run.run).simulation) is not None:
        raise NotFoundError(
            f"{name!r} rates memories after a conversation, and in none of its turns: tertulia days {simulation} "
            "--agent NAME has the memories with their importance"
        )
    if not found:
        where = f"turn {turn} of run {run.run}" if turn is not None else f"run {run.run}"
        if name in NODES and by[NODES[name].place] != name:
            raise NotFoundError(f"{by[NODES[name].place]!r} was chosen in place of {name!r} in run {run.run}")
        known = dict.fromkeys([*(visit.node for _, visit in visits), *chosen.values(), *_mechanisms(store, run)])
        hint = "" if name in known or name in PLACES else nearest_hint(name, known)
        raise NotFoundError(f"no node {name!r} was executed in {where}{hint}")
    return found


def _inner(visit: Visit, place: str, address: Any) -> Visit:
    return Visit(node=place, agent="", before={"round": visit.before["round"] + 1}, update={"address": address})


def _mechanisms(store: Store, run: RunRecord) -> Sequence[str]:
    start = store.start(run.run)
    return start.mechanisms if isinstance(start, Meeting) else ()


def _findings(
    store: Store, run: RunRecord, visits: Iterable[tuple[int, Visit]], mechanism: str
) -> Iterator[tuple[int, Visit]]:
    """Yield the executions of a mechanism."""
    for number, visit in visits:
        if visit.node != "run_mechanisms" or mechanism not in visit.before.get("active", ()):
            continue
        round, agent = visit.before["round"], visit.agent
        need = store.step(run.run, round, agent, "choose_mechanisms", InformationNeed)
        choice = need.mechanisms.get(mechanism) if need else None
        finding = store.step(run.run, round, agent, mechanism, Finding)
        before = {"round": round, "reason": choice.reason if choice else ""}
        yield (
            number,
            Visit(node=mechanism, agent=agent, before=before, update=finding.model_dump() if finding else None),
        )


def _as_given(store: Store, run: RunRecord, visit: Visit) -> Visit:
    """Return an execution of an agent's cognition with the texts that lie in the store and in no state.

    A node of the user's own has before it all that its place can read: its own declaration is in its file.
    """
    if not visit.agent:
        return visit
    before = {key: value for key, value in visit.before.items() if value or key not in CognitionOutput.__annotations__}
    if visit.node in (run.parameters.get("nodes") or {}):  # type: ignore[operator]
        before |= _observed(store, run, visit)
    visit = visit.model_copy(update={"before": before})
    return _with_assessment(store, run, visit) if visit.node in _HAVE_TEXTS else visit


def _observed(store: Store, run: RunRecord, visit: Visit) -> dict[str, Any]:
    from tertulia.nodes.machinery.places import PLACES, TEXTS
    from tertulia.nodes.meeting.observed import observed

    context = Context(
        run=run.run,
        seed=run.seed,
        start=store.start(run.run),
        parameters=Parameters.model_validate(run.parameters),
        store=store,
        **cast(Any, dict.fromkeys(("model", "embedder", "broker"))),  # nobody is asked
    )
    return observed(tuple(key for key in PLACES[visit.node].observes if key not in TEXTS), visit.before, context)


def _with_assessment(store: Store, run: RunRecord, visit: Visit) -> Visit:
    """Return an execution with the texts of the agent's assessment."""
    round, agent = visit.before["round"], visit.agent
    assessed = store.step(run.run, round, agent, "assess", Assessment)
    if assessed is None:
        return visit
    now = {"situation": assessed.situation, "thought": assessed.thought}
    rewritten = store.step(run.run, round, agent, "after_assess", Rewritten)
    was = now if rewritten is None else {"situation": rewritten.situation, "thought": rewritten.thought}
    before, written = {"assess": ({}, was), "after_assess": (was, now), "decide": (now, {})}[visit.node]
    changed = {key: text for key, text in written.items() if text != before.get(key)}
    return visit.model_copy(
        update={"before": {**visit.before, **before}, "update": {**(visit.update or {}), **changed}}
    )


def changes_of(visit: Visit) -> Iterator[tuple[str, str, str | None]]:
    """Yield every key of the state with its value before and, if the node wrote it, after."""
    update = visit.update or {}
    for key in dict.fromkeys([*visit.before, *update]):
        before = json.dumps(visit.before[key], ensure_ascii=False) if key in visit.before else ""
        yield key, before, json.dumps(update[key], ensure_ascii=False) if key in update else None


def visits_document(run: RunRecord, visits: Iterable[tuple[int, Visit]]) -> Document:
    """Return executions as JSON, with the state before, the update, and the state after."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run.run,
        "visits": [
            {"turn": turn, **visit.model_dump(), "after": updated(visit.before, visit.update or {})}
            for turn, visit in visits
        ],
    }
