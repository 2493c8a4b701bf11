"""What a shell completes: runs, scenarios and settings. The store is read by plain SQL, and no engine is loaded."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import typer

from cli.environment import store_path
from state.errors import TertuliaError
from storage.database import open_to_look
from tertulia.phrases import clean

#: Runs that are offered, the newest ones.
_MOST = 200

Completions = list[tuple[str, str]]


def command_to_complete() -> str | None:
    """Return the command whose arguments a shell completes, so that no other has to be imported; `None` for none."""
    typed = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS") or ""
    words = typed.split()
    return words[1] if len(words) > 2 or (len(words) == 2 and typed[-1].isspace()) else None


def complete_run(context: typer.Context, incomplete: str) -> Completions:
    """Return ids of runs, the newest first, each with its scenario and status."""
    return _of_store(context, "SELECT run, scenario, status FROM runs", incomplete, "the newest run")


def complete_run_scenario(context: typer.Context, incomplete: str) -> Completions:
    """Return scenarios of stored runs."""
    return _of_store(context, "SELECT DISTINCT scenario FROM runs", incomplete)


def complete_scenario(incomplete: str) -> Completions:
    """Return shipped scenarios, and scenario files in the folder that is being typed."""
    from worlds.catalog import FILE_ENDINGS, MEETINGS, POPULATIONS, TOWNS

    shipped = (("a town", TOWNS), ("a meeting", MEETINGS), ("a population", POPULATIONS))
    names = [(name, what) for what, listed in shipped for name in listed]
    folder = Path(incomplete).parent
    with suppress(OSError):
        names += [(str(file), "a file") for file in sorted(folder.iterdir()) if file.suffix in FILE_ENDINGS]
    return [(name, what) for name, what in names if name.startswith(incomplete)]


def complete_town(incomplete: str) -> Completions:
    """Return shipped towns."""
    from worlds.catalog import TOWNS

    return [(name, "a town") for name in TOWNS if name.startswith(incomplete)]


def complete_simulation(context: typer.Context, incomplete: str) -> Completions:
    """Return ids of simulations, the newest first, each with its town and status."""
    return _of_store(context, "SELECT simulation, town, status FROM simulations", incomplete, "the newest one")


def complete_setting(incomplete: str) -> Completions:
    """Return what `--set` takes, up to the `=`."""
    return [(f"{name}=", about) for name, about in _settings() if name.startswith(incomplete)]


def complete_setting_name(incomplete: str) -> Completions:
    """Return names of parameters."""
    return [(name, about) for name, about in _settings() if name.startswith(incomplete)]


def complete_listed_setting(incomplete: str) -> Completions:
    """Return names of groups of parameters, and of parameters."""
    from tertulia.settings import settings_names

    return [(name, "") for name in settings_names() if name.startswith(incomplete)]


def _settings() -> Iterator[tuple[str, str]]:
    from nodes.machinery.places import PLACES
    from state.parameters import ALIASES, SETTABLE, Parameters

    yield "seed", "seed of all draws"
    for place in PLACES:
        yield f"nodes.{place}", "the node that stands in this place"
    for name in SETTABLE:
        yield name, Parameters.model_fields[ALIASES.get(name, name)].description or ""


def _of_store(context: typer.Context, query: str, incomplete: str, last: str | None = None) -> Completions:
    """Return what a query finds in the store, the newest first, none where it can't be read; and `@last`.

    Args:
        context: What was typed before: perhaps a store.
        query: Of a value, and of what is printed beside it.
        incomplete: How the value begins.
        last: What `@last` means, if it may be given.
    """
    path = store_path(context.params.get("store"))
    rows: list[tuple[str, ...]] = [] if last is None else [("@last", last)]
    with suppress(sqlite3.Error, TertuliaError), closing(open_to_look(path)) as store:
        found = store.execute(f"{query} ORDER BY id DESC LIMIT {_MOST}").fetchall()
        rows += [tuple(clean(str(value)) for value in row) for row in found]
    return [(value, ", ".join(about)) for value, *about in rows if value.startswith(incomplete)]
