"""`tune`: teach a local model to talk, from scenes, scenarios with lines, or stored runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tertulia.cli.driving import exit_when_interrupted
from tertulia.cli.environment import cache_folder, print_note, store_path
from tertulia.cli.options import JsonOption, StoreOption
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.cli.terminal.status_line import status_line

if TYPE_CHECKING:
    from tertulia.lab.tuning.teaching import Taught, TuningPlan

SourcesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="SOURCE…",
        help="Files of scenes (.jsonl), folders of them, or scenario files of two people with lines (.yaml).",
    ),
]
FromRunsOption = Annotated[
    str | None,
    typer.Option("--runs", metavar="RUN,…", help="Stored runs, by id or @last; `all`: the finished ones of the store."),
]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Keep the adapters under a name: --model BASE+NAME.")
]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="Write them to a folder: --model BASE+FOLDER.")
]
BaseOption = Annotated[
    str, typer.Option("--base", metavar="ID", help="The model to teach: smollm2:plain, a folder, or a Hugging Face id.")
]
EpochsOption = Annotated[float, typer.Option(min=0.01, max=100, help="How often each lesson is read.")]
RankOption = Annotated[int, typer.Option(min=1, max=256, help="Rank of the adapters.")]
RateOption = Annotated[float, typer.Option(min=1e-7, max=0.1, help="The highest learning rate.")]
BatchOption = Annotated[int, typer.Option(min=1, max=1024, help="Lessons a step.")]
LongestOption = Annotated[int, typer.Option(min=64, max=32768, help="Tokens of a lesson, at most.")]
HeldOutOption = Annotated[float, typer.Option(min=0, max=0.9, help="Share of scenes, or runs, that only measure.")]
SeedOption = Annotated[int, typer.Option(help="Of the order of lessons, and of what is removed from their prompts.")]


def tune(
    sources: SourcesArgument = None,
    runs: FromRunsOption = None,
    name: NameOption = None,
    out: OutOption = None,
    base: BaseOption = "smollm2:plain",
    epochs: EpochsOption = 1.0,
    rank: RankOption = 16,
    learning_rate: RateOption = 6e-4,
    batch: BatchOption = 8,
    longest: LongestOption = 1600,
    held_out: HeldOutOption = 0.05,
    seed: SeedOption = 1,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Teach a local model to talk, from scenes or stored runs.

    Low-rank adapters are trained. Prompts are the product's own, and lose a random share of their units, so that a
    pruned one is nothing new. After Ctrl-C or a kill the same command goes on.

    Example: tertulia tune my_scenes.jsonl --name harbour && tertulia run tidewell --model smollm2:plain+harbour
    """
    from tertulia.lab.tuning.teaching import TuningPlan, adapters_folder, spoken_as, taught_document

    plan = TuningPlan(
        base=base,
        folder=adapters_folder(name, out, cache_folder()),
        epochs=epochs,
        rank=rank,
        learning_rate=learning_rate,
        batch=batch,
        longest=longest,
        held_out=held_out,
        seed=seed,
    )
    taught = _taught(plan, sources or [], runs, store)
    model = spoken_as(base, name or out)
    if as_json:
        return print_json(taught_document(taught, model))
    for share, loss in taught.before.items():
        data().print(f"held-out loss, {share:.0%} removed: {loss:.2f} → {taught.after[share]:.2f} nats a token")
    progress().print(plain(f"{taught.lessons} lessons, {taught.steps} steps; speak with it: --model {model}"))


def _taught(plan: "TuningPlan", sources: list[Path], runs: str | None, store: str | None) -> "Taught":
    """Read lessons, and teach them, with progress on the terminal."""
    from tertulia.lab.tuning.teaching import lessons_of_sources, teach
    from tertulia.worlds.scenes import linked_scenes

    for note in [note for source in sources if source.is_dir() for note in linked_scenes(source)]:
        print_note(note)
    kept = None if runs is None else store_path(store)
    with exit_when_interrupted(), status_line("reading what is taught") as line:
        return teach(plan, lessons_of_sources(sources, runs, kept), cache=cache_folder(), report=line.report)
