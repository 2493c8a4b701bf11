"""The exchange of an album chat as a subgraph of one's own: one shows a picture and asks, another answers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from tertulia.graphs.utterance import FIRST_STEP, LAST_STEP, add_utterance
from tertulia.langgraph.errors import ParentStateError
from tertulia.langgraph.host import Host, next_turn
from tertulia.langgraph.hosted import compile_hosted, pauses_at, task_of
from tertulia.langgraph.messages import message_of, places_of, text_field
from tertulia.langgraph.people import population_of, read_people
from tertulia.langgraph.settings import DEFAULT_MODEL, DEFAULT_SEED, host_of
from tertulia.langgraph.states import (
    ExchangeInput,
    ExchangeOutput,
    HostedExchangeState,
    HostedUtteranceState,
    Utterance,
)
from tertulia.langgraph.steps import HostedSteps, in_words, reading_messages
from tertulia.nodes.album.belongings import belongings_at
from tertulia.nodes.album.exchange import hand_over, meet, remember_exchange
from tertulia.nodes.album.find_picture import find_picture
from tertulia.nodes.album.record_round import recorded_exchange
from tertulia.nodes.conversation.turns import speaking_time_s
from tertulia.runs.planning.additions import Additions
from tertulia.state.album import Exchange
from tertulia.state.cognition import Entered
from tertulia.state.errors import nearest_hint
from tertulia.state.wrong_arguments import with_named_arguments
from tertulia.storage.addresses import DEFAULT_STORE

State = Mapping[str, Any]


@with_named_arguments
def exchange(
    people: Iterable[Any],
    *,
    model: str = DEFAULT_MODEL,
    removal_factor: float | None = None,
    seed: int = DEFAULT_SEED,
    place: str | None = None,
    settings: Mapping[str, Any] | None = None,
    additions: Additions | None = None,
    store: str = str(DEFAULT_STORE),
    api_keys: Mapping[str, str] | None = None,
    cache: str | None = None,
    checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
    interrupt_before: Sequence[str] = (),
    interrupt_after: Sequence[str] = (),
) -> CompiledStateGraph[HostedExchangeState, None, ExchangeInput, ExchangeOutput]:
    """Return a graph in which one person shows a picture of their album and asks, and another answers; a node.

    ::

        ana = {"name": "Ana", "role": "fisher", "album": ["a red boat", "a storm over the quay"]}
        bo = {"name": "Bo", "role": "baker", "album": ["a loaf on a board"]}
        builder.add_node("exchange", tertulia.langgraph.exchange(people=[ana, bo], model="rehearsal"))

    It reads `messages` of the parent's state, and `topic`, `asker` and `answerer` if it has them
    (`ExchangeInput`), and writes `messages`, and `exchange` if the state has it (`ExchangeOutput`). Of the messages
    the two remember their exchanges with one another and with others.

    Args:
        people: Two at least, each with an `album`: captions, or `{"caption": …, "variant": …}`. Other fields are
            facts about a person.

    The other arguments are those of `utterance`.

    Raises:
        PeopleError: There are fewer than two, one has no album, or one can't be used.
        SettingError: A parameter is unknown, or has a value that it can't have.
    """
    known = read_people(people)
    population_of(known, None)
    host = host_of(model, removal_factor, seed, settings, additions, store, api_keys, cache)
    arguments = {"people": known, "place": place}
    steps = HostedSteps(host, "exchange", arguments)
    exchanging = _Exchanging(host, known, place, steps.graph)
    utterance = _utterance(host, steps, interrupt_before, interrupt_after)
    graph = StateGraph(HostedExchangeState, input_schema=ExchangeInput, output_schema=ExchangeOutput)
    graph.add_node("enter", reading_messages(exchanging.enter, "enter"))
    graph.add_node("meet", steps.node(meet))
    graph.add_node("plan", utterance)
    graph.add_node("find_picture", steps.node(find_picture))
    graph.add_node("question", utterance)
    graph.add_node("hand_over", steps.node(hand_over))
    graph.add_node("answer", utterance)
    graph.add_node("remember_exchange", steps.node(remember_exchange))
    graph.add_node("record", steps.recording(exchanging.record, "record"))
    order = ("enter", "meet", "plan", "find_picture", "question", "hand_over", "answer", "remember_exchange", "record")
    for step, following in zip((START, *order), (*order, END), strict=True):
        graph.add_edge(step, following)
    return compile_hosted(
        graph,
        {**host.settings_of_graph(), **arguments},
        checkpointer=checkpointer,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        name="exchange",
    )


def _utterance(
    host: Host, steps: HostedSteps, before: Sequence[str], after: Sequence[str]
) -> CompiledStateGraph[HostedUtteranceState, None, Any, Any]:
    graph = StateGraph(HostedUtteranceState)
    add_utterance(graph, host.nodes("album_chat"), has_prompt=True, as_node=steps.node, as_router=steps.router)
    graph.add_edge(START, FIRST_STEP)
    graph.add_edge(LAST_STEP, END)
    pauses = pauses_at(graph, before), pauses_at(graph, after)
    return graph.compile(name="utterance", interrupt_before=pauses[0], interrupt_after=pauses[1])


class _Exchanging:
    """The steps before and after those of the exchange."""

    def __init__(self, host: Host, people: Sequence[Mapping[str, Any]], place: str | None, graph: str) -> None:
        self._host, self._people, self._place, self._graph = host, people, place, graph
        self._names = [str(fields["name"]) for fields in people]

    async def enter(self, state: State, config: RunnableConfig) -> State:
        """Find the two that meet, the run in which it is recorded, and their albums and memories."""
        before = self._host.last_place(places_of(state), "album_chat")
        population = population_of(self._people, text_field(state, "topic"), self._place)
        context = self._host.after(population, before)
        turn, _ = next_turn(context)
        asker, answerer = self._pair(state, turn)
        context = self._host.enter(context, population, Entered(speaker=f"{asker}, {answerer}"))
        heard = {turn for _, turn in places_of(state)}
        past = context.store.steps(context.run, "exchange", Exchange, 1, turn - 1) if turn > 1 else {}
        met = sorted((number, held) for (number, _), held in past.items() if number in heard)
        everybody = belongings_at(population, met, context.parameters)
        return {
            "graph": self._graph,
            "run": context.run,
            "round": turn,
            "turn": turn,
            "sim_time_s": _now_s(context, turn),
            "asker": asker,
            "answerer": answerer,
            "belongings": {name: everybody[name] for name in (asker, answerer)},
            "utterances": {},
        }

    def _pair(self, state: State, turn: int) -> tuple[str, str]:
        """Return asker and answerer; if none is named, people ask in turn, each the one after them."""
        asker, answerer = (text_field(state, field) for field in ("asker", "answerer"))
        for field, name in (("asker", asker), ("answerer", answerer)):
            if name is not None and name not in self._names:
                hint = nearest_hint(name, self._names, otherwise="")
                raise ParentStateError(f"{field}={name}: is none of the people ({', '.join(self._names)}){hint}")
        if asker is not None and asker == answerer:
            raise ParentStateError(f"answerer={answerer}: {asker} asks; name somebody else")
        if asker is None:
            others = [name for name in self._names if name != answerer]
            asker = others[(turn - 1) % len(others)]
        following = self._names[(self._names.index(asker) + 1) % len(self._names)]
        return asker, answerer or following

    async def record(self, state: State, config: RunnableConfig) -> State:
        """Store the exchange, and add question and answer to the messages; the next on a thread has its own pair."""
        run, turn = self._host.forked_if_said(state["run"], state["turn"]), state["turn"]
        context = self._host.context(run)
        turn_of = recorded_exchange(cast(Any, state), turn, context)
        with context.store.transaction():
            context.record(turn_of)
            context.store.set_status(run, "finished")
        held = turn_of.exchange
        assert held is not None
        said: dict[str, Utterance] = {
            "plan": in_words(turn_of.parts["plan"], context, "plan"),
            "question": in_words(turn_of.record, context),
            "answer": in_words(turn_of.parts["answer"], context, "answer"),
        }
        return {
            "run": run,
            "messages": [
                *state["returned"],
                *(message_of(said[part], task_of(config)) for part in ("question", "answer")),
            ],
            "exchange": {
                "asker": held.asker,
                "answerer": held.answerer,
                "picture": context.population.picture(held.picture).described,
                **said,
                "passed": held.passed,
                "run": run,
                "turn": turn,
            },
            "asker": None,
            "answerer": None,
        }


def _now_s(context: Any, turn: int) -> float:
    """Return when an exchange begins: when the answer of the one before is over."""
    if turn == 1:
        return 0.0
    (question,) = context.store.turns(context.run, turn - 1, turn - 1)
    answer = context.store.part_turns(context.run, turn - 1, turn - 1)[turn - 1, "answer"]
    rate = context.parameters.speaking_rate_wpm
    return float(question.sim_time_s + speaking_time_s(question.text, rate) + speaking_time_s(answer.text, rate))
