"""Who was willing to speak in a stored meeting, who spoke, and who spoke next."""

from dataclasses import dataclass, field
from itertools import pairwise

from tertulia.rules.address import read_line
from tertulia.state.cognition import Bid
from tertulia.state.meeting import Meeting
from tertulia.state.store import Store


@dataclass
class Behaviour:
    """What a run shows.

    Attributes:
        unwilling: By agent, the most rounds in a row in which they were there and not willing.
        asked, asked_next: Chances of agents who had just been asked by name to speak next, and those they took.
        others, others_next: The same of those who had not, after such a line.
    """

    unwilling: dict[str, int] = field(default_factory=dict)
    asked: int = 0
    asked_next: int = 0
    others: int = 0
    others_next: int = 0


def observe(store: Store, run: str) -> Behaviour:
    """Return how a stored run of a meeting went."""
    meeting, bids, turns = store.start(run), store.steps(run, "bid", Bid), store.turns(run)
    assert isinstance(meeting, Meeting)
    seen = Behaviour()
    lasting: dict[str, int] = {}
    for (_, agent), bid in sorted(bids.items()):
        lasting[agent] = 0 if bid.willing else lasting.get(agent, 0) + 1
        seen.unwilling[agent] = max(seen.unwilling.get(agent, 0), lasting[agent])
    for line, following in pairwise([*([meeting.opening_turn] if meeting.opening_turn is not None else []), *turns]):
        present = [agent for round, agent in bids if round == following.round]
        listeners = tuple(agent for agent in present if agent != line.speaker)
        asked = read_line(line.text, listeners)["asked"] if line.speaker is not None else []
        if not asked:
            continue
        for agent in present:
            if agent in asked:
                seen.asked, seen.asked_next = seen.asked + 1, seen.asked_next + (following.speaker == agent)
            else:
                seen.others, seen.others_next = seen.others + 1, seen.others_next + (following.speaker == agent)
    return seen
