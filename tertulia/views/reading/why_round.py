"""The agent that got the floor in a round of a meeting, and why, in a sentence."""

from collections.abc import Mapping

from tertulia.state.cognition import BY_GRAPH, Floor
from tertulia.state.parameters import Parameters
from tertulia.state.text import beside, in_words
from tertulia.views.reading.bids import PARTS, bid_reasons, change_in_words, raise_in_words
from tertulia.views.reading.rounds import AgentRound, Round
from tertulia.views.reading.turns import ThoughtDetails
from tertulia.views.reading.why_leaning import THOUGHT_MOST, leaned
from tertulia.views.reading.why_words import QUOTED_IN_SHORT, people, percentage, quoted, willingness_beside


def floor_sentence(round: Round, parameters: Parameters, thoughts: Mapping[str, ThoughtDetails] | None = None) -> str:
    """Return the agents that wanted to speak, the first, by how much, and its motives; or why nobody spoke.

    Args:
        thoughts: The thoughts of the round that were read, by agent.
    """
    winner = next((agent for agent in round.agents if agent.won), None)
    if round.floor is None:
        return "The floor was not given: the round was interrupted."
    if round.floor.order == BY_GRAPH:
        return "The graph around the conversation chose the speaker."
    if winner is None:
        return f"{_nobody(round, round.floor, parameters)}."
    raced = round.floor.order == "self_driven"
    first = _race(round, round.floor, winner) if raced else _appointment(round.floor, winner)
    moved = _moved(winner, raced, parameters, (thoughts or {}).get(winner.agent))
    return f"{first}{f': {moved}' if moved else ''}."


def _race(round: Round, floor: Floor, winner: AgentRound) -> str:
    """Return the agents that wanted to speak, and the first of them."""
    willing = [agent.agent for agent in round.agents if agent.bid is not None and agent.bid.willing]
    after = "" if floor.waited_s is None else f" after {floor.waited_s:.2f} s"
    if willing == [winner.agent]:
        return f"Only {winner.agent} of {len(round.agents)} wanted to speak, and began{after}"
    wanted = f"{people(willing)} wanted to speak ({len(willing)} of {len(round.agents)})"
    return f"{wanted}, and {winner.agent} was first{_margin(round, floor, winner)}"


def _margin(round: Round, floor: Floor, winner: AgentRound) -> str:
    """Return by how much the winner was before the next one, a tie, and the agents that had to leave."""
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
    return f", {beside(next_s - winner.latency_s, 0.0)} s before {name}{left}"


def _appointment(floor: Floor, winner: AgentRound) -> str:
    """Return the rule or agent that gave the floor, if nobody raced for it, and who got it in place of the gone."""
    name, reason = next(iter(floor.gone), winner.agent), floor.reason or ""
    given = {
        "rule_based": f"By the rule that all speak in turn it was {name}'s turn",
        "centralised": f"A moderator gave {name} the floor",
        "random": f"The floor was drawn, and {name} got it",
        "designated": f"{name} was designated to speak",
    }.get(floor.order, f"{name} was given the floor by {in_words(floor.order)}")
    given += f" ({quoted(reason)})" if reason else ""
    if floor.drawn:
        given = f"{reason[:1].upper()}{reason[1:]}, so the floor was drawn, and {name} got it"
    gone = ""
    if floor.gone:
        how = " was next" if floor.order == "rule_based" else " was drawn"
        gone = f", but {people(floor.gone)} had to leave, so {winner.agent}{how}"
    after = "" if floor.waited_s is None else f", and began after {floor.waited_s:.2f} s"
    return f"{given}{gone}{after}"


def _moved(winner: AgentRound, raced: bool, parameters: Parameters, thought: ThoughtDetails | None) -> str:
    """Return the motives of a speaker: parts of willingness if these decided, the thought, and its own reasons."""
    bid, assessment = winner.bid, winner.assessment
    if bid is not None and bid.parts is None:
        return "a person types for them"
    phrases = []
    reasons = bid_reasons(winner, parameters) if raced else None
    if bid is not None and bid.willingness and reasons is not None:
        strongest = reasons.parts[0]
        phrases.append(
            f"the bid's largest part was {PARTS[strongest.part]} ({percentage(strongest.weighted / bid.willingness)})"
        )
        if bid.address == 1:
            phrases.append("asked by name")
        phrases.append(change_in_words(reasons))
        phrases += [raise_in_words(raised, bid.address, only_decisive=True) for raised in reasons.raises]
    if assessment is not None and assessment.thought:
        told = "" if thought is None else leaned(thought, THOUGHT_MOST)
        phrases.append(f"thinking {quoted(assessment.thought, QUOTED_IN_SHORT)}{f', which {told}' if told else ''}")
    return ", ".join(filter(None, phrases))


def _nobody(round: Round, floor: Floor, parameters: Parameters) -> str:
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
            threshold = parameters.willingness_threshold
            reached = willingness_beside(highest, threshold)
            near = f"; nearest was {name}, with {reached} of the {threshold:g} that it takes"
        return f"None of {len(round.agents)} wanted to speak{near}: {silence}"
    wanted = f"{people([agent.agent for agent in willing])} wanted to speak ({len(willing)} of {len(round.agents)})"
    first_s = round.first_word_s(parameters.reevaluation_s)
    if first_s is None:
        return f"{wanted}, but {gone or 'none of them could'}: {silence}"
    left = f"{gone}, and " if gone else ""
    fastest = f"{round.racing[0].agent}, the fastest{' of the others' if gone else ''}"
    after = beside(first_s, parameters.silence_s)
    return f"{wanted}, but {left}{fastest}, would have begun after {after} s only: {silence}"
