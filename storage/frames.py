"""A store as pandas data frames: a row per run, turn, agent and round, unit of a prompt, call of a model.

1. They are the views of the store file (storage/views.py), column by column; docs/data.md explains each.
2. Nothing is written, except that a store of an older version is brought to this one first, as by every command.
3. Rows that were altered behind the store's back are refused: a view knows no checksum, so what it reads is checked.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from state.errors import NotFoundError, StorageError, UsageError, extra_hint
from state.parameters import Parameters
from storage.contents import content_hash
from storage.faults import DAMAGED, storage_faults
from storage.store import SqliteStore
from storage.tables import Table

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: What a frame is of: the id of a run, a unique beginning of it, `@last`, several of these, or all runs.
Runs = str | Iterable[str] | None

#: What the columns of the views are, by name; the others are text.
KINDS: Mapping[str, str] = {
    **dict.fromkeys(("rehearsed", "rewritten", "ended", "noticed", "willing", "won", "removable", "inherited"), "flag"),
    **dict.fromkeys(("turns", "turn", "round", "parent_turn", "removed_units", "rollbacks"), "count"),
    **dict.fromkeys(("position", "removed", "attempt", "replies", "prompt_tokens", "reply_tokens"), "count"),
    **dict.fromkeys(("removal_factor", "sim_time_s", "inconsistency", "score", "seconds"), "number"),
    **dict.fromkeys(("relevance", "importance", "emotion_strength", "willingness", "similarity"), "number"),
    **dict.fromkeys(("topic_part", "goal_part", "emotion_part", "personality_part"), "number"),
    **dict.fromkeys(("latency_scale_s", "latency_spread_s", "persistence", "latency_s"), "number"),
    **dict.fromkeys(("parameters", "mechanisms", "results"), "json"),
    "seed": "integer",
    "created": "moment",
}

#: What a view is made of: tables whose rows have checksums, and the column whose texts have hashes.
_MADE_OF: Mapping[str, tuple[tuple[str, ...], str | None]] = {
    "each_run": (("runs", "turns"), None),
    "each_turn": (("lineage", "turns", "unit_scores", "candidates"), "text"),
    "each_agent_round": (("lineage", "steps"), None),
    "each_unit": (("lineage", "turns", "unit_scores"), "text"),
    "each_call": (("lineage", "calls"), "parameters"),
}

_CHOSEN = "(SELECT value FROM json_each(?))"
_WITH_ANCESTORS = f"(SELECT ancestor FROM lineage WHERE run IN {_CHOSEN})"
_PROMPTS = f"SELECT DISTINCT prompt FROM turns WHERE prompt IS NOT NULL AND run IN {_WITH_ANCESTORS}"


def runs(store: Path | str, run: Runs = None, *, parameters: bool = False) -> "DataFrame":
    """Return a row per run, oldest first.

    Args:
        store: The store file.
        run: Which runs; see `Runs`.
        parameters: Whether each parameter has a column of its own too: `parameter.NAME`, `parameter.nodes.PLACE`,
            `parameter.node_settings.NODE.NAME`; no value where a run does not set it.

    Returns:
        The columns of `each_run` (docs/data.md).

    Raises:
        NotFoundError: There is no such store, or no such run in it.
        StorageError: The file can't be read, is damaged, not a store, or from a newer version.
        UsageError: Several ids begin like that, or pandas is not installed.
    """
    frame = _frame(store, run, "each_run")
    return frame.join(_spread(frame["parameters"])) if parameters else frame


def turns(store: Path | str, run: Runs = None) -> "DataFrame":
    """Return a row per turn, silences among them; a fork has its parent's turns before its own.

    Args:
        store: The store file.
        run: Which runs; see `Runs`.

    Returns:
        The columns of `each_turn` (docs/data.md).

    Raises:
        TertuliaError: As `runs`.
    """
    return _frame(store, run, "each_turn")


def agent_rounds(store: Path | str, run: Runs = None) -> "DataFrame":
    """Return a row per round of a meeting and agent who was there; dialogues of two have none.

    Args:
        store: The store file.
        run: Which runs; see `Runs`.

    Returns:
        The columns of `each_agent_round` (docs/data.md).

    Raises:
        TertuliaError: As `runs`.
    """
    return _frame(store, run, "each_agent_round")


def units(store: Path | str, run: Runs = None) -> "DataFrame":
    """Return a row per unit of the prompt of each turn, in prompt order.

    Args:
        store: The store file.
        run: Which runs; see `Runs`. A turn has some hundred units: better not all runs of a big store at once.

    Returns:
        The columns of `each_unit` (docs/data.md).

    Raises:
        TertuliaError: As `runs`.
    """
    return _frame(store, run, "each_unit")


def calls(store: Path | str, run: Runs = None) -> "DataFrame":
    """Return a row per call of a model, in the order in which they were stored.

    Args:
        store: The store file.
        run: Which runs; see `Runs`.

    Returns:
        The columns of `each_call` (docs/data.md).

    Raises:
        TertuliaError: As `runs`.
    """
    return _frame(store, run, "each_call")


# --- reading --------------------------------------------------------------------------------------------------------


def _frame(path: Path | str, run: Runs, view: str) -> "DataFrame":
    try:
        import pandas
    except ImportError as error:
        raise UsageError(f"data frames need pandas, which is not installed; run: {extra_hint('frames')}") from error
    names, rows = _read(path, run, view)
    kinds = {name: KINDS.get(name, "text") for name in names}
    with storage_faults(path):
        return pandas.DataFrame(
            {name: _series([_value(row[name], kind) for row in rows], kind) for name, kind in kinds.items()}
        )


def _series(values: list[Any], kind: str) -> "Series[Any]":
    import pandas

    types: dict[str, Any] = {
        # Python's own strings whatever else is installed: Arrow's can't hold half a surrogate pair.
        "text": pandas.StringDtype("python", na_value=float("nan")),
        "flag": "boolean",
        "count": "Int64",
        "number": "float64",
        "moment": "datetime64[us, UTC]",
    }
    return pandas.Series(values, dtype=types.get(kind, object))


def _read(path: Path | str, run: Runs, view: str) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the names of a view's columns, and its rows."""
    if not Path(path).exists():
        raise NotFoundError(f"there is no store {path}; give the file that `tertulia run` wrote")
    with SqliteStore.open(path) as store:
        names = [row["name"] for row in store.file.rows("SELECT name FROM pragma_table_info(?)", view)]
        if run is None:
            chosen = [row["run"] for row in store.file.rows("SELECT run FROM runs")]
        else:
            chosen = [store.run(one).run for one in ([run] if isinstance(run, str) else run)]
        rows = store.file.rows(f"SELECT * FROM {view} WHERE run IN {_CHOSEN}", json.dumps(chosen))
        _check(store, view, rows, chosen)
    return names, rows


