"""What a shell completes: runs, scenarios and settings. The store is read by plain SQL, and no engine is loaded."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import typer

from cli.environment import store_path

#: Runs that are offered, the newest ones.
_MOST = 200

Completions = list[tuple[str, str]]


def command_to_complete() -> str | None:
    """Return the command whose arguments a shell completes, so that no other has to be imported; `None` for none."""
    typed = os.environ.get("_TERTULIA_COMPLETE_ARGS") or os.environ.get("COMP_WORDS") or ""
    words = typed.split()
    return words[1] if len(words) > 2 or (len(words) == 2 and typed[-1].isspace()) else None


def complete_run(context: typer.Context, incomplete: str) -> Completions:
    """Return ids of runs, the newest first, each with its scenario and status."""
    runs = _of_store(context, "run", "scenario, status", incomplete)
    return [("@last", "the newest run"), *runs] if "@last".startswith(incomplete) else runs


def complete_run_scenario(context: typer.Context, incomplete: str) -> Completions:
    """Return scenarios of stored runs."""
    return _of_store(context, "DISTINCT scenario", "''", incomplete)


def complete_scenario(incomplete: str) -> Completions:
    """Return shipped scenarios, and scenario files in the folder that is being typed."""
    from worlds.catalog import FILE_ENDINGS, MEETINGS, TOWNS

    names = [*((name, "a town") for name in TOWNS), *((name, "a meeting") for name in MEETINGS)]
    folder = Path(incomplete).parent
    with suppress(OSError):
        names += [(str(file), "a file") for file in sorted(folder.iterdir()) if file.suffix in FILE_ENDINGS]
    return [(name, what) for name, what in names if name.startswith(incomplete)]


def complete_setting(incomplete: str) -> Completions:
    """Return what `--set` takes, up to the `=`."""
    return [(f"{name}=", about) for name, about in _settings() if name.startswith(incomplete)]


def complete_setting_name(incomplete: str) -> Completions:
    """Return names of parameters."""
    return [(name, about) for name, about in _settings() if name.startswith(incomplete)]


def _settings() -> Iterator[tuple[str, str]]:
    from state.parameters import ALIASES, SETTABLE, Parameters

    yield "seed", "seed of all draws"
    for name in SETTABLE:
        yield name, Parameters.model_fields[ALIASES.get(name, name)].description or ""


def _of_store(context: typer.Context, column: str, about: str, incomplete: str) -> Completions:
    """Return values of the runs in a store, the newest first; none where it can't be read."""
    path = store_path(context.params.get("store"))
    rows: list[tuple[str, ...]] = []
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as store:
        rows = store.execute(f"SELECT {column}, {about} FROM runs ORDER BY id DESC LIMIT {_MOST}").fetchall()
    return [(value, ", ".join(filter(None, more))) for value, *more in rows if value.startswith(incomplete)]
