"""The name under which extensions written for earlier versions import `Node`; it lies in `nodes.machinery.node`."""

from nodes.machinery.node import PLACES, Node

__all__ = ["PLACES", "Node"]
