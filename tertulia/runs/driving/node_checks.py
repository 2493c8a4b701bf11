"""Checks of a user's nodes and mechanisms: each runs in rehearsed conversations, twice with the same seed.

It must be reached and end in time, leave its state unchanged, return the keys that it declares and its place accepts,
and return the same with the same seed.
"""

import asyncio
import copy
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

from tertulia.models.rehearsal import RehearsalEmbedder, RehearsalModel
from tertulia.nodes.machinery.extensions import installed, load_extensions, load_module
from tertulia.nodes.machinery.guard import failure
from tertulia.nodes.machinery.node import Node
from tertulia.nodes.machinery.places import PLACES
from tertulia.nodes.machinery.registry import Registry
from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.runs.access.engines import Engines
from tertulia.runs.planning.request import RunRequest
from tertulia.runs.planning.starting import RunPlan, begin_with
from tertulia.state.cognition import Finding
from tertulia.state.errors import ExtensionError, NodeError, TertuliaError
from tertulia.state.language_model import REHEARSAL
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import GROUP_CHAT, Parameters
from tertulia.storage.sqlite.opening import MEMORY
from tertulia.storage.store import SqlStore
from tertulia.worlds.catalog import resolve
from tertulia.worlds.scenario_parts import extension_source

#: The shipped scenarios that are rehearsed, the town, and their rounds.
_DIALOGUE, _MEETING, _TOWN = "tidewell", "team_building", "a day of tidewell"
_ROUNDS = 4

#: Every candidate conflicts, so that judging and rolling back are tried, too.
_SETTINGS: dict[str, Any] = {"max_turns": _ROUNDS, "removal_factor": 0.5, "inconsistency_threshold": 0}

#: Seconds after which a rehearsal counts as stuck.
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Check:
    """The result of a check; `problem` is `None` if it passed."""

    name: str
    check: str
    problem: str | None = None


@dataclass
class _Visit:
    """One execution: the state before and after, and the result or the error."""

    before: Any
    after: Any = None
    result: Any = None
    error: BaseException | None = None


@dataclass
class _Rehearsal:
    """A rehearsed conversation: every execution of the tried node, and the error that ended it early."""

    visits: list[_Visit] = field(default_factory=list)
    error: BaseException | None = None


class _Stuck(BaseException):
    """A rehearsal does not end. It is no `Exception`, so that the tried code can't catch it."""


def check_module(module: str) -> list[Check]:
    """Return the checks of all that a file (.py), an entry point or an importable module declares.

    Raises:
        NotFoundError: There is no such file, entry point or module.
    """
    try:
        is_module = not module.endswith(".py") and module not in installed() and _is_importable(module)
        registry = load_module(module) if is_module else load_extensions([extension_source(module, Path.cwd())])
        return [*(Check(name, "is declared") for name in registry.origins), *check_all(registry)]
    except ExtensionError as error:
        return [Check(module, "is declared", str(error))]


def _is_importable(module: str) -> bool:
    return find_spec(module.partition(".")[0]) is not None


def check_all(registry: Registry, patience_s: float = PATIENCE_S) -> Iterator[Check]:
    """Yield the checks of every node and mechanism of the registry's extensions."""
    for node in registry.own_nodes.values():
        yield from _check_node(node, registry, patience_s)
    for mechanism in registry.own_mechanisms.values():
        yield from _check_mechanism(mechanism, registry, patience_s)


def _check_node(node: Node, registry: Registry, patience_s: float) -> Iterator[Check]:
    places = {"utterance": [_DIALOGUE, _MEETING], "town": [_TOWN]}
    for scenario in places.get(PLACES[node.place].graph, [_MEETING]):
        first, second = (_rehearse_node(node, registry, scenario, patience_s) for _ in range(2))
        where = f"in {scenario}"
        if not first.visits:
            ended = f": {first.error}" if first.error else ", as nothing leads there"
            yield Check(node.name, f"is reached {where}", f"was not reached in {_ROUNDS} rounds{ended}")
            continue
        yield Check(node.name, f"is reached {where}")
        yield from _ending(node.name, node.run, first, where)
        changed = any(visit.error is None and visit.after != visit.before for visit in first.visits)
        words = "it changes the state that it is given; return what is new instead" if changed else None
        yield Check(node.name, f"leaves the state as it was {where}", words)
        misfit = isinstance(first.error, NodeError) and first.visits[-1].error is None and not changed
        late = misfit and "took longer" in str(first.error)
        yield Check(node.name, f"returns what it declares {where}", str(first.error) if misfit and not late else None)
        if first.error is None:
            yield _sameness(node.name, first, second, where)


def _check_mechanism(mechanism: Mechanism, registry: Registry, patience_s: float) -> Iterator[Check]:
    first, second = (_rehearse_mechanism(mechanism, registry, patience_s) for _ in range(2))
    where = f"in {_MEETING}"
    if not first.visits:
        yield Check(mechanism.name, f"is reached {where}", f"was not reached in {_ROUNDS} rounds: {first.error}")
        return
    yield Check(mechanism.name, f"is reached {where}")
    yield from _ending(mechanism.name, mechanism.run, first, where)
    results = [visit.result for visit in first.visits if visit.error is None]
    odd = next((result for result in results if not isinstance(result, Finding)), None)
    words = None if odd is None else f"it returns a {type(odd).__name__}; return a Finding"
    yield Check(mechanism.name, f"returns a finding {where}", words)
    if first.error is None and odd is None:
        yield _sameness(mechanism.name, first, second, where)


