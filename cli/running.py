"""`run` and `resume`: drive a conversation to its end, and say how to go on when that fails."""

import asyncio
import shlex
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from types import FrameType
from typing import Annotated, Any

import typer

from cli.environment import store_path
from cli.live import tell_heading, tell_round, tell_turn
from cli.opening import open_embedding_model, open_language_model
from cli.options import JsonOption, StoreOption
from cli.output import plain, print_json, progress, progress_line
from models.batching import BatchingBroker
from state.contracts import Context, Embedder, LanguageModel, Start
from state.errors import ModelError, PolylogueError, StorageError, UsageError
from state.meeting import Meeting
from state.parameters import Parameters
from state.records import RunRecord, RunStatus, Voice
from storage.store import SqliteStore

_STEPS = {
    "prepare": "preparing",
    "perceive": "listening",
    "choose_mechanisms": "choosing how to think",
    "run_mechanisms": "thinking",
    "assess": "making up their minds",
    "retrieve_memory": "remembering",
    "score_attention": "scoring attention",
    "prune": "pruning",
    "generate": "speaking",
    "judge": "judging",
    "roll_back": "rolling back",
}

ThoughtsOption = Annotated[
    bool, typer.Option("--thoughts", help="In a group: under every turn, what each agent thought, and the race.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(run)
    app.command()(resume)


def run(
    scenario: Annotated[
        str, typer.Argument(help="A shipped scenario (see `polylogue scenarios`), a YAML file, or ga:FOLDER[:CASE].")
    ],
    removal_factor: Annotated[
        float | None, typer.Option("--lambda", help="λ in [0, 1]: how much of the attended information to remove.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 1,
    rounds: Annotated[int | None, typer.Option(help="At most so many rounds (utterances, in a dialogue).")] = None,
    order: Annotated[
        str | None,
        typer.Option(help="Who speaks next in a group: self_driven, rule_based, centralised, random or designated."),
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="At most so many simulated minutes.")] = None,
    model: Annotated[str, typer.Option(help="smollm2 (embedded), a folder, or a Hugging Face id.")] = "smollm2",
    precision: Annotated[str | None, typer.Option(help="auto, float32, bfloat16 or float16.")] = None,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="Use a stand-in without weights.")] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set any parameter; may be repeated.")
    ] = None,
    thoughts: ThoughtsOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a conversation.

    Example: polylogue run tidewell --lambda 0.5 --rounds 6
    """
    from nodes.mechanisms.registry import MECHANISMS
    from worlds.catalog import resolve, settings_of
    from worlds.meeting_file import check_weights

    chosen: dict[str, Any] = dict(_read_setting(setting) for setting in settings or [])
    chosen |= _given(
        removal_factor=removal_factor, max_turns=rounds, max_minutes=minutes, order=order, precision=precision
    )
    if "seed" in chosen:
        seed = _read_seed(chosen.pop("seed"))
    known = tuple(MECHANISMS)
    parameters = Parameters().with_settings({**settings_of(scenario, known), **chosen})
    start = resolve(scenario, known)
    if isinstance(start, Meeting):
        check_weights(start, parameters.willingness_threshold)
    elif order is not None:
        raise UsageError(f"{scenario} is a dialogue of two, who speak in turn; --order {order} is for meetings")
    with SqliteStore.open(store_path(store), create=True) as opened:
        language_model = open_language_model("rehearsal" if rehearse else model, parameters)
        voices = {} if rehearse else _open_voices(start, parameters)
        embedder = open_embedding_model("rehearsal" if language_model.traits.rehearsed else "minilm")
        record = RunRecord(
            run=opened.new_run_id(),
            status="running",
            scenario=start.scenario,
            model=language_model.id,
            embedder=embedder.id,
            rehearsed=language_model.traits.rehearsed,
            seed=seed,
            parameters=language_model.traits.resolve(parameters).model_dump(mode="json"),
            voices={
                name: Voice(model=own.id, parameters=own.traits.resolve(parameters).model_dump(mode="json"))
                for name, own in voices.items()
            },
            created=datetime.now(UTC),
        )
        opened.create_run(record, start)
        progress().print(f"run {record.run}")
        _drive(opened, record, language_model, voices, embedder, as_json, thoughts)


def resume(
    run: Annotated[str, typer.Argument(help="The id of a run, or @last.")],
    thoughts: ThoughtsOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on with a run that was interrupted or failed.

    Example: polylogue resume @last
    """
    with SqliteStore.open(store_path(store), create=False) as opened:
        record = opened.run(run)
        parameters = Parameters.model_validate(record.parameters)
        language_model = open_language_model(record.model, parameters)
        opened_models = {voice.model: open_language_model(voice.model, parameters) for voice in record.voices.values()}
        voices = {name: opened_models[voice.model] for name, voice in record.voices.items()}
        embedder = open_embedding_model(record.embedder)
        progress().print(f"run {record.run}")
        _drive(opened, record, language_model, voices, embedder, as_json, thoughts)


def _open_voices(start: Start, parameters: Parameters) -> dict[str, LanguageModel]:
    """Return the models that participants have to themselves, by participant, each model opened once."""
    if not isinstance(start, Meeting):
        return {}
    wanted = {one.persona.name: one.model for one in start.participants if one.model is not None}
    opened = {model: open_language_model(model, parameters) for model in dict.fromkeys(wanted.values())}
    return {name: opened[model] for name, model in wanted.items()}


def _drive(
    store: SqliteStore,
    record: RunRecord,
    model: LanguageModel,
    voices: Mapping[str, LanguageModel],
    embedder: Embedder,
    as_json: bool,
    thoughts: bool,
) -> None:
    """Drive a run to its end; whatever stops it, what it had is kept and the way on is told.

    Raises:
        StorageError: Another process drives the run; nothing of it is touched.
        PolylogueError: The run failed.
    """
    context = Context(
        run=record.run,
        seed=record.seed,
        start=store.start(record.run),
        parameters=Parameters.model_validate(record.parameters),
        model=model,
        embedder=embedder,
        store=store,
        broker=BatchingBroker(record.run, store),
        voices={name: (own, Parameters.model_validate(record.voices[name].parameters)) for name, own in voices.items()},
    )

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
        store.set_status(run, status, error)


def _in_one_line(error: Exception) -> str:
    """Return what a model, or a node, raised that is not one of the project's own errors, and where."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}{f': {error}' if str(error) else ''} (in {place.filename}, line {place.lineno})"


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C stop a computation at once; asyncio's own handler would wait for the model to finish."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _store_hint(store: SqliteStore) -> str:
    return "" if store.path == store_path(None) else f" --store {shlex.quote(str(store.path))}"


def _read_setting(setting: str) -> tuple[str, str]:
    name, separator, value = setting.partition("=")
    if not separator or not name:
        raise UsageError(f"--set {setting}: write KEY=VALUE, for example --set temperature=1.0")
    return name.strip(), value.strip()


def _read_seed(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise UsageError(f"seed={value} is not an integer") from None


def _given(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}
