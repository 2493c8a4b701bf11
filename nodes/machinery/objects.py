"""Nodes and mechanisms handed over as Python objects: recorded with the run by the source of their functions."""

import hashlib
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from tertulia.nodes.machinery.node import Node
from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.state.errors import ExtensionError
from tertulia.state.records import Extension

#: How the source of an extension begins that is a Python object; its name follows.
PREFIX = "python:"


def extension_of_object(declared: Node | Mechanism) -> Extension:
    """Return the extension of a node or a mechanism, with its source; `ExtensionError` if that can't be read."""
    functions: list[Callable[..., Any]] = [declared.run]
    if isinstance(declared, Mechanism) and declared.condition is not None:
        functions.append(declared.condition)
    kind = "node" if isinstance(declared, Node) else "mechanism"
    code = "\n\n".join(dict.fromkeys(_source_of(function, f"{kind} {declared.name!r}") for function in functions))
    return Extension(source=f"{PREFIX}{declared.name}", hash=source_hash(code.encode("utf-8")), code=code)


def source_hash(content: bytes) -> str:
    """Return the hash by which an extension is recognised: blake2b, 16 bytes, in hexadecimal."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _source_of(function: Callable[..., Any], subject: str) -> str:
    """Return the source of a function, or of the class of an object that is called like one."""
    inner: Any = inspect.unwrap(function)
    while isinstance(inner, partial):
        inner = inner.func
    is_function = inspect.isfunction(inner) or inspect.ismethod(inner)
    for readable in (inner,) if is_function else (type(inner), type(inner).__call__):
        try:
            return inspect.getsource(readable)
        except (OSError, TypeError, SyntaxError):  # typed at a prompt, made by `exec`, written in C
            continue
    raise ExtensionError(f"{subject}: the source of its function can't be read; write it in a file or a notebook cell")
