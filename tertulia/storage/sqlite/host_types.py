"""The types of a host's state in checkpoints: records of the program's own, or those that it allows."""

import sys
from collections.abc import Container, Iterable
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, Self

from langchain_core.runnables import Runnable
from langgraph.checkpoint.serde import jsonplus
from langgraph.checkpoint.serde._msgpack import STRICT_MSGPACK_ENABLED
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel
from pydantic.v1 import BaseModel as V1Model

from tertulia.state.errors import StorageError
from tertulia.state.text import first_line
from tertulia.storage.addresses import StoreAddress


def damaged_checkpoint(path: StoreAddress | str, cause: str) -> StorageError:
    """Return the error of a checkpoint that is not as it was written."""
    return StorageError(
        f"a checkpoint in {path} is damaged, or holds what Tertulia never writes ({cause}); nothing in it was "
        "executed, and the run can't go on from it: go back to a backup of the file"
    )


class HostSerializer(JsonPlusSerializer):
    """LangGraph's serializer, without pickle: plain data, messages, types that LangGraph trusts, and the host's.

    LangGraph's own default imports any module, and calls any function in it, that a checkpoint names; it warns. This
    one imports nothing: without a list it makes classes of records that the program has imported, and warns alike.
    """

    def __init__(self, path: StoreAddress | str, allowed: Iterable[tuple[str, ...] | type] | None = None) -> None:
        """Note the file that messages name.

        Args:
            allowed: Classes, or pairs of module and name: no others are made. `None`: those of `_Imported`, or, in
                LangGraph's strict mode, those of the graph's state.
        """
        super().__init__(allowed_msgpack_modules=None if allowed is None else [*allowed])
        self._path = path
        if allowed is None and not STRICT_MSGPACK_ENABLED:
            self._unpack_ext_hook = jsonplus._create_msgpack_ext_hook(_Imported())  # type: ignore[arg-type]

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> Self:
        """Return a serializer that makes these types, too, and none that are only imported."""
        return type(self)(self._path, [*(self._allowed_msgpack_modules or ()), *extra_allowlist])  # type: ignore[misc]

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the object of bytes; `StorageError` if they can't be read."""
        try:
            return super().loads_typed(data)
        except (ValueError, TypeError, KeyError, RecursionError, NotImplementedError) as error:
            raise damaged_checkpoint(self._path, first_line(error)[:200]) from error


class _Imported(Container[object]):
    """Module and name of every enum, dataclass, named tuple and pydantic model that the program has imported."""

    def __init__(self) -> None:
        self._warned: set[object] = set()

    def __contains__(self, named: object) -> bool:
        module, name, *_ = named if isinstance(named, tuple) and len(named) > 1 else ("", "")
        found = getattr(sys.modules.get(module), "__dict__", {}).get(name)
        if not isinstance(found, type) or not _is_record(found):
            return False
        if named not in self._warned:
            self._warned.add(named)
            jsonplus.logger.warning(
                "Deserializing unregistered type %s.%s from checkpoint, which the program has imported. To allow it, "
                "and no type besides: checkpointer(…, allowed_msgpack_modules=[(%r, %r)])",
                *(module, name, module, name),
            )
        return True


def _is_record(kind: type) -> bool:
    """Whether a class holds values, and runs nothing."""
    is_model = issubclass(kind, BaseModel | V1Model) and not issubclass(kind, Runnable)
    is_tuple = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return is_model or is_tuple or issubclass(kind, Enum) or is_dataclass(kind)
