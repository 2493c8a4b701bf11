"""A pattern is compiled when it is used, and works as one that was compiled at once."""

import re

from tertulia.state.patterns import lazy_pattern


def test_a_pattern_does_what_a_compiled_one_does() -> None:
    lazy, compiled = lazy_pattern(r"(?P<day>mon|tues)day", re.IGNORECASE), re.compile("(?P<day>mon|tues)day", re.I)
    text = "On Monday, or on TUESDAY."
    assert lazy.findall(text) == compiled.findall(text)
    assert lazy.sub(r"<\g<day>>", text) == compiled.sub(r"<\g<day>>", text)
    assert [match.span() for match in lazy.finditer(text)] == [match.span() for match in compiled.finditer(text)]
    assert (lazy.pattern, lazy.flags, lazy.match(text)) == (compiled.pattern, compiled.flags, None)
