"""`run` and `resume`: drive a conversation to its end, and say how to go on when that fails."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from types import FrameType
from typing import Annotated, Any

import typer
from rich.text import Text

from cli.environment import cache_folder, store_path
from cli.options import JsonOption, StoreOption
from cli.output import data, plain, print_json, progress
from state.contracts import Context, Embedder, LanguageModel
from state.errors import PolylogueError, StorageError, UsageError
from state.parameters import Parameters
from state.records import RunRecord, RunStatus, Turn
from storage.store import SqliteStore

_STEPS = {
    "retrieve_memory": "remembering",
    "score_attention": "scoring attention",
    "prune": "pruning",
    "generate": "speaking",
    "judge": "judging",
    "roll_back": "rolling back",
}


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
    minutes: Annotated[float | None, typer.Option(help="At most so many simulated minutes.")] = None,
    model: Annotated[str, typer.Option(help="smollm2 (embedded), a folder, or a Hugging Face id.")] = "smollm2",
    precision: Annotated[str | None, typer.Option(help="auto, float32, bfloat16 or float16.")] = None,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="Use a stand-in without weights.")] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set any parameter; may be repeated.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a conversation.

    Example: polylogue run tidewell --lambda 0.5 --rounds 6
    """
    from worlds.catalog import resolve, settings_of

    chosen: dict[str, Any] = dict(_read_setting(setting) for setting in settings or [])
    chosen |= _given(removal_factor=removal_factor, max_turns=rounds, max_minutes=minutes, precision=precision)
    if "seed" in chosen:
        seed = _read_seed(chosen.pop("seed"))
    parameters = Parameters().with_settings({**settings_of(scenario), **chosen})
    case = resolve(scenario)
    with SqliteStore.open(store_path(store), create=True) as opened:
        name = "rehearsal" if rehearse else model
        with _waiting(f"loading {name}"):
            from models.loading import open_embedder, open_model

            language_model = open_model(name, cache=cache_folder(), precision=parameters.precision)
            embedder = open_embedder("rehearsal" if language_model.traits.rehearsed else "minilm")
        record = RunRecord(
            run=opened.new_run_id(),
            status="running",
            scenario=case.scenario,
            model=language_model.id,
            embedder=embedder.id,
            rehearsed=language_model.traits.rehearsed,
            seed=seed,
            parameters=language_model.traits.resolve(parameters).model_dump(mode="json"),
            created=datetime.now(UTC),
        )
        opened.create_run(record, case)
        progress().print(f"run {record.run}")
        _drive(opened, record, language_model, embedder, as_json)


def resume(
    run: Annotated[str, typer.Argument(help="The id of a run, or @last.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on with a run that was interrupted or failed.

    Example: polylogue resume @last
    """
    with SqliteStore.open(store_path(store), create=False) as opened:
        record = opened.run(run)
        with _waiting(f"loading {record.model}"):
            from models.loading import open_embedder, open_model

            parameters = Parameters.model_validate(record.parameters)
            language_model = open_model(record.model, cache=cache_folder(), precision=parameters.precision)
            embedder = open_embedder(record.embedder)
        progress().print(f"run {record.run}")
        _drive(opened, record, language_model, embedder, as_json)


def _drive(store: SqliteStore, record: RunRecord, model: LanguageModel, embedder: Embedder, as_json: bool) -> None:
    """Drive a run to its end; whatever stops it, what it had is kept and the way on is told."""
    context = Context(
        run=record.run,
        seed=record.seed,
        case=store.case(record.run),
        parameters=Parameters.model_validate(record.parameters),
        model=model,
        embedder=embedder,
        store=store,
    )
    told = store.turns(record.run)
    if not as_json:
        _tell_heading(context, record)
        for turn in told:
            _tell(turn)
    status: RunStatus = "running"
    try:
        with store.drive_lock(record.run), _interruptible(), _progress() as (show, pause):

            def on_step(step: str, turn: int) -> None:
                if step != "turn_done":
                    show(f"turn {turn}: {_STEPS.get(step, '…')}")
                elif not as_json:
                    with pause():
                        _tell(store.turns(record.run, turn, turn)[0])

            store.set_status(record.run, "running")
            asyncio.run(_hold(context, store, on_step))
            status = "finished"
            store.set_status(record.run, status)
    except KeyboardInterrupt:
        status = "interrupted"
        store.set_status(record.run, status)
        raise typer.Exit(130) from None
    except PolylogueError as error:
        status = "failed"
        _note_failure(store, record.run, str(error))
        raise
    except Exception as error:
        status = "failed"
        _note_failure(store, record.run, f"{type(error).__name__}: {error}")
        raise
    finally:
        if status != "finished":
            progress().print(f"to go on: polylogue resume {record.run}{_store_hint(store)}", soft_wrap=True)
        if as_json:
            print_json({"run": record.run, "status": status, "turns": store.run(record.run).turns})


async def _hold(context: Context, store: SqliteStore, on_step: Callable[[str, int], None]) -> None:
    from graphs.driving import drive_dialogue
    from storage.checkpoints import open_checkpoints

    async with open_checkpoints(store.path) as checkpointer:
        await drive_dialogue(context, checkpointer, on_step)


def _note_failure(store: SqliteStore, run: str, error: str) -> None:
    """Note a failure, as far as the store still takes it: it may be what failed."""
    with suppress(StorageError):
        store.set_status(run, "failed", error)


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


@contextmanager
def _progress() -> Iterator[tuple[Callable[[str], None], Callable[[], AbstractContextManager[None]]]]:
    """Show what is being done on one line, where there is a terminal; yields how to change it and how to pause it."""
    console = progress()
    if not console.is_terminal:
        yield lambda _: None, nullcontext
        return
    with console.status("") as status:

        @contextmanager
        def pause() -> Iterator[None]:
            status.stop()
            yield
            status.start()

        yield status.update, pause


@contextmanager
def _waiting(what: str) -> Iterator[None]:
    with _progress() as (show, _):
        show(what)
        yield


def _tell_heading(context: Context, record: RunRecord) -> None:
    case, console = context.case, data()
    who = f"{case.initiator.persona.name} and {case.partner.persona.name}"
    console.print(plain(f"{who}, {case.time:%A %d %B %Y, %H:%M}{f', {case.place}' if case.place else ''}", "bold"))
    rehearsed = ", rehearsed: a stand-in speaks, not a model" if record.rehearsed else ""
    console.print(
        plain(f"λ = {context.parameters.removal_factor:g}, {record.model}, seed {record.seed}{rehearsed}", "dim")
    )
    console.print()


def _tell(turn: Turn) -> None:
    data().print(Text.assemble(plain(f"{turn.speaker}: ", "bold"), plain(turn.text)))


def _store_hint(store: SqliteStore) -> str:
    return "" if store.path == store_path(None) else f" --store {store.path}"


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
