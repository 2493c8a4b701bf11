"""The steps of Tertulia's graphs as a user's graph runs them: sync and async, in the room of the process."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar
from weakref import ref

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from tertulia.langgraph.edits import accepted, with_written
from tertulia.langgraph.host import Host
from tertulia.langgraph.hosted import with_messages
from tertulia.langgraph.room import room
from tertulia.langgraph.states import ScoredUnit, Utterance
from tertulia.nodes.conversation.line_edit import put_words
from tertulia.nodes.conversation.turns import spoken_turn
from tertulia.nodes.machinery.node import NodeFunction
from tertulia.nodes.utterance.candidates import candidate_at
from tertulia.state.context import Context
from tertulia.state.errors import UsageError
from tertulia.state.line_edit import EDITED, LineEdit
from tertulia.state.records import TurnRecord
from tertulia.state.text import one_line

#: A step that runs in the room: from the state to its update.
Step = Callable[[Any], Coroutine[Any, Any, Any]]

State = Mapping[str, Any]

Owned = TypeVar("Owned")


def as_runnable(step: Step, name: str) -> Runnable[Any, Any]:
    """Return a step as a graph runs it, synchronously or asynchronously."""
    held = ref(step)

    def run(state: Any) -> Any:
        return room().wait(lambda: _alive(held)(state))

    async def arun(state: Any) -> Any:
        return await room().wait_in_loop(lambda: _alive(held)(state))

    return _owning(step, RunnableLambda(run, afunc=arun, name=name))


def as_step(step: Step, name: str) -> Runnable[Any, Any]:
    """Return a step as a graph runs it, from a state that is not edited."""

    async def from_unedited(state: State) -> Any:
        accepted(state, name)
        return with_written(state, await step(state))

    return as_runnable(from_unedited, name)


def reading_messages(step: Callable[[Any, RunnableConfig], Coroutine[Any, Any, Any]], name: str) -> Runnable[Any, Any]:
    """Return a step that takes the parent's messages in its state (`with_messages`), and its config.

    Its state is not edited; that of `enter` is the parent's.
    """

    async def from_unedited(state: State, config: RunnableConfig) -> Any:
        if name != "enter":
            accepted(state, name)
        given = with_messages(state, config)
        return with_written(given, await step(given, config))

    held = ref(from_unedited)

    def run(state: Any, config: RunnableConfig) -> Any:
        return room().wait(lambda: _alive(held)(state, config))

    async def arun(state: Any, config: RunnableConfig) -> Any:
        return await room().wait_in_loop(lambda: _alive(held)(state, config))

    return _owning(from_unedited, RunnableLambda(run, afunc=arun, name=name))


def _owning(owned: object, runnable: RunnableLambda[Any, Any]) -> RunnableLambda[Any, Any]:
    """Keep an object as long as a runnable; LangChain keeps the functions of hundreds that are gone."""
    vars(runnable)["owned"] = owned
    return runnable


def _alive(held: "ref[Owned]") -> Owned:
    found = held()
    assert found is not None  # the runnable that calls owns it
    return found


class HostedSteps:
    """Makes the nodes and routers of a graph of Tertulia's run with the context of the run that the state names.

    Attributes:
        graph: Tells the graph from all that have another name, other people or other settings.
    """

    def __init__(self, host: Host, name: str, arguments: Mapping[str, Any]) -> None:
        self._host, self.graph = host, f"{name} {host.digest(arguments)}"

    def _check_graph(self, state: State) -> None:
        """Raise `UsageError` if another graph has begun: a thread that has paused in it goes on here."""
        if state["graph"] == self.graph:
            return
        paused, here = (graph.partition(" ")[0] for graph in (state["graph"], self.graph))
        raise UsageError(
            f"the thread has paused in the graph {paused}, and can't go on in "
            f"{'one of other people or settings' if here == paused else here}: invoke the graph that has paused, or "
            "begin another thread"
        )

    def checked(self, step: Step, name: str) -> Runnable[Any, Any]:
        """Return a further step behind the first, as a graph runs it."""

        async def checked(state: State) -> Any:
            self._check_graph(state)
            return await step(state)

        return as_step(checked, name)

    def recording(
        self, step: Callable[[Any, RunnableConfig], Coroutine[Any, Any, Any]], name: str
    ) -> Runnable[Any, Any]:
        """Return a step that adds to the messages, as a graph runs it."""

        async def checked(state: State, config: RunnableConfig) -> Any:
            self._check_graph(state)
            return await step(state, config)

        return reading_messages(checked, name)

    def node(self, node: NodeFunction, place: str = "", is_before_turn: bool = False) -> Runnable[Any, Any]:
        """Return a node of Tertulia as a graph runs it.

        Args:
            place: Its place in the utterance graph.
            is_before_turn: Whether the turn that the state names may be over.
        """

        async def step(state: State) -> Any:
            self._check_graph(state)
            edits = accepted(state, place, lambda prompt: self._host.context(state["run"]).store.prompt(prompt))
            run = state["run"] if is_before_turn else self._host.forked_if_said(state["run"], state["turn"])
            async with self._host.lock(run):
                update = await node({**state, **edits}, runtime_of(self._host.context(run)))
            return with_written(state, {**edits, **(update or {}), "run": run})

        return as_runnable(step, getattr(node, "__name__", "node"))

    def router(self, question: Callable[..., Any]) -> Runnable[Any, Any]:
        """Return a question about the state; its answer is the way on."""
        takes_runtime = len(question.__code__.co_varnames[: question.__code__.co_argcount]) > 1

        async def step(state: State) -> Any:
            return question(state, runtime_of(self._host.context(state["run"]))) if takes_runtime else question(state)

        return as_runnable(step, question.__name__)


def runtime_of(context: Context) -> Runtime[Context]:
    """Return the runtime that a node gets besides its state."""
    return Runtime(context=context)


# --- outcomes -------------------------------------------------------------------------------------------------------


def recorded_utterance(state: State, context: Context) -> tuple[TurnRecord, Utterance]:
    """Return the utterance that was selected, as it is stored, and in words."""
    record = spoken_turn(dict(state), context)  # type: ignore[arg-type]
    return record, in_words(record, context, state.get("part", ""))


def in_words(record: TurnRecord, context: Context, part: str = "") -> Utterance:
    """Return how an utterance came about, in words."""
    prompt = context.store.prompt(record.prompt) if record.prompt else None
    scores, line_scores, gone = record.scores, record.line_scores or {}, set(record.removed)
    units: list[ScoredUnit] = [
        {
            "id": unit.id,
            "block": unit.block,
            "text": unit.text,
            "removable": unit.removable,
            "line_score": line_scores.get(unit.id),
            "score": None if scores is None else scores.get(unit.id),
            "removed": unit.id in gone,
        }
        for unit in (prompt.units if prompt else ())
    ]
    candidate = candidate_at(context, record.turn.turn, record.chosen, part)
    return {
        "speaker": record.turn.speaker or "",
        "text": record.turn.text,
        "units": units,
        "scores": scores,
        "removed": [unit["text"] for unit in units if unit["removed"]],
        "removal_factor": record.removal_factor,
        "removed_share": share_removed(units) if scores is not None else None,
        "rollbacks": record.rollbacks,
        "ended": record.turn.ended,
        "by_hand": candidate.origin == "by_hand",
        "run": context.run,
        "turn": record.turn.turn,
    }


def share_removed(units: Sequence[ScoredUnit]) -> float:
    """Return the share of the removable units' total score that was removed; 0 if there is none."""
    removable = [unit for unit in units if unit["removable"]]
    total = sum(unit["score"] or 0.0 for unit in removable)
    return sum(unit["score"] or 0.0 for unit in removable if unit["removed"]) / total if total else 0.0


