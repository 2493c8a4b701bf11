"""The runtime context of a node: all that it gets besides its state and that can't be checkpointed."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar, cast

from tertulia.state.album import Exchange, Population
from tertulia.state.budget import Meter
from tertulia.state.case_seed import resolve_case_seed
from tertulia.state.language_model import Embedder, LanguageModel, ModelRole
from tertulia.state.meeting import Meeting, Start
from tertulia.state.parameters import Layout, Parameters
from tertulia.state.picture_finder import PictureFinder
from tertulia.state.records import Case, TurnRecord
from tertulia.state.store import AnyRecord, Store


class Broker(Protocol):
    """Calls models for nodes. Every call is stored, and a stored call is not made again.

    Calls of agents that think at the same time run as one batch, once every seated agent waits for a call.
    """

    def hand_over(self, agent: str, partner: str) -> None:
        """Give the seat of an agent to their partner for the calls that follow."""

    def use(self, meter: Meter) -> None:
        """Make calls from now on as far as a meter admits them."""

    def clear(self) -> None:
        """Forget the seated agents and the calls made, before a run is driven from the beginning of a turn."""

    def seat(
        self, round: int, agents: Sequence[str], at_a_table: int | None = None, shares_calls: bool = False
    ) -> None:
        """Seat the agents of a round, in the order of a batch; if the round is seated already, nothing changes.

        Args:
            at_a_table: How many wait for each other, in their order; `None`: all of them.
            shares_calls: Whether the round is one that a fork began in its middle: calls that its parent made too are
                taken from the parent, as they were made in batches with those of the parent's turns.
        """

    def leave(self, agent: str, part: str = "") -> None:
        """Note that an agent, or a part of one, makes no more calls in this round; others need not wait for it."""

    def split(self, agent: str, parts: Sequence[str]) -> AbstractContextManager[None]:
        """Seat several parts of an agent, which make calls side by side, in the agent's place while inside."""

    def asked_by(self, model: LanguageModel, agent: str, round: int, node: str, part: str = "") -> LanguageModel:
        """Return a model as a step asks it; its calls are numbered from 0 in the order in which they are made.

        Args:
            agent: The asker; a call of an agent that is not seated is made at once.
            part: The part of the agent that asks, if it was split.
        """


T = TypeVar("T")


class RunCache:
    """What nodes have read of a run, or computed of what they read, by class and name, so that nothing is read twice.

    It follows from the store, so it never shows in the digits.

    Attributes:
        edited: The last turn whose line a person rewrote before it was said.
    """

    def __init__(self) -> None:
        self._by_kind: dict[tuple[type, Hashable], object] = {}
        self.edited: int | None = None

    def get(self, kind: type[T], name: Hashable = "") -> T | None:
        """Return the kept object of a class and name; `None` if there is none."""
        return cast("T | None", self._by_kind.get((kind, name)))

    def keep(self, value: T, name: Hashable = "") -> T:
        """Keep an object under its class and a name, in place of an earlier one, and return it."""
        self._by_kind[type(value), name] = value
        return value

    def of(self, kind: type[T], make: Callable[[], T], name: Hashable = "") -> T:
        """Return the kept object of a class and name; made, and kept, if there is none."""
        return self.get(kind, name) or self.keep(make(), name)

    def clear(self) -> None:
        """Forget everything."""
        self._by_kind.clear()
        self.edited = None


@dataclass(frozen=True)
class RecordedTurn:
    """A turn with all that a node knows of it.

    Attributes:
        parts: The further utterances by part, and how each came about.
        exchange: The exchange of an album chat; `None` in other conversations.
    """

    record: TurnRecord
    parts: Mapping[str, TurnRecord] = field(default_factory=dict)
    exchange: Exchange | None = None


