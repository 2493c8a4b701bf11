"""Words of an English line that say something, as stems."""

import re
from functools import lru_cache

#: Words that say nothing of the subject of a sentence.
STOP = frozenset(
    re.findall(
        r"\S+",
        """
        a about after again all also am an and any are as at away back be because been before being both but by
        can can't cannot come could did didn do does doesn doing don down each else even ever every everybody
        everyone few for from get gets getting give go goes going gone good got had has have haven he her here
        hers him his how i if in into is isn it its just keep know known last let like little look lot m made
        make makes many may maybe me mean might mine more most much must my need needs never new next no nobody
        not nothing now of off often ok old on once one only or other our ours out over own people perhaps
        please put re really right s said same say see she should since so some somebody someone something soon
        sorry still such sure t take tell than thank thanks that the their them then there these they thing
        things think this those though through time to today tomorrow tonight too two under until up us use used
        ve very want wants was wasn way we well went were what when where which while who why will with without
        won would yes yesterday yet you your yours ll d day days week weeks year years morning afternoon evening
        night hour hours minute minutes monday tuesday wednesday thursday friday saturday sunday always home
        work works working long first second
        """,
    )
)


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """Return a word in lower case without its ending."""
    for ending in ("ies", "ied"):
        if word.endswith(ending) and len(word) > 4:
            return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s", "e", "ly", "er"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls" else word
    return word
