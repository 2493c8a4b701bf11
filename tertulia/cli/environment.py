"""Settings from the environment: the store, the folders of converted models and configuration, and keys."""

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tertulia.cli.terminal.output import plain, progress
from tertulia.cli.terminal.status_line import StatusLine
from tertulia.storage.addresses import DEFAULT_STORE, StoreAddress, store_address

if TYPE_CHECKING:
    from tertulia.runs.access.engines import ModelAccess
    from tertulia.runs.access.trust import Trust
    from tertulia.runs.planning.additions import Additions


def store_path(option: str | None) -> StoreAddress:
    """Return the store: `--store`, else TERTULIA_STORE, else `DEFAULT_STORE` in the current folder."""
    return store_address(option or os.environ.get("TERTULIA_STORE") or DEFAULT_STORE)


def cache_folder() -> Path:
    """Return the folder of converted models: TERTULIA_CACHE, else `tertulia` in the user's cache folder."""
    if override := os.environ.get("TERTULIA_CACHE"):
        return Path(override)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tertulia"


def configuration_folder() -> Path:
    """Return the folder of TERTULIA_CONFIG or the user's configuration."""
    from tertulia.runs.access.trust import user_configuration

    home = os.environ.get("XDG_CONFIG_HOME")
    return Path(os.environ.get("TERTULIA_CONFIG") or (Path(home) / "tertulia" if home else user_configuration()))


def user_trust(line: StatusLine | None = None) -> "Trust":
    """Return the sources that the user trusts; `line` asks the user."""
    from tertulia.runs.access.trust import Trust

    return Trust(configuration_folder(), (line or StatusLine(None)).confirm)


def additions(extensions: Iterable[str] | None, scenarios: Iterable[str] = ()) -> "Additions":
    """Return the extensions that the command names and the user's trust; remember the files of scenarios."""
    from tertulia.runs.access.named_files import files_named, remember_files
    from tertulia.runs.planning.additions import Additions

    remember_files(files_named(scenarios, {}), trust := user_trust())
    return Additions(extensions=list(extensions or ()), trust=trust, report=cache(print_note))


def print_note(text: str) -> None:
    """Print a note beside the output of a command."""
    progress().print(plain(f"note: {text}", "yellow"))


def key_of(variable: str | None) -> str | None:
    """Return the key in an environment variable; `None` if it is missing or empty."""
    return (os.environ.get(variable) or "").strip() or None if variable else None


def model_access(
    line: StatusLine | None = None, named: Iterable[str] = (), with_code: Iterable[str] | None = None
) -> "ModelAccess":
    """Return the access to models of this environment.

    Args:
        line: Shows the waits of a model, and asks the user.
        named: Models that the command names, unless a plan has them.
        with_code: Models whose own Python code may run.
    """
    from tertulia.models.served.chat_names import PROVIDERS, SERVER_KEY
    from tertulia.runs.access.engines import ModelAccess

    variables = {SERVER_KEY, *(provider.key for provider in PROVIDERS.values() if provider.key is not None)}
    keys = {variable: key for variable in variables if (key := key_of(variable)) is not None}
    line, with_code = line or StatusLine(None), frozenset(with_code or ())
    return ModelAccess(cache_folder(), keys, line.report, user_trust(line), frozenset(named) | with_code, with_code)
