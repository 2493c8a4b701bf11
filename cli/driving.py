"""Driving a run to its end: `run`, `resume` and `fork` all end here. Whatever stops it, the way on is told."""

import shlex
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import typer

from cli.environment import store_path
from cli.interrupting import interruptible, run_or_abandon
from cli.live import tell_heading, tell_round, tell_turn
from cli.opening import open_embedding_model, open_language_model
from cli.seat import Seat
from cli.terminal.output import data, plain, print_json, progress, progress_line
from models.batching import BatchingBroker
from state.context import Context
from state.errors import LeftError, ModelError, StorageError, TertuliaError, UsageError
from state.language_model import Embedder, LanguageModel, ModelRole
from state.meeting import Meeting, Start
from state.parameters import Parameters
from state.records import ParticipantModel, RunRecord, RunStatus
from state.seat import Answer, Invitation
from storage.store import SqliteStore

if TYPE_CHECKING:
    from nodes.machinery.registry import Registry

Taker = TypeVar("Taker", str, ModelRole)

_STEPS = {
    "prepare": "preparing",
    "perceive": "listening",
    "after_perceive": "thinking",
    "choose_mechanisms": "choosing how to think",
    "run_mechanisms": "thinking",
    "assess": "making up their minds",
    "after_assess": "making up their minds",
    "retrieve_memory": "remembering",
    "vary_prompt": "varying the prompt",
    "score": "scoring",
    "prune": "pruning",
    "generate": "speaking",
    "judge": "judging",
    "choose_revision": "choosing how to revise",
    "rewrite": "rewriting",
    "roll_back": "rolling back",
}


@dataclass(frozen=True)
class Engines:
    """The models of a run.

    Attributes:
        model: Everybody's.
        participant_models: Those that participants have to themselves, by participant.
        embedder: For retrieval, perception and willingness.
        roles: Those that take a role for everybody, by role.
    """

    model: LanguageModel
    participant_models: Mapping[str, LanguageModel]
    embedder: Embedder
    roles: Mapping[ModelRole, LanguageModel] = field(default_factory=dict)

    def resolved(self, parameters: Parameters) -> dict[str, object]:
        """Return the fields of a run's record that say which models it has, and the parameters as they suit them.

        Raises:
            UsageError: A model can't do what the parameters want of it.
        """
        for speaking in (self.model, *self.participant_models.values()):
            speaking.traits.require_scores(parameters)
            suited, judging = self.suited(speaking, parameters), self.roles.get("judge", speaking)
            for asked, setting, model, instead in (
                (suited.judge, "likelihood", judging, "judge=rating, or judge_model=smollm2"),
                (suited.ending, "continuation", speaking, "ending=reply"),
            ):
                if asked == setting and model.traits.text_only:
                    raise UsageError(f"{model.id} does not tell how likely a text is; set {instead}")
        reader = self.roles.get("score")
        if reader is not None and reader.traits.text_only:
            raise UsageError(f"surrogate={reader.id} shows no attention; set surrogate=smollm2, or another local model")
        return {
            "model": self.model.id,
            "embedder": self.embedder.id,
            "rehearsed": self.model.traits.rehearsed,
            "parameters": self.suited(self.model, parameters).model_dump(mode="json"),
            "participant_models": {
                name: ParticipantModel(model=own.id, parameters=self.suited(own, parameters).model_dump(mode="json"))
                for name, own in self.participant_models.items()
            },
        }

    def suited(self, model: LanguageModel, parameters: Parameters) -> Parameters:
        """Return the parameters as they suit a model; how it is judged follows who judges it."""
        if (judge := self.roles.get("judge")) is not None:
            judged = judge.traits.resolve(parameters.model_copy(update={"ending": "off"}))
            names = ("judge", "inconsistency_threshold")
            parameters = parameters.model_copy(update={name: getattr(judged, name) for name in names})
        return model.traits.resolve(parameters)


def open_engines(name: str, start: Start | None, parameters: Parameters) -> Engines:
    """Return the models with which a run begins, each opened once; a rehearsal has none but the stand-in.

    Raises:
        TertuliaError: One does not exist, can't be used, or can't be loaded.
    """
    model = open_language_model(name, parameters)
    wanted: dict[str, str] = {}
    if isinstance(start, Meeting) and not model.traits.rehearsed:
        wanted = {one.persona.name: one.model for one in start.participants if one.model is not None}
    embedder = open_embedding_model("rehearsal" if model.traits.rehearsed else "minilm")
    opened = {name: model}
    participant_models = _opened(wanted, opened, parameters)
    wanted_roles = {} if model.traits.rehearsed else models_of_roles(parameters)
    return Engines(model, participant_models, embedder, _opened(wanted_roles, opened, parameters))


def reopen_engines(record: RunRecord) -> Engines:
    """Return the models of a run that goes on (see `open_engines`)."""
    parameters = Parameters.model_validate(record.parameters)
    model = open_language_model(record.model, parameters)
    wanted = {name: voice.model for name, voice in record.participant_models.items()}
    opened = {record.model: model}
    participant_models = _opened(wanted, opened, parameters)
    roles = _opened({} if model.traits.rehearsed else models_of_roles(parameters), opened, parameters)
    return Engines(model, participant_models, open_embedding_model(record.embedder), roles)


