"""Whether a line says what only another one remembers, or what the prompt says, by rules over its words."""

import re

from tertulia.nodes.shared.sense_stems import name_stems, said_stems, sentences, stems, stems_of
from tertulia.nodes.shared.situation import Situation
from tertulia.state.text import folded_words

#: How many words, and which share of its words, a sentence takes from a memory of another one: words that its speaker
#: has no other reason to know; and where others have said them, that the speaker did not say.
_TAKEN, _TAKEN_SHARE, _TAKEN_SAID_SHARE = 2, 0.5, 0.75
#: Words in a row that only the prompt has; the share of an example's words, and how many it has to have.
_ECHOED, _OF_EXAMPLE, _EXAMPLE = 6, 0.75, range(3, 13)
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Mm]ine|[Mm]e)\b")
_SECOND_PERSON = re.compile(r"\b(?:you|your|yours|he|she|they|his|her|their)\b", re.IGNORECASE)


def takes_anothers_memory(text: str, situation: Situation) -> bool:
    """Whether a sentence says *I* of what another one remembers, and neither its speaker nor anybody has said."""
    others = [who for who in situation.people if who != situation.speaker and situation.known.get(who)]
    if not others:
        return False
    own = {*stems_of(situation.known.get(situation.speaker, ())), *name_stems(situation)}
    own |= stems(situation.place or "")
    own.update(*(stems(line) for who, line in situation.before if who == situation.speaker))
    shared = own | said_stems(situation)
    for sentence in sentences(text):
        if sentence.endswith("?") or not _FIRST_PERSON.search(sentence) or _SECOND_PERSON.search(sentence):
            continue
        told = stems(sentence)
        for who in others:
            for memory in situation.known[who]:
                taken = told & stems(memory)
                if len(taken - shared) >= _TAKEN and len(taken - shared) >= _TAKEN_SHARE * len(told):
                    return True
                if len(taken - own) >= _TAKEN and len(taken) >= _TAKEN_SAID_SHARE * len(told):
                    return True
    return False


def echoes(text: str, situation: Situation) -> bool:
    """Whether a line has six words in a row of what the prompt tells, or most words of an example's answer."""
    line, told = folded_words(text), stems(text)
    runs = set(zip(*(line[at:] for at in range(_ECHOED)), strict=False))
    for shown in situation.shown:
        words = folded_words(shown)
        if runs and not runs.isdisjoint(zip(*(words[at:] for at in range(_ECHOED)), strict=False)):
            return True
        of_example = stems(shown)
        if len(of_example) in _EXAMPLE and len(of_example & told) >= _OF_EXAMPLE * len(of_example):
            return True
    return False
