"""What whoever takes a scenario needs of one that is an object of Python; `scenario_objects.py` has the objects."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tertulia.state.meeting import Meeting
    from tertulia.state.records import Case
    from tertulia.worlds.meeting_file import MeetingScenario
    from tertulia.worlds.scenario_file import TwoPartyScenario

#: What stands before the name of a scenario that is in no file, wherever a run names its scenario.
PREFIX = "object:"


class ScenarioObject(ABC):
    """A scenario as a file has it, in an object.

    Attributes:
        content: The scenario, checked.
        is_users: Whether the user's program made it, so that what it names is named by the user.
    """

    content: "TwoPartyScenario | MeetingScenario"
    is_users: bool

    @property
    @abstractmethod
    def named(self) -> frozenset[str]:
        """The models that the user's program names by it."""

    @abstractmethod
    def start(self, mechanisms: Collection[str] | None) -> "Case | Meeting":
        """Return what a run of it starts from.

        Args:
            mechanisms: Names of the known mechanisms; a meeting that names none has them all.

        Raises:
            ScenarioError: It names a mechanism that is not known.
        """

    @abstractmethod
    def extensions(self) -> tuple[str, ...]:
        """Return the files (absolute paths) and entry points of its extensions."""
