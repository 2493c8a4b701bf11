"""Whether a line makes no sense where it is said, by rules that read its words alone: no model is asked.

| fault | what it is |
|---|---|
| `repeats` | nearly word for word what was said before; up to three words, what was said just before, twice |
| `empty` | thanks, excuses, greetings or assent, after two such lines; *I'm sorry* soon after another *sorry* |
| `misnames` | who speaks names themselves, says that they are another, or talks to one of two about the same one |
| `broken` | half a word, a word in three pieces, signs of a form |
| `memory`, `echo` | what only another one remembers; what the prompt says (`sense_facts`) |
| `facts` | against a number, time or place that is known (`sense_details`), or one of another thing (`sense_mixed`) |
| `reply` | leaves the question before it (`sense_reply`) |

A line has a fault only where a reader would call it one whatever else is true. `docs/measuring.md` has how often real
dialogues have them, and how much of a small model's nonsense is none of these.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, get_args

from tertulia.nodes.meeting.address import mentions_of
from tertulia.nodes.shared import sense_words
from tertulia.nodes.shared.sense_breaks import is_broken
from tertulia.nodes.shared.sense_details import contradicts_facts
from tertulia.nodes.shared.sense_facts import echoes, takes_anothers_memory
from tertulia.nodes.shared.sense_mixed import mixes_facts
from tertulia.nodes.shared.sense_reply import leaves_question
from tertulia.nodes.shared.sense_stems import STOP, name_words
from tertulia.nodes.shared.situation import Situation, lines_before
from tertulia.state.context import Context
from tertulia.state.text import folded_words

#: What is wrong with a line.
Fault = Literal["repeats", "empty", "misnames", "broken", "memory", "facts", "reply", "echo"]
FAULTS: tuple[Fault, ...] = get_args(Fault)

#: How many lines in a row that only repeat, or are empty, are a loop.
_LOOP = 3

#: The share of a line's triples of words that an earlier line has, from which it is that one said again: of a line of a
#: dozen words or more, of a shorter one (people use the same phrases, and ask the same short questions).
_SAME_LONG, _SAME_SHORT, _LONG = 0.4, 0.9, 12
#: From so many words on, a line is an earlier one said again where a single word is another.
_SAME_BUT_ONE = 8
#: Words by which a line begins whatever it says.
_OPENINGS = frozenset(
    re.findall(
        r"\w+",
        "well oh yes look ah so right listen and but no okay ok hm hmm yeah now then again really",
    )
)
#: Lines of at most so many words are said again by anybody, and repeat only what was said just before.
_SHORT = 3
#: Lines of so many words echo the one before where they differ in these alone: `I read it too`, `I read that too`.
_ECHOES = 7
_POINTS = frozenset(re.findall(r"\w+", "it that this them him her then so and just"))

#: Words that say nothing by themselves.
_POLITE = frozenset(
    re.findall(
        r"\S+",
        """
        thanks thank you your re m s ve d ll for the all help kindness very so much really truly too again i im am was
        sorry apologise apologize apologies please welcome youre pleasure my it its is that thats ok okay yes yeah yep
        no sure right alright great good fine nice well wonderful lovely perfect oh ah hello hi hey bye goodbye see
        later soon agree agreed agreeing with of course absolutely indeed certainly definitely exactly totally
        completely appreciate understand know we me and but problem worries a an lot
        everything anything nothing mention don didn won t do did be would wouldn at any time such to hear heard say
        said glad happy pleased delighted grateful thankful obliged
        thousand million bunch ton times forgive excuse pardon
        apology accept fault bad mean means meant trouble bother bothering worry matter matters kind sweet generous
        thoughtful sounds sound fair enough quite true agreement more couldn could think thought believe suppose guess
        same here likewise both either neither owe one deserve earned anytime bet thing cheers bless always ever
        deeply sincerely terribly awfully extremely entirely fully wholeheartedly will shall can as hope point this
        let me go ahead gladly willingly let it amazing awesome excellent fantastic brilliant cool
        by all none way neither apologies then
        """,
    )
)
#: The most words of an empty line.
_EMPTY_LINE = 24

#: Feelings that people tell in turn where nobody has more to say; the most words of a line that only tells one.
_FEELINGS, _FEELS = frozenset({"sorry", "glad", "afraid", "happy", "ashamed"}), 9

#: What stands before one's own name, and before the name of who one says to be.
_SAYS_WHO = re.compile(
    r"\b(?:i am|i['’]m|name is|name['’]s|name was|this is|it['’]s|it is|call(?:s|ed)? me|yours|was|for|the other|as)"
    r"[\s,:]*$",
    re.IGNORECASE,
)
#: What stands before, and behind, the name of somebody who is talked about, and not to.
_ASKED = re.compile(
    r"\b(?:tell|told|ask|asked|with|about|from|for"
    r"|(?:gave|given?|lend|lent|sen[dt]|said|wr[io]te|written|show(?:ed)?|promised?|spoke|speak|talk(?:ed)?|brought|bring"
    r"|sold|sell|paid|pay)(?: \w+){0,2} to)\s+$",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\b(?:that|to|see|saw|and|by|help|let|of|say|said|meet|met|know|if|whether|because|when|where|what|as|than|why)\s+$",
    re.IGNORECASE,
)
_DOES = re.compile(
    r"\s+(?:is|was|has|had|will|would|says|said|wants|wanted|knows|knew|thinks|thought|does|did|told|came|went|and I)\b"
)
_SAYS_I = re.compile(
    r"\b(?:i am|i['’]m|my name is|my name['’]s|i am called|i['’]m called|call me|speaking as|yours,)\s*$", re.IGNORECASE
)
#: `As Bo, I`, `I, Bo,`, `Bo here.`, `this is Bo speaking`: what only Bo can say, and to nobody who is there.
_AS_BEFORE, _AS_BEHIND = re.compile(r"(?:^|[.!?]\s+)as\s+$", re.IGNORECASE), re.compile(r"\s*,|\s+(?:I|my)\b")
_I_BEFORE, _I_BEHIND = re.compile(r"\b(?:I|me),\s*$"), re.compile(r"\s*,\s*(?:am|have|do|will|would|can|was|think)\b")
_HERE_BEHIND = re.compile(r"\s+(?:here\s*(?:[.,!:;]|$)|speaking\b)", re.IGNORECASE)
_STARTS = re.compile(r"(?:^|[.!?]\s+|\b(?:this is|it['’]?s|it is|hello|hi|hey),?\s+)$", re.IGNORECASE)


def faults_of(text: str, situation: Situation) -> tuple[Fault, ...]:
    """Return what is wrong with a line."""
    said = [folded_words(line) for _, line in situation.before]
    line = folded_words(text)
    names = name_words(situation)
    found: dict[Fault, bool] = {
        "repeats": _repeats(line, said),
        "empty": (len(said) > 1 and all(_is_empty(words, names) for words in (line, *said[-2:])))
        or _feels_again(line, said),
        "misnames": _misnames(text, situation.speaker, situation.people),
        "broken": is_broken(text),
        "memory": takes_anothers_memory(text, situation),
        "facts": contradicts_facts(text, situation) or mixes_facts(text, situation),
        "reply": leaves_question(text, situation),
        "echo": echoes(text, situation),
    }
    return tuple(fault for fault, is_there in found.items() if is_there)


def is_loop(lines: Sequence[tuple[str, str]], people: Sequence[str]) -> bool:
    """Return whether each of the last three lines of a conversation only repeats what was said, or is empty."""
    return len(lines) > _LOOP and all(
        {"repeats", "empty"}.intersection(faults_of(text, Situation(speaker, people, lines[:at])))
        for at, (speaker, text) in list(enumerate(lines))[-_LOOP:]
    )


def has_ended_in_loop(context: Context, turn: int) -> bool:
    """Return whether a conversation ended with a turn because its lines only repeated what was said."""
    (last,) = context.store.turns(context.run, turn, turn) or (None,)
    is_guarded = last is not None and last.ended and bool(context.parameters.redraws)
    return is_guarded and is_loop(
        lines_before(context.store, context.run, context.start, turn + 1), context.start.names
    )


def _repeats(line: Sequence[str], said: Sequence[Sequence[str]]) -> bool:
    if _SHORT < len(line) <= _ECHOES and said and _content(line) == _content(said[-1]):
        return True
    if len(line) <= _SHORT:
        return len(said) > 1 and all(earlier == line for earlier in said[-2:])
    line = _without_opening(line)
    triples, same = _triples(tuple(line)), _SAME_LONG if len(line) >= _LONG else _SAME_SHORT
    return len(line) > _SHORT and any(
        len(triples & _triples(tuple(earlier))) >= same * len(triples) or _differs_in_a_word(line, earlier)
        for earlier in map(_without_opening, said)
        if len(earlier) > _SHORT
    )


def _without_opening(line: Sequence[str]) -> Sequence[str]:
    """Return a line without the words by which people begin one, whatever it says."""
    at = 0
    while at < len(line) and line[at] in _OPENINGS:
        at += 1
    if line[at : at + 2] == ["you", "know"]:
        at += 2
    return line[at:]


def _differs_in_a_word(line: Sequence[str], earlier: Sequence[str]) -> bool:
    """Whether all words but one of a line are those of an earlier one, in their places: all that say something."""
    if len(line) != len(earlier) or len(line) < _SAME_BUT_ONE or line[-1] != earlier[-1]:
        return False
    other = [pair for pair in zip(line, earlier, strict=True) if pair[0] != pair[1]]
    return len(other) == 1 and not STOP.isdisjoint(other[0])


def _content(line: Sequence[str]) -> list[str]:
    """Return a line without the words by which a short one differs from what it echoes."""
    return [word for word in line if word not in _POINTS]


@lru_cache(maxsize=512)
def _triples(line: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    return frozenset(zip(line, line[1:], line[2:], strict=False))


def _is_empty(line: Sequence[str], names: frozenset[str]) -> bool:
    """Whether a line has only words that say nothing, and names of who is there."""
    words = set(line) - names
    return len(line) <= _EMPTY_LINE and any(polite.issuperset(words) for polite in (_POLITE, *sense_words.POLITE))


def _feels_again(line: Sequence[str], said: Sequence[Sequence[str]]) -> bool:
    """Whether a short line only says that somebody is sorry, glad or afraid, and one of the last three said it too."""
    if len(line) > _FEELS or line[:2] not in (["i", "m"], ["i", "am"]):
        return False
    return any(word in earlier for word in _FEELINGS.intersection(line) for earlier in said[-3:])


def _misnames(text: str, speaker: str, people: Sequence[str]) -> bool:
    """Whether somebody names themselves (but to say who they are), or says that they are another.

    Or, in a dialogue of two, tells the other about the same one: `I will tell Bo`, said to Bo.
    """
    text = unicodedata.normalize("NFC", text)
    found = mentions_of(people, text)
    for name, places in found.items():
        others = {place for other, shared in found.items() if other != name for place in shared}
        for start, end in (place for place in places if place not in others):  # else it may be either's
            before, behind = text[:start], text[end:]
            speaks_as = _AS_BEFORE.search(before) and _AS_BEHIND.match(behind)
            if name == speaker and (speaks_as or not (_SAYS_WHO.search(before) or sense_words.SAYS_WHO.search(before))):
                return True
            is_said = speaks_as or _says_to_be(before, behind)
            if name != speaker and (is_said or _tells(before, behind, people)):
                return True
    return False


def _says_to_be(before: str, behind: str) -> bool:
    """Whether what stands around a name says that whoever speaks bears it."""
    return bool(
        _SAYS_I.search(before)
        or sense_words.says_to_be(before, behind)
        or (_HERE_BEHIND.match(behind) and _STARTS.search(before))
        or (_I_BEFORE.search(before) and _I_BEHIND.match(behind))
    )


def _tells(before: str, behind: str, people: Sequence[str]) -> bool:
    if len(people) != 2:
        return False
    if sense_words.tells_about(before, behind):
        return True
    is_called = bool(re.match(r"\s*[,?!.]", behind))
    return bool(_ASKED.search(before) or _DOES.match(behind) or (_ABOUT.search(before) and not is_called))
