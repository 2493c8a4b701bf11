"""`nodes list` and `nodes check`: nodes and mechanisms for the graphs, and whether they fit."""

from pathlib import Path
from typing import Annotated

import typer

from tertulia.cli.options import ExtensionOption, JsonOption, NoStoreOption
from tertulia.cli.terminal.commands import Group, add
from tertulia.cli.terminal.output import data, plain, print_json, progress
from tertulia.cli.terminal.tables import Row, print_table
from tertulia.runs.catalog.node_catalog import NodeCatalog, catalog_document, read_catalog
from tertulia.state.documents import SCHEMA_VERSION
from tertulia.worlds.scenario_parts import extension_source

_EMPTY = {"name": "–", "description": "empty, unless a node of your own stands here", "source": "", "default": False}


def list_nodes(extension: ExtensionOption = None, store: NoStoreOption = None, as_json: JsonOption = False) -> None:
    """List nodes and mechanisms by their place in the graphs, with their purpose and origin.

    Those of installed packages are among them, and those of the extensions that are given.

    Example: tertulia nodes list --extension mine.py
    """
    catalog = read_catalog([extension_source(source, Path.cwd()) for source in extension or []])
    for problem in catalog.problems:
        progress().print(plain(f"left out: {problem}", "dim"))
    if as_json:
        print_json(catalog_document(catalog))
    else:
        _print_catalog(catalog)


def _print_catalog(catalog: NodeCatalog) -> None:
    rows = []
    for place in (*catalog.places, {"place": "mechanism", "nodes": catalog.mechanisms}):
        for number, row in enumerate(place["nodes"] or [_EMPTY]):
            name = f"{row['name']}{' (default)' if row.get('default') else ''}"
            first = "" if number else place["place"]
            rows.append(Row((first, name, row["description"], row["source"])))
    print_table(data(), ("place", "name", "what it does", "from"), rows)


def check_nodes(
    module: Annotated[
        str, typer.Argument(metavar="MODULE", help="A file (.py), an entry point, or a module that can be imported.")
    ],
    store: NoStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try out every node and mechanism of an extension in rehearsed conversations; exit with 1 if one has to be mended.

    Example: tertulia nodes check mine.py
    """
    from tertulia.runs.driving.node_checks import check_module, passed

    checks = check_module(module)
    if as_json:
        rows = [{"name": check.name, "check": check.check, "problem": check.problem} for check in checks]
        print_json({"schema_version": SCHEMA_VERSION, "module": module, "ok": passed(checks), "checks": rows})
    else:
        console = data()
        for check in checks:
            mark = plain("ok  ", "green") if check.problem is None else plain("FAIL", "red")
            problem = f": {check.problem}" if check.problem else ""
            console.print(mark, plain(f"{check.name} {check.check}{problem}"))
    if not passed(checks):
        raise typer.Exit(1)


nodes = typer.Typer(
    cls=Group,
    help="List nodes and mechanisms that can be put into the graphs, or check your own.\n\n"
    "Example: tertulia nodes check mine.py",
    rich_markup_mode=None,
)
add(nodes, list_nodes, "list")
add(nodes, check_nodes, "check")
