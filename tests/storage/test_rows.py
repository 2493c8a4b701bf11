"""Rows that are read, checked and changed by thousands are those that would be, one by one."""

import json

import pytest

from tertulia.storage.values import DamagedValueError, parsed

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
