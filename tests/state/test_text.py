"""Text on one line."""

from tertulia.state.text import first_line, one_line


def test_one_line() -> None:
    assert one_line(ValueError(" a\n  b\tc ")) == "a b c"
    assert one_line("") == ""


def test_first_line() -> None:
    assert first_line(ValueError("\n \n a b \nc")) == "a b"
    assert first_line(ValueError()) == ""
