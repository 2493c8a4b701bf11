"""Nodes and mechanisms that can be put into the graphs, by the place in which they stand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tertulia.state.documents import SCHEMA_VERSION, Document
from tertulia.state.errors import TertuliaError

if TYPE_CHECKING:
    from tertulia.nodes.machinery.node import Node
    from tertulia.nodes.machinery.registry import Registry
    from tertulia.nodes.mechanisms.mechanism import Mechanism


@dataclass(frozen=True)
class NodeCatalog:
    """Places with their nodes, in the order of the graphs; mechanisms; and why installed extensions can't be loaded."""

    places: Sequence[Document]
    mechanisms: Sequence[Document]
    problems: Sequence[str]


def read_catalog(extensions: Sequence[str]) -> NodeCatalog:
    """Return the nodes and mechanisms that are shipped, in installed packages, and in the given extensions.

    Raises:
        ExtensionError: A given extension can't be loaded.
    """
    from tertulia.nodes.machinery.extensions import SHIPPED, installed, load_extensions
    from tertulia.nodes.machinery.places import PLACES

    whole, problems = [], []
    for source in installed():
        try:
            load_extensions([source])
            whole.append(source)
        except TertuliaError as error:
            problems.append(str(error))
    registry = load_extensions([*SHIPPED.values(), *whole, *extensions])
    places = [
        {
            "place": place.name,
            "graph": place.graph,
            "given": list(place.given),
            "writes": list(place.writes),
            "may_write": list(place.may_write),
            "nodes": [_node_row(node, registry) for node in registry.nodes.values() if node.place == place.name],
        }
        for place in PLACES.values()
    ]
    return NodeCatalog(places, [_row(mechanism, registry) for mechanism in registry.mechanisms.values()], problems)


def _node_row(node: "Node", registry: "Registry") -> Document:
    from tertulia.nodes.machinery.registry import DEFAULT_SCORER

    return {
        **_row(node, registry),
        "default": node.name in (node.place, DEFAULT_SCORER),
        "reads": list(node.reads),
        "writes": list(node.writes),
    }


def _row(extension: "Node | Mechanism", registry: "Registry") -> Document:
    return {
        "name": extension.name,
        "description": extension.description,
        "source": registry.origins.get(extension.name, "shipped"),
        "parameters": extension.parameters().model_dump(mode="json") if extension.parameters is not None else {},
        "timeout_s": extension.timeout_s,
    }


def catalog_document(catalog: NodeCatalog) -> Document:
    """Return places and mechanisms as JSON."""
    return {"schema_version": SCHEMA_VERSION, "places": catalog.places, "mechanisms": catalog.mechanisms}
