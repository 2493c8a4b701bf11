"""Plan a fork: a run that shares its parent's turns up to a point, and goes on with or without changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tertulia.runs.access.engines import THINKING, named_models
from tertulia.runs.access.model_names import ROLES, check_models
from tertulia.runs.access.suited import DECODING
from tertulia.runs.planning.other_items import with_other_items
from tertulia.runs.planning.request import NOTHING_ASKED, RunRequest
from tertulia.runs.planning.seats import check_is_there, with_seat
from tertulia.runs.planning.starting import RunPlan, check_start
from tertulia.state.cognition import Trace
from tertulia.state.errors import NotFoundError, SettingError, UsageError
from tertulia.state.meeting import Start
from tertulia.state.parameters import PRESETS, Parameters
from tertulia.state.records import HOSTED_SCENARIO, RunRecord
from tertulia.state.seat import in_one_line
from tertulia.state.store import Store
from tertulia.views.reading.hosted import is_of_own_graph

if TYPE_CHECKING:
    from tertulia.storage.store import SqlStore

#: Settings that depend on the model: chosen again for another model.
_SUITS_THE_MODEL = (
    "layout", "judge", "inconsistency_threshold", *DECODING, "ending", "ending_threshold", *THINKING,
    "max_utterance_tokens", "memory_items_min", "memory_items_max",
)  # fmt: skip

#: Thresholds that depend on a choice: chosen again with it.
_THRESHOLDS = {
    "judge": "inconsistency_threshold",
    "ending": "ending_threshold",
}

#: Settings that make a population: fixed in forks, or belongings would not follow from exchanges.
_OF_THE_POPULATION = ("villagers", "pictures", "agents", "album_pictures")

#: Settings that depend on the judge.
_SUITS_THE_JUDGE = {"judge", "inconsistency_threshold"}


#: The word for no mechanism at all, where mechanisms are named in one text.
NO_MECHANISM = "none"


def read_mechanisms(given: str) -> tuple[str, ...]:
    """Return the names of mechanisms in a text, apart by commas; `UsageError` if there is none."""
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    if not names:
        raise UsageError(f"--mechanisms {given!r} names no mechanism; {NO_MECHANISM} switches all off")
    return () if names == (NO_MECHANISM,) else names


def is_of_model(path: str) -> bool:
    """Whether a change of a person is of their model, in whatever spelling of the field."""
    from tertulia.worlds.person_fields import field_named

    return field_named(path.rpartition(".")[2]) == "model"


@dataclass(frozen=True)
class StartChanges:
    """The changes of a fork to its parent's start.

    Attributes:
        person: Fields of people, as `(NAME.FIELD, value)`, under their names in scenario files.
        remember: Added memories, as `(NAME, text)`.
        forget: Removed memories, as `(NAME, memory id)`.
        mechanisms: Mechanisms that agents of a group may switch on; `None`: no change.
    """

    person: Sequence[tuple[str, str]] = ()
    remember: Sequence[tuple[str, str]] = ()
    forget: Sequence[tuple[str, str]] = ()
    mechanisms: Sequence[str] | None = None

    @property
    def models(self) -> list[str]:
        """The new models of people."""
        return [value for path, value in self.person if is_of_model(path)]

    def applied(self, start: Start, store: Store, mechanisms: Sequence[str]) -> Start:
        """Return a start with the changes.

        Args:
            mechanisms: All that agents may switch on.

        Raises:
            TertuliaError: There is no such person, field, memory or mechanism.
        """
        from tertulia.worlds.changes import with_mechanisms, with_memory, with_people, without_memory

        start = with_people(start, self.person)
        for name, memory in self.forget:
            start = without_memory(start, name, memory, store.remembered)
        for name, text in self.remember:
            start = with_memory(start, name, text)
        if self.mechanisms is not None:
            start = with_mechanisms(start, self.mechanisms, mechanisms)
        return start


NO_CHANGES = StartChanges()


def plan_fork(
    store: "SqlStore",
    parent: RunRecord,
    at: int,
    request: RunRequest = NOTHING_ASKED,
    *,
    changes: StartChanges = NO_CHANGES,
    say: str | None = None,
) -> RunPlan:
    """Return the plan of a fork, checked against its parent.

    Args:
        at: The first turn of its own: it shares turns 1 to `at` − 1.
        request: With another model, settings that depend on the parent's are chosen again.
        changes: Changes to the parent's start.
        say: The new words of the speaker of turn `at`.

    Raises:
        NotFoundError: The parent has not come so far, or its state there is not known.
        UsageError: The fork can't be made like that.
    """
    from tertulia.nodes.machinery.extensions import with_shipped

    additions, seat = request.additions, request.seat
    settings = {**request.settings, **additions.settings}
    if parent.kind == "album_chat":
        _check_album_fork(parent, settings, {"say": say, "seat": seat})
    trace = _trace_before(store, parent, at, say)
    parameters = _changed_parameters(parent, settings, request.removal_factor, request.model)
    replaced = set(Parameters.model_validate(parent.parameters).nodes.values()) - set(parameters.nodes.values())
    registry = with_shipped(additions.reload_registry(parent, replaced), parameters.nodes.values())
    start = changes.applied(store.start(parent.run), store, tuple(registry.mechanisms))
    start = additions.switched_on(start, tuple(registry.mechanisms))
    parameters = with_seat(parameters, seat, start)
    if seat is not None and parameters.seat is not None and trace is not None:
        check_is_there(parameters.seat, start, float(trace.after["sim_time_s"]))
    registry.functions(parameters, parent.kind)
    _check_limits(store, parent, parameters, trace, at, say is not None)
    check_start(start, parameters, settings)
    if "items_from" in settings:
        start = with_other_items(start, parameters)
    model = request.model or parent.model
    check_models(model, start, parameters)
    return RunPlan(
        start=start,
        parameters=parameters,
        model=model,
        seed=parent.seed if request.seed is None else request.seed,
        registry=registry,
        label=request.label,
        parent=(parent.run, at),
        words=None if say is None else in_one_line(say),
        named=named_models(settings, request.model, *changes.models),
    )


def check_fork_of(
    store: "SqlStore",
    parent: RunRecord,
    at: int,
    settings: Mapping[str, Any],
    changes: StartChanges,
    say: str | None,
    mechanisms: Sequence[str],
) -> None:
    """Raise the errors of `plan_fork`, as far as they are known without code of extensions, which is not loaded.

    Args:
        mechanisms: All that agents may switch on.

    Raises:
        TertuliaError: The fork can't be made.
    """
    if parent.kind == "album_chat":
        _check_album_fork(parent, settings, {"say": say})
    trace = _trace_before(store, parent, at, say)
    parameters = _changed_parameters(parent, settings, None, None)
    start = changes.applied(store.start(parent.run), store, mechanisms)
    _check_limits(store, parent, parameters, trace, at, say is not None)
    check_start(start, parameters, settings)


def _trace_before(store: Store, parent: RunRecord, at: int, say: str | None) -> Trace | None:
    """Return the trace of the turn before the fork (`None` at the first turn), or refuse the fork."""
    if at < 1:
        raise SettingError("at", at, ": turns count from 1")
    last = parent.turns if say is not None else parent.turns + 1
    if at > last:
        going = "; it is still running" if parent.status == "running" else ""
        has = f"it has {parent.turns} turns" if parent.turns else "it has no turns yet"
        raise NotFoundError(f"run {parent.run} can't be forked at turn {at}: {has}{going}; take turn 1 to {last}")
    if say is not None:
        if not in_one_line(say):
            raise SettingError("say", repr(say), ": nothing is said; give the words")
        if store.turns(parent.run, at, at)[0].speaker is None:
            raise UsageError(f"turn {at} of run {parent.run} is a silence: there are no words to rewrite")
    needed = at if say is not None else at - 1
    trace = store.trace(parent.run, needed) if needed else None
    was_stopped = needed == parent.turns and parent.status in ("interrupted", "failed")
    if needed and trace is None and was_stopped and not is_of_own_graph(store, parent.run):
        raise NotFoundError(f"run {parent.run} stopped while its turn {needed} was being stored; resume it first")
    if needed and trace is None:
        if parent.scenario == HOSTED_SCENARIO:
            raise NotFoundError(
                f"run {parent.run} was held in a program's LangGraph graph, whose own history goes back to turn {at} "
                "(graph.get_state_history); here, fork at turn 1"
            )
        raise NotFoundError(
            f"the state of run {parent.run} after turn {needed} was removed from the store; fork at turn 1, or run the "
            "scenario again"
        )
    return trace


def _changed_parameters(
    parent: RunRecord, chosen: Mapping[str, Any], removal_factor: float | None, model: str | None
) -> Parameters:
    """Return the parameters of a fork; those that depended on the parent's model or judge are open again."""
    before, defaults = Parameters.model_validate(parent.parameters), Parameters()
    reopened = set(_SUITS_THE_MODEL) if model is not None and model != parent.model else set()
    if before.ending == "off":
        reopened -= {"ending"}
    if "thinking_model" in chosen:
        reopened |= set(THINKING)
    if "judge_model" in chosen:
        reopened |= _SUITS_THE_JUDGE
    reopened |= {threshold for choice, threshold in _THRESHOLDS.items() if choice in chosen}
    anew = {name: getattr(defaults, name) for name in reopened}
    if before.preset is not None and "preset" not in chosen:  # it holds for any model
        anew |= {name: value for name, value in PRESETS[before.preset].items() if name in reopened}
    chosen_models = {model if model != parent.model else None, *(chosen.get(setting) for setting in ROLES.values())}
    anew["weights"] = {name: made for name, made in before.weights.items() if name not in chosen_models}
    changed = before.model_copy(update=anew).with_settings(chosen, removal_factor=removal_factor)
    if model is not None and model != parent.model and changed.diversity is not None and "diversity" not in chosen:
        problem = f": λ is calibrated for {parent.model}; ask with --diversity again, or give --lambda"
        raise SettingError("diversity", f"{changed.diversity:g}", problem)
    return changed


