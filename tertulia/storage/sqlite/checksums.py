"""Checksums of LangGraph's checkpoints, kept beside the values, so that plain LangGraph reads these as they are.

The CRC-32 of a checkpoint is a key of its metadata. A task's write has no metadata: its checksum is a further row in
the table of writes, under a task that no graph has, which LangGraph passes over. Values without a checksum were written
by LangGraph itself.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import ormsgpack

#: The key of a checkpoint's metadata, and the channel of the rows that hold the checksum of another row.
IN_METADATA, CHANNEL = "crc32", "__crc32__"

_TASK = "crc32 of {}"


def task_of(task: str) -> str:
    """Return the task under which the checksums of a task's writes are stored."""
    return _TASK.format(task)


def packed_checksum(value: bytes) -> tuple[str, str, bytes]:
    """Return channel, format and value of the row that holds the checksum of a stored value."""
    return CHANNEL, "msgpack", ormsgpack.packb(zlib.crc32(value))


def is_damaged(value: bytes, metadata: Mapping[str, Any]) -> bool:
    """Return whether a stored checkpoint differs from the checksum in its metadata; `False` without a checksum."""
    return IN_METADATA in metadata and metadata[IN_METADATA] != zlib.crc32(value)


def damaged_writes(rows: Iterable[tuple[str, int, str, bytes | None]]) -> Iterator[str]:
    """Yield the channels of the writes of a checkpoint that differ from their checksums.

    Args:
        rows: Task, index, channel and value of all rows of the checkpoint, those of checksums among them.
    """
    rows = list(rows)
    known = {(task, index): value for task, index, channel, value in rows if channel == CHANNEL}
    for task, index, channel, value in rows:
        stored = known.get((task_of(task), index))
        if channel != CHANNEL and stored is not None and packed_checksum(value or b"")[2] != stored:
            yield channel
