"""The address of a store: a file, or a database of a server. Knows no database; `storage.store` opens them."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

from tertulia.state.errors import UsageError

#: The default store: a file in the current folder.
DEFAULT_STORE = "tertulia.db"

#: How the address of a server begins.
_SERVER = ("postgresql://", "postgres://")

#: Beginnings of texts that SQLite's own programs do not take for the name of a file.
_NO_FILE = (":memory:", "file:")

#: Parameters of an address that messages leave out.
_SECRET = ("password", "sslpassword")


@dataclass(frozen=True)
class ServerAddress:
    """A store in a Postgres database: `postgresql://USER@HOST:PORT/DATABASE`.

    Its text has no password. That is better kept from the address altogether, in `~/.pgpass`.

    Attributes:
        url: The address as it was given; it may hold a password.
    """

    url: str = field(repr=False)

    def __str__(self) -> str:
        """Return the address without its secrets."""
        parts = urlsplit(_without_password(self.url))
        query = [(name, value) for name, value in parse_qsl(parts.query) if name.lower() not in _SECRET]
        return parts._replace(query=urlencode(query), fragment="").geturl()

    def __repr__(self) -> str:
        """Return the same, as code."""
        return f"ServerAddress({str(self)!r})"


StoreAddress: TypeAlias = Path | ServerAddress


def store_address(given: "os.PathLike[str] | str | ServerAddress") -> StoreAddress:
    """Return the address of a store: of a server if a text begins like one, else a path."""
    if isinstance(given, ServerAddress):
        return given
    if isinstance(given, str) and given.lower().startswith(_SERVER):
        return ServerAddress(given)
    if str(given).lower().startswith(_NO_FILE):
        raise UsageError(f"{given} is no file of its own; a store is a file, or postgresql://USER@HOST/DATABASE")
    return Path(given)


def is_missing(address: StoreAddress) -> bool:
    """Return whether a store's file is missing; `False` for a server, which must be asked."""
    return isinstance(address, Path) and not os.path.exists(address)


def argument_for(address: StoreAddress) -> str:
    """Return an address that names a store to a program started in any folder: it may hold a password."""
    return address.url if isinstance(address, ServerAddress) else str(address.absolute())


def _without_password(url: str) -> str:
    """Return an address without the text between the user and the last @: a password may have any sign."""
    scheme, _, rest = url.partition("://")
    user, at, host = rest.rpartition("@")
    return f"{scheme}://{re.split('[:/?#@]', user)[0]}{at}{host}"
