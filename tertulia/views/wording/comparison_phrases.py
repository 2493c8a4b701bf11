"""The differences of two runs, and of two turns, in words."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tertulia.state.text import counted, in_words, number
from tertulia.views.reading.comparing import RunComparison, minds_that_differ, without
from tertulia.views.reading.differences import TurnComparison, largest_score_difference
from tertulia.views.reading.turn_documents import Document

#: Aspects of a turn that are printed under another name.
_NAMES = {"mechanisms": "mechanisms chosen", "removed": "units removed", "calls": "model calls"}

#: Aspects of a turn that have a line of their own; the others are named.
_IN_WORDS = {"floor", "plan", "exchange", "answer", "speaker", "removed", "scores", "judgement", "text", "clock"}
_IN_WORDS |= {"ending", "willingness", "latency"}


#: A part that a turn does not have.
_NOTHING = {"text": "–"}


def sameness(compared: RunComparison) -> str:
    """Return in words that two runs, or one turn of them, are identical."""
    a, b = (run.run for run in compared.runs)
    if a == b:
        return f"A and B are the same run, {a}"
    if compared.turn is not None:
        return f"turn {compared.turn} of {a} and {b} is identical to the last record"
    count = compared.comparison.turns[-1].turn
    turns = f"{counted(count, 'turn')}, to the last record" if count else "neither has turns yet"
    return f"{a} and {b} are identical: {turns}"


def parting_line(turn: TurnComparison) -> str:
    """Return in words the turn at which two runs part, and the aspects that differ."""
    where = f"turn {turn.turn}" if turn.turn else "the preparation"
    if turn.a is None or turn.b is None:
        return f"they part at {where}: only {'B' if turn.a is None else 'A'} goes on"
    first, *others = map(_named, turn.aspects)
    after = f", then {', '.join(others)}" if others else ""
    return f"they part at {where}: {first}{after}"


def _named(aspect: str) -> str:
    return _NAMES.get(aspect, aspect)


def what_differs(a: Document, b: Document, aspects: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the differences of a turn besides the utterance, as subject and words; minor aspects are only named."""
    if "plan" in aspects:
        yield "plan", _both(*(document.get("plan", _NOTHING)["text"] for document in (a, b)))
    if "exchange" in aspects:
        yield "picture", _apart(_exchange, a, b)
    if "answer" in aspects:
        yield "answer", _both(*(document.get("answer", _NOTHING)["text"] for document in (a, b)))
    if "floor" in aspects:
        yield "floor", _apart(_floor, a, b)
    yield from (("", f"{mind['agent']}: {_mind(mind)}") for mind in minds_that_differ(a, b))
    if "removed" in aspects:
        alone = {"A": without(a["removed"], b["removed"]), "B": without(b["removed"], a["removed"])}
        phrases = [f"only in {name}: {', '.join(units)}" for name, units in alone.items() if units]
        yield "removed", "; ".join(phrases) or "the same units in another order"
    if "scores" in aspects:
        yield "scores", _scores(a, b)
    if "judgement" in aspects:
        yield "judge", _apart(_judgement, a, b)
    if others := [aspect for aspect in aspects if aspect not in _IN_WORDS]:
        yield "and in", ", ".join(map(_named, others))


def _both(a: str, b: str) -> str:
    return f"{a} | {b}"


def _apart(tell: Callable[[Any, int], str], a: Any, b: Any, digits: int = 2) -> str:
    """Return both in words, with figures of two digits, or of so many that they are told apart."""
    phrases = ((tell(a, places), tell(b, places)) for places in range(digits, 17))
    return _both(*next((pair for pair in phrases if pair[0] != pair[1]), (tell(a, digits), tell(b, digits))))


def _mind(mind: Document) -> str:
    alone = (("A", mind["only_in_a"]), ("B", mind["only_in_b"]))
    phrases = [f"on in {run} alone: {', '.join(map(in_words, names))}" for run, names in alone if names]
    for what, figure in (("W", "willingness"), ("seconds", "latency_s")):
        of_a, of_b = mind[figure]
        if of_a != of_b:
            phrases.append(f"{what} {_apart(number, of_a, of_b)}")
    return "; ".join(phrases)


def _exchange(document: Document, digits: int) -> str:
    exchange = document.get("exchange")
    if exchange is None:
        return "–"
    found = "named" if exchange["similarity"] is None else f"similar, {number(exchange['similarity'], digits)}"
    passed = ", passed" if exchange["passed"] else ""
    return f"{exchange['asker']} → {exchange['answerer']}: {exchange['picture']} ({found}{passed})"


def _floor(document: Document, digits: int) -> str:
    floor = document["floor"]
    if floor is None or floor["waited_s"] is None:
        return "nobody" if floor else "–"
    return f"{document['speaker']} after {number(floor['waited_s'], digits)} s"


def _scores(a: Document, b: Document) -> str:
    largest = largest_score_difference(a, b)
    if largest is None:
        return "of other units" if a["scores"]["units"] and b["scores"]["units"] else "only one of the two was scored"
    both = _apart(lambda score, digits: f"{score:.{digits}g}", largest.a, largest.b, 4)
    return f"{largest.differing} units differ, most of all {largest.unit}: {both}"


def mark_of_hand(document: Document) -> str:
    """Return the mark of a line that no model wrote: a person, or a graph around the conversation."""
    if document["speaker"] is None:
        return ""
    if document["prompt"] is None:
        return "  ✎ not generated"
    said = document["candidates"].get(str(document["judgement"]["chosen"]), {})
    return "  ✎ rewritten by a person" if said.get("origin") == "by_hand" else ""


def _judgement(document: Document, digits: int) -> str:
    if mark_of_hand(document):
        return "– (not generated)"
    judgement = document["judgement"]
    judged = [candidate["inconsistency"] for candidate in judgement.values() if isinstance(candidate, dict)]
    figures = [number(figure, digits) for figure in judged if figure is not None]
    return f"{', '.join(figures) or '–'} ({judgement['rollbacks']} rolled back)"
