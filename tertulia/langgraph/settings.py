"""The arguments that all hosted graphs share, checked and made into a host."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tertulia.langgraph.host import Host
from tertulia.runs.planning.additions import Additions, additions_of
from tertulia.runs.planning.request import DEFAULT_MODEL as DEFAULT_MODEL
from tertulia.runs.planning.request import DEFAULT_SEED as DEFAULT_SEED
from tertulia.state.errors import SettingError
from tertulia.state.parameters import Parameters
from tertulia.state.wrong_arguments import BY_NAME, check_texts, path_of
from tertulia.storage.addresses import store_address
from tertulia.storage.sqlite.opening import MEMORY


def host_of(
    model: str,
    removal_factor: float | None,
    seed: int,
    settings: Mapping[str, Any] | None,
    additions: Additions | None,
    store: str,
    api_keys: Mapping[str, str] | None,
    cache: str | None,
) -> Host:
    """Return the host of a graph's steps; the arguments are those of `utterance`.

    Raises:
        SettingError: A parameter is unknown, or has a value that it can't have.
    """
    check_texts("settings", settings, BY_NAME)
    store = path_of("store", store)
    added = additions_of(additions)
    given = {**(settings or {}), **added.settings}
    Parameters().with_settings(given, removal_factor=removal_factor)
    address = store if store == MEMORY else store_address(store)
    where = os.path.abspath(address) if isinstance(address, Path) else store  # the current folder may change
    return Host(model, given, removal_factor, seed, where, added, dict(api_keys or {}), cache)


def rounds_of(rounds: Any) -> int:
    """Return a number of rounds; `SettingError` for anything but a whole number from 1."""
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
        raise SettingError("rounds", rounds, ": a whole number from 1 is expected")
    return rounds