def _ending(name: str, run: Callable[..., Any], rehearsal: _Rehearsal, where: str) -> Iterator[Check]:
    """Yield whether every execution ended, and in time."""
    stopped = rehearsal.error
    raised = next((visit.error for visit in rehearsal.visits if visit.error is not None), None)
    late: str | None = None
    if isinstance(stopped, _Stuck):
        late = "it does not come to an end"
    elif isinstance(raised, asyncio.CancelledError | TimeoutError) or "took longer" in str(stopped):
        late = "it takes longer than its time limit"
    failed: str | None = None
    if raised is not None and late is None:
        failed = str(stopped) if isinstance(stopped, NodeError) else f"it {failure(raised, run)}"
    elif isinstance(stopped, TertuliaError) and not isinstance(stopped, NodeError):
        failed = str(stopped)
    yield Check(name, f"comes to its end {where}", failed)
    yield Check(name, f"keeps its time limit {where}", late and f"{late}; what computes for long belongs in a thread")


def _sameness(name: str, first: _Rehearsal, second: _Rehearsal, where: str) -> Check:
    mend = "draw from tertulia.state.randomness.keyed_generator, and look at no clock but the simulated one"
    problem: str | None = None
    if len(first.visits) != len(second.visits):
        problem = f"with the same seed it was executed {len(first.visits)} and {len(second.visits)} times; {mend}"
    for number, (visit, again) in enumerate(zip(first.visits, second.visits, strict=False), start=1):
        if visit.result != again.result:
            problem = f"its execution {number} came to something else with the same seed; {mend}"
            break
    return Check(name, f"is the same again {where}", problem)


# --- rehearsing -----------------------------------------------------------------------------------------------------


def _rehearse_node(node: Node, registry: Registry, scenario: str, patience_s: float) -> _Rehearsal:
    rehearsal = _Rehearsal()

    @wraps(node.run)
    async def run(state: Any, runtime: Any) -> Any:
        visit = _Visit(copy.deepcopy(state))
        rehearsal.visits.append(visit)
        try:
            update = await node.run(state, runtime)
        except BaseException as error:
            visit.error = error
            raise
        visit.after, visit.result = copy.deepcopy(state), copy.deepcopy(update)
        return update

    tried = replace(registry, own_nodes={**registry.own_nodes, node.name: replace(node, run=run)})
    settings = {f"nodes.{node.place}": node.name}
    start = None if scenario == _TOWN else resolve(scenario, tuple(registry.mechanisms))
    _hold(rehearsal, tried, start, settings, patience_s)
    return rehearsal


def _rehearse_mechanism(mechanism: Mechanism, registry: Registry, patience_s: float) -> _Rehearsal:
    rehearsal = _Rehearsal()

    @wraps(mechanism.run)
    async def run(view: Any) -> Any:
        visit = _Visit(None)
        rehearsal.visits.append(visit)
        try:
            visit.result = await mechanism.run(view)
        except BaseException as error:
            visit.error = error
            raise
        return visit.result

    def always(view: Any) -> str:
        if mechanism.condition is not None:
            reason = mechanism.condition(view)
            if not isinstance(reason, str | None):
                raise NodeError(f"the condition of {mechanism.name!r} returned {reason!r:.60}, not a text or None")
        return "it is tried out"

    forced = replace(mechanism, run=run, condition=always)
    tried = replace(registry, own_mechanisms={**registry.own_mechanisms, mechanism.name: forced})
    start = resolve(_MEETING, [mechanism.name])
    _hold(rehearsal, tried, start, {}, patience_s)
    return rehearsal


def _hold(
    rehearsal: _Rehearsal, registry: Registry, start: Start | None, settings: dict[str, Any], patience_s: float
) -> None:
    """Rehearse a conversation, or a town's day without a start, in a store of its own; keep the error that stops it."""
    base = GROUP_CHAT if isinstance(start, Meeting) else {}
    settings = {**base, "ending": "off", **_SETTINGS, **settings}
    with SqlStore.open(MEMORY, create=True) as store:
        drive = _town(store, registry, settings) if start is None else _conversation(store, registry, start, settings)
        try:
            with _patience(patience_s):
                drive()
        except (Exception, _Stuck) as error:
            rehearsal.error = error


def _conversation(store: SqlStore, registry: Registry, start: Start, settings: dict[str, Any]) -> Callable[[], object]:
    from langgraph.checkpoint.memory import InMemorySaver

    from tertulia.runs.driving.conversation import drive

    parameters = Parameters().with_settings(settings)
    plan = RunPlan(start=start, parameters=parameters, model=REHEARSAL, seed=1, registry=registry)
    context = begin_with(store, plan, Engines(RehearsalModel(), {}, RehearsalEmbedder()))
    return lambda: asyncio.run(drive(context, InMemorySaver()))


def _town(store: SqlStore, registry: Registry, settings: dict[str, Any]) -> Callable[[], object]:
    from tertulia.runs.driving.towns import drive_simulation
    from tertulia.runs.planning.simulations import plan_simulation, store_simulation

    nodes = {name: settings.pop(name) for name in list(settings) if name.startswith("nodes.")}
    plan = plan_simulation("tidewell", RunRequest(settings, model=REHEARSAL), encounters_per_day=1)
    plan = replace(plan, registry=registry, parameters=plan.parameters.with_settings(nodes))
    opened = store_simulation(store, plan, Engines(RehearsalModel(), {}, RehearsalEmbedder()))
    return lambda: drive_simulation(store, *opened, lambda event: None)


@contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """Raise `_Stuck` in the Python code inside after so many seconds, and again until it ends.

    A loop can wait forever for a task that was stopped once.
    """

    def stop(signum: int, frame: FrameType | None) -> None:
        raise _Stuck

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def passed(checks: Sequence[Check]) -> bool:
    """Return whether all checks passed."""
    return all(check.problem is None for check in checks)
