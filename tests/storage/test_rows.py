"""Rows that are read, checked and changed by thousands are those that would be, one by one."""

import json

import pytest

from tertulia.storage.values import (
    DamagedValueError,
    figures_unlike_their_sums,
    parsed,
    plain_checksum,
    unlike_their_sums,
)

_KINDS = (str, int, str, int, str, float, int, int)
_NAMES = ("memory.1", "Zoë.2", "a, b", "it's", 'a "b"', "back\\slash", "null", "],[", "\u00a0", "\ud800", "line\nbreak")
_FIGURES = (0.25, 1e-05, 1.5e300, -0.0, 123456789.125, 0.1 + 0.2, 5e-324, 1e16, float("inf"))


def rows(names: tuple[str, ...]) -> list[tuple[object, ...]]:
    bare = [("run", 3, "", at, name, figure, 0) for name in names for at, figure in enumerate(_FIGURES)]
    written = [row for row in bare if row[4] != "\ud800"]
    return [(*row, plain_checksum(row)) for row in written]  # type: ignore[arg-type]


@pytest.mark.parametrize("names", [_NAMES, *((name,) for name in _NAMES if name != "\ud800")])
def test_rows_of_figures_are_checked_as_all_others_are(names: tuple[str, ...]) -> None:
    whole = rows(names)
    assert figures_unlike_their_sums(whole, _KINDS) == []
    for at, row in enumerate(whole):
        for place, other in ((0, "ruin"), (1, 4), (4, f"{row[4]} "), (4, "other"), (5, 0.5), (6, 1), (7, 7)):
            altered = [*whole[:at], (*row[:place], other, *row[place + 1 :]), *whole[at + 1 :]]
            assert figures_unlike_their_sums(altered, _KINDS) == unlike_their_sums(altered) == [altered[at]]


def test_a_space_that_was_lost_behind_a_comma_is_noticed() -> None:
    ((*row, checksum),) = [row for row in rows(("a, b",)) if row[3] == 0]
    altered = [(*row[:4], "a,b", *row[5:], checksum)]
    assert figures_unlike_their_sums(altered, _KINDS) == altered


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
