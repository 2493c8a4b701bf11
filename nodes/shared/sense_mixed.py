"""Whether a clause joins two details that are known of different things: the price of needles and a fence.

A small model takes its words from what it is told, and hangs a number or a weekday of one memory on the thing of
another.
The rules know English words.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from tertulia.nodes.shared.sense_details import LEAVES_OPEN, MEASURES, numbers_in
from tertulia.nodes.shared.sense_stems import name_stems, sentences, stem, stems
from tertulia.nodes.shared.sense_times import DAYS, NUMBER
from tertulia.nodes.shared.situation import Situation
from tertulia.state.text import folded_words

#: Numbers up to this one are said of anything.
_COMMON = 2
#: So many things are needed for a weekday, as much happens on one day.
_OF_DAY = 2
#: Hours, on which anything happens.
_HOUR = re.compile(
    r"\b(?:at|until|till|since|by|past|before|after|from|quarter to|between) \w+(?: and \w+)?|\b\w+ o['’]clock",
    re.IGNORECASE,
)
_NO_THINGS = MEASURES | frozenset(map(stem, (*NUMBER, *DAYS)))
_JOINTS = re.compile(r"[,;:]| (?:and|but|because|so|when|if|that) ")


def mixes_facts(text: str, situation: Situation) -> bool:
    """Return whether a clause has a known number or weekday, and known things, and nothing known joins the two."""
    known = [*chain(*situation.known.values()), *(line for _, line in situation.before)]
    known += [situation.place] if situation.place else []
    for clause in _clauses(text):
        details = _details_in(clause)
        if not details:
            continue
        things = {thing for thing in stems(clause) - _NO_THINGS - name_stems(situation) if not thing.isdecimal()}
        things &= frozenset().union(*map(stems, known))
        for detail in details:
            having = [stems(fact) for fact in known if detail in _details_in(fact)]
            enough = 1 if isinstance(detail, int) else _OF_DAY
            if having and len(things) >= enough and not any(things & known_things for known_things in having):
                return True
    return False


def _clauses(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        if LEAVES_OPEN.search(sentence):
            continue
        yield from filter(None, map(str.strip, _JOINTS.split(sentence)))


@lru_cache(maxsize=8192)
def _details_in(text: str) -> frozenset[int | str]:
    """Return the numbers and weekdays of a text."""
    words = folded_words(_HOUR.sub("", text))
    numbers = (value for value, _, _ in numbers_in(words) if value > _COMMON)
    said = folded_words(text)
    return frozenset((*numbers, *(day for day in DAYS if day in said or f"{day}s" in said)))
