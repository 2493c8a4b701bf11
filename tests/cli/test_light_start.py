"""The first line of a rehearsal loads neither PyTorch nor pandas."""

import pytest
from support.first_line import first_line


@pytest.mark.full
def test_the_first_line_of_a_rehearsal_needs_nothing_that_a_light_installation_lacks() -> None:
    seconds, heavy = first_line()
    assert heavy == []
    assert 0 < seconds < 60, "how many they are is measured by benchmarks/speed/startup.py"
