"""Graphs as Mermaid text, with the nodes that stand in them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tertulia.runs.planning.additions import NOTHING_ADDED, Additions
from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import UsageError, nearest_hint
from tertulia.state.parameters import Order, Parameters

GRAPHS = ("utterance", "dialogue", "cognition", "group_chat", "exchange", "album_chat")

#: A colon as LangGraph writes it in the id of a step inside: `cognition\3aperceive`.
_COLON = r"\3a"


@dataclass(frozen=True)
class Drawing:
    """A graph as Mermaid text, with the place and the source of each chosen node."""

    graph: str
    mermaid: str
    nodes: Sequence[Mapping[str, str]]


def draw_graph(
    name: str,
    scenario: str | None = None,
    settings: Mapping[str, Any] | None = None,
    additions: Additions = NOTHING_ADDED,
    xray: bool = True,
) -> Drawing:
    """Return a graph as Mermaid text.

    Args:
        name: One of `GRAPHS`.
        scenario: A scenario that composes it; `None`: the defaults.
        settings: Values by parameter name, over those of the scenario.
        xray: Whether inner graphs are drawn with their steps, not as one box each.

    Raises:
        UsageError: There is no such graph, or a setting is not acceptable.
        NotFoundError: There is no such scenario.
    """
    from tertulia.nodes.machinery.extensions import with_shipped
    from tertulia.worlds.catalog import extensions_of, resolve, settings_of

    if name not in GRAPHS:
        raise UsageError(f"there is no graph {name!r}{nearest_hint(name, GRAPHS)}")
    registry = additions.registry(extensions_of(scenario) if scenario is not None else ())
    known = tuple(registry.mechanisms)
    base = settings_of(scenario, known) if scenario is not None else {}
    parameters = Parameters().with_settings({**base, **(settings or {})})
    registry = with_shipped(registry, parameters.nodes.values())
    kind = resolve(scenario, known).kind if scenario is not None else "group_chat"
    chosen = parameters.nodes
    nodes = [
        {"place": place, "name": node, "source": registry.origins.get(node, "shipped")}
        for place, node in chosen.items()
    ]
    return Drawing(name, _mermaid(name, parameters.order, registry.functions(parameters, kind), chosen, xray), nodes)


def _mermaid(name: str, order: Order, chosen: Any, named: Mapping[str, str], xray: bool) -> str:
    """Return the Mermaid text with the name of each chosen node under that of its place."""
    from tertulia.graphs.album_chat import build_album_chat_graph, build_exchange_graph
    from tertulia.graphs.cognition import build_cognition_graph
    from tertulia.graphs.dialogue import build_dialogue_graph
    from tertulia.graphs.group_chat import build_group_chat_graph
    from tertulia.graphs.utterance import build_utterance_graph

    builders: dict[str, Callable[[], Any]] = {
        "utterance": lambda: build_utterance_graph(chosen),
        "dialogue": lambda: build_dialogue_graph(chosen=chosen),
        "cognition": lambda: build_cognition_graph(chosen),
        "group_chat": lambda: build_group_chat_graph(order, chosen=chosen),
        "exchange": lambda: build_exchange_graph(chosen),
        "album_chat": lambda: build_album_chat_graph(chosen=chosen),
    }
    drawable = builders[name]().get_graph(xray=xray)
    for id, node in drawable.nodes.items():
        place = id.rpartition(":")[2]
        if place in named:
            drawable.nodes[id] = node._replace(name=f"{node.name}<br/>{named[place]}")
    drawing: str = drawable.draw_mermaid()
    return drawing.replace(_COLON, "_")


def drawing_document(drawing: Drawing) -> Document:
    """Return a drawing as JSON."""
    return {"schema_version": SCHEMA_VERSION, **asdict(drawing)}
