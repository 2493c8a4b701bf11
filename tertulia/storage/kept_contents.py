"""The rows of texts and units that runs of a store have just written or read, by their contents."""

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar
from weakref import WeakKeyDictionary

from tertulia.state.records import Prompt
from tertulia.storage.contract import Database
from tertulia.storage.parts.contents import UnitKey, content_hash, hashed_text, unit_key, unit_text

#: Texts and units that are kept; all are forgotten when there are more.
_MOST = 4_096

_Key = TypeVar("_Key", str, UnitKey)

_KEPT: WeakKeyDictionary[Database, "KeptContents"] = WeakKeyDictionary()


def kept_contents(file: Database) -> "KeptContents":
    """Return the kept contents of a database: the same for all runs that are driven over it."""
    return _KEPT.setdefault(file, KeptContents())


class KeptContents:
    """Rows of texts and of units, until a transaction is undone; no process deletes them while a run is driven."""

    def __init__(self) -> None:
        self._undone = 0
        self._texts: dict[str, int] = {}
        self._units: dict[UnitKey, int] = {}
        self._hashed: dict[UnitKey, str] = {}

    def text_ids(
        self, texts: Iterable[str], find: Callable[[list[str]], dict[str, int]], undone: int
    ) -> dict[str, int]:
        """Return the rows of texts; those that are not known are found, and inserted, by `find`.

        Args:
            undone: How many transactions were undone (`Database.undone`).
        """
        return self._rows(self._texts, list(texts), find, undone)

    def unit_ids(
        self, keys: Collection[UnitKey], find: Callable[[list[UnitKey]], dict[UnitKey, int]], undone: int
    ) -> dict[UnitKey, int]:
        """Return the rows of units, as `text_ids` those of texts."""
        return self._rows(self._units, list(keys), find, undone)

    def _rows(
        self, known: dict[_Key, int], wanted: list[_Key], find: Callable[[list[_Key]], dict[_Key, int]], undone: int
    ) -> dict[_Key, int]:
        if self._undone != undone or len(known) > _MOST:
            self._undone = undone
            self.forget_rows()
        if unknown := [key for key in wanted if key not in known]:
            known.update(find(unknown))
        return {key: known[key] for key in wanted}

    def forget_rows(self) -> None:
        """Forget rows: while nothing was driven, others may have deleted them with the runs that pointed to them."""
        self._texts.clear()
        self._units.clear()

    def prompt_hash(self, prompt: Prompt) -> str:
        """Return the content hash of a prompt."""
        if len(self._hashed) > _MOST:
            self._hashed.clear()
        hashed, units = self._hashed, []
        for unit in prompt.units:
            key = unit_key(unit)
            text = hashed.get(key)
            if text is None:
                text = hashed[key] = unit_text(unit)
            units.append(text)
        return content_hash(hashed_text(prompt.layout, prompt.speaker, units))
