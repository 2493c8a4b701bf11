"""Re-export of `Node` and `PLACES` under the name that extensions for earlier versions import."""

from tertulia.nodes.machinery.node import Node
from tertulia.nodes.machinery.places import PLACES

__all__ = ["PLACES", "Node"]
