"""`run`: a new conversation, from a scenario to its end."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from cli.environment import store_path
from cli.live_run import drive_shown
from cli.options import (
    ExtensionOption,
    JsonOption,
    LabelOption,
    SeatOption,
    SettingsOption,
    StoreOption,
    ThoughtsOption,
)
from cli.settings import read_seed, read_settings
from cli.terminal.commands import add
from cli.terminal.output import data, plain, print_json, waiting
from cli.views.costs import print_cost
from storage.store import SqliteStore
from tertulia.costs import cost_document
from tertulia.documents import SCHEMA_VERSION
from tertulia.engines import REHEARSAL

if TYPE_CHECKING:
    from tertulia.starting import RunPlan


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add(app, run)


def run(
    scenario: Annotated[
        str, typer.Argument(help="A shipped scenario (see `tertulia scenarios`), a YAML file, or ga:FOLDER[:CASE].")
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
    model: Annotated[
        str,
        typer.Option(help="smollm2 (embedded), a folder, a Hugging Face id, openai:NAME, or http://SERVER/v1#NAME."),
    ] = "smollm2",
    precision: Annotated[str | None, typer.Option(help="auto, float32, bfloat16 or float16.")] = None,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="Use a stand-in without weights.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many calls and tokens it would take; nothing is stored.")
    ] = False,
    label: LabelOption = None,
    seat: SeatOption = None,
    settings: SettingsOption = None,
    extension: ExtensionOption = None,
    thoughts: ThoughtsOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a conversation.

    Example: tertulia run tidewell --lambda 0.5 --rounds 6
    """
    from tertulia.starting import Additions, begin, plan_run

    chosen = read_settings(
        settings,
        removal_factor=removal_factor,
        max_turns=rounds,
        max_minutes=minutes,
        order=order,
        precision=precision,
    )
    seed = read_seed(chosen, seed)
    plan = plan_run(
        scenario,
        chosen,
        model=REHEARSAL if rehearse else model,
        seed=seed,
        seat=seat,
        additions=Additions(extension or ()),
        label=label,
    )
    if dry_run:
        _print_estimate(plan, as_json)
        return
    with SqliteStore.open(store_path(store), create=True) as opened:
        drive_shown(opened, plan.model, partial(begin, opened, plan), as_json, thoughts)


def _print_estimate(plan: "RunPlan", as_json: bool) -> None:
    """Print how many calls a run would make, and how many tokens they would read and write."""
    from tertulia.estimating import estimate

    with waiting("rehearsing"):
        found = estimate(plan)
    if as_json:
        document = {"schema_version": SCHEMA_VERSION, "model": plan.model, "turns": found.turns}
        print_json(document | cost_document(found.calls, timed=False))
        return
    console = data()
    console.print(plain(f"{plan.start.scenario} with {plan.model}, as rehearsed: {found.turns} turns", "bold"))
    console.print()
    print_cost(console, found.calls, timed=False)
    note = "Tokens are the stand-in's; the embedded model's tokenizer makes some 14 % fewer of the same texts."
    console.print(plain(note, "dim"))
