"""How often the interpreter looks for garbage while conversations are driven."""

import gc
from collections.abc import Iterator

import pytest

from tertulia.runs.driving.collecting import NEW_OBJECTS, seldom_collecting


@pytest.fixture(autouse=True)
def as_by_default() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_garbage_is_looked_for_seldom_until_the_last_has_left() -> None:
    first, second = seldom_collecting(), seldom_collecting()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() == (NEW_OBJECTS, 10, 10)
    second.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 10, 10)


def test_who_looks_more_seldom_or_never_is_left_alone() -> None:
    for chosen in ((0, 10, 10), (NEW_OBJECTS + 1, 10, 10)):
        gc.set_threshold(*chosen)
        with seldom_collecting():
            assert gc.get_threshold() == chosen
        assert gc.get_threshold() == chosen
