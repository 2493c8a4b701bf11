"""Rules of recalling a memory that retrieval and the index over a stream share. Source: Park et al. 2023, §4.1."""

from typing import TYPE_CHECKING, TypeVar

from tertulia.state.records import Memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Seconds = TypeVar("Seconds", float, NDArray[np.float64])


#: The share of recency that is left after an hour (GA §4.1).
DECAY_PER_HOUR = 0.995


def may_be_recalled(memory: Memory) -> bool:
    """Whether a memory is ever recalled. Chats have a block of their own, and nobody recalls an idle moment."""
    return memory.kind != "chat" and not memory.text.endswith(" is idle")


def recency(age_s: "Seconds", decay_per_hour: float = DECAY_PER_HOUR) -> "Seconds":
    """Return how recent memories are, in (0, 1]: it decays exponentially with their age.

    Args:
        age_s: Their age in simulated seconds: a number, or an array of `N`.
        decay_per_hour: What is left of it after an hour, in (0, 1].
    """
    decayed: Seconds = decay_per_hour ** (age_s / 3600)
    return decayed
