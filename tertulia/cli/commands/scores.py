"""`scores`: learned weights of a model's attention heads, which tell the units that a line leaned on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tertulia.cli import options
from tertulia.cli.driving import exit_when_interrupted
from tertulia.cli.environment import cache_folder, model_access
from tertulia.cli.terminal.commands import Group, add
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.cli.terminal.status_line import status_line
from tertulia.cli.views.findings import print_page_table

if TYPE_CHECKING:
    from tertulia.state.head_weights import HeadWeights

scores = typer.Typer(
    cls=Group,
    help="Learn which attention heads tell what a line leaned on.\n\nExample: tertulia scores fit smollm2:plain",
    rich_markup_mode=None,
)


def fit(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model of this machine, as --model takes it.")],
    cases: Annotated[
        list[str] | None,
        typer.Option(metavar="SCENARIO", help="Scenarios of two that it talks in; may be repeated. [shipped scenes]"),
    ] = None,
    lines: Annotated[int, typer.Option(metavar="N", min=8, help="Lines, evenly over sources and cases.")] = 84,
    ablations: Annotated[int, typer.Option(metavar="N", min=8, max=1000, help="Random ablations of each line.")] = 24,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the weights there, too, for others (scores add).")
    ] = None,
    store: options.NoStoreOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Learn weights of a model's attention heads from ablations of its own lines, and test them on other sources.

    Afterwards the model's lines are explained by them, in every run. After Ctrl-C or a kill the same command goes on.

    Example: tertulia scores fit smollm2:plain
    """
    from tertulia.lab.faithfulness_page import comparisons_table, faithfulness_document, figures_table
    from tertulia.lab.fitting import FitPlan, fit_head_weights
    from tertulia.models.local.head_weights import keep_head_weights, kept_in

    plan = FitPlan(model, tuple(cases or ()), lines, ablations)
    with exit_when_interrupted(), status_line("reading") as line:
        found = fit_head_weights(plan, model_access(line, [model]), show=line.show)
    files = [keep_head_weights(found.weights, folder) for folder in (kept_in(cache_folder()), out) if folder]
    if as_json:
        document = faithfulness_document(found.report, [model])
        print_json(document | {"weights": found.weights.hash, "files": [str(file) for file in files]})
        return
    print_page_table(figures_table(found.report))
    data().print()
    print_page_table(comparisons_table(found.report))
    _tell_kept(files[-1], found.weights, model)


def add_weights(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Weights that `scores fit --out` wrote.")],
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model whose heads they weigh.")],
    store: options.NoStoreOption = None,
) -> None:
    """Take weights that were learned elsewhere, if they are of this model, its adapters and its chat template.

    Example: tertulia scores add fd8bfa0893f5e621.json smollm2
    """
    from tertulia.cli.opening import open_language_model
    from tertulia.models.local.head_weights import keep_head_weights, kept_in, read_head_weights, require_weights_of
    from tertulia.state.errors import UsageError
    from tertulia.state.parameters import Parameters

    weights = read_head_weights(file)
    fingerprint = getattr(open_language_model(model, Parameters()), "fingerprint", None)
    if fingerprint is None:
        raise UsageError(f"{model} shows no attention heads: weights are of models of this machine alone")
    kept = keep_head_weights(require_weights_of(weights, fingerprint, model), kept_in(cache_folder()))
    _tell_kept(kept, weights, model)


def _tell_kept(file: Path, weights: "HeadWeights", model: str) -> None:
    progress().print(plain(f"wrote {file} (learned heads {weights.hash}); runs of {model} use it from now on"))


def list_weights(store: options.NoStoreOption = None, as_json: options.JsonOption = False) -> None:
    """List the learned weights of heads: those that are shipped, and those that were learned or added here.

    Example: tertulia scores list
    """
    from tertulia.models.local.head_weights import SHIPPED, kept_in, read_head_weights
    from tertulia.state.documents import SCHEMA_VERSION

    folders = {"shipped": SHIPPED, "here": kept_in(cache_folder())}
    found = [(place, read_head_weights(file)) for place, folder in folders.items() for file in folder.glob("*.json")]
    if as_json:
        listed = [{"from": place, "hash": weights.hash, **weights.model_dump(mode="json")} for place, weights in found]
        print_json({"schema_version": SCHEMA_VERSION, "weights": listed})
        return
    for place, weights in found:
        lds = weights.about.get("lds_on_other_sources", {}).get("at2")
        tested = "" if not lds else f", LDS {lds[0]:.2f} on sources left out"
        data().print(
            plain(f"{weights.model}  {weights.hash}  {place}, {weights.about.get('lines', '?')} lines{tested}")
        )


add(scores, fit)
add(scores, add_weights, "add")
add(scores, list_weights, "list")


@scores.callback()
def _scores() -> None:
    """Learn which attention heads tell the units that a line leaned on."""