def models_of_roles(parameters: Parameters) -> dict[ModelRole, str]:
    """Return the names of the models that take a role for everybody, by role."""
    wanted: dict[ModelRole, str | None] = {
        "judge": parameters.judge_model,
        "think": parameters.thinking_model,
        "score": parameters.surrogate,
    }
    return {role: name for role, name in wanted.items() if name is not None}


def _opened(
    wanted: Mapping[Taker, str], opened: dict[str, LanguageModel], parameters: Parameters
) -> dict[Taker, LanguageModel]:
    for name in wanted.values():
        if name not in opened:
            opened[name] = open_language_model(name, parameters)
    return {taker: opened[name] for taker, name in wanted.items()}


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
        participant_models={
            name: (own, Parameters.model_validate(record.participant_models[name].parameters))
            for name, own in engines.participant_models.items()
        },
        roles={role: (own, engines.suited(own, parameters)) for role, own in engines.roles.items()},
        nodes=registry.functions(parameters, record.kind),
        mechanisms=registry.own_mechanisms,
    )


def drive_run(
    store: SqliteStore, record: RunRecord, engines: Engines, registry: "Registry", as_json: bool, thoughts: bool
) -> None:
    """Drive a run to its end; whatever stops it, what it had is kept and the way on is told.

    Raises:
        StorageError: Another process drives the run; nothing of it is touched.
        TertuliaError: The run failed.
    """
    progress().print(f"run {record.run}")
    context = context_of(store, record, engines, registry)

    def tell(turn: int) -> None:
        (said,) = store.turns(record.run, turn, turn)
        tell_turn(said, context.start, context.parameters.silence_s)
        if thoughts:
            tell_round(store, store.run(record.run), said.round)

    def tell_end(status: RunStatus, problem: TertuliaError | None) -> None:
        if status != "finished":
            way_on = f"resume {record.run}"
            if isinstance(problem, UsageError):  # to resume would end here again
                way_on = f"fork {record.run} --at {store.run(record.run).turns + 1} --set KEY=VALUE"
            progress().print(plain(f"to go on: tertulia {way_on}{store_hint(store)}"))
        if as_json:
            print_json({"run": record.run, "status": status, "turns": store.run(record.run).turns})

    with store.drive_lock(record.run), ending_noted(store, partial(store.set_status, record.run), tell_end):
        if not as_json:
            tell_heading(context.start, record)
            for turn in store.turns(record.run):
                tell(turn.turn)
        _hold(context, store, None if as_json else tell)


@contextmanager
def ending_noted(
    store: SqliteStore, note: Callable[..., None], tell_end: Callable[[RunStatus, TertuliaError | None], None]
) -> Iterator[None]:
    """Note that what is driven inside is running, and how it ended, whatever stops it; signals stop it soon.

    Args:
        store: Where it is noted, as far as the store still takes it: it may be what failed.
        note: Notes a status and, where it failed, what with.
        tell_end: Told the status, and what it failed with, once that is noted.

    Raises:
        TertuliaError: It failed.
        Exit: It was interrupted.
    """
    status: RunStatus = "failed"
    problem: TertuliaError | None = None

    def note_anyway() -> None:
        with suppress(StorageError):
            store.file.reopen()  # a signal may have come in the middle of a transaction, or of a query
            note(status, None if problem is None else str(problem))

    with interruptible():
        try:
            note("running")
            yield
            note("finished")
            status = "finished"
        except (KeyboardInterrupt, SystemExit, LeftError):  # Ctrl-C, nobody reads standard output, or nobody types
            status = "interrupted"
            note_anyway()
            raise typer.Exit(130) from None
        except Exception as error:
            problem = error if isinstance(error, TertuliaError) else ModelError(_in_one_line(error))
            note_anyway()
            raise problem from error
        finally:
            tell_end(status, problem)


def _hold(context: Context, store: SqliteStore, tell: Callable[[int], None] | None) -> None:
    """Hold the conversation, each step shown while it is under way and each turn told, if it is to be."""
    from graphs.driving import drive
    from storage.checkpoints import open_checkpoints

    seat = Seat(context.start, tells_turns=tell is not None and data().is_terminal)
    with progress_line() as (show, pause):

        async def ask(invitation: Invitation) -> Answer | None:
            with pause():
                return await seat.ask(invitation)

        def on_step(step: str, turn: int, agent: str) -> None:
            if step == "turn_done":
                if tell is not None:
                    with pause():
                        tell(turn)
            elif step in _STEPS:
                show(f"turn {turn}: {f'{agent}: ' if agent else ''}{_STEPS[step]}")

        async def hold() -> None:
            async with open_checkpoints(store.path) as checkpointer:
                await drive(context, checkpointer, on_step, ask)

        run_or_abandon(hold())


def _in_one_line(error: Exception) -> str:
    """Return what a model, or a node, raised that is not one of the project's own errors, and where."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}{f': {error}' if str(error) else ''} (in {place.filename}, line {place.lineno})"


def store_hint(store: SqliteStore) -> str:
    """Return the option that names the store, where a command would not find it without."""
    return "" if store.path == store_path(None) else f" --store {shlex.quote(str(store.path))}"
