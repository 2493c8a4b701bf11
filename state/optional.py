"""Packages that a light installation lacks: code that needs one says in a sentence how it is had."""

from collections.abc import Iterator
from contextlib import contextmanager

from tertulia.state.errors import MissingPackageError, extra_hint

#: The needs of statistics, as arguments of `importing`.
SCIPY = ("scipy", "metrics", "these figures")

#: The needs of data frames.
PANDAS = ("pandas", "frames", "data frames")

#: The needs of pictures.
PILLOW = ("PIL", "pictures", "pictures")


@contextmanager
def importing(package: str, extra: str, what: str) -> Iterator[None]:
    """Import within it the packages of an extra.

    Args:
        package: The top-level package, `PIL`.
        extra: The extra of this distribution that has it, `pictures`.
        what: The things that need it, in the plural: `pictures`.

    Raises:
        MissingPackageError: It is not installed; the message has the command that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        name = {"PIL": "Pillow"}.get(package, package)
        raise MissingPackageError(f"{what} need {name}, which is not installed; run: {extra_hint(extra)}") from None