def _check_album_fork(parent: RunRecord, settings: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse changes that forks of album chats can't have."""
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"run {parent.run} is an album chat, whose forks take no {name}; leave it out")
    if fixed := next((name for name in _OF_THE_POPULATION if name in settings), None):
        problem = ": a fork has the villagers of its parent, and their albums; begin a run with others"
        raise SettingError(fixed, settings[fixed], problem)


def _check_limits(
    store: Store, parent: RunRecord, parameters: Parameters, trace: Trace | None, at: int, rewritten: bool
) -> None:
    """Refuse a fork that is at its limits before it begins."""
    has, unit = at - 1 + rewritten, "turns"
    if parent.kind == "album_chat":
        has, unit = _round_at(store, parent, at) - 1, "rounds"
    if parameters.max_turns <= has:
        problem = f": a fork at turn {at} has {has} {unit} already; set max_turns higher, or fork earlier"
        raise SettingError("max_turns", parameters.max_turns, problem)
    now_s = 0.0 if trace is None else float(trace.after["sim_time_s"])
    if not rewritten and parameters.max_minutes is not None and now_s >= 60 * parameters.max_minutes:
        over = f"at turn {at} of run {parent.run} {now_s / 60:.1f} minutes are over"
        problem = f": {over}; set max_minutes higher, or fork earlier"
        raise SettingError("max_minutes", f"{parameters.max_minutes:g}", problem)


def _round_at(store: Store, parent: RunRecord, at: int) -> int:
    """Return the round of a turn of an album chat; the next round for the turn after its last."""
    if at <= parent.turns:
        return store.turns(parent.run, at, at)[0].round
    return store.turns(parent.run, at - 1, at - 1)[0].round + 1 if at > 1 else 1
