"""What a mechanism is."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from nodes.view import View
from state.cognition import Finding


@dataclass(frozen=True)
class Mechanism:
    """A way to think that an agent may switch on.

    Attributes:
        name: Its key in scenarios, prompts and records.
        title: Its name in tables.
        description: What it is for, in a sentence to the agent who chooses; it goes into the prompt of that choice.
        example: Whether it is on in a made-up moment, and why, in a few words that would fit most meetings; models that
            learn from examples see it, and small ones repeat some of it.
        run: From the agent's view to what it finds. It may ask the agent's model (`View.ask`), and must not block: what
            computes for long belongs in a thread. What it raises, and a run over the time limit, is noted as a problem.
        condition: Where given, the agent is not asked: the mechanism is on when this returns a reason.
    """

    name: str
    title: str
    description: str
    example: tuple[bool, str]
    run: Callable[[View], Awaitable[Finding]]
    condition: Callable[[View], str | None] | None = None
