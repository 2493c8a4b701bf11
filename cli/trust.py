"""`trust`: what a scenario or a store may name, though this command line does not: extensions, servers, models."""

from typing import Annotated

import typer

from cli.environment import user_trust
from cli.options import JsonOption, NoStoreOption
from cli.terminal.output import data, plain, print_json, progress
from tertulia.documents import SCHEMA_VERSION
from tertulia.trust import change_trust


def trust(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="An extension (a file .py, or an entry point), a server (http://HOST:PORT), a provider (openai:), or "
            "a Hugging Face id. Without one, all that is trusted is listed.",
        ),
    ] = None,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Trust them no more.")] = False,
    store: NoStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let scenarios and stores name an extension, a server or a model; what you name on the command line is added too.

    An extension is known by its content: trust it again when it has changed. Nothing is executed here.

    Example: tertulia trust mine.py
    """
    trust = user_trust()
    change_trust(trust, names or [], withdraw)
    known = trust.read()
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, **known.model_dump()})
        return
    if not known.extensions and not known.places:
        progress().print("nothing is trusted yet; what you name on the command line will be")
    for hash, source in known.extensions.items():
        data().print(plain(f"{source}  (content {hash})"))
    for place in known.places:
        data().print(plain(place))
