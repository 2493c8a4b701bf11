"""The checkpoints of a thread that it goes on from, as LangGraph's own retention keeps them."""

import sqlite3
from collections.abc import Iterator

#: A thread of which a value may lie in an earlier checkpoint (LangGraph's `DeltaChannel`): nothing of it is removed.
_IS_DELTA = "CAST(metadata AS TEXT) LIKE '%\"counters_since_delta_snapshot\"%'"

_SIZE = "length(checkpoint) + length(metadata)"


def superseded(connection: sqlite3.Connection, thread: str) -> Iterator[tuple[str, str, int]]:
    """Yield namespace, id and bytes of the checkpoints of a thread that it does not go on from.

    Those that stay are the latest of its own, and of each subgraph: if its state outlives a task, or if the task is not
    over, so that it is newer than the thread's own.
    """
    ((is_delta,),) = connection.execute(
        f"SELECT EXISTS (SELECT 1 FROM checkpoints WHERE thread_id = ? AND {_IS_DELTA})", (thread,)
    ).fetchall()
    if is_delta:
        return
    grouped = "SELECT checkpoint_ns, max(checkpoint_id) FROM checkpoints WHERE thread_id = ? GROUP BY checkpoint_ns"
    latest: dict[str, str] = dict(connection.execute(grouped, (thread,)).fetchall())
    is_over = {place for place, last in latest.items() if ":" in place and last < latest.get("", "")}
    sizes = f"SELECT checkpoint_ns, checkpoint_id, {_SIZE} FROM checkpoints WHERE thread_id = ?"
    for place, checkpoint, size in connection.execute(sizes, (thread,)).fetchall():
        if place in is_over or checkpoint != latest[place]:
            yield place, checkpoint, size


def remove_superseded(connection: sqlite3.Connection, thread: str) -> None:
    """Delete these checkpoints, and tasks' writes beside them; inside a transaction."""
    gone = [(thread, place, checkpoint) for place, checkpoint, _ in superseded(connection, thread)]
    for table in ("writes", "checkpoints"):
        of_checkpoint = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
        connection.executemany(f"DELETE FROM {table} WHERE {of_checkpoint}", gone)
