"""Text on one line."""

import pytest

from tertulia.state.text import beside, first_line, one_line


def test_one_line() -> None:
    assert one_line(ValueError(" a\n  b\tc ")) == "a b c"
    assert one_line("") == ""


def test_first_line() -> None:
    assert first_line(ValueError("\n \n a b \nc")) == "a b"
    assert first_line(ValueError()) == ""


@pytest.mark.parametrize(
    ("value", "other", "shown"),
    [
        (0.25, 0.5, "0.25"),
        (0.4992, 0.5, "0.499"),
        (0.5003, 0.5, "0.5003"),
        (0.5, 0.5, "0.50"),
        (10.0004, 10.0, "10.0004"),
        (None, 0.5, "–"),
        (0.5, None, "0.50"),
    ],
)
def test_a_number_is_not_read_as_the_one_beside_it(value: float | None, other: float | None, shown: str) -> None:
    assert beside(value, other) == shown