# --- a person looks at it -------------------------------------------------------------------------------------------


def review_step(host: Host) -> Runnable[Any, Any]:
    """Return a step that shows an utterance to a person, and takes their words in its place.

    It is interrupted, in the thread of the parent, with the utterance (`Utterance`). It is resumed with `True` if
    that is fine, or with the words that are said instead; after any other answer it is interrupted again, and the
    utterance has a `problem`. LangGraph keeps the answers of an interrupt for good, so an error could not be mended.
    """

    held = ref(host)

    async def show(state: State) -> Any:
        accepted(state, "review")
        return recorded_utterance(state, _alive(held).context(state["run"]))[1]

    async def put(state: State, words: str) -> Any:
        return _put_words(_alive(held), state, words)

    def review(state: State) -> Any:
        words = _reviewed(room().wait(lambda: show(state)))
        return {} if words is None else room().wait(lambda: put(state, words))

    async def areview(state: State) -> Any:
        words = _reviewed(await room().wait_in_loop(lambda: show(state)))
        return {} if words is None else await room().wait_in_loop(lambda: put(state, words))

    return _owning(host, RunnableLambda(review, afunc=areview, name="review"))


def _reviewed(shown: Utterance) -> str | None:
    """Return the words that a person says instead; `None` to let the utterance stand."""
    answer = interrupt(shown)
    while not (answer is True or (isinstance(answer, str) and one_line(answer))):
        problem = (
            f"the utterance was answered with {answer!r:.60}; resume with True to let it stand, or with the words that "
            "are said instead: Command(resume='…')"
        )
        answer = interrupt({**shown, "problem": problem})
    words = one_line(answer) if isinstance(answer, str) else shown["text"]
    return words if words != shown["text"] else None


def _put_words(host: Host, state: State, words: str) -> dict[str, Any]:
    """Store a person's words in the place of the line, in a run in which the turn is still to be said."""
    run = host.forked_if_said(state["run"], state["turn"])
    context = host.context(run)
    context.store.save_step(run, state["round"], "", EDITED, LineEdit(words=words))
    return with_written(state, {**put_words(state, context, words), "run": run})
