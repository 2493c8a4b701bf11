"""Re-export of `Node` and `PLACES` under the name that extensions for earlier versions import."""

from nodes.machinery.node import Node
from nodes.machinery.places import PLACES

__all__ = ["PLACES", "Node"]
