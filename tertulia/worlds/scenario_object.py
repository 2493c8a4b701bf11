"""The interface of a scenario that is an object of Python; `scenario_objects.py` has the objects."""

from abc import ABC, abstractmethod
from collections.abc import Collection, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tertulia.state.errors import UsageError
from tertulia.state.written_files import refuse_link, write_text
from tertulia.state.wrong_arguments import check_argument

if TYPE_CHECKING:
    from tertulia.state.meeting import Start
    from tertulia.state.parameters.album import AlbumParameters

#: The prefix of the name of a scenario that is in no file, in the records of its runs.
PREFIX = "object:"


class ScenarioObject(ABC):
    """A scenario as a file has it, in an object.

    Attributes:
        is_users: Whether the user's program made it, so that the user names its models and extensions.
    """

    is_users: bool

    @property
    @abstractmethod
    def named(self) -> frozenset[str]:
        """The models that the user's program names by it."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the parameters that it sets, for `Parameters.with_settings`."""

    @abstractmethod
    def start(
        self, mechanisms: Collection[str] | None, parameters: "AlbumParameters", pictures: MutableMapping[str, bytes]
    ) -> "Start":
        """Return the start of a run.

        Args:
            mechanisms: Names of the known mechanisms; a meeting that names none has them all.
            parameters: Of the run; a population has the number of its villagers and their pictures from them.
            pictures: Gets the pictures of a population that a run stores, by their hash.

        Raises:
            ScenarioError: It names a mechanism that is not known, or a picture can't be read.
            SettingError: The parameters ask for something that it can't have.
        """

    @abstractmethod
    def extensions(self) -> tuple[str, ...]:
        """Return the files (absolute paths) and entry points of its extensions."""


def write_file(path: Path | str, text: str, overwrite: bool) -> Path:
    """Write a YAML file and return its path.

    Raises:
        UsageError: There is such a file and it is not to be replaced, it can't be written, or its name is another's.
    """
    check_argument("overwrite", overwrite, bool, "overwrite is True or False", optional=False)
    file = Path(path).expanduser()
    if file.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{file}: a scenario file ends in .yaml")
    refuse_link(file)
    if file.exists() and not overwrite:
        raise UsageError(f"{file} exists already; give another name (in Python, overwrite=True replaces it)")
    try:
        write_text(file, text)
    except OSError as error:
        raise UsageError(f"{file} can't be written: {error.strerror}") from None
    return file