def _check(store: SqliteStore, view: str, rows: list[dict[str, Any]], chosen: list[str]) -> None:
    """Check what the rows of a view were made of."""
    tables, column = _MADE_OF[view]
    for table in tables:
        Table(store.file, table).select(f"WHERE run IN {_WITH_ANCESTORS}", json.dumps(chosen))
    texts = {row[column] for row in rows if row[column] is not None} if column else set()
    unknown = "SELECT value FROM json_each(?) WHERE value NOT IN (SELECT hash FROM contents)"
    if store.file.rows(unknown, json.dumps([content_hash(text) for text in texts])):
        raise StorageError(DAMAGED.format(path=store.path, cause="a text does not match its hash"))
    if view == "each_unit":
        for prompt in {row["prompt"] for row in store.file.rows(_PROMPTS, json.dumps(chosen))}:
            store.prompt(prompt)


def _value(value: Any, kind: str) -> Any:
    """Return a value of a view as it is in a frame."""
    if value is None:
        return None
    if kind == "json":
        return json.loads(value)
    if kind == "flag":
        return bool(value)
    if kind == "integer":
        return int(value)
    return datetime.fromisoformat(value) if kind == "moment" else value


# --- parameters -----------------------------------------------------------------------------------------------------


def _spread(parameters: Iterable[Mapping[str, Any]]) -> "DataFrame":
    """Return a column for each parameter that a run has."""
    import pandas

    rows = [dict(_flattened(one)) for one in parameters]
    names = dict.fromkeys(name for row in rows for name in row)
    return pandas.DataFrame(
        {f"parameter.{name}": _series([row.get(name) for row in rows], _kind_of_parameter(name)) for name in names}
    )


def _flattened(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, one in value.items():
        if isinstance(one, Mapping):
            yield from _flattened(one, f"{before}{name}.")
        else:
            yield f"{before}{name}", one


def _kind_of_parameter(name: str) -> str:
    if name.startswith("node_settings."):
        return "any"
    if name not in Parameters.model_fields:
        return "text"
    annotation = Parameters.model_fields[name].annotation
    types = get_args(annotation) or (annotation,)
    return "flag" if bool in types else "count" if int in types else "number" if float in types else "text"
