"""A round of group chat in words, as plain text for any reader: a terminal, a document, a page."""

from tertulia.state.cognition import BY_GRAPH, Bid, Floor, WillingnessParts
from tertulia.state.parameters import Parameters
from tertulia.state.text import beside, in_words
from tertulia.views.reading.rounds import AgentRound, Round
from tertulia.views.reading.why_words import willingness_beside
from tertulia.views.wording.phrases import silence

_PARTS = tuple(WillingnessParts.model_fields)


def perception_phrase(agent: AgentRound, parameters: Parameters) -> str:
    """Return the events that an agent noticed or missed, and why."""
    seen = agent.perception
    if seen.turn is None:
        return "nothing yet: came after it was said"
    what = f"turn {seen.turn}" if seen.turn else "how it opened"
    threshold = parameters.perception_threshold
    if not seen.noticed:
        return f"not {what}: relevance {beside(seen.relevance, threshold)}, below {threshold:g}"
    figures = f"relevance {seen.relevance:.2f}"
    why = "called by name" if seen.reason in (None, "named") and seen.named else seen.reason
    return f"{what}: {figures}, importance {seen.importance:.1f}{f', {why}' if why else ''}"


def typed_phrase(words: str) -> str:
    """Return the words that the person in the seat typed."""
    return f"typed: {words}" if words else "stayed silent"


def willingness_phrase(bid: Bid, parameters: Parameters) -> str:
    """Return willingness beside its threshold, and the causes that have raised its parts."""
    called = "asked by name" if bid.address == 1 else f"spoken to: {bid.address:g}" if bid.address else ""
    need = f"need to speak: {bid.need:.2f}" if bid.need else ""
    moved = ", ".join(part for part in (called, need) if part)
    sign = "≥" if bid.willing else "<"
    threshold = parameters.willingness_threshold
    assert bid.willingness is not None  # who has a phrase was asked
    reached = f"{willingness_beside(bid.willingness, threshold)} {sign} threshold {threshold:g}"
    return f"{reached} ({moved})" if moved else reached


def weighing_phrase(agent: AgentRound, bid: Bid, parameters: Parameters) -> str:
    """Return Eq. 1 of ChatAgents with its numbers, which a person has not."""
    if bid.parts is None:
        return "as they said"
    terms = " + ".join(f"{getattr(agent.weights, part):g} × {getattr(bid.parts, part):.2f} {part}" for part in _PARTS)
    return f"{terms} = {willingness_phrase(bid, parameters)}"


def race_phrase(agent: AgentRound, parameters: Parameters, floor: Floor | None = None) -> str:
    """Return the parts of an agent's latency, or why it did not race."""
    bid = agent.bid
    if bid is None:
        return "made no bid"
    if bid.latency_s is None:
        if floor is not None and agent.agent in floor.gone:
            return "had to leave"
        if bid.willing:
            return "willing, not asked"
        if bid.willingness is None:
            return "was not asked" if agent.typed is None else "stayed silent"
        threshold = parameters.willingness_threshold
        return f"not willing: {willingness_beside(bid.willingness, threshold)} < threshold {threshold:g}"
    if bid.parts is None and parameters.seat_clock == "runs":
        return "as long as they took"
    terms = f"scale {bid.latency_scale_s:.2f} s, spread {bid.latency_spread_s:.2f} s"
    if bid.similarity:
        terms += f", thought goes on from before: {bid.similarity:.2f}"
    terms += f", unheard before: × {bid.persistence:g}" if bid.persistence < 1 else ""
    return terms + (f", waited {bid.yielded_s:g} s for who was asked" if bid.yielded_s else "")


def floor_phrase(round: Round, parameters: Parameters) -> str:
    """Return how and when the floor was given, or why nobody has it."""
    floor = round.floor
    if floor is None:
        return "the floor was not given: the round was interrupted"
    if floor.order == BY_GRAPH:
        return "the graph around the conversation chose the speaker"
    parts = [in_words(floor.order)]
    if floor.reason:
        why = f"{floor.reason}: drawn" if floor.drawn else floor.reason
        parts.append(f"first {floor.gone[0]} ({why})" if floor.gone else why)
    if floor.looks > 1:
        parts.append(f"willingness was looked at {floor.looks} times, every {parameters.reevaluation_s:g} s")
    if floor.gone:
        parts.append(f"{' and '.join(floor.gone)} had to leave before that")
    if floor.tied:
        parts.append(f"a tie of {' and '.join(floor.tied)} was drawn")
    if floor.waited_s is not None:
        parts.append(f"first word after {floor.waited_s:.2f} s")
        return "; ".join(parts)
    first_s = round.first_word_s(parameters.reevaluation_s)
    if first_s is not None:
        parts.append(f"the first word would have come after {beside(first_s, parameters.silence_s)} s")
    elif not floor.gone:
        parts.append("nobody was willing")
    return "; ".join([*parts, silence(parameters.silence_s)])
