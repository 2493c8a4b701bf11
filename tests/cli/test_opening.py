"""Models are loaded without looking for garbage, and whoever called the command from Python has a collector again."""

import gc

import pytest
from support.commands import Cli

from tertulia.cli import opening


def test_the_collector_is_as_it_was_after_a_command(cli: Cli) -> None:
    cli("run", "tidewell", "--rehearse", "--rounds", "1")
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_what_was_loaded_is_not_looked_at_again() -> None:
    try:
        with pytest.raises(OSError, match="broken"), opening.loading_for_good():
            raise OSError("broken")
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
