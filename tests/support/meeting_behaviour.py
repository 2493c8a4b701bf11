"""Who was willing to speak in a stored meeting, who spoke, and who spoke next."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tertulia.nodes.meeting.willingness import why_willing
from tertulia.nodes.shared.names_in_text import named_in
from tertulia.rules.address import read_line
from tertulia.state.cognition import Bid
from tertulia.state.meeting import Meeting
from tertulia.state.parameters import Parameters
from tertulia.state.records import Turn
from tertulia.state.store import Store


@dataclass
class Behaviour:
    """What a run shows.

    Attributes:
        unwilling: By agent, the most rounds in a row in which they were there and not willing.
        spoken: By agent, their utterances.
        wanted: By agent, the rounds in which they were willing.
        asked, asked_next: Chances of agents who had just been asked by name to speak next, and those they took.
        others, others_next: The same of those who had not, after such a line.
        named, named_next: Chances of those who were only talked about to speak next, and those they took.
        by_chance: The sum of what those chances would be if the next speaker were drawn.
        reasons: By what made the speaker willing (`why_willing`), the turns.
        rounds: How many rounds there were.
    """

    unwilling: dict[str, int] = field(default_factory=dict)
    spoken: dict[str, int] = field(default_factory=dict)
    wanted: dict[str, int] = field(default_factory=dict)
    asked: int = 0
    asked_next: int = 0
    others: int = 0
    others_next: int = 0
    named: int = 0
    named_next: int = 0
    by_chance: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)
    rounds: int = 0


def observe(store: Store, run: str) -> Behaviour:
    """Return how a stored run of a meeting went."""
    meeting, bids, turns = store.start(run), store.steps(run, "bid", Bid), store.turns(run)
    assert isinstance(meeting, Meeting)
    seen = Behaviour(rounds=len(turns))
    parameters = Parameters.model_validate(store.run(run).parameters)
    lasting: dict[str, int] = {}
    for (_, agent), bid in sorted(bids.items()):
        lasting[agent] = 0 if bid.willing else lasting.get(agent, 0) + 1
        seen.unwilling[agent] = max(seen.unwilling.get(agent, 0), lasting[agent])
        seen.spoken[agent] = seen.spoken.get(agent, 0) + bid.won
        seen.wanted[agent] = seen.wanted.get(agent, 0) + bid.willing
        if bid.won:
            seen.reasons[why_willing(bid, meeting.participant(agent).weights, parameters) or "none"] += 1
    for line, following in pairwise([*([meeting.opening_turn] if meeting.opening_turn is not None else []), *turns]):
        present = [agent for round, agent in bids if round == following.round]
        listeners = tuple(agent for agent in present if agent != line.speaker)
        asked = read_line(line.text, listeners)["asked"] if line.speaker is not None else []
        named = named_in(line.text, listeners) if line.speaker is not None else ()
        _observe_named(seen, [name for name in named if name not in asked], present, line, following)
        if not asked:
            continue
        for agent in present:
            if agent in asked:
                seen.asked, seen.asked_next = seen.asked + 1, seen.asked_next + (following.speaker == agent)
            else:
                seen.others, seen.others_next = seen.others + 1, seen.others_next + (following.speaker == agent)
    return seen


def _observe_named(seen: Behaviour, named: Sequence[str], present: Sequence[str], line: Turn, following: Turn) -> None:
    others = [agent for agent in present if agent != line.speaker]
    for agent in set(named) & set(others):
        seen.named, seen.named_next = seen.named + 1, seen.named_next + (following.speaker == agent)
        seen.by_chance += 1 / len(others)
