"""`nodes list`, `nodes check` and `graph`: what can be put into the graphs, whether it fits, and how that looks."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from cli.options import ExtensionOption, JsonOption, NoStoreOption, SettingsOption
from cli.output import SCHEMA_VERSION, data, plain, print_json, progress
from cli.settings import read_settings
from state.errors import ExtensionError, TertuliaError, UsageError, nearest_hint
from state.parameters import Parameters
from worlds.scenario_parts import extension_source

if TYPE_CHECKING:
    from nodes.machinery.node import Node
    from nodes.machinery.registry import Registry
    from nodes.mechanisms.mechanism import Mechanism

_GRAPHS = ("utterance", "dialogue", "cognition", "group_chat")


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    nodes = typer.Typer(
        help="Nodes and mechanisms that can be put into the graphs, one's own among them.", rich_markup_mode=None
    )
    nodes.command("list")(list_nodes)
    nodes.command("check")(check_nodes)
    app.add_typer(nodes, name="nodes")
    app.command()(graph)


def list_nodes(extension: ExtensionOption = None, store: NoStoreOption = None, as_json: JsonOption = False) -> None:
    """List nodes and mechanisms by the place in which they stand, with what they do and where they are from.

    Those of installed packages are among them, and those of the extensions that are given.

    Example: tertulia nodes list --extension mine.py
    """
    from nodes.machinery.extensions import installed, load

    given = [extension_source(one, Path.cwd()) for one in extension or []]
    whole = []
    for source in installed():
        try:
            load([source])
            whole.append(source)
        except TertuliaError as error:
            progress().print(plain(f"left out: {error}", "dim"))
    registry = load([*whole, *given])
    places, mechanisms = _places(registry), [_row(one, registry) for one in registry.mechanisms.values()]
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "places": places, "mechanisms": mechanisms})
        return
    table = Table(box=None, pad_edge=False)
    for title in ("place", "name", "what it does", "from"):
        table.add_column(title, overflow="fold")
    empty = {"name": "–", "description": "empty, unless a node of your own stands here", "source": "", "default": False}
    for place in (*places, {"place": "mechanism", "nodes": mechanisms}):
        for number, row in enumerate(place["nodes"] or [empty]):
            name = f"{row['name']}{' (default)' if row.get('default') else ''}"
            first = "" if number else place["place"]
            table.add_row(plain(first), plain(name), plain(row["description"]), plain(row["source"]))
    data().print(table)


def check_nodes(
    module: Annotated[str, typer.Argument(help="A file (.py), an entry point, or a module that can be imported.")],
    store: NoStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try out every node and mechanism of an extension in rehearsed conversations; exit with 1 if one has to be mended.

    Example: tertulia nodes check mine.py
    """
    from nodes.machinery.extensions import installed, load, load_module
    from tertulia.node_checks import Check, check_all, passed

    checks = []
    try:
        if not module.endswith(".py") and module not in installed() and _is_importable(module):
            registry = load_module(module)
        else:
            registry = load([extension_source(module, Path.cwd())])
        checks = [*(Check(name, "is declared") for name in registry.origins), *check_all(registry)]
    except ExtensionError as error:
        checks = [Check(module, "is declared", str(error))]
    if as_json:
        rows = [{"name": one.name, "check": one.check, "problem": one.problem} for one in checks]
        print_json({"schema_version": SCHEMA_VERSION, "module": module, "ok": passed(checks), "checks": rows})
    else:
        console = data()
        for one in checks:
            mark = plain("ok  ", "green") if one.problem is None else plain("FAIL", "red")
            console.print(mark, plain(f"{one.name} {one.check}{f': {one.problem}' if one.problem else ''}"))
    if not passed(checks):
        raise typer.Exit(1)


def graph(
    name: Annotated[str, typer.Argument(help="utterance, dialogue, cognition or group_chat.")],
    scenario: Annotated[str | None, typer.Option(help="A scenario that composes it; the defaults without one.")] = None,
    settings: SettingsOption = None,
    extension: ExtensionOption = None,
    store: NoStoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a graph as Mermaid text, with the nodes that stand in it.

    Example: tertulia graph utterance --set nodes.score=length
    """
    from nodes.machinery.extensions import load
    from worlds.catalog import extensions_of, resolve, settings_of

    if name not in _GRAPHS:
        raise UsageError(f"there is no graph {name!r}{nearest_hint(name, _GRAPHS)}")
    named = extensions_of(scenario) if scenario is not None else ()
    registry = load([*named, *(extension_source(one, Path.cwd()) for one in extension or [])])
    known = tuple(registry.mechanisms)
    base = settings_of(scenario, known) if scenario is not None else {}
    parameters = Parameters().with_settings({**base, **read_settings(settings)})
    kind = resolve(scenario, known).kind if scenario is not None else "group_chat"
    chosen = registry.functions(parameters, kind)
    drawing = _drawn(name, parameters, chosen)
    if as_json:
        stand = [
            {"place": place, "name": node, "source": registry.origins.get(node, "shipped")}
            for place, node in parameters.nodes.items()
        ]
        print_json({"schema_version": SCHEMA_VERSION, "graph": name, "mermaid": drawing, "nodes": stand})
    else:
        print(drawing, end="")


def _drawn(name: str, parameters: Parameters, chosen: Any) -> str:
    """Return a graph as Mermaid text; where a node was chosen its name stands under that of its place."""
    from graphs.cognition import build_cognition_graph
    from graphs.dialogue import build_dialogue_graph
    from graphs.group_chat import build_group_chat_graph
    from graphs.utterance import build_utterance_graph

    builders: dict[str, Callable[[], Any]] = {
        "utterance": lambda: build_utterance_graph(chosen),
        "dialogue": lambda: build_dialogue_graph(chosen=chosen),
        "cognition": lambda: build_cognition_graph(chosen),
        "group_chat": lambda: build_group_chat_graph(parameters.order, chosen=chosen),
    }
    drawable = builders[name]().get_graph()
    for place, node in parameters.nodes.items():
        if place in drawable.nodes:
            drawable.nodes[place] = drawable.nodes[place]._replace(name=f"{place}<br/>{node}")
    drawing: str = drawable.draw_mermaid()
    return drawing


def _places(registry: "Registry") -> list[dict[str, Any]]:
    """Return the places in the order in which the graphs go through them, each with the nodes that can stand there."""
    from nodes.machinery.places import PLACES
    from nodes.machinery.registry import DEFAULT_SCORER

    return [
        {
            "place": place.name,
            "graph": place.graph,
            "given": list(place.given),
            "writes": list(place.writes),
            "may_write": list(place.may_write),
            "nodes": [
                {
                    **_row(node, registry),
                    "default": node.name in (place.name, DEFAULT_SCORER),
                    "reads": list(node.reads),
                    "writes": list(node.writes),
                }
                for node in registry.nodes.values()
                if node.place == place.name
            ],
        }
        for place in PLACES.values()
    ]


def _row(one: "Node | Mechanism", registry: "Registry") -> dict[str, Any]:
    parameters = one.parameters().model_dump(mode="json") if one.parameters is not None else {}
    return {
        "name": one.name,
        "description": one.description,
        "source": registry.origins.get(one.name, "shipped"),
        "parameters": parameters,
        "timeout_s": one.timeout_s,
    }


def _is_importable(module: str) -> bool:
    return importlib.util.find_spec(module.partition(".")[0]) is not None
