"""A mechanism: a way to think that an agent may switch on."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tertulia.nodes.machinery.declared import (
    check_async,
    check_call,
    check_limit,
    check_line,
    check_name,
    check_parameters,
)
from tertulia.nodes.meeting.view import View
from tertulia.state.cognition import Finding
from tertulia.state.errors import ExtensionError
from tertulia.state.records import Record


@dataclass(frozen=True)
class Mechanism:
    """A cognitive mechanism.

    Attributes:
        name: Its key in scenarios, prompts and records.
        title: Its name in tables.
        description: Its purpose, in a sentence to the choosing agent; it goes into the prompt of that choice.
        example: Whether it is on in a made-up situation, and why, in a few words that would fit most meetings; models
            that learn from examples see it, and small models repeat some of it.
        run: From the agent's view to its finding. It may ask the agent's model (`View.ask`), and must not block: long
            computations belong in a thread. An exception, or a run over the time limit, is recorded as a problem.
        condition: If given, the agent is not asked: the mechanism is on when this returns a reason.
        parameters: The class of its parameters, each with a default; `view.context.settings` gives them.
        timeout_s: Seconds that it may take, its waiting for the model not counted; `None`: 20.

    Raises:
        ExtensionError: The declaration is incomplete or wrong.
    """

    name: str
    title: str
    description: str
    example: tuple[bool, str]
    run: Callable[[View], Awaitable[Finding]]
    condition: Callable[[View], str | None] | None = None
    parameters: type[Record] | None = None
    timeout_s: float | None = None

    def __post_init__(self) -> None:
        check_name("mechanism", self.name)
        subject = f"mechanism {self.name!r}"
        check_line(subject, "title", self.title)
        check_line(subject, "description", self.description)
        match self.example:
            case (bool(), str(reason)) if reason.strip():
                pass
            case _:
                raise ExtensionError(f"{subject}: example is (on, why), such as (False, 'Nobody asked.')")
        check_async(subject, self.run, "view")
        if self.condition is not None:
            check_call(subject, "condition", self.condition, "view")
        check_parameters(subject, self.parameters)
        check_limit(subject, self.timeout_s)
