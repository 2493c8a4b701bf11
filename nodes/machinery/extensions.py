"""Extensions: a user's nodes and mechanisms, in a Python file, in an installed package, or handed over as objects.

A file, or module, has `NODES` or `MECHANISMS` or both, each a tuple. Nothing is discovered: a run has the extensions
that its scenario, its command or its program names, and records them, each with a hash of its content. When the run is
taken up again, only what still has that content is executed.
"""

import importlib
import sys
import traceback
from collections.abc import Collection, Iterable, Sequence
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from nodes.machinery.node import Node
from nodes.machinery.objects import PREFIX, extension_of_object, source_hash
from nodes.machinery.registry import Registry
from nodes.mechanisms.mechanism import Mechanism
from state.errors import ExtensionError, NotFoundError, nearest_hint
from state.records import Extension
from state.text import first_line

#: The group under which installed packages name their modules of nodes.
ENTRY_POINTS = "tertulia.nodes"


def installed() -> list[str]:
    """Return the names of the entry points of installed packages."""
    return sorted(entry_points(group=ENTRY_POINTS).names)


def load_extensions(sources: Iterable[str]) -> Registry:
    """Return a registry with these extensions, each once.

    Raises:
        NotFoundError: There is no such file, or no such entry point.
        ExtensionError: It can't be imported, or what it declares is wrong.
    """
    registry = Registry()
    for source in dict.fromkeys(sources):
        registry = _include(registry, source)
    return registry


def reload_extensions(
    recorded: Sequence[Extension],
    accepted: Collection[str] = (),
    nodes: Iterable[Node] = (),
    mechanisms: Iterable[Mechanism] = (),
    accept_changed: bool = False,
) -> Registry:
    """Return the registry of a run that was begun before; nothing is executed that has changed since.

    Args:
        recorded: The extensions that were recorded with the run.
        accepted: Files and entry points that may have changed, or are new.
        nodes, mechanisms: Those that are handed over as Python objects; new ones may be among them.
        accept_changed: Whether the source of an object may differ from what was recorded.

    Raises:
        NotFoundError: A file or an entry point is gone.
        ExtensionError: An extension has changed, an object was not handed over, a source can't be read or imported, or
            what it declares is wrong.
    """
    objects: list[Node | Mechanism] = [*nodes, *mechanisms]
    handed_over = {f"{PREFIX}{declared.name}": declared for declared in objects}
    for extension in recorded:
        if extension.source.startswith(PREFIX):
            _check_object(extension, handed_over.get(extension.source), accept_changed)
        elif extension.source not in accepted and source_hash(_content(extension.source)) != extension.hash:
            raise ExtensionError(
                f"{extension.source}: has changed since the run began; to go on with it as it is now, "
                f"add extensions=[{extension.source!r}]"
            )
    registry = Registry()
    for source in dict.fromkeys([*(extension.source for extension in recorded), *accepted, *handed_over]):
        if source in handed_over:
            registry = _include_object(registry, handed_over[source])
        else:
            registry = _include(registry, source)
    return registry


def check_objects(
    recorded: Sequence[Extension], objects: Iterable[Node | Mechanism], accept_changed: bool = False
) -> None:
    """Raise `ExtensionError` where an object is recorded with a run under its name, and its source differs."""
    handed_over = {f"{PREFIX}{declared.name}": declared for declared in objects}
    for extension in recorded:
        if extension.source in handed_over:
            _check_object(extension, handed_over[extension.source], accept_changed)


def _check_object(extension: Extension, declared: Node | Mechanism | None, accept_changed: bool) -> None:
    """Check that an object was handed over again, and that it is the recorded one."""
    name = extension.source.removeprefix(PREFIX)
    if declared is None:
        raise ExtensionError(
            f"{extension.source}: {name!r} was handed over in Python, and its code is not executed from the store; "
            "hand it over again: `tertulia.resume(run, nodes=…)`, a mechanism with mechanisms=…; so does `run.fork`"
        )
    if not accept_changed and extension_of_object(declared).hash != extension.hash:
        raise ExtensionError(
            f"{extension.source}: the source of {name!r} differs from what was recorded with the run; to go on with it "
            "as it is now, hand it over with accept_changed=True"
        )


