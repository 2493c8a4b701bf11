"""`settings`: the parameters that `--set` takes, with their defaults."""

from typing import Annotated

import typer

from tertulia.cli.options import JsonOption, NoStoreOption
from tertulia.cli.terminal.output import data, plain, print_json
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.runs.catalog.settings import default_in_words, find_settings, settings_document
from tertulia.state.parameters import GroupDescription

NameArgument = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="A group, or a parameter; all of them if none is given."),
]


def settings(name: NameArgument = None, store: NoStoreOption = None, as_json: JsonOption = False) -> None:
    """List the parameters that `--set` takes by group, with their defaults and effects.

    Example: tertulia settings pruning
    """
    groups = find_settings(name)
    if as_json:
        print_json(settings_document(groups))
    elif name is not None and name != groups[0].name:
        _print_parameter(groups[0])
    else:
        for number, group in enumerate(groups):
            if number:
                print()
            data().print(plain(f"{group.name}: {group.title}", "bold"))
            rows = [Row((found.name, default_in_words(found), found.description)) for found in group.parameters]
            print_table(data(), ("parameter", "default", "what it does"), rows)


def _print_parameter(group: GroupDescription) -> None:
    (parameter,) = group.parameters
    console = data()
    others = f", also {' or '.join(parameter.aliases)}" if parameter.aliases else ""
    console.print(plain(f"{parameter.name}{others} ({group.name})", "bold"))
    console.print(plain(parameter.description))
    console.print(plain(f"takes: {parameter.values}"))
    console.print(plain(f"default: {default_in_words(parameter)}"))