@dataclass(frozen=True)
class Context:
    """All that a node gets besides its state and that can't be checkpointed.

    Attributes:
        participant_models: By participant that has one: a model, and the parameters as they suit it.
        roles: By role that a model takes for everybody: that model, and the parameters as they suit it.
        role: The role of whoever asks through this context.
        nodes: By place, the functions of nodes that stand there instead of the default (`nodes.machinery.registry`).
        mechanisms: By name, the mechanisms of the run's extensions, each a `nodes.mechanisms.mechanism.Mechanism`.
        picture_finder: Finds the picture that a plan means by the pictures themselves; `None`: by their captions.
        recorded: By number, the turns that wait for their traces: the graph's driver stores them together. `None`:
            nobody does, so a turn is stored as soon as it is recorded.
        watch: Is told of every node of an inner graph as it begins and as it has ended: the id of the task that holds
            the graph, and the node's task with its `input`, or its `result`. `None`: nobody wants to know.
    """

    run: str
    seed: int
    start: Start
    parameters: Parameters
    model: LanguageModel
    embedder: Embedder
    store: Store = field(repr=False)
    broker: Broker = field(repr=False)
    participant_models: Mapping[str, tuple[LanguageModel, Parameters]] = field(default_factory=dict, repr=False)
    roles: Mapping[ModelRole, tuple[LanguageModel, Parameters]] = field(default_factory=dict, repr=False)
    role: ModelRole = "speak"
    nodes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    mechanisms: Mapping[str, Any] = field(default_factory=dict, repr=False)
    picture_finder: PictureFinder | None = field(default=None, repr=False)
    kept: RunCache = field(default_factory=RunCache, repr=False)
    recorded: dict[int, RecordedTurn] | None = field(default=None, repr=False)
    watch: Callable[[str, Mapping[str, Any]], None] | None = field(default=None, repr=False)

    def record(self, *turns: RecordedTurn) -> None:
        """Take turns that are over: they are stored, all or none, once their traces are known (see `recorded`)."""
        if self.recorded is not None:
            self.recorded.update((turn.record.turn.turn, turn) for turn in turns)
            return
        with self.store.transaction():
            for turn in turns:
                self.save(turn)

    def save(self, turn: RecordedTurn) -> None:
        """Store a turn; inside a transaction, with whatever else belongs to it."""
        number = turn.record.turn.turn
        if turn.exchange is not None:
            self.store.save_step(self.run, number, "", "exchange", turn.exchange)
        self.store.save_turn(self.run, turn.record, turn.parts)

    def of(self, agent: str, role: ModelRole | None = None) -> "Context":
        """Return the context as it is for an agent in a role. A role's model comes before a participant's."""
        role = role or self.role
        participants = self.participant_models.get(agent, (self.model, self.parameters))
        model, parameters = self.roles.get(role, participants)
        if model is self.model and parameters is self.parameters and role == self.role:
            return self
        return replace(self, model=model, parameters=parameters, role=role)

    def asked_by(self, agent: str, round: int, node: str, part: str = "") -> LanguageModel:
        """Return an agent's model as a step asks it: this is how nodes call models (see `Broker.asked_by`)."""
        return self.broker.asked_by(self.of(agent).model, agent, round, node, part)

    def settings(self, name: str, kind: type[AnyRecord]) -> AnyRecord:
        """Return the parameters of a node or a mechanism as a record of its class, with defaults for those not set."""
        return kind.model_validate(self.parameters.node_settings.get(name, {}))

    @property
    def case_seed(self) -> int:
        """The seed of draws about the case, the same in every trial of it."""
        return resolve_case_seed(self.parameters.case_seed, self.seed, self.start)

    @property
    def prompt_seed(self) -> int:
        """The seed of draws for a prompt, before anything is drawn from it."""
        return self.case_seed if self.parameters.prompt_draws == "case" else self.seed

    @property
    def layout(self) -> Layout:
        """The layout of prompts that suits the model."""
        return "chat_turns" if self.parameters.layout == "chat_turns" else "single_message"

    @property
    def case(self) -> Case:
        """The case of a dialogue; only nodes of dialogues may ask for it."""
        assert isinstance(self.start, Case)
        return self.start

    @property
    def case_or_meeting(self) -> Case | Meeting:
        """The case of a dialogue, or the meeting of a group chat; nodes of album chats may not ask for it."""
        assert not isinstance(self.start, Population)
        return self.start

    @property
    def population(self) -> Population:
        """The population of an album chat; only its nodes may ask for it."""
        assert isinstance(self.start, Population)
        return self.start

    @property
    def meeting(self) -> Meeting:
        """The meeting of a group chat; only nodes of meetings may ask for it."""
        assert isinstance(self.start, Meeting)
        return self.start
