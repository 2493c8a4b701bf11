"""Completions for the name of a scenario, a setting or a run, each with a few words about it.

The store is read by plain SQL, and no engine is loaded: a shell asks at every key.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from tertulia.state.errors import TertuliaError
from tertulia.state.text import clean
from tertulia.storage.addresses import StoreAddress
from tertulia.storage.sqlite.opening import open_to_look

#: Runs that are offered, the newest ones.
_MOST = 200


def scenarios(typed: str) -> Iterator[tuple[str, str]]:
    """Yield shipped scenarios, and scenario files in the folder that is being typed."""
    from tertulia.worlds.catalog import FILE_ENDINGS, MEETINGS, POPULATIONS

    yield from towns()
    for what, names in (("a meeting", MEETINGS), ("a population", POPULATIONS)):
        yield from ((name, what) for name in names)
    with suppress(OSError):
        yield from (
            (str(file), "a file") for file in sorted(Path(typed).parent.iterdir()) if file.suffix in FILE_ENDINGS
        )


def towns() -> Iterator[tuple[str, str]]:
    """Yield shipped towns."""
    from tertulia.worlds.catalog import TOWNS

    yield from ((name, "a town") for name in TOWNS)


def settings() -> Iterator[tuple[str, str]]:
    """Yield the parameters that can be set."""
    from tertulia.nodes.machinery.places import PLACES
    from tertulia.state.parameters import ALIASES, SETTABLE, Parameters

    yield "seed", "seed of all draws"
    for place in PLACES:
        yield f"nodes.{place}", "the node that stands in this place"
    for name in SETTABLE:
        yield name, Parameters.model_fields[ALIASES.get(name, name)].description or ""


def listed_settings() -> Iterator[tuple[str, str]]:
    """Yield groups of parameters, and parameters."""
    from tertulia.runs.catalog.settings import settings_names

    yield from ((name, "") for name in settings_names())


def stored(path: StoreAddress, query: str, last: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield the rows of a query as value and description, newest first; none if the store can't be read.

    Args:
        query: Selects the value and its printed description.
        last: The description of `@last`; `None`: it is not offered.
    """
    if last is not None:
        yield "@last", last
    if not isinstance(path, Path):  # a server is not asked during typing
        return
    with suppress(sqlite3.Error, TertuliaError), closing(open_to_look(path)) as store:
        for row in store.execute(f"{query} ORDER BY id DESC LIMIT {_MOST}").fetchall():
            value, *about = (clean(str(cell)) for cell in row)
            yield value, ", ".join(about)
