"""The utterance graph as a subgraph of one's own: one person says one line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from tertulia.graphs.utterance import FIRST_STEP, LAST_STEP, add_utterance
from tertulia.langgraph.errors import ParentStateError
from tertulia.langgraph.host import Host, next_turn, note_floor
from tertulia.langgraph.hosted import compile_hosted, task_of
from tertulia.langgraph.messages import lines_of, message_of, places_of, text_field
from tertulia.langgraph.people import check_people, read_people, start_of
from tertulia.langgraph.settings import DEFAULT_MODEL, DEFAULT_SEED, host_of
from tertulia.langgraph.states import SpeakInput, SpeakOutput, SpeakState
from tertulia.langgraph.steps import HostedSteps, reading_messages, recorded_utterance, review_step
from tertulia.langgraph.thinking import first_mind, prepare_all, think_together
from tertulia.runs.planning.additions import Additions
from tertulia.state.context import Context, RecordedTurn
from tertulia.state.errors import nearest_hint
from tertulia.state.meeting import Meeting
from tertulia.state.wrong_arguments import with_named_arguments
from tertulia.storage.addresses import DEFAULT_STORE

State = Mapping[str, Any]


@with_named_arguments
def utterance(
    people: Iterable[Any],
    *,
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
) -> CompiledStateGraph[SpeakState, None, SpeakInput, SpeakOutput]:
    """Return a graph in which one of several people says the next line of a conversation; a node of one's own graph.

    ::

        speak = tertulia.langgraph.utterance(people=["Ana", "Bo"], model="rehearsal", removal_factor=0.5)
        builder = StateGraph(MessagesState)
        builder.add_node("speak", speak)

    It reads `messages` of the parent's state, and `topic` and `speaker` if it has them (`SpeakInput`), and writes
    `messages`, and `utterance` if the state has it (`SpeakOutput`). Two talk as in a dialogue; of three or more the
    speaker first thinks, as in a meeting. A speaker in `messages` that is none of the people takes part as a name.

    Args:
        people: Names, mappings such as `{"name": "Ana", "traits": "dry", "memories": ["Ana sold the boat."]}`, or
            `tertulia.Person`s.
        model: `smollm2`, `rehearsal` (a stand-in without weights), a folder, a hub id, `openai:NAME`, or
            `http://SERVER/v1#NAME`.
        removal_factor: λ in [0, 1]: how much of the attended information to remove; `None`: 0.5 for two people,
            0 for more.
        seed: Seed of all draws: the same messages are answered by the same words.
        place: The place of the conversation.
        review: Whether the graph is interrupted with the utterance before it counts; `Command(resume=True)`
            accepts it, and a text is said instead. The parent needs a checkpointer.
        settings: Any other parameters, by name (`tertulia settings` lists them).
        additions: Nodes, mechanisms and extensions of your own (`tertulia.Additions`).
        store: The file in which the conversation is recorded as a run; `:memory:` for the life of the process.
        api_keys: Keys of remote models, by variable: `{"OPENAI_API_KEY": …}`.
        cache: The folder of converted models.
        checkpointer: For a graph that is no subgraph; a subgraph has its parent's.
        interrupt_before, interrupt_after: Steps at which the graph pauses, such as `generate`.

    Raises:
        PeopleError: A person has no name, two have the same, or a field of one is not acceptable.
        SettingError: A parameter is unknown, or has a value that it can't have.
    """
    known = read_people(people)
    check_people(known)
    host = host_of(model, removal_factor, seed, settings, additions, store, api_keys, cache)
    arguments = {"people": known, "place": place, "review": review}
    steps = HostedSteps(host, "utterance", arguments)
    speaking = _Speaking(host, known, place, steps.graph)
    graph = StateGraph(SpeakState, input_schema=SpeakInput, output_schema=SpeakOutput)
    graph.add_node("enter", reading_messages(speaking.enter, "enter"))
    graph.add_node("think", steps.checked(speaking.think, "think"))
    # A guest makes a meeting of a dialogue; a place that a dialogue has not is refused when one is begun.
    add_utterance(graph, host.nodes("group_chat"), as_node=steps.node, as_router=steps.router)
    graph.add_node("record", steps.recording(speaking.record, "record"))
    graph.add_edge(START, "enter")
    graph.add_edge("enter", "think")
    graph.add_edge("think", FIRST_STEP)
    if review:
        graph.add_node("review", review_step(host))
        graph.add_edge(LAST_STEP, "review")
    graph.add_edge("review" if review else LAST_STEP, "record")
    graph.add_edge("record", END)
    return compile_hosted(
        graph,
        {**host.settings_of_graph(), **arguments},
        checkpointer=checkpointer,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        name="utterance",
    )


class _Speaking:
    """The steps before and after those of the utterance."""

    def __init__(self, host: Host, people: Sequence[Mapping[str, Any]], place: str | None, graph: str) -> None:
        self._host, self._people, self._place, self._graph = host, people, place, graph
        self._names = [str(fields["name"]) for fields in people]

    async def enter(self, state: State, config: RunnableConfig) -> State:
        """Find the speaker of the turn, and the run in which the conversation is recorded."""
        lines = lines_of(state, self._names)
        before = self._host.last_place(places_of(state), "dialogue", "group_chat")
        guests = self._host.guests(lines, before, self._names)
        topic, speaker = text_field(state, "topic"), self._speaker(state, [line.speaker for line in lines])
        mechanisms = tuple(self._host.registry.mechanisms)
        start = start_of(self._people, guests, topic, self._place, mechanisms)
        context = self._host.conversation(start, lines, before, speaker)
        turn, now_s = next_turn(context)
        names = list(start.names)
        return {
            "graph": self._graph,
            "run": context.run,
            "round": turn,
            "turn": turn,
            "speaker": speaker,
            "present": names,
            "sim_time_s": now_s,
        }

    def _speaker(self, state: State, spoke: Sequence[str]) -> str:
        """Return the speaker: the requested one, or the one after the last of the people that spoke."""
        if (wanted := text_field(state, "speaker")) is not None:
            if wanted not in self._names:
                hint = nearest_hint(wanted, self._names, otherwise="")
                raise ParentStateError(f"speaker={wanted}: is none of the people ({', '.join(self._names)}){hint}")
            return wanted
        last = next((name for name in reversed(spoke) if name in self._names), None)
        return self._names[0] if last is None else self._names[(self._names.index(last) + 1) % len(self._names)]

    async def think(self, state: State) -> State:
        """In a meeting, let the speaker perceive, think and assess; nothing in a dialogue."""
        run = self._host.forked_if_said(state["run"], state["turn"])
        context, speaker = self._host.context(run), state["speaker"]
        if isinstance(context.start, Meeting):
            minds = {speaker: first_mind(context, speaker, state["turn"])}
            thinking = {**state, "minds": minds, "silence_s": 0.0}
            async with self._host.lock(run):
                await prepare_all(context)
                await think_together(thinking, self._hearing(context), [speaker], self._host.nodes("group_chat"))
                note_floor(context, state["turn"])
        return {"run": run}

    def _hearing(self, context: Context) -> Context:
        """Return a context in which a speaker notices the line that they answer, unless the user set a threshold."""
        if "perception_threshold" in self._host.settings:
            return context
        return replace(context, parameters=context.parameters.model_copy(update={"perception_threshold": 0.0}))

    async def record(self, state: State, config: RunnableConfig) -> State:
        """Store the utterance, and add it to the messages; the next call on a thread has a speaker of its own."""
        run = self._host.forked_if_said(state["run"], state["turn"])
        context = self._host.context(run)
        record, said = recorded_utterance(state, context)
        with context.store.transaction():
            context.record(RecordedTurn(record))
            context.store.set_status(run, "finished")
        messages = [*state["returned"], message_of(said, task_of(config))]
        return {"run": run, "utterance": said, "messages": messages, "speaker": None}
