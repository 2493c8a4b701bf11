"""Driving a run to its end: `run`, `resume` and `fork` all end here. Whatever stops it, the way on is told."""

import asyncio
import shlex
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING

import typer

from cli.environment import store_path
from cli.live import tell_heading, tell_round, tell_turn
from cli.opening import open_embedding_model, open_language_model
from cli.output import plain, print_json, progress, progress_line
from models.batching import BatchingBroker
from state.contracts import Context, Embedder, LanguageModel, Start
from state.errors import ModelError, PolylogueError, StorageError
from state.meeting import Meeting
from state.parameters import Parameters
from state.records import RunRecord, RunStatus, Voice
from storage.store import SqliteStore

if TYPE_CHECKING:
    from nodes.registry import Registry

_STEPS = {
    "prepare": "preparing",
    "perceive": "listening",
    "after_perceive": "thinking",
    "choose_mechanisms": "choosing how to think",
    "run_mechanisms": "thinking",
    "assess": "making up their minds",
    "after_assess": "making up their minds",
    "retrieve_memory": "remembering",
    "score": "scoring",
    "prune": "pruning",
    "generate": "speaking",
    "judge": "judging",
    "roll_back": "rolling back",
}


@dataclass(frozen=True)
class Engines:
    """The models of a run.

    Attributes:
        model: Everybody's.
        voices: Those that participants have to themselves, by participant.
        embedder: For retrieval, perception and willingness.
    """

    model: LanguageModel
    voices: Mapping[str, LanguageModel]
    embedder: Embedder

    def resolved(self, parameters: Parameters) -> dict[str, object]:
        """Return the fields of a run's record that say which models it has, and the parameters as they suit them."""
        return {
            "model": self.model.id,
            "embedder": self.embedder.id,
            "rehearsed": self.model.traits.rehearsed,
            "parameters": self.model.traits.resolve(parameters).model_dump(mode="json"),
            "voices": {
                name: Voice(model=own.id, parameters=own.traits.resolve(parameters).model_dump(mode="json"))
                for name, own in self.voices.items()
            },
        }


def open_engines(name: str, start: Start, parameters: Parameters) -> Engines:
    """Return the models with which a run begins, each opened once; a rehearsal has none but the stand-in.

    Raises:
        PolylogueError: One does not exist, can't be used, or can't be loaded.
    """
    model = open_language_model(name, parameters)
    wanted: dict[str, str] = {}
    if isinstance(start, Meeting) and not model.traits.rehearsed:
        wanted = {one.persona.name: one.model for one in start.participants if one.model is not None}
    embedder = open_embedding_model("rehearsal" if model.traits.rehearsed else "minilm")
    return Engines(model, _opened(wanted, {name: model}, parameters), embedder)


def reopen_engines(record: RunRecord) -> Engines:
    """Return the models of a run that goes on (see `open_engines`)."""
    parameters = Parameters.model_validate(record.parameters)
    model = open_language_model(record.model, parameters)
    wanted = {name: voice.model for name, voice in record.voices.items()}
    return Engines(model, _opened(wanted, {record.model: model}, parameters), open_embedding_model(record.embedder))


def _opened(
    wanted: Mapping[str, str], opened: dict[str, LanguageModel], parameters: Parameters
) -> dict[str, LanguageModel]:
    for name in wanted.values():
        if name not in opened:
            opened[name] = open_language_model(name, parameters)
    return {participant: opened[name] for participant, name in wanted.items()}


def context_of(store: SqliteStore, record: RunRecord, engines: Engines, registry: "Registry") -> Context:
    """Return the context in which the nodes of a run work.

    Raises:
        UsageError: The run's nodes, or their settings, are not what there is.
    """
    parameters = Parameters.model_validate(record.parameters)
    return Context(
        run=record.run,
        seed=record.seed,
        start=store.start(record.run),
        parameters=parameters,
        model=engines.model,
        embedder=engines.embedder,
        store=store,
        broker=BatchingBroker(record.run, store),
        voices={
            name: (own, Parameters.model_validate(record.voices[name].parameters))
            for name, own in engines.voices.items()
        },
        nodes=registry.functions(parameters, record.kind),
        mechanisms=registry.own_mechanisms,
    )


def drive_run(
    store: SqliteStore, record: RunRecord, engines: Engines, registry: "Registry", as_json: bool, thoughts: bool
) -> None:
    """Drive a run to its end; whatever stops it, what it had is kept and the way on is told.

    Raises:
        StorageError: Another process drives the run; nothing of it is touched.
        PolylogueError: The run failed.
    """
    progress().print(f"run {record.run}")
    context = context_of(store, record, engines, registry)

    def tell(turn: int) -> None:
        (said,) = store.turns(record.run, turn, turn)
        tell_turn(said, context.start, context.parameters.silence_s)
        if thoughts:
            tell_round(store, store.run(record.run), said.round)

    with store.drive_lock(record.run), _interruptible():
        status: RunStatus = "failed"
        try:
            store.set_status(record.run, "running")
            if not as_json:
                tell_heading(context.start, record)
                for turn in store.turns(record.run):
                    tell(turn.turn)
            _hold(context, store, tell if not as_json else lambda _: None)
            store.set_status(record.run, "finished")
            status = "finished"
        except (KeyboardInterrupt, SystemExit):  # Ctrl-C, or nobody reads standard output any more
            status = "interrupted"
            _note(store, record.run, status)
            raise typer.Exit(130) from None
        except Exception as error:
            problem = error if isinstance(error, PolylogueError) else ModelError(_in_one_line(error))
            _note(store, record.run, status, str(problem))
            raise problem from error
        finally:
            if status != "finished":
                progress().print(plain(f"to go on: polylogue resume {record.run}{_store_hint(store)}"))
            if as_json:
                print_json({"run": record.run, "status": status, "turns": store.run(record.run).turns})


def _hold(context: Context, store: SqliteStore, tell: Callable[[int], None]) -> None:
    """Hold the conversation, each step shown while it is under way and each turn told."""
    from graphs.driving import drive
    from storage.checkpoints import open_checkpoints

    with progress_line() as (show, pause):

        def on_step(step: str, turn: int, agent: str) -> None:
            if step == "turn_done":
                with pause():
                    tell(turn)
            elif step in _STEPS:
                show(f"turn {turn}: {f'{agent}: ' if agent else ''}{_STEPS[step]}")

        async def hold() -> None:
            async with open_checkpoints(store.path) as checkpointer:
                await drive(context, checkpointer, on_step)

        asyncio.run(hold())


def _note(store: SqliteStore, run: str, status: RunStatus, error: str | None = None) -> None:
    """Note how a run stands, as far as the store still takes it: it may be what failed."""
    with suppress(StorageError):
        store.file.reopen()  # a signal may have come in the middle of a transaction, or of a query
        store.set_status(run, status, error)


def _in_one_line(error: Exception) -> str:
    """Return what a model, or a node, raised that is not one of the project's own errors, and where."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}{f': {error}' if str(error) else ''} (in {place.filename}, line {place.lineno})"


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM or a closed terminal stop a computation at once; asyncio would wait for the model."""

    def stop(signum: int, frame: FrameType | None) -> None:
        for number in before:  # a second one would interrupt the tidying up
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _store_hint(store: SqliteStore) -> str:
    return "" if store.path == store_path(None) else f" --store {shlex.quote(str(store.path))}"
