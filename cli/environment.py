"""What the environment says: where the store is, where converted models are kept, and the keys of remote ones."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from state.language_model import Report, ignore_activity

if TYPE_CHECKING:
    from tertulia.engines import ModelAccess

DEFAULT_STORE = "tertulia.db"


def store_path(option: Path | None) -> Path:
    """Return the store: `--store`, else TERTULIA_STORE, else `tertulia.db` in the current folder."""
    return option or Path(os.environ.get("TERTULIA_STORE") or DEFAULT_STORE)


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
