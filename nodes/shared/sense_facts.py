"""Whether a line says what only another one remembers, or what the prompt says, by rules over its words."""

import re
from collections.abc import Sequence
from functools import lru_cache

from tertulia.nodes.shared.sense_stems import name_stems, name_words, said_stems, sentences, stem, stems, stems_of
from tertulia.nodes.shared.situation import Situation
from tertulia.state.text import folded_words

#: How many words, and which share of its words, a sentence takes from a memory of another one: words that its speaker
#: has no other reason to know; and where others have said them, that the speaker did not say.
_TAKEN, _TAKEN_SHARE, _TAKEN_SAID_SHARE = 2, 0.5, 0.75
#: Words in a row that only the prompt has; the share of an example's words, and how many it has to have.
_ECHOED, _OF_EXAMPLE, _EXAMPLE = 6, 0.75, range(3, 13)
#: The fewest words of a memory that nobody says so by chance.
_RECITED = 4
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Mm]ine|[Mm]e)\b")
#: With these a sentence tells of others, or joins in what they said.
_OF_OTHERS = re.compile(
    r"\b(?:you|your|yours|he|she|they|his|her|their|(?:love|like|enjoy)\b.*\b(?:too|also))\b", re.IGNORECASE
)


#: How a sentence begins that tells what somebody is, has or did, and not what they like, which others may like too.
_OWNS = re.compile(
    r"(?:(?:well|oh|yes|no|and|but|so|you know|actually|look),? )*"
    r"(?:I (?!(?:also |really |just )?(?:like|love|enjoy|hate|prefer|think|hope|feel|know|guess|see|agree"
    r"|understand|want)\b)"
    r"(?!.*\b(?:too|also|as well)\b)|my |I['’](?:m|ve|d|ll) )",
    re.IGNORECASE,
)
_WHOSE = frozenset(
    re.findall(
        r"\S+",
        """
        i am m is are was were be been have has had ve s a an the my me mine his her hers him he she they their them our
        we himself herself myself do does did to of and well oh yes no but so you know actually look
        """,
    )
)


def takes_anothers_memory(text: str, situation: Situation) -> bool:
    """Whether a sentence says *I* of what another one remembers, and neither its speaker nor anybody has said."""
    others = [who for who, facts in situation.known.items() if who != situation.speaker and facts]
    others = [who for who in others if who in situation.people]
    if not others:
        return False
    names = name_words(situation)
    theirs = {fact for who in others for text in situation.known[who] for fact in _facts_in(text, names)}
    own_facts = {fact for text in situation.known.get(situation.speaker, ()) for fact in _facts_in(text, names)}
    own = {*stems_of(situation.known.get(situation.speaker, ())), *name_stems(situation)}
    own |= stems(situation.place or "")
    own.update(*(stems(line) for who, line in situation.before if who == situation.speaker))
    shared = own | said_stems(situation)
    shared_words = frozenset(stem(word) for _, line in situation.before for word in folded_words(line))
    for sentence in sentences(text):
        if _OWNS.match(sentence) and not sentence.endswith("?"):
            fact = _fact_of(sentence, names)
            if fact and fact in theirs and fact not in own_facts and not fact <= shared_words:
                return True
        if sentence.endswith("?") or not _FIRST_PERSON.search(sentence) or _OF_OTHERS.search(sentence):
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


@lru_cache(maxsize=4096)
def _facts_in(text: str, names: frozenset[str]) -> tuple[frozenset[str], ...]:
    return tuple(_fact_of(sentence, names) for sentence in sentences(text))


def _fact_of(sentence: str, names: frozenset[str]) -> frozenset[str]:
    """Return the words of a sentence, as stems, without those by which it says whose it is."""
    return frozenset(stem(word) for word in folded_words(sentence) if word not in names and word not in _WHOSE)


def echoes(text: str, situation: Situation) -> bool:
    """Whether a line has six words in a row of what the prompt tells, or most words of an example's answer.

    Or says what its speaker remembers as the prompt has it: of somebody with their name.
    """
    line, told = folded_words(text), stems(text)
    if _recites(line, situation):
        return True
    runs = set(zip(*(line[at:] for at in range(_ECHOED)), strict=False))
    for shown in situation.shown:
        words = folded_words(shown)
        if runs and not runs.isdisjoint(zip(*(words[at:] for at in range(_ECHOED)), strict=False)):
            return True
        of_example = stems(shown)
        if len(of_example) in _EXAMPLE and len(of_example & told) >= _OF_EXAMPLE * len(of_example):
            return True
    return False


def _recites(line: Sequence[str], situation: Situation) -> bool:
    """Whether a line has the first words of something that its speaker knows, with their own name among them."""
    names = frozenset(folded_words(situation.speaker))
    if names.isdisjoint(line):
        return False
    said = f" {' '.join(line)} "
    for known in situation.known.get(situation.speaker, ()):
        words = folded_words(known)[:_ECHOED]
        if len(words) >= _RECITED and not names.isdisjoint(words) and f" {' '.join(words)} " in said:
            return True
    return False
