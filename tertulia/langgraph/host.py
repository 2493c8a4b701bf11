"""The conversation behind a hosted graph: its run in the store, and the context in which its steps run.

Everything here but the checks of `Host.__init__` runs in the thread of `tertulia/langgraph/room.py`. A conversation is
run. It goes on if the parent's messages are those of the run, though some may be gone: those are not heard any more. If
they branch off, as after time travel, a fork of it begins, which has the turns before in common.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tertulia.langgraph.matching import Spoken, copied_from, matched
from tertulia.langgraph.messages import Line
from tertulia.langgraph.room import Room, room
from tertulia.langgraph.unheard import HeardStore, hidden_between
from tertulia.nodes.conversation.seat import write_by_hand
from tertulia.nodes.conversation.turns import speaking_time_s
from tertulia.runs.access.engines import ModelAccess, named_models, open_engines
from tertulia.runs.access.model_names import check_models
from tertulia.runs.planning.additions import Additions
from tertulia.runs.planning.prompt_language import texts_of
from tertulia.runs.planning.starting import RunPlan, check_start, context_of, new_record, store_run
from tertulia.runs.planning.word_rules import reading_addresses
from tertulia.state.cognition import BY_GRAPH, ENTERED, Entered, Floor
from tertulia.state.context import Context, RecordedTurn
from tertulia.state.errors import NotFoundError, SettingError, StorageError
from tertulia.state.languages import language_of
from tertulia.state.meeting import Meeting, Start
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
    _room: Room | None = field(default=None, init=False, repr=False)
    _contexts: dict[str, Context] = field(default_factory=dict, init=False, repr=False)
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict, init=False, repr=False)
    _spoken: dict[str, list[Spoken]] = field(default_factory=dict, init=False, repr=False)
    _registry: "Registry | None" = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, str):
            raise SettingError("model", self.model, ": a model is named by a text, such as 'smollm2' or 'rehearsal'")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise SettingError("seed", repr(self.seed), ": a seed is an integer")

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
        """Return the open store, which stays open as long as this host lives."""
        if self._room is not (here := room()):  # the first step, or the first in a forked process
            self._contexts.clear()
            self._room = here
            here.keep_store(self.store, self)
        return here.store(self.store)

    def lock(self, run: str) -> asyncio.Lock:
        """Return the lock under which one step of a run is made at a time; the calls of a run meet in batches."""
        return self._locks.setdefault(run, asyncio.Lock())

    def context(self, run: str) -> Context:
        """Return the context of a run; `StorageError` if the store does not have it."""
        store = self.open_store()
        if run not in self._contexts:
            record = self._record(run)
            plan = self._plan(store.start(run), None)
            engines = open_engines(self.model, plan.start, plan.parameters, self._access(plan))
            entered = [*store.steps(run, ENTERED, Entered).values()][-1:]  # of the last utterance, or the last rounds
            unheard = entered[0].unheard if entered else ()
            self._keep(context_of(store, record, engines, self.registry), unheard)
        return self._contexts[run]

    def _record(self, run: str) -> RunRecord:
        try:
            return self.open_store().run(run)
        except NotFoundError as error:
            raise StorageError(
                f"the store {self.store} has no run {run}, which this step goes on with; give the store that the graph "
                "had before (store=…): what lies in memory is gone with its process"
            ) from error

    def _keep(self, context: Context, unheard: Iterable[tuple[int, int]] = ()) -> Context:
        while len(self._contexts) >= _CONTEXTS:
            oldest = next(iter(self._contexts))
            for kept in (self._contexts, self._locks, self._spoken):
                cast(dict[str, Any], kept).pop(oldest, None)
        heard = cast(Any, HeardStore(context.store, context.run, unheard))
        self._contexts[context.run] = context = replace(context, store=heard)
        return context

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
        store.set_status(context.run, "interrupted")  # until the line is said
        return self._keep(context)

    # --- the place of a conversation
    # ------------------------------------------------------------------------------------

    def conversation(
        self, start: Start, lines: Sequence[Line], before: tuple[str, int] | None, speaker: str = ""
    ) -> Context:
        """Return the context of the run that goes on from these lines; new ones are added as said by hand.

        Args:
            before: Run and turn of the last line that a graph of this kind has said.
            speaker: The next speaker; "": those of the coming rounds.
        """
        source = None if before is None else before[0]
        spoken = [] if source is None else self._spoken_in(source)
        found = matched(spoken, lines)
        context = self._continued(start, before, spoken, found, len(lines) > len(found))
        if context is None:
            context, found = self._begin(start), []
        is_new = source is None or context.run == source
        for line in lines[len(found) :]:
            self._add(context, line, None if is_new else copied_from(spoken, line), source)
        unheard = hidden_between(spoken, found)
        return self.enter(context, start, Entered(speaker=speaker, unheard=unheard))

    def _continued(
        self,
        start: Start,
        before: tuple[str, int] | None,
        spoken: Sequence[Spoken],
        found: Sequence[int],
        has_more: bool,
    ) -> Context | None:
        """Return the context of a run that has these of the spoken lines; `None` if none has the first line."""
        if not found or (known := self._known(start, before)) is None:
            return None
        turn = spoken[found[-1]].turn + 1
        if found[-1] + 1 < len(spoken):
            return self._begin(start, (known.run, turn))
        number, _ = next_turn(known)
        # Another utterance was begun before, and given up: its candidates are not those of the new line.
        is_begun = has_more and known.store.step(known.run, number, "", ENTERED, Entered) is not None
        return self._begin(start, (known.run, number)) if is_begun else known

    def _add(self, context: Context, line: Line, copied: int | None, source: str | None) -> None:
        """Add a line to a run: a turn of another run with all that is known of it, or one that was said by hand."""
        number, now_s = next_turn(context)
        store = context.store
        with store.transaction():
            if copied is not None and source is not None:
                record = self.open_store().turn_record(source, copied)
                placed = {"turn": number, "round": number, "sim_time_s": now_s}
                record = record.model_copy(update={"turn": record.turn.model_copy(update=placed)})
                for candidate in self.open_store().candidates(source, copied):
                    store.save_candidate(context.run, number, candidate)
            else:
                write_by_hand(store, context.run, number, line.speaker, line.text)
                turn = Turn(
                    turn=number, round=number, speaker=line.speaker, text=line.text, sim_time_s=now_s, ended=False
                )
                record = TurnRecord(turn=turn)
            context.record(RecordedTurn(record))
            note_floor(context, number)

    def enter(self, context: Context, start: Start, entered: Entered) -> Context:
        """Note the next utterance of a run; if it is another one than was begun there, begin a fork."""
        number, _ = next_turn(context)
        former = context.store.step(context.run, number, "", ENTERED, Entered)
        if former is not None and former != entered:
            # A run without a turn has nothing to fork.
            context = self._begin(start, (context.run, number) if number > 1 else None)
        store = context.store
        with store.transaction():  # without it every change of a status would be brought to the disk
            if former != entered:
                store.save_step(context.run, number, "", ENTERED, entered)
            if store.run(context.run).status != "interrupted":
                store.set_status(context.run, "interrupted")
        if cast(HeardStore, context.store).hide(entered.unheard):
            context.kept.clear()  # read of turns that are hidden now, or are no longer
        return context

    def _spoken_in(self, run: str) -> Sequence[Spoken]:
        """Return the spoken turns of a run; each is read once."""
        known = self._spoken.setdefault(run, [])
        for turn in self.open_store().turns(run, known[-1].turn + 1 if known else 1):
            if turn.speaker is not None:
                known.append(Spoken(turn.speaker, " ".join(turn.text.split()), turn.turn))
        return known

    def last_place(self, places: Iterable[tuple[str, int]], *kinds: RunKind) -> tuple[str, int] | None:
        """Return the first of these places that is in a run of one of these kinds; `None` if none is."""
        others: set[str] = set()
        for run, turn in places:
            if run not in others and self._kind_of(run) in kinds:
                return run, turn
            others.add(run)
        return None

    def _kind_of(self, run: str) -> RunKind | None:
        """Return the kind of a run; `None` if the store has none with this id."""
        try:
            record = self.open_store().run(run)
        except NotFoundError:
            return None
        return record.kind if record.run == run else None  # else a run whose id begins like it

    def guests(self, lines: Sequence[Line], before: tuple[str, int] | None, names: Sequence[str]) -> list[str]:
        """Return the speakers that are none of the people; those of the run stay, though their lines may be gone."""
        known = () if before is None else self.open_store().start(before[0]).names
        return [name for name in dict.fromkeys([*known, *(line.speaker for line in lines)]) if name not in names]

    def settings_of_graph(self) -> dict[str, Any]:
        """Return all that the results of a graph depend on, besides its own arguments."""
        fields = ("model", "settings", "removal_factor", "seed", "store")
        added = self.additions
        is_plain = not (added.nodes or added.mechanisms or added.extensions)
        return {**{name: getattr(self, name) for name in fields}, "additions": None if is_plain else added}

    def digest(self, arguments: Mapping[str, Any]) -> str:
        """Return a short hash of all that the results of a graph depend on, the same in another process.

        Args:
            arguments: Those that only this graph has.
        """
        added = [extension.source for extension in self.registry.extensions]
        given = {**self.settings_of_graph(), **arguments, "additions": added, "store": None}  # a store may be moved
        return blake2b(json.dumps(given, sort_keys=True, default=str).encode(), digest_size=6).hexdigest()

    def after(self, start: Start, before: tuple[str, int] | None) -> Context:
        """Return the context of a run that ends with a turn of another, or with none."""
        if before is None or (known := self._known(start, before)) is None:
            return self._begin(start)
        if known.store.run(known.run).turns > before[1]:
            return self._begin(start, (known.run, before[1] + 1))
        return known

    def _known(self, start: Start, before: tuple[str, int] | None) -> Context | None:
        """Return the context of a former run, if it has the same start, model, seed and parameters."""
        if before is None:
            return None
        store = self.open_store()
        record = store.run(before[0])
        if store.start(record.run) != start or record.turns < before[1]:
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
            update={
                **{"run": store.new_run_id(), "parent": (run, turn), "rewritten": True, "turns": 0},
                **{"status": "interrupted", "ended_by": None},
            }
        )
        with store.transaction():
            store.create_run(fork, store.start(run))
            for candidate in store.candidates(run, turn):
                store.save_candidate(fork.run, turn, candidate)
        return fork.run


def _is_like(record: RunRecord, other: RunRecord) -> bool:
    fields = ("kind", "model", "embedder", "seed", "parameters", "participant_models")
    return all(getattr(record, name) == getattr(other, name) for name in fields)


def note_floor(context: Context, turn: int) -> None:
    """Note in a meeting that nobody raced for a turn."""
    if isinstance(context.start, Meeting):
        context.store.save_step(context.run, turn, "", "floor", Floor(order=BY_GRAPH, waited_s=0.0))


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


def silence_before(context: Context, turn: int) -> float:
    """Return the length of the silences right before a turn, in seconds."""
    length_s = 0.0
    while (turn := turn - 1) and context.store.turns(context.run, turn, turn)[0].speaker is None:
        length_s += context.parameters.silence_s
    return length_s
