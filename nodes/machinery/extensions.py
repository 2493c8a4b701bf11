"""Extensions: a user's nodes and mechanisms, in a Python file, in an installed package, or handed over as objects.

A file, or module, has `NODES` or `MECHANISMS` or both, each a tuple. Nothing is discovered: a run has the extensions
that its scenario, its command or its program names, and records them, each with a hash of its content. An extension
that a scenario or a stored run names is executed only if the user names it too, or trusts a file with that content.
"""

import importlib
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.metadata import entry_points
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from tertulia.nodes.machinery.node import Node
from tertulia.nodes.machinery.objects import PREFIX, extension_of_object, source_hash
from tertulia.nodes.machinery.registry import Registry
from tertulia.nodes.mechanisms.mechanism import Mechanism
from tertulia.state.errors import ExtensionError, NotFoundError, TrustError, nearest_hint
from tertulia.state.files import read_bytes
from tertulia.state.records import Extension
from tertulia.state.text import first_line, shell_argument

#: The group under which installed packages name their modules of nodes.
ENTRY_POINTS = "tertulia.nodes"

#: By node, the shipped extension that has it: loaded if a run chooses the node, and trusted as this program is, with
#: whatever content it has now.
SHIPPED: Mapping[str, str] = {
    "asked_by_words": "tertulia.rules.address",
    "importance_by_words": "tertulia.rules.importance",
}

#: The largest file that is read as an extension.
_MOST_BYTES = 16 * 10**6


def installed() -> list[str]:
    """Return the names of the entry points of installed packages."""
    return sorted(entry_points(group=ENTRY_POINTS).names)


def with_shipped(registry: Registry, chosen: Iterable[str]) -> Registry:
    """Return the registry with the shipped extensions of the nodes that a run chooses by name."""
    for source in dict.fromkeys(SHIPPED[name] for name in chosen if name in SHIPPED and name not in registry.nodes):
        registry = Source.read(source).included(registry)
    return registry


def load_extensions(
    named: Iterable[str], found: Iterable[str] = (), trusted: Mapping[str, str] | None = None
) -> Registry:
    """Return a registry with these extensions, each once: those that were found, then those that the user names.

    Args:
        named: Files and entry points that the user names.
        found: Those that a scenario names; executed if the user names them too, or trusts their content.
        trusted: The user's trust: hashes of content, each with its last place.

    Raises:
        NotFoundError: There is no such file, or no such entry point.
        TrustError: One that was found is not trusted.
        ExtensionError: It can't be imported, or its declaration is wrong.
    """
    sources = _sources(named)
    accepted = {source.hash for source in sources.values()} | (trusted or {}).keys()
    registry = Registry()
    for name in dict.fromkeys(found):
        if name not in sources:
            source = Source.read(name)
            if source.hash not in accepted and name not in SHIPPED.values():
                raise _untrusted(name, "the scenario")
            registry = source.included(registry)
    for source in sources.values():
        registry = source.included(registry)
    return registry


def reload_extensions(
    recorded: Sequence[Extension],
    named: Iterable[str] = (),
    trusted: Mapping[str, str] | None = None,
    nodes: Iterable[Node] = (),
    mechanisms: Iterable[Mechanism] = (),
    accept_changed: bool = False,
) -> Registry:
    """Return the registry of an earlier run: of its recorded extensions, only those that the user names or trusts.

    Args:
        recorded: The extensions that were recorded with the run.
        named: Files and entry points that the user names; they may have changed, or moved, or are new.
        trusted: The user's trust: hashes of content, each with its last place.
        nodes, mechanisms: Those that are handed over as Python objects; new ones may be among them.
        accept_changed: Whether the source of an object may differ from the recorded one.

    Raises:
        NotFoundError: A file or an entry point is gone.
        TrustError: An extension is neither named nor trusted.
        ExtensionError: An extension has changed, an object was not handed over, a source can't be read or imported, or
            its declaration is wrong.
    """
    objects: list[Node | Mechanism] = [*nodes, *mechanisms]
    handed_over = {f"{PREFIX}{declared.name}": declared for declared in objects}
    sources = _sources(named)
    by_hash = {source.hash: source for source in sources.values()}
    included: dict[str, Source | Node | Mechanism] = {}
    for extension in recorded:
        if extension.source.startswith(PREFIX):
            declared = handed_over.get(extension.source)
            included[extension.source] = _check_object(extension, declared, accept_changed)
        else:
            source = sources.get(extension.source) or by_hash.get(extension.hash)
            source = source or _trusted_source(extension, trusted or {})
            included[source.name] = source
    registry = Registry()
    for part in (included | sources | handed_over).values():
        registry = part.included(registry) if isinstance(part, Source) else _include_object(registry, part)
    return registry


def _sources(named: Iterable[str]) -> "dict[str, Source]":
    return {name: Source.read(name) for name in dict.fromkeys(named)}


