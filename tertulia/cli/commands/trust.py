"""`trust`: extensions, servers, models and files that scenarios and stores may name without a command line."""

from typing import Annotated

import typer

from tertulia.cli.environment import user_trust
from tertulia.cli.options import JsonOption, NoStoreOption
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.runs.access.trust import change_trust
from tertulia.state.documents import SCHEMA_VERSION


def trust(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="An extension (a file .py, or an entry point), a server (http://HOST:PORT), a provider (openai:), a "
            "Hugging Face id, or a file or folder (/…, ./… or ~/…). Without one, all that is trusted is listed.",
        ),
    ] = None,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Trust them no more.")] = False,
    store: NoStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let scenarios and stores name an extension, a server, a model or files; those you name in commands are added too.

    An extension is known by its content: trust it again when it has changed. A folder is trusted with its content.
    Nothing is executed or read here.

    Example: tertulia trust mine.py
    """
    trust = user_trust()
    change_trust(trust, names or [], withdraw)
    known = trust.read()
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, **known.model_dump()})
        return
    if not known.extensions and not known.places and not known.files:
        progress().print("nothing is trusted yet; what you name on the command line will be")
    for hash, source in known.extensions.items():
        data().print(plain(f"{source}  (content {hash})"))
    for name in (*known.places, *known.files):
        data().print(plain(name))
