"""Rows that are read, checked and changed by thousands are those that would be, one by one."""

import json
from pathlib import Path

import pytest
from support.in_process import command

from tertulia.storage.merging.run_rows import rows_of
from tertulia.storage.store import SqlStore
from tertulia.storage.tables import Table
from tertulia.storage.values import DamagedValueError, parsed, unlike_their_sums

_FIGURES = (0.25, 1e-05, 1.5e300, -0.0, 123456789.125, 0.1 + 0.2, 5e-324, 1e16, float("inf"))


def test_json_is_read_as_the_standard_library_reads_it() -> None:
    texts = [
        *(
            '{"a": [1, 2.5e-7, null, true, "\\ud83d\\ude00"], "a": -0}',
            '"\\ud800"',
            " [] ",
            "NaN",
            "-Infinity",
            "1E400",
        ),
        *("12345678901234567890123", json.dumps(list(_FIGURES)), "[" * 300 + "]" * 300, b'{"b": "\xc3\xab"}'),
    ]
    for text in texts:
        assert repr(parsed(text)) == repr(json.loads(text))
    for text in ("", "nul", "[1,]", "-NaN", "01", '"a\nb"', "1 2", "9" * 5000, "[" * 100_000):
        with pytest.raises(DamagedValueError):
            parsed(text)


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a dialogue of two turns."""
    path = tmp_path_factory.mktemp("rows") / "tertulia.db"
    assert command("run", "tidewell", "--rounds", "2", "--model", "rehearsal", "--store", path).code == 0
    return path


@pytest.mark.parametrize("table", ["turns", "candidates", "calls"])
def test_rows_that_point_to_other_texts_have_the_checksum_of_what_they_hold(rehearsed: Path, table: str) -> None:
    with SqlStore.open(rehearsed) as store:
        (run,) = [record.run for record in store.runs()]
        column = "parameters_id" if table == "calls" else "content_id"
        found = rows_of(store.file, table, [run], 0, 99)
        changes = {number: number * 1000 + 7 for number in found.column(column)}
        changed = found.with_changes(column, changes)
        assert unlike_their_sums(changed.values) == []
        assert changed.with_changes(column, {new: old for old, new in changes.items()}).values == found.values
        assert changed.values != found.values
        assert len(Table(store.file, table).select("")) == len(found.values)
