"""Check that the rooms are this installation's: their names are short, and a user's modules may have them too.

Nothing of the project is imported here, as any of its rooms may be the one that is taken.
"""

import os
import sys
from collections.abc import Iterable
from importlib.util import find_spec

#: The rooms that this one imports from.
ROOMS = ("state", "prompts", "models", "storage", "worlds", "nodes", "graphs", "metrics")

_INSTALLATION = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class NameCollisionError(ImportError):
    """A room's name belongs to another module; `name` is that name, `path` is where the other one is."""


def check_rooms(names: Iterable[str] = ROOMS) -> None:
    """Check that Python finds these rooms beside this one; none of them is imported.

    Raises:
        NameCollisionError: It finds, or has imported, another module of that name.
    """
    for name in names:
        found = _location(name)
        expected = os.path.join(_INSTALLATION, name)
        if found not in (None, expected) and os.path.realpath(found) != os.path.realpath(expected):
            raise NameCollisionError(
                f"tertulia has a package {name!r}, but Python finds another one of that name first: {found}; "
                f"rename it, or take {os.path.dirname(found)} off Python's path (sys.path, PYTHONPATH)",
                name=name,
                path=found,
            )


def _location(name: str) -> str | None:
    """Return the folder of a package, or the file of a module, as an import would find it; `None` where it is not."""
    module = sys.modules.get(name)
    spec = find_spec(name) if module is None else module.__spec__
    if spec is None:
        return getattr(module, "__file__", None)
    folders = list(spec.submodule_search_locations or ())
    return folders[0] if folders else spec.origin
