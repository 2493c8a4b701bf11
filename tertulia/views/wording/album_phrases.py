"""Exchanges of an album chat, diaries and journeys of pictures in words, as plain text."""

from collections.abc import Sequence

from tertulia.state.album import Population
from tertulia.state.text import clean, counted, shortened
from tertulia.views.reading.exchanges import Journey, RecordedExchange
from tertulia.views.wording.phrases import picture_phrase

#: Characters of a plan that a list of exchanges shows.
_SHOWN = 160

#: The most rounds in a table of the people that have seen each picture.
_COLUMNS = 8


def pair_phrase(recorded: RecordedExchange) -> str:
    """Return the asker and the asked, in words."""
    return f"{recorded.exchange.asker} → {recorded.exchange.answerer}"


def found_phrase(recorded: RecordedExchange) -> str:
    """Return how the picture of a plan was found."""
    if recorded.exchange.found == "named":
        return "named in the plan"
    similarity = recorded.exchange.similarity
    near = "" if similarity is None else f" ({similarity:.2f})"
    return f"not named in the plan: the most similar picture of the album{near}"


def outcome_phrases(recorded: RecordedExchange, population: Population) -> list[str]:
    """Return whether the picture was passed on, and which one it replaced."""
    exchange = recorded.exchange
    if not exchange.passed:
        return []
    passes = f"goes into the album of {exchange.answerer}"
    if exchange.dropped is None:
        return [passes]
    return [f"{passes}, in the place of: {population.picture(exchange.dropped).described}"]


def exchange_lines(recorded: RecordedExchange, population: Population) -> list[tuple[str, str]]:
    """Return an exchange as pairs of subject and text: the plan shortened, question, answer, outcome."""
    exchange = recorded.exchange
    return [
        ("plan", shortened(clean(recorded.plan), _SHOWN)),
        (exchange.asker, recorded.turn.text),
        (exchange.answerer, recorded.answer.text),
        *(("", phrase) for phrase in outcome_phrases(recorded, population)),
    ]


def diary_heading(agent: str, recorded: RecordedExchange) -> str:
    """Return the heading of an exchange in an agent's diary."""
    exchange = recorded.exchange
    met = f"asks {exchange.answerer}" if exchange.asker == agent else f"is asked by {exchange.asker}"
    return f"round {recorded.turn.round}, turn {recorded.turn.turn}: {met} about {picture_phrase(recorded.picture)}"


def diary_lines(agent: str, recorded: RecordedExchange, population: Population) -> list[tuple[str, str]]:
    """Return an exchange in an agent's diary as pairs of subject and text."""
    lines = exchange_lines(recorded, population)
    return [line for line in lines if line[0]] if recorded.exchange.asker == agent else lines[1:]


def journey_lines(journey: Journey) -> list[tuple[str, str]]:
    """Return a picture's journey as pairs of time and event."""
    lines = [("at first", f"in the albums of {_names(journey.first_holders)}")]
    lost = dict(journey.lost)
    events = [(exchange.turn.turn, exchange) for exchange in journey.exchanges]
    for turn in sorted({*lost, *(turn for turn, _ in events)}):
        for shown in (exchange for number, exchange in events if number == turn):
            passes = f", and it goes into the album of {shown.exchange.answerer}" if shown.exchange.passed else ""
            what = f"{shown.exchange.asker} asks {shown.exchange.answerer} about it{passes}"
            lines.append((f"round {shown.turn.round}, turn {turn}", what))
        if turn in lost:
            lines.append((f"turn {turn}", f"leaves the album of {lost[turn]} for another picture"))
    return [*lines, ("in the end", f"in the albums of {_names(journey.holders)}")]


def seen_phrase(journey: Journey) -> str:
    """Return how many have seen a picture by the end of each round."""
    counts = journey.seen_by
    return ", ".join(f"{'before' if round == 0 else round}: {seen}" for round, seen in counts.items())


def shown_rounds(journeys: Sequence[Journey]) -> list[int]:
    """Return the rounds of a table's columns: all, or some evenly spaced, with the first and the last."""
    rounds = list(journeys[0].seen_by) if journeys else []
    if len(rounds) <= _COLUMNS:
        return rounds
    return [rounds[round(at * (len(rounds) - 1) / (_COLUMNS - 1))] for at in range(_COLUMNS)]


def _names(names: Sequence[str]) -> str:
    if not names:
        return "nobody"
    more = f" and {counted(len(names) - 12, 'other')}" if len(names) > 12 else ""
    return ", ".join(names[:12]) + more
