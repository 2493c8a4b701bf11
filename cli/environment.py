"""What the environment says: where the store is, where converted models are kept, and the keys of remote ones."""

import os
from pathlib import Path

DEFAULT_STORE = "tertulia.db"


def store_path(option: Path | None) -> Path:
    """Return the store: `--store`, else TERTULIA_STORE, else `tertulia.db` in the current folder."""
    return option or Path(os.environ.get("TERTULIA_STORE") or DEFAULT_STORE)


def cache_folder() -> Path:
    """Return where converted models are kept: TERTULIA_CACHE, else `tertulia` in the user's cache folder."""
    if own := os.environ.get("TERTULIA_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tertulia"


def key_of(variable: str | None) -> str | None:
    """Return the key in an environment variable; `None` where there is none."""
    return (os.environ.get(variable) or "").strip() or None if variable else None
