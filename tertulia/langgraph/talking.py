"""The group-chat graph as a subgraph of one's own: some rounds of a meeting, in which people decide on the speaker."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from tertulia.graphs.group_chat import ORDERS
from tertulia.graphs.utterance import FIRST_STEP, LAST_STEP, add_utterance
from tertulia.langgraph.host import Host, next_turn, silence_before
from tertulia.langgraph.hosted import compile_hosted, task_of
from tertulia.langgraph.messages import lines_of, message_of, places_of, text_field
from tertulia.langgraph.people import check_people, read_people, start_of
from tertulia.langgraph.settings import DEFAULT_MODEL, DEFAULT_SEED, host_of, rounds_of
from tertulia.langgraph.states import GroupChatInput, GroupChatOutput, GroupChatState
from tertulia.langgraph.steps import (
    HostedSteps,
    as_runnable,
    in_words,
    reading_messages,
    review_step,
    runtime_of,
)
from tertulia.langgraph.thinking import entering_mind, minds_field, prepare_all, think_together
from tertulia.nodes.meeting.rounds import open_round, record_silence, record_speech
from tertulia.runs.planning.additions import Additions
from tertulia.state.context import Context
from tertulia.state.graph_state import GroupState, first_state
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import Order
from tertulia.state.wrong_arguments import with_named_arguments
from tertulia.storage.addresses import DEFAULT_STORE

State = Mapping[str, Any]


@with_named_arguments
def group_chat(
    people: Iterable[Any],
    *,
    rounds: int = 1,
    order: Order = "self_driven",
    model: str = DEFAULT_MODEL,
    removal_factor: float | None = None,
    seed: int = DEFAULT_SEED,
    place: str | None = None,
    review: bool = False,
    settings: Mapping[str, Any] | None = None,
    additions: Additions | None = None,
    store: str = str(DEFAULT_STORE),
    api_keys: Mapping[str, str] | None = None,
    cache: str | None = None,
    checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
    interrupt_before: Sequence[str] = (),
    interrupt_after: Sequence[str] = (),
) -> CompiledStateGraph[GroupChatState, None, GroupChatInput, GroupChatOutput]:
    """Return a graph in which people talk for some rounds; a node of one's own graph.

    ::

        talk = tertulia.langgraph.group_chat(people=["Ana", "Bo", "Cy"], rounds=4, model="rehearsal")
        builder.add_node("talk", talk)

    In every round all think, the willing ones race for the floor, and the winner speaks; a round without a willing
    person is a silence. It reads `messages` of the parent's state, and `topic` and `minds` if it has them
    (`GroupChatInput`), and writes `messages`, and `utterances`, `minds`, `finished` and `ended_by` if it has them
    (`GroupChatOutput`).

    Args:
        people: Two at least; as of `utterance`. Further fields of a person of a meeting (`goals`, `interests`,
            `relations`, …) is in docs/scenarios.md.
        rounds: How many rounds are held whenever the graph is invoked.
        order: The choice of the next speaker: self_driven, rule_based, centralised, random or designated.

    The other arguments are those of `utterance`.

    Raises:
        PeopleError: There are fewer than two, or one can't be used.
        SettingError: A parameter is unknown, or has a value that it can't have.
    """
    known = read_people(people)
    check_people(known)
    start_of(known, (), None, is_meeting=True)
    host = host_of(model, removal_factor, seed, {**(settings or {}), "order": order}, additions, store, api_keys, cache)
    arguments = {"people": known, "place": place, "review": review, "rounds": rounds_of(rounds)}
    steps = HostedSteps(host, "group_chat", arguments)
    return compile_hosted(
        _built(host, steps, _Talking(host, known, place, rounds, steps.graph), order, review),
        {**host.settings_of_graph(), **arguments},
        checkpointer=checkpointer,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        name="group_chat",
    )


def _built(
    host: Host, steps: HostedSteps, talking: "_Talking", order: Order, review: bool
) -> StateGraph[GroupChatState, None, GroupChatInput, GroupChatOutput]:
    chosen = host.nodes("group_chat")
    give_floor = ORDERS[order].__name__
    graph = StateGraph(GroupChatState, input_schema=GroupChatInput, output_schema=GroupChatOutput)
    graph.add_node("enter", reading_messages(talking.enter, "enter"))
    graph.add_node("open_round", steps.node(open_round, is_before_turn=True))
    graph.add_node("think", steps.checked(talking.think, "think"))
    graph.add_node(give_floor, steps.node(chosen.get(give_floor, ORDERS[order])))
    add_utterance(graph, chosen, as_node=steps.node, as_router=steps.router)
    graph.add_node("record_speech", steps.recording(talking.record_speech, "record_speech"))
    graph.add_node("record_silence", steps.node(_record_silence))

    graph.add_edge(START, "enter")
    graph.add_edge("enter", "open_round")
    graph.add_edge("open_round", "think")
    graph.add_edge("think", give_floor)
    graph.add_conditional_edges(give_floor, _has_floor(), {True: FIRST_STEP, False: "record_silence"})
    if review:
        graph.add_node("review", review_step(host))
        graph.add_edge(LAST_STEP, "review")
    graph.add_edge("review" if review else LAST_STEP, "record_speech")
    for last in ("record_speech", "record_silence"):
        graph.add_conditional_edges(last, _is_over(), {True: END, False: "open_round"})
    return graph


def _has_floor() -> Runnable[Any, Any]:
    async def somebody_has_the_floor(state: State) -> bool:
        return bool(state["speaker"])

    return as_runnable(somebody_has_the_floor, "somebody_has_the_floor")


def _is_over() -> Runnable[Any, Any]:
    async def rounds_are_over(state: State) -> bool:
        return bool(state["finished"]) or state["round"] >= state["until"]

    return as_runnable(rounds_are_over, "rounds_are_over")


async def _record_silence(state: GroupState, runtime: Runtime[Context]) -> GroupState:
    update = await record_silence(state, runtime)
    _store_end(runtime.context, cast(State, state), update)
    return update


def _store_end(context: Context, state: State, update: GroupState) -> None:
    """Note that the rounds of this invocation are over."""
    if update["finished"] or state["round"] >= state["until"]:
        with context.store.transaction():
            context.store.set_status(context.run, "finished", ended_by=update["ended_by"])


class _Talking:
    """The steps of a meeting that are not those of Tertulia's own graph."""

    def __init__(
        self, host: Host, people: Sequence[Mapping[str, Any]], place: str | None, rounds: int, graph: str
    ) -> None:
        self._host, self._people, self._place, self._rounds, self._graph = host, people, place, rounds, graph
        self._names = [str(fields["name"]) for fields in people]

    async def enter(self, state: State, config: RunnableConfig) -> State:
        """Find the run in which the meeting is recorded, and the state of every mind; prepare new people."""
        lines = lines_of(state, self._names)
        before = self._host.last_place(places_of(state), "dialogue", "group_chat")
        guests = self._host.guests(lines, before, self._names)
        mechanisms = tuple(self._host.registry.mechanisms)
        topic = text_field(state, "topic")
        start = cast(Meeting, start_of(self._people, guests, topic, self._place, mechanisms, is_meeting=True))
        carried = minds_field(state, start.names)
        context = self._host.conversation(start, lines, before)
        async with self._host.lock(context.run):
            await prepare_all(context)
        turn, now_s = next_turn(context)
        parent = context.store.run(context.run).parent
        goes_on = before is not None and before[0] in (context.run, parent and parent[0])
        minds = {name: entering_mind(context, name, turn, carried.get(name), is_of_run=goes_on) for name in start.names}
        return {
            **first_state(start),
            "graph": self._graph,
            "run": context.run,
            "round": turn - 1,
            "turn": turn - 1,
            "sim_time_s": now_s,
            "silence_s": silence_before(context, turn),
            "minds": minds,
            "unprepared": [],
            "messages": state["returned"],
            "utterances": [],
            "until": turn - 1 + self._rounds,
        }

    async def think(self, state: State) -> State:
        """Let all people present perceive, think, assess, and bid for the floor; guests have no thoughts."""
        run = self._host.forked_if_said(state["run"], state["turn"])
        context = self._host.context(run)
        thinking = [name for name in state["present"] if name in self._names]
        async with self._host.lock(run):
            outcome = await think_together(state, context, thinking, self._host.nodes("group_chat"))
        # Guests speak through the parent's messages: they neither bid, nor can they be given the floor.
        return {**outcome, "run": run, "present": thinking}

    async def record_speech(self, state: State, config: RunnableConfig) -> State:
        """Store the utterance, and add it to the messages."""
        run = self._host.forked_if_said(state["run"], state["turn"])
        context = self._host.context(run)
        update = await record_speech(cast(Any, state), runtime_of(context))
        _store_end(context, state, update)
        said = in_words(context.store.turn_record(run, state["turn"]), context)
        return {
            **update,
            "run": run,
            "messages": [*state["said"], message_of(said, task_of(config))],
            "utterances": [*state["utterances"], said],
        }