def _trusted_source(extension: Extension, trusted: Mapping[str, str]) -> "Source":
    """Return a recorded extension from its former place, or the user's; nothing untrusted is even read."""
    if extension.source in SHIPPED.values():  # it changes with this program, as other steps do
        return Source.read(extension.source)
    if extension.hash not in trusted:
        raise _untrusted(extension.source, "the run")
    missing: NotFoundError | None = None
    for place in dict.fromkeys([extension.source, trusted[extension.hash]]):
        try:
            source = Source.read(place)
        except NotFoundError as error:
            missing = missing or error
            continue
        if source.hash == extension.hash:
            return source
    if missing is not None:
        raise missing
    raise ExtensionError(
        f"{extension.source}: has changed since the run began; to go on with it as it is now, "
        f"add extensions=[{extension.source!r}]"
    )


def _untrusted(source: str, by: str) -> TrustError:
    return TrustError(
        f"{by} names the extension {source}, which would be executed, and you have not named it; if you know what it "
        f"does, add extensions=[{source!r}], or trust it from now on: tertulia trust {shell_argument(source)}"
    )


def check_objects(
    recorded: Sequence[Extension], objects: Iterable[Node | Mechanism], accept_changed: bool = False
) -> None:
    """Raise `ExtensionError` if an object is recorded with a run under its name, and its source differs."""
    handed_over = {f"{PREFIX}{declared.name}": declared for declared in objects}
    for extension in recorded:
        if extension.source in handed_over:
            _check_object(extension, handed_over[extension.source], accept_changed)


def _check_object(extension: Extension, declared: Node | Mechanism | None, accept_changed: bool) -> Node | Mechanism:
    name = extension.source.removeprefix(PREFIX)
    if declared is None:
        raise ExtensionError(
            f"{extension.source}: {name!r} was handed over in Python, and its code is not executed from the store; "
            "hand it over again: `tertulia.resume(run, additions=tertulia.Additions(nodes=…))`; so does `run.fork`"
        )
    if not accept_changed and extension_of_object(declared).hash != extension.hash:
        raise ExtensionError(
            f"{extension.source}: the source of {name!r} differs from what was recorded with the run; to go on with it "
            "as it is now, hand it over with accept_changed=True"
        )
    return declared


def _include_object(registry: Registry, declared: Node | Mechanism) -> Registry:
    if isinstance(declared, Node):
        return registry.including_objects(nodes=[declared])
    return registry.including_objects(mechanisms=[declared])


def load_module(name: str) -> Registry:
    """Return a registry with an importable module, to check it; `NotFoundError` or `ExtensionError` if that fails."""
    path = _module_file(name)
    if path is None:
        raise NotFoundError(f"there is no module {name!r}; give a file that ends in .py, or a module that is installed")
    source = Source(name, path, path.read_bytes())
    return Registry().including(Extension(source=name, hash=source.hash), *_declared(name, _imported(name, source)))


@dataclass(frozen=True)
class Source:
    """The file of an extension or an entry point, read once: the executed content is the hashed one."""

    name: str
    path: Path
    content: bytes

    @classmethod
    def read(cls, name: str) -> "Source":
        """Read a file or an entry point, executing nothing; `NotFoundError` or `ExtensionError` if that fails."""
        path: Path | None = Path(name)
        if not name.endswith(".py"):
            path = _module_file(_module_of(name))
            if path is None:
                raise NotFoundError(
                    f"the entry point {name!r} names a module that is not there; install its package again"
                )
        assert path is not None
        try:
            return cls(name, path, read_bytes(path, _MOST_BYTES))
        except FileNotFoundError:
            raise NotFoundError(f"there is no extension {name!r}; give its file with extensions=['FILE']") from None
        except (OSError, ValueError) as error:
            raise ExtensionError(f"{name}: can't be read: {getattr(error, 'strerror', None) or error}") from None

    @property
    def hash(self) -> str:
        """The hash of its content."""
        return source_hash(self.content)

    def included(self, registry: Registry) -> Registry:
        """Execute it, and return the registry with its declarations."""
        module = _executed(self) if self.name.endswith(".py") else _imported(_module_of(self.name), self)
        return registry.including(Extension(source=self.name, hash=self.hash), *_declared(self.name, module))


def _module_of(name: str) -> str:
    """Return the module of a shipped extension, or of an entry point."""
    if name in SHIPPED.values():
        return name
    for entry_point in entry_points(group=ENTRY_POINTS, name=name):
        return entry_point.module
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


def _executed(source: Source) -> ModuleType:
    """Return a file as a module, executed from the very bytes that were hashed."""
    module = ModuleType(f"tertulia_extension_{source.hash}")
    module.__file__ = source.name
    sys.modules[module.__name__] = module  # pydantic and dataclasses look up annotations there
    _execute(source, module)
    return module


def _imported(name: str, source: Source) -> ModuleType:
    """Return a module of a package, executed from the very bytes that were hashed, unless it was imported before."""
    try:
        importlib.import_module(package) if (package := name.rpartition(".")[0]) else None
    except (Exception, SystemExit) as error:
        raise _import_failure(name, str(source.path), error) from error
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, source.path)
    assert spec is not None  # it ends in .py
    module = sys.modules[name] = module_from_spec(spec)
    _execute(source, module)
    return module


def _execute(source: Source, module: ModuleType) -> None:
    try:
        exec(compile(source.content, str(source.path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise _import_failure(source.name, str(source.path), error) from error


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
