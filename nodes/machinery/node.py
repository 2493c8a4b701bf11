"""A node: a step of a graph that can be chosen by name."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tertulia.nodes.machinery.declared import check_async, check_limit, check_line, check_name, check_parameters
from tertulia.nodes.machinery.places import PLACES
from tertulia.state.context import Context
from tertulia.state.errors import ExtensionError, nearest_hint
from tertulia.state.records import Record

if TYPE_CHECKING:
    from langgraph.runtime import Runtime


class NodeFunction(Protocol):
    """A node as a graph runs it."""

    async def __call__(self, state: Any, runtime: "Runtime[Context]") -> Any:
        """Return the update of the state."""


@dataclass(frozen=True)
class Node:
    """A step of a graph that can be chosen by name.

    Attributes:
        name: Its key in scenarios and settings.
        place: Its place, one of `PLACES`: that of a shipped node, or after one.
        description: Its purpose, in a line.
        run: From the state and the runtime to the update: `async def run(state, runtime)`. It must not change the
            state, nor block: a long computation belongs in a thread.
        reads: State keys that it reads, besides those that every node is given (`Place.given`).
        writes: State keys that it may write; those that its place asks for are always in the update.
        parameters: The class of its parameters, each with a default; `Context.settings` gives them.
        timeout_s: Seconds that it may take, its waiting for the model not counted; `None`: as long as it takes.

    Raises:
        ExtensionError: The declaration is incomplete or wrong.
    """

    name: str
    place: str
    description: str
    run: NodeFunction
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    parameters: type[Record] | None = None
    timeout_s: float | None = None

    def __post_init__(self) -> None:
        check_name("node", self.name)
        subject = f"node {self.name!r}"
        if self.place not in PLACES:
            raise ExtensionError(
                f"{subject}: there is no place {self.place!r:.60}{nearest_hint(str(self.place), PLACES)}"
            )
        check_line(subject, "description", self.description)
        check_async(subject, self.run, "state", "runtime")
        check_parameters(subject, self.parameters)
        check_limit(subject, self.timeout_s)
        place = PLACES[self.place]
        for field, keys, known in (
            ("reads", self.reads, tuple(place.types)),
            ("writes", self.writes, (*place.writes, *place.may_write)),
        ):
            if not isinstance(keys, tuple):
                raise ExtensionError(f"{subject}: {field} is a tuple of state keys, not {keys!r:.60}")
            for key in keys:
                if key not in known:
                    hint = nearest_hint(str(key), known)
                    raise ExtensionError(f"{subject}: {field} has {key!r}, which {self.place} does not have{hint}")
        if missing := [key for key in place.writes if key not in self.writes]:
            raise ExtensionError(f"{subject}: a node in the place of {self.place} writes {', '.join(missing)} as well")
