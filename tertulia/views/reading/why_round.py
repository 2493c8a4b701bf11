"""Who got the floor in a round of a meeting, and why, in a sentence."""

from tertulia.state.cognition import Floor, WillingnessParts
from tertulia.state.parameters import Parameters
from tertulia.state.text import in_words
from tertulia.views.reading.rounds import AgentRound, Round
from tertulia.views.reading.why_words import QUOTED_IN_SHORT, people, percentage, quoted

#: What the parts of willingness stand for.
_MOVED_BY = {"topic": "the topic", "goal": "goals", "emotion": "feelings", "personality": "character"}


def floor_sentence(round: Round, parameters: Parameters) -> str:
    """Return who wanted to speak, who was first and by how much, and what moved them; or why nobody spoke."""
    winner = next((agent for agent in round.agents if agent.won), None)
    if round.floor is None:
        return "The floor was not given: the round was interrupted."
    if winner is None:
        return f"{_nobody(round, round.floor, parameters)}."
    raced = round.floor.order == "self_driven"
    first = _race(round, round.floor, winner) if raced else _appointment(round.floor, winner)
    moved = _moved(winner, raced)
    return f"{first}{f': {moved}' if moved else ''}."


def _race(round: Round, floor: Floor, winner: AgentRound) -> str:
    """Return who wanted to speak, and who was first."""
    willing = [agent.agent for agent in round.agents if agent.bid is not None and agent.bid.willing]
    after = "" if floor.waited_s is None else f" after {floor.waited_s:.2f} s"
    if willing == [winner.agent]:
        return f"Only {winner.agent} of {len(round.agents)} wanted to speak, and began{after}"
    wanted = f"{people(willing)} wanted to speak ({len(willing)} of {len(round.agents)})"
    return f"{wanted}, and {winner.agent} was first{_margin(round, floor, winner)}"


def _margin(round: Round, floor: Floor, winner: AgentRound) -> str:
    """Return by how much the winner was before the next one, a tie, and who had to leave."""
    left = f", as {people(floor.gone)} had to leave" if floor.gone else ""
    if winner.agent in floor.tied:
        return f", by a draw among those who tied ({people(floor.tied)}){left}"
    others = [
        (agent.latency_s, agent.agent)
        for agent in round.agents
        if agent.latency_s is not None and not agent.won and agent.agent not in floor.gone
    ]
    if not others or winner.latency_s is None:
        return left
    next_s, name = min(others)
    return f", {next_s - winner.latency_s:.2f} s before {name}{left}"


def _appointment(floor: Floor, winner: AgentRound) -> str:
    """Return who gave the floor, where nobody raced for it."""
    name, reason = winner.agent, floor.reason
    given = {
        "rule_based": f"By the rule that all speak in turn it was {name}'s turn",
        "centralised": f"A moderator gave {name} the floor",
        "random": f"The floor was drawn, and {name} got it",
        "designated": f"{name} was designated to speak",
    }.get(floor.order, f"{name} was given the floor by {in_words(floor.order)}")
    why = f" ({quoted(reason)})" if reason else ""
    gone = f", as {people(floor.gone)} had to leave" if floor.gone else ""
    after = "" if floor.waited_s is None else f", and began after {floor.waited_s:.2f} s"
    return f"{given}{why}{gone}{after}"


def _moved(winner: AgentRound, raced: bool) -> str:
    """Return what moved a speaker: the strongest part of willingness where that decided, and the thought."""
    bid, assessment = winner.bid, winner.assessment
    if bid is not None and bid.parts is None:
        return "a person types for them"
    phrases = []
    if bid is not None and bid.parts is not None and bid.willingness and raced:
        parts = {
            name: getattr(winner.weights, name) * getattr(bid.parts, name) for name in WillingnessParts.model_fields
        }
        strongest = max(parts, key=lambda name: parts[name])
        phrases.append(f"moved most by {_MOVED_BY[strongest]} ({percentage(parts[strongest] / bid.willingness)})")
        if bid.address == 1:
            phrases.append("asked by name")
    if assessment is not None and assessment.thought:
        phrases.append(f"thinking {quoted(assessment.thought, QUOTED_IN_SHORT)}")
    return ", ".join(phrases)


def _nobody(round: Round, floor: Floor, parameters: Parameters) -> str:
    """Return why nobody spoke."""
    willing = [agent for agent in round.agents if agent.bid is not None and agent.bid.willing]
    silence = f"{parameters.silence_s:g} s of silence followed"
    gone = f"{people(floor.gone)} had to leave" if floor.gone else ""
    if floor.order != "self_driven":
        return f"Nobody got the floor, as {gone or 'nobody could have it'}: {silence}"
    if not willing:
        bids = [(agent.bid.willingness, agent.agent) for agent in round.agents if agent.bid and agent.bid.willingness]
        near = ""
        if bids:
            highest, name = max(bids)
            near = f"; nearest was {name}, with {highest:.2f} of the {parameters.willingness_threshold:g} that it takes"
        return f"None of {len(round.agents)} wanted to speak{near}: {silence}"
    wanted = f"{people([agent.agent for agent in willing])} wanted to speak ({len(willing)} of {len(round.agents)})"
    racing = [
        (agent.latency_s, agent.agent)
        for agent in willing
        if agent.latency_s is not None and agent.agent not in floor.gone
    ]
    if not racing:
        return f"{wanted}, but {gone or 'none of them could'}: {silence}"
    first_s, name = min(racing)
    first_s += (floor.looks - 1) * parameters.reevaluation_s
    return f"{wanted}, but {name}, the fastest, would have begun after {first_s:.2f} s only: {silence}"
