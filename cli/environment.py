"""What the environment says: where the store is, where converted models are kept, and the keys of remote ones."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from state.language_model import Report, ignore_activity

if TYPE_CHECKING:
    from tertulia.engines import ModelAccess

#: The default store, and what its name was when the project was called Polylogue.
DEFAULT_STORE, FORMER_STORE = "tertulia.db", "polylogue.db"


def store_path(option: Path | None) -> Path:
    """Return the store: `--store`, else TERTULIA_STORE, else `tertulia.db` in the current folder."""
    return option or Path(os.environ.get("TERTULIA_STORE") or DEFAULT_STORE)


def former_store_hint(option: Path | None) -> str | None:
    """Return how to read the store under its former name, where only that lies in the current folder."""
    if store_path(option) != Path(DEFAULT_STORE) or Path(DEFAULT_STORE).exists() or not Path(FORMER_STORE).is_file():
        return None
    return f"{FORMER_STORE}, the default store under its former name, is here; to use it: --store {FORMER_STORE}"


def cache_folder() -> Path:
    """Return where converted models are kept: TERTULIA_CACHE, else `tertulia` in the user's cache folder."""
    if override := os.environ.get("TERTULIA_CACHE"):
        return Path(override)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tertulia"


def key_of(variable: str | None) -> str | None:
    """Return the key in an environment variable; `None` where there is none."""
    return (os.environ.get(variable) or "").strip() or None if variable else None


def model_access(report: Report = ignore_activity) -> "ModelAccess":
    """Return what opening models needs: where converted models are kept, and the keys of remote ones.

    Args:
        report: Is called with what a model waits for.
    """
    from models.chat_names import PROVIDERS, SERVER_KEY
    from tertulia.engines import ModelAccess

    variables = {SERVER_KEY, *(provider.key for provider in PROVIDERS.values() if provider.key is not None)}
    keys = {variable: key for variable in variables if (key := key_of(variable)) is not None}
    return ModelAccess(cache_folder(), keys, report)
