"""The conversation behind a hosted graph: its run in the store, and the context in which its steps run.

Everything here but the checks of `Host.__init__` runs in the thread of `tertulia/langgraph/room.py`. A conversation is
run. It goes on if the parent's messages are those of the run; if they branch off, as after time travel, a fork
of it begins, which has the turns before in common.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tertulia.langgraph.messages import Line
from tertulia.langgraph.room import room
from tertulia.nodes.conversation.seat import write_by_hand
from tertulia.nodes.conversation.turns import speaking_time_s
from tertulia.runs.access.engines import ModelAccess, named_models, open_engines
from tertulia.runs.access.model_names import check_models
from tertulia.runs.planning.additions import Additions
from tertulia.runs.planning.prompt_language import texts_of
from tertulia.runs.planning.starting import RunPlan, check_start, context_of, new_record, store_run
from tertulia.runs.planning.word_rules import reading_addresses
from tertulia.state.context import Context, RecordedTurn
from tertulia.state.errors import NotFoundError, SettingError, StorageError
from tertulia.state.languages import language_of
from tertulia.state.meeting import Start
from tertulia.state.parameters import ALBUM_CHAT, GROUP_CHAT, Parameters
from tertulia.state.records import RunKind, RunRecord, Turn, TurnRecord
from tertulia.storage.store import SqlStore

if TYPE_CHECKING:
    from tertulia.nodes.machinery.node import NodeFunction
    from tertulia.nodes.machinery.registry import Registry

#: The default settings of meetings and album chats; the clock of a graph of one's own limits no run.
_BASE: Mapping[RunKind, Mapping[str, Any]] = {
    "dialogue": {},
    "group_chat": {**GROUP_CHAT, "max_minutes": None},
    "album_chat": ALBUM_CHAT,
}

#: So many contexts are kept at hand; others are opened again when they are needed.
_CONTEXTS = 64


@dataclass
class Host:
    """The settings of a hosted graph.

    Attributes:
        model: `rehearsal`, `smollm2`, a folder, a hub id, `openai:NAME` or `http://SERVER/v1#NAME`.
        settings: Parameters by name.
        removal_factor: λ, over that of the settings.
        seed: Seed of all draws.
        store: The file, or `:memory:`.
        additions: Nodes of the user's own.

    Raises:
        SettingError: A parameter is unknown, or has a value that it can't have.
    """

    model: str
    settings: Mapping[str, Any]
    removal_factor: float | None
    seed: int
    store: str
    additions: Additions
    api_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    cache: str | None = None
    _contexts: dict[str, Context] = field(default_factory=dict, init=False, repr=False)
    _registry: "Registry | None" = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, str):
            raise SettingError("model", self.model, ": a model is named by a text, such as 'smollm2' or 'rehearsal'")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise SettingError("seed", self.seed, ": a seed is an integer")

    @property
    def registry(self) -> "Registry":
        """The nodes and mechanisms that can be chosen."""
        if self._registry is None:
            from tertulia.nodes.machinery.extensions import with_shipped

            chosen = self._parameters("group_chat").nodes.values()
            self._registry = with_shipped(self.additions.registry(), chosen)
        return self._registry

    def nodes(self, kind: RunKind) -> "Mapping[str, NodeFunction]":
        """Return the nodes that were chosen, by place; `SettingError` if a parameter is impossible."""
        return self.registry.functions(self._parameters(kind), kind)

    def _parameters(self, kind: RunKind) -> Parameters:
        parameters = Parameters().with_settings(_BASE[kind])
        parameters = parameters.with_settings(self.settings, removal_factor=self.removal_factor)
        return reading_addresses(parameters, kind, self.settings)

    def open_store(self) -> SqlStore:
        """Return the open store."""
        return room().store(self.store)

    def context(self, run: str) -> Context:
        """Return the context of a run; `StorageError` if the store does not have it."""
        if run not in self._contexts:
            store, record = self.open_store(), self._record(run)
            plan = self._plan(store.start(run), None)
            engines = open_engines(self.model, plan.start, plan.parameters, self._access(plan))
            self._keep(context_of(store, record, engines, self.registry))
        return self._contexts[run]

    def _record(self, run: str) -> RunRecord:
        try:
            return self.open_store().run(run)
        except NotFoundError as error:
            raise StorageError(
                f"the store {self.store} has no run {run}, which this step goes on with; give the store that the graph "
                "had before (store=…): what lies in memory is gone with its process"
            ) from error

    def _keep(self, context: Context) -> None:
        while len(self._contexts) >= _CONTEXTS:
            del self._contexts[next(iter(self._contexts))]
        self._contexts[context.run] = context

    def _access(self, plan: RunPlan) -> ModelAccess:
        access = ModelAccess(keys=self.api_keys, kept=room().models)
        return (access if self.cache is None else replace(access, cache=Path(self.cache))).naming(plan.named)

    def _plan(self, start: Start, parent: tuple[str, int] | None) -> RunPlan:
        parameters = self._parameters(start.kind)
        if "language" not in self.settings:
            parameters = parameters.model_copy(update={"language": language_of(texts_of(start))})
        self.registry.functions(parameters, start.kind)
        check_start(start, parameters, {})
        check_models(self.model, start, parameters)
        named = named_models(self.settings, self.model)
        return RunPlan(start, parameters, self.model, self.seed, self.registry, parent=parent, named=named)

    def _begin(self, start: Start, parent: tuple[str, int] | None = None) -> Context:
        store, plan = self.open_store(), self._plan(start, parent)
        store.check_writable()
        engines = open_engines(plan.model, plan.start, plan.parameters, self._access(plan))
        context = context_of(store, store_run(store, plan, engines), engines, self.registry)
        store.set_status(context.run, "finished")  # only the parent's graph goes on with it
        self._keep(context)
        return context

    # --- the place of a conversation
    # ------------------------------------------------------------------------------------

    def conversation(self, start: Start, lines: Sequence[Line], before: tuple[str, int] | None) -> Context:
        """Return the context of the run that has these lines and no more; missing lines are added as said by hand.

        Args:
            before: Run and turn of the last line that a graph of this kind has said.
        """
        context, shared = self._continued(start, lines, before)
        for speaker, text in lines[shared:]:
            number, now_s = next_turn(context)
            turn = Turn(turn=number, round=number, speaker=speaker, text=text, sim_time_s=now_s, ended=False)
            with context.store.transaction():
                write_by_hand(context.store, context.run, number, speaker, text)
                context.record(RecordedTurn(TurnRecord(turn=turn)))
        context.broker.clear()
        return context

    def _continued(self, start: Start, lines: Sequence[Line], before: tuple[str, int] | None) -> tuple[Context, int]:
        """Return the context of a run that begins with the first of these lines, and how many of them it has."""
        if (known := self._known(start, before)) is None:
            return self._begin(start), 0
        spoken = [turn for turn in known.store.turns(known.run) if turn.speaker is not None]
        shared = 0
        for turn, (speaker, text) in zip(spoken, lines, strict=False):
            if (turn.speaker, " ".join(turn.text.split())) != (speaker, text):
                break
            shared += 1
        if shared == len(spoken):
            return known, shared
        if not shared:
            return self._begin(start), 0
        return self._begin(start, (known.run, spoken[shared - 1].turn + 1)), shared

    def after(self, start: Start, before: tuple[str, int] | None) -> Context:
        """Return the context of a run that ends with a turn of another, or with none."""
        if before is None or (known := self._known(start, before)) is None:
            return self._begin(start)
        if known.store.run(known.run).turns > before[1]:
            return self._begin(start, (known.run, before[1] + 1))
        known.broker.clear()
        return known

    def _known(self, start: Start, before: tuple[str, int] | None) -> Context | None:
        """Return the context of a former run, if it has the same start, model, seed and parameters."""
        store = self.open_store()
        if before is None:
            return None
        try:
            record = store.run(before[0])
        except NotFoundError:
            return None
        if record.run != before[0] or store.start(record.run) != start or record.turns < before[1]:
            return None
        plan = self._plan(start, None)
        engines = open_engines(plan.model, plan.start, plan.parameters, self._access(plan))
        return self.context(record.run) if _is_like(record, new_record(record.run, plan, engines)) else None

    def forked_if_said(self, run: str, turn: int) -> str:
        """Return a run in which a turn is still to be said: the same, or a fork with the thoughts of that turn.

        A step runs again in a turn that is over after time travel: the run's own record of it stays as it was.
        """
        store, record = self.open_store(), self._record(run)
        if record.turns < turn:
            return run
        fork = record.model_copy(
            update={"run": store.new_run_id(), "parent": (run, turn), "rewritten": True, "turns": 0}
        )
        with store.transaction():
            store.create_run(fork, store.start(run))
            for candidate in store.candidates(run, turn):
                store.save_candidate(fork.run, turn, candidate)
        return fork.run


def _is_like(record: RunRecord, other: RunRecord) -> bool:
    fields = ("kind", "model", "embedder", "seed", "parameters", "participant_models")
    return all(getattr(record, name) == getattr(other, name) for name in fields)


def next_turn(context: Context) -> tuple[int, float]:
    """Return the number of the next turn of a run, and its time in simulated seconds since the beginning."""
    last = context.store.run(context.run).turns
    if not last:
        return 1, 0.0
    (turn,) = context.store.turns(context.run, last, last)
    parameters = context.parameters
    length_s = (
        parameters.silence_s if turn.speaker is None else speaking_time_s(turn.text, parameters.speaking_rate_wpm)
    )
    return last + 1, turn.sim_time_s + length_s
