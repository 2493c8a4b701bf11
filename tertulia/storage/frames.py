"""A store as pandas data frames: a row per run, turn, part of one, agent and round, unit of a prompt, call.

1. They are the views of the store file (tertulia/storage/sql_views.py), column by column; docs/data.md explains each.
2. Nothing is written.
3. Rows that were altered behind the store's back are refused: a view knows no checksum, so its source rows are checked.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args

from tertulia.state.errors import NotFoundError
from tertulia.state.optional import PANDAS, importing
from tertulia.state.parameters import Parameters
from tertulia.storage.addresses import StoreAddress, is_missing, store_address
from tertulia.storage.faults import damaged, record_faults
from tertulia.storage.parts.contents import content_hash
from tertulia.storage.parts.lineage import check_lineages
from tertulia.storage.schema import Kind
from tertulia.storage.sql_views import VIEWS, View
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import Table
from tertulia.storage.values import parsed

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: The runs of a frame: the id of a run, a unique beginning of it, `@last`, several of these, or all runs.
Runs = str | Iterable[str] | None


def runs(store: StoreAddress | str, run: Runs = None, *, parameters: bool = False) -> "DataFrame":
    """Return a row per run, oldest first.

    Args:
        parameters: Whether each parameter has a column of its own too: `parameter.NAME`, `parameter.nodes.PLACE`,
            `parameter.node_settings.NODE.NAME`; no value if a run does not set it.

    Returns:
        The columns of `each_run` (docs/data.md).

    Raises:
        NotFoundError: There is no such store, or no such run in it.
        StorageError: The file can't be read, is damaged, not a store, or from a newer version.
        UsageError: Several ids begin like that, or pandas is not installed.
    """
    frame = _frame(store, run, VIEWS["each_run"])
    return frame.join(_spread(frame["parameters"])) if parameters else frame


def turns(store: StoreAddress | str, run: Runs = None) -> "DataFrame":
    """Return a row per turn, silences included; a fork has its parent's turns before its own.

    The columns are those of `each_turn` (docs/data.md); arguments and errors are those of `runs`.
    """
    return _frame(store, run, VIEWS["each_turn"])


def parts(store: StoreAddress | str, run: Runs = None) -> "DataFrame":
    """Return a row per further utterance of a turn: the plan and the answer of each exchange of an album chat.

    The columns are those of `each_part` (docs/data.md); arguments and errors are those of `runs`.
    """
    return _frame(store, run, VIEWS["each_part"])


def agent_rounds(store: StoreAddress | str, run: Runs = None) -> "DataFrame":
    """Return a row per round of a meeting and agent present; dialogues of two have none.

    The columns are those of `each_agent_round` (docs/data.md); arguments and errors are those of `runs`.
    """
    return _frame(store, run, VIEWS["each_agent_round"])


def units(store: StoreAddress | str, run: Runs = None) -> "DataFrame":
    """Return a row per unit of the prompt of each turn, in prompt order; a turn has about a hundred units.

    The columns are those of `each_unit` (docs/data.md); arguments and errors are those of `runs`.
    """
    return _frame(store, run, VIEWS["each_unit"])


def calls(store: StoreAddress | str, run: Runs = None) -> "DataFrame":
    """Return a row per call of a model, in the order in which they were stored.

    The columns are those of `each_call` (docs/data.md); arguments and errors are those of `runs`.
    """
    return _frame(store, run, VIEWS["each_call"])


# --- reading --------------------------------------------------------------------------------------------------------


def _frame(path: StoreAddress | str, run: Runs, view: View) -> "DataFrame":
    with importing(*PANDAS):
        import pandas
    rows, kinds = _read(path, run, view), view.kinds
    with record_faults(path):
        return pandas.DataFrame(
            {name: _series([_value(row[name], kind) for row in rows], kind) for name, kind in kinds.items()}
        )


def _series(values: list[Any], kind: str) -> "Series[Any]":
    import pandas

    types: dict[str, Any] = {
        # Python's own strings, with any other library installed: Arrow's can't hold half a surrogate pair.
        "text": pandas.StringDtype("python", na_value=float("nan")),
        "flag": "boolean",
        "count": "Int64",
        "number": "float64",
        "moment": "datetime64[us, UTC]",
    }
    return pandas.Series(values, dtype=types.get(kind, object))


def _read(path: StoreAddress | str, run: Runs, view: View) -> list[dict[str, Any]]:
    """Return the rows of a view, after checking their source rows."""
    if is_missing(path := store_address(path)):
        raise NotFoundError(f"there is no store {path}; give the file that `tertulia run` wrote")
    with SqlStore.open(path) as store, store.reading():
        if run is None:
            chosen = [row["run"] for row in store.file.rows("SELECT run FROM runs")]
        else:
            chosen = [store.run(name).run for name in ([run] if isinstance(run, str) else run)]
        of_runs = f"SELECT * FROM {view.name} WHERE run IN {store.file.dialect.given_texts}"
        rows = store.file.rows(of_runs, json.dumps(chosen))
        _check(store, view, rows, chosen)
    return rows


def _check(store: SqlStore, view: View, rows: list[dict[str, Any]], chosen: list[str]) -> None:
    given = store.file.dialect.given_texts
    check_lineages(store.file, chosen)
    with_ancestors = f"(SELECT ancestor FROM lineage WHERE run IN {given})"
    for table in view.tables:
        Table(store.file, table).select(f"WHERE run IN {with_ancestors}", json.dumps(chosen))
    texts = {row[view.texts] for row in rows if row[view.texts] is not None} if view.texts else set()
    hashes = [content_hash(text) for text in texts]
    known = store.file.rows(f"SELECT hash FROM contents WHERE hash IN {given}", json.dumps(hashes))
    if len(known) != len(hashes):
        raise damaged(store.path, "a text does not match its hash")
    if view.name == "each_unit":
        prompts = f"SELECT DISTINCT prompt FROM turns WHERE prompt IS NOT NULL AND run IN {with_ancestors}"
        for row in store.file.rows(prompts, json.dumps(chosen)):
            store.prompt(row["prompt"])


def _value(value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    if kind == "json":
        return parsed(value)
    if kind == "flag":
        return bool(value)
    if kind == "integer":
        return int(value)
    return datetime.fromisoformat(value) if kind == "moment" else value


# --- parameters -----------------------------------------------------------------------------------------------------


def _spread(parameters: Iterable[Mapping[str, Any]]) -> "DataFrame":
    import pandas

    rows = [dict(_flattened(values)) for values in parameters]
    names = dict.fromkeys(name for row in rows for name in row)
    return pandas.DataFrame(
        {f"parameter.{name}": _series([row.get(name) for row in rows], _kind_of_parameter(name)) for name in names}
    )


def _flattened(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, setting in value.items():
        if isinstance(setting, Mapping):
            yield from _flattened(setting, f"{before}{name}.")
        else:
            yield f"{before}{name}", setting


def _kind_of_parameter(name: str) -> str:
    if name.startswith("node_settings."):
        return "any"
    if name not in Parameters.model_fields:
        return "text"
    annotation = Parameters.model_fields[name].annotation
    types = get_args(annotation) or (annotation,)
    return "flag" if bool in types else "count" if int in types else "number" if float in types else "text"
