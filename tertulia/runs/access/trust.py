"""A user's trust: in servers and providers, extensions that are executed, and files that a file may name.

A scenario, a store, a log and a model folder are data. Code, hosts, keys or the user's files that they name are used
only if the user names them too: on the command line, as an argument in Python, or once before, which is remembered in a
file of the user's configuration (SECURITY.md).
"""

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import ValidationError

from tertulia.state.errors import NotFoundError, UsageError
from tertulia.state.records import Record
from tertulia.state.text import first_line

#: The name of the file in the folder of the configuration.
FILE = "trusted.json"


def user_configuration() -> Path:
    """Return the default folder of the user's configuration."""
    return Path.home() / ".config" / "tertulia"


class Trusted(Record):
    """The remembered names.

    Attributes:
        places: Origins of servers (`http://127.0.0.1:8000`), providers (`openai:`) and hub ids.
        extensions: The last known file or entry point of each extension, by the hash of its content.
        files: Absolute paths without links of files and folders that a file may name; a folder covers its content.
    """

    places: tuple[str, ...] = ()
    extensions: Mapping[str, str] = {}
    files: tuple[str, ...] = ()

    def covers(self, path: str) -> bool:
        """Return whether a file, or a folder that it lies in, is trusted; the path is absolute and without links."""
        return not {path, *map(str, Path(path).parents)}.isdisjoint(self.files)


def _nobody(question: str) -> bool:
    return False


class Trust:
    """The user's trust: the file that remembers it, and the names given since this process began.

    Attributes:
        ask: Asks the user a question and returns whether they agree; `False` if nobody can be asked.
    """

    def __init__(self, folder: Path | None = None, ask: Callable[[str], bool] = _nobody) -> None:
        """Note the folder of the configuration (`None`: the default); it is made when something is written."""
        self._folder, self.ask = folder, ask
        self._named = Trusted()

    @property
    def file(self) -> Path:
        """The file that remembers it."""
        return (self._folder or user_configuration()) / FILE

    def read(self) -> Trusted:
        """Return the trusted names.

        Raises:
            UsageError: The file can't be read.
        """
        return _joined(self._read_file(), self._named)

    def _read_file(self) -> Trusted:
        try:
            return Trusted.model_validate_json(self.file.read_bytes())
        except FileNotFoundError:
            return Trusted()
        except (OSError, ValidationError) as error:
            raise UsageError(f"{self.file}: can't be read ({first_line(error)}); mend it, or delete it") from None

    def remember(self, named: Trusted) -> None:
        """Remember names that the user has given; for this process only if the configuration can't be written."""
        self._named = _joined(self._named, named)
        if named != Trusted() and _joined(known := self._read_file(), named) != known:
            with suppress(OSError):
                self.change(lambda known: _joined(known, named))

    def change(self, changed: Callable[[Trusted], Trusted]) -> None:
        """Replace the remembered names, one process at a time.

        Raises:
            UsageError: The file can't be read.
            OSError: It can't be written.
        """
        folder = self.file.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(folder):
            text = changed(self._read_file()).model_dump_json(indent=2)
            descriptor, made = tempfile.mkstemp(dir=folder, prefix=f".{FILE}-")
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(text + "\n")
                os.replace(made, self.file)
            except BaseException:
                os.unlink(made)
                raise


def _joined(known: Trusted, named: Trusted) -> Trusted:
    places = tuple(dict.fromkeys([*known.places, *named.places]))
    files = tuple(dict.fromkeys([*known.files, *named.files]))
    return Trusted(places=places, extensions={**known.extensions, **named.extensions}, files=files)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


class KnownTrust(Trust):
    """A user's trust, for another process: it asks nobody and remembers nothing."""

    def __init__(self, known: Trusted) -> None:
        super().__init__()
        self._known = known

    def read(self) -> Trusted:
        """Return the trusted names."""
        return self._known

    def remember(self, named: Trusted) -> None:
        """Do nothing."""


def change_trust(trust: Trust, names: Iterable[str], withdraw: bool = False) -> None:
    """Trust extensions, servers, providers, hub ids, files and folders, or withdraw trust.

    Raises:
        TertuliaError: There is no such extension or file, a name is none of these, or the configuration can't be
            written.
    """
    changed = Trusted()
    for name in names:
        changed = _joined(changed, _trusted_by(name, withdraw))
    if changed == Trusted():
        return
    try:
        trust.change(lambda known: (_without if withdraw else _joined)(known, changed))
    except OSError as error:
        raise UsageError(f"{trust.file}: can't be written ({error.strerror})") from None


def _without(known: Trusted, withdrawn: Trusted) -> Trusted:
    extensions = {
        hash: source
        for hash, source in known.extensions.items()
        if hash not in withdrawn.extensions and source not in withdrawn.extensions.values()
    }
    return Trusted(
        places=tuple(place for place in known.places if place not in withdrawn.places),
        extensions=extensions,
        files=tuple(file for file in known.files if file not in withdrawn.files),
    )


def is_path(name: str) -> bool:
    """Return whether a name is a file or a folder: it begins like a path, and is no extension."""
    return not name.endswith(".py") and (name in (".", "..") or name.startswith(("/", "./", "../", "~")))


def _trusted_by(name: str, withdraw: bool) -> Trusted:
    """Return a name as it is remembered; a withdrawn file may be gone."""
    from tertulia.models.loading import is_hub_id
    from tertulia.models.served.chat_names import PROVIDERS, is_chat_name, origin_of, places_of
    from tertulia.nodes.machinery.extensions import Source, installed
    from tertulia.worlds.scenario_parts import extension_source

    if is_path(name):
        path = os.path.realpath(os.path.expanduser(name))
        if not withdraw and not os.path.exists(path):
            raise NotFoundError(f"there is no file or folder {name}")
        return Trusted(files=(path,))
    if (origin := origin_of(name.partition("#")[0])) is not None:
        return Trusted(places=(origin,))
    if is_chat_name(name):
        return Trusted(places=tuple(places_of(name)))
    if is_hub_id(name) and not name.endswith(".py"):
        return Trusted(places=(name,))
    if not name.endswith(".py") and name not in installed():
        raise UsageError(
            f"{name}: is no extension (a file .py, or an entry point), no server (http://HOST:PORT), no provider "
            f"({', '.join(f'{provider}:' for provider in PROVIDERS)}), no Hugging Face id (owner/name), and no file or "
            "folder (/…, ./… or ~/…)"
        )
    source = extension_source(name, Path.cwd())
    try:
        return Trusted(extensions={Source.read(source).hash: source})
    except NotFoundError:
        if not withdraw:
            raise NotFoundError(f"there is no extension {name}; give the path of its file") from None
        return Trusted(extensions={"": source})
