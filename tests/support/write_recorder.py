"""Record what SQLite writes, in which order, and when it asks the disk to keep it.

The system's SQLite reaches files through a table of functions (a VFS). Here its entry `xOpen` is replaced, and in each
file that is opened, those that write, truncate and sync; each notes what it does and calls the one before. This records
exactly the connections of Python's `sqlite3`, needs no privilege and no other package. (A file system in user space
needs a kernel module, `apsw` brings an SQLite of its own, and a traced process is slow.)
"""

import _sqlite3
import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True)
class Event:
    """What was done to a file.

    Attributes:
        kind: What.
        file: The name of the file.
        offset: Where a write begins, or the length after a truncation.
        data: What was written.
    """

    kind: Literal["create", "write", "truncate", "sync", "delete"]
    file: str
    offset: int = 0
    data: bytes = b""


_Pointer, _Integer, _Long = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
# Names are pointers: SQLite keeps them, and reads what stands behind them.
_Open = ctypes.CFUNCTYPE(_Integer, _Pointer, _Pointer, _Pointer, _Integer, _Pointer)
_Delete = ctypes.CFUNCTYPE(_Integer, _Pointer, _Pointer, _Integer)
_Write = ctypes.CFUNCTYPE(_Integer, _Pointer, _Pointer, _Integer, _Long)
_Truncate = ctypes.CFUNCTYPE(_Integer, _Pointer, _Long)
_Sync = ctypes.CFUNCTYPE(_Integer, _Pointer, _Integer)


class _Vfs(ctypes.Structure):
    _fields_ = (
        ("version", _Integer), ("file_size", _Integer), ("longest_path", _Integer), ("next", _Pointer),
        ("name", ctypes.c_char_p), ("data", _Pointer), ("open", _Pointer), ("delete", _Pointer),
    )  # fmt: skip


class _Methods(ctypes.Structure):
    _fields_ = (
        ("version", _Integer), ("close", _Pointer), ("read", _Pointer), ("write", _Pointer), ("truncate", _Pointer),
        ("sync", _Pointer), ("others", _Pointer * 14),
    )  # fmt: skip


class WriteRecorder:
    """Records from its creation on; as long as the process lives."""

    def __init__(self) -> None:
        """Replace the functions.

        Raises:
            OSError: Python's `sqlite3` was built so that its SQLite can't be reached.
        """
        self.events: list[Event] = []
        self._kept: list[Any] = []  # what C points to
        self._files: dict[int, str] = {}
        self._methods: dict[int, _Methods] = {}
        library = ctypes.CDLL(_sqlite3.__file__)
        if not hasattr(library, "sqlite3_vfs_find"):
            raise OSError("the SQLite of this Python is not a shared library; its writes can't be recorded")
        library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
        vfs = library.sqlite3_vfs_find(None).contents
        opened, deleted = _Open(vfs.open), _Delete(vfs.delete)

        def open_file(this: int, name: int | None, file: int, flags: int, flags_out: int) -> int:
            path = _path(name)
            is_new = not path.exists()
            code = int(opened(this, name, file, flags, flags_out))
            if code == 0:
                self._files[file] = path.name
                if is_new:
                    self.events.append(Event("create", self._files[file]))
                self._record(file)
            return code

        def delete_file(this: int, name: int, sync_folder: int) -> int:
            self.events.append(Event("delete", _path(name).name))
            return int(deleted(this, name, sync_folder))

        vfs.open, vfs.delete = self._pointer(_Open(open_file)), self._pointer(_Delete(delete_file))
        self._kept += [opened, deleted]

    def _pointer(self, function: Any) -> int | None:
        self._kept.append(function)
        return ctypes.cast(function, _Pointer).value

    def _record(self, file: int) -> None:
        """Give an open file functions that record."""
        place = ctypes.cast(file, ctypes.POINTER(_Pointer))
        original = place.contents.value
        if original is None:
            return
        if original not in self._methods:
            methods = _Methods.from_buffer_copy(ctypes.cast(original, ctypes.POINTER(_Methods)).contents)
            methods.write = self._noting(_Write, methods.write, self._write)
            methods.truncate = self._noting(_Truncate, methods.truncate, self._truncate)
            methods.sync = self._noting(_Sync, methods.sync, self._sync)
            self._methods[original] = methods
        place.contents.value = ctypes.addressof(self._methods[original])

    def _noting(self, kind: Any, pointer: int, note: Callable[..., None]) -> int | None:
        """Return a function that notes what is done once the one before has done it."""
        before = kind(pointer)

        def call(*arguments: int) -> int:
            code = int(before(*arguments))
            if code == 0:
                note(*arguments)
            return code

        self._kept.append(before)
        return self._pointer(kind(call))

    def _write(self, file: int, data: int, size: int, offset: int) -> None:
        self.events.append(Event("write", self._files[file], offset, ctypes.string_at(data, size)))

    def _truncate(self, file: int, size: int) -> None:
        self.events.append(Event("truncate", self._files[file], size))

    def _sync(self, file: int, flags: int) -> None:
        self.events.append(Event("sync", self._files[file]))


def _path(name: int | None) -> Path:
    """Return the path at which C points; a file that SQLite gives no name is its own, for a while."""
    return Path(os.fsdecode(ctypes.string_at(name))) if name else Path("unnamed")
