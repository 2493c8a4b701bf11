"""Former names of modules, which extensions and scripts may still import: each warns, and gives the module of today.

Before version 0.2 the rooms were packages of their own (`nodes.machinery.node`). A module of the user's that has such a
name is the user's.
"""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

#: The rooms that were packages of their own.
ROOMS = ("state", "prompts", "models", "storage", "worlds", "nodes", "graphs", "metrics", "lab", "viewer", "cli")


class FormerNames(MetaPathFinder):
    """Finds modules by their former names; it comes before the finders that would import their files once more."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how the module of a former name is had; `None` where the name is none, or somebody else's."""
        room, _, inner = fullname.partition(".")
        if room not in ROOMS or not (_is_ours(room) if not inner else sys.modules.get(room) is _now(room)):
            return None
        if not inner:
            warnings.warn(
                f"{room!r} is 'tertulia.{room}' now; import that (the former name goes with version 0.3)",
                FutureWarning,
                stacklevel=2,
            )
        return ModuleSpec(fullname, _ModuleOfToday())


class _ModuleOfToday(Loader):
    """Gives a module that has another name."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module, whose own specification is kept for `exec_module`."""
        module = _now(spec.name)
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Execute nothing: the module has been imported under its own name."""
        module.__spec__ = self._own


def _now(name: str) -> ModuleType:
    return import_module(f"tertulia.{name}")


def _is_ours(room: str) -> bool:
    """Return whether nobody else has a module of that name: none is found, or the room's own folder in a checkout."""
    found = PathFinder.find_spec(room)
    if found is None:
        return True
    if found.origin is None:  # a folder without an `__init__.py`
        return not any(file for folder in found.submodule_search_locations or () for file in Path(folder).glob("*.py"))
    return Path(found.origin).samefile(str(_now(room).__file__))
