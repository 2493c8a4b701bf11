"""The common part of all JSON documents: their version, and their type in Python."""

from typing import Any

#: The version of all documents; it grows when a field goes or changes its meaning.
SCHEMA_VERSION = 1

Document = dict[str, Any]
