"""Arguments and options that several commands share."""

from typing import Annotated

import typer

from tertulia.runs.planning.request import DEFAULT_MODEL, DEFAULT_SEED
from tertulia.state.parameters import ALBUM_CHAT, GROUP_CHAT, Parameters
from tertulia.storage.addresses import DEFAULT_STORE

_DEFAULTS = {name: field.default for name, field in Parameters.model_fields.items()}

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="STORE",
        help="The store: a file, or postgresql://USER@HOST/DATABASE; "
        f"TERTULIA_STORE, else {DEFAULT_STORE} in this folder.",
    ),
]
#: `--store` follows any command, so that it can stand in an alias; some have nothing to look up there.
NoStoreOption = Annotated[
    str | None, typer.Option("--store", metavar="STORE", help="Accepted by every command; not needed by this one.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LambdaOption = Annotated[
    float | None,
    typer.Option(
        "--lambda",
        metavar="X",
        help="λ in [0, 1]: how much of the attended information to remove; "
        f"{_DEFAULTS['removal_factor']:g} in a dialogue, 0 in a group or an album chat, unless the scenario sets it.",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", metavar="N", help=f"Seed of all draws; {DEFAULT_SEED} if it is not given.")
]
RoundsOption = Annotated[
    int | None,
    typer.Option(
        "--rounds",
        metavar="N",
        help=f"At most so many rounds: {_DEFAULTS['max_turns']} in a dialogue, where a round is an utterance, "
        f"{GROUP_CHAT['max_turns']} in a group, {ALBUM_CHAT['max_turns']} in an album chat, unless the scenario says.",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="ID",
        help=f"{DEFAULT_MODEL} (embedded; if none is given), a folder, a Hugging Face id, openai:NAME, or "
        "http://SERVER/v1#NAME; of several servers http://ONE/v1,http://TWO/v1#NAME.",
    ),
]
ServersOption = Annotated[
    str | None, typer.Option("--model", metavar="ID", help="The run's model on other servers: http://SERVER/v1#NAME.")
]
RehearseOption = Annotated[
    bool, typer.Option("--rehearse", help="Let a stand-in without weights speak, to try things out.")
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Set any parameter (`tertulia settings` lists them); may be repeated."
    ),
]
ExtensionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--extension",
        metavar="FILE",
        help="Nodes and mechanisms of your own: a file (.py), or an entry point; may be repeated.",
    ),
]
CodeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trust-remote-code",
        metavar="ID",
        help="Execute the Python code that comes with this model, a folder or a Hugging Face id; may be repeated.",
    ),
]
SeatOption = Annotated[
    str | None,
    typer.Option(
        "--seat",
        metavar="NAME",
        help="Type as one of the participants; /leave leaves, and keeps the run. Several: NAME,NAME.",
    ),
]
InPageOption = Annotated[
    bool, typer.Option("--in-page", help="Ask who has a seat in the page of `tertulia view`, not at this terminal.")
]
ThoughtsOption = Annotated[
    bool, typer.Option("--thoughts", help="In a group: under every turn, what each agent thought, and the race.")
]
PriceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--price",
        metavar="MODEL=READ,WRITTEN",
        help="What a million tokens read, and written, cost of this model; may be repeated.",
    ),
]
LabelOption = Annotated[str | None, typer.Option("--label", metavar="TEXT", help="What you call the run in `runs`.")]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run, or @last.")]
RunsArgument = Annotated[
    list[str],
    typer.Argument(metavar="RUN", help="Ids of runs, or @last; several are pooled."),
]
PaperOption = Annotated[bool, typer.Option("--paper", help="With the figures that ChatAgents published.")]