def _include_object(registry: Registry, declared: Node | Mechanism) -> Registry:
    if isinstance(declared, Node):
        return registry.including_objects(nodes=[declared])
    return registry.including_objects(mechanisms=[declared])


def load_module(name: str) -> Registry:
    """Return a registry with the extension that an importable module is, for checking it.

    Raises:
        NotFoundError: There is no such module.
        ExtensionError: It can't be imported, or what it declares is wrong.
    """
    path = _module_file(name)
    if path is None:
        raise NotFoundError(f"there is no module {name!r}; give a file that ends in .py, or a module that is installed")
    content = path.read_bytes()
    return Registry().including(Extension(source=name, hash=source_hash(content)), *_declared(name, _imported(name)))


def _include(registry: Registry, source: str) -> Registry:
    content = _content(source)
    module = _executed(source, content) if source.endswith(".py") else _imported(_entry_point(source).module)
    return registry.including(Extension(source=source, hash=source_hash(content)), *_declared(source, module))


def _content(source: str) -> bytes:
    """Return the bytes of an extension's file; nothing of it is executed."""
    path: Path | None = Path(source)
    if not source.endswith(".py"):
        path = _module_file(_entry_point(source).module)
        if path is None:
            raise NotFoundError(
                f"the entry point {source!r} names a module that is not there; install its package again"
            )
    try:
        assert path is not None
        return path.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"there is no extension {source!r}; give its file with extensions=['FILE']") from None
    except (OSError, ValueError) as error:
        raise ExtensionError(f"{source}: can't be read: {error}") from None


def _entry_point(name: str) -> EntryPoint:
    for entry_point in entry_points(group=ENTRY_POINTS, name=name):
        return entry_point
    hint = nearest_hint(name, installed()) or "; a file of your own ends in .py"
    raise NotFoundError(f"no installed package has an entry point {name!r} of nodes{hint}")


def _module_file(name: str) -> Path | None:
    """Return the file of a module, found without executing anything, its packages neither."""
    package, *inner = name.split(".")
    spec = find_spec(package)
    for number in range(len(inner)):
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(".".join([package, *inner[: number + 1]]), spec.submodule_search_locations)
    return Path(spec.origin) if spec is not None and spec.origin and spec.origin.endswith(".py") else None


def _executed(source: str, content: bytes) -> ModuleType:
    """Return a file as a module, executed from the very bytes that were hashed."""
    module = ModuleType(f"tertulia_extension_{source_hash(content)}")
    module.__file__ = source
    sys.modules[module.__name__] = module  # where pydantic and dataclasses look up annotations
    try:
        exec(compile(content, source, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise _import_failure(source, source, error) from error
    return module


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise _import_failure(name, str(_module_file(name)), error) from error


def _import_failure(source: str, path: str, error: BaseException) -> ExtensionError:
    """Return the error for an extension that does not import, with the line of it that failed."""
    if isinstance(error, ExtensionError):  # a declaration that was refused
        message = str(error)
    else:
        message = f"{type(error).__name__}: {first_line(error)}".removesuffix(": ")
    if isinstance(error, SyntaxError) and error.filename == path:
        line = error.lineno
        message = f"SyntaxError: {error.msg}"
    else:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        line = lines[-1] if lines else None
    line_hint = f", line {line}" if line else ""
    return ExtensionError(f"{source}{line_hint}: {message}")


def _declared(source: str, module: ModuleType) -> tuple[tuple[Node, ...], tuple[Mechanism, ...]]:
    """Return the nodes and the mechanisms that a module declares."""
    nodes, mechanisms = getattr(module, "NODES", ()), getattr(module, "MECHANISMS", ())
    for field, values, kind in (("NODES", nodes, Node), ("MECHANISMS", mechanisms, Mechanism)):
        if not isinstance(values, tuple | list):
            raise ExtensionError(f"{source}: {field} is a tuple, not a {type(values).__name__}; mind the comma: (ONE,)")
        for value in values:
            if not isinstance(value, kind):
                raise ExtensionError(f"{source}: {field} has a {type(value).__name__}; it takes a {kind.__name__} each")
    if not nodes and not mechanisms:
        raise ExtensionError(f"{source}: declares nothing; put its nodes into NODES, its mechanisms into MECHANISMS")
    return tuple(nodes), tuple(mechanisms)
