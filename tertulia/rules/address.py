"""The people whom a line asks: whom it calls in a question, or requests to speak. No model is asked.

The current speaker selects the next (Sacks, Schegloff and Jefferson 1974, rule 1a); ChatAgents App. A names mention
response as a module that may be added, and David speaks "when prompted" (§IV-C).

Whether a person is *called* (`Jonas, …`, `…, Jonas?`) is told by the place of the name, in any script. Pronouns and
requests are those of English, German, French and Spanish (`address_words`).
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import tertulia as tt
from tertulia.rules import address_words

#: A person's name in a text, as its first position and the one behind its last.
Mention = tuple[tuple[int, int], str]

_SENTENCE = re.compile(r"[^.!?…。！？؟\u037e;՞፧⁇⁈⁉‽।\n]*[.!?…。！？؟\u037e;՞፧⁇⁈⁉‽।\n]*[\"”’»)』」]*")
#: A question mark of any script (`;` is the Greek one), or a sentence of Japanese or Chinese that ends as questions do.
_QUESTION = re.compile(r"[?？؟\u037e՞፧⁇⁈⁉‽]|(?:か|[吗嗎])[。．]?\s*$")
_GREEK_QUESTION = re.compile(r"[\u0370-\u03ff].*;", re.DOTALL)

#: Words behind a name that do not change its person.
_HONORIFIC = r"(?:-?(?:さん|さま|様|君|くん|ちゃん|先生|氏|殿|老师|老師|小姐|씨|님|아|야))?"
#: Words between the beginning of a sentence, or a comma, and the name of the person called.
_CALLS = (
    r"(?:and|but|so|well|now|then|oh|ok|okay|hey|hi|hello|yes|yeah|no|please|thanks|thank you|sorry|dear|right|ah|what"
    r" about|how about|and you|go on|go ahead|over to you|your turn|good morning|good point|يا"
    rf"|{address_words.CALLS})"
)
_BEFORE_CALL = re.compile(rf"(?:^|[,،、，;:—–(¿¡\"“«「]|\s-)\s*(?:{_CALLS}[\s,،]+)*@?$", re.IGNORECASE)
_MENTIONED = re.compile(r"(?:^|[\s(])@$")
#: A call that ends an exchange, and gives no turn: `Thanks, Bob.`
_THANKS = re.compile(rf"\s*(?:thanks|thank you|many thanks|cheers|{address_words.THANKS})\b", re.IGNORECASE)
_BEHIND_CALL = re.compile(
    rf"{_HONORIFIC}\s*(?:$|[,،、，;:!?.…—–)。！？؟\u037e\"”»」՞፧⁇⁈⁉‽।]|-\s)"
    r"|\s+(?:what|where|when|who|why|how|which|your turn|go on|go ahead|please|you (?:first|next|start|begin)"
    r"|(?:can|could|will|would|do|did|are|were|have|should|shall|may) (?:you|we|it)"
    rf"|{address_words.BEHIND_CALL})\b",
    re.IGNORECASE,
)
#: `What do you think Jonas?`: behind these a name at the end of a question is that of the person asked.
_ASKS_LAST = re.compile(rf"\b(?:you|think|say|reckon|prefer|mean|agree|{address_words.ASKS_LAST})\s+$", re.IGNORECASE)
_BETWEEN_NAMES = re.compile(
    rf"{_HONORIFIC}\s*(?:,|、|，|،|&|\band\b|\bor\b|{address_words.JOINTS}|と|和|\s)+", re.IGNORECASE
)
_POSSESSIVE = re.compile(r"['’]s?\s+\w|s['’]\s")

#: In a question with one of these, a person named without being called is only talked about.
_OTHERS_MEANT = re.compile(
    r"\b(?:you|your|yours|we|us|our|i|me|my|who|whom|anybody|anyone|somebody|someone|everybody|everyone"
    rf"|{address_words.OTHERS_MEANT})\b",
    re.IGNORECASE,
)
_TO_ALL = re.compile(
    r"\b(?:anybody|anyone|everybody|everyone|you all|you both|you two|you guys|others|else|folks"
    r"|(?:all|both|each|any|one|none|some|the rest|the two|the others|most) of (?:you|us)"
    rf"|{address_words.TO_ALL})\b",
    re.IGNORECASE,
)
_TO_ONE = re.compile(rf"\b(?:you|your|yours|{address_words.TO_ONE})\b", re.IGNORECASE)
#: A question in these languages talks of a person (`Why did Bo leave?`), and asks them only for their view (`Does Bo
#: agree?`, `What would Bo do?`), or for what they might do (`Can Bo come?`). A name in it is `_NAME`.
_NAME, _ROW = address_words.NAME, address_words.ROW
_IN_KNOWN_LANGUAGE = re.compile(
    r"\b(?:what|when|where|who|why|how|which|do|does|did|is|are|were|has|have|had|can|could|would|should|the|that|there"
    rf"|{address_words.FUNCTION_WORDS})\b|\b(?:was|will|shall)\s+{_NAME}",
    re.IGNORECASE,
)
_ASKS_FOR_VIEW = re.compile(
    rf"\b(?:do|does|would|should|could|is|are)\s+{_ROW}{_NAME}(?:\s+(?:also|both|still|really|even|not|\w+ly))?\s+"
    r"(?:think|say|see|feel|want|prefer|suggest|propose|agree|mean|know|remember|reckon|believe|like|need|mind|do|object"
    r"|ready|happy|willing|able|fine|content|free|all right|ok|okay|for|against|in)\b"
    rf"|^\W*(?:(?:so|and|but|or|then|well|now|ok|okay)\b\W*)*(?:can|could|will|would|should|shall)\s+{_ROW}{_NAME}\s"
    rf"|{address_words.ASKS_FOR_VIEW}",
    re.IGNORECASE,
)
#: Behind these, a person not spoken to is given the turn: `Let's hear from Jonas.`
_HANDS_ON = re.compile(
    r"\b(?:let['’]?s|let us|like to|love to|want to|should|shall we|can we|could we) (?:all )?hear (?:from|what) $"
    rf"|{address_words.HANDS_ON}",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\b(?:tell (?:us|me)|say|explain|describe|answer|speak|go on|go ahead|share|let (?:us|me) (?:know|hear)|your turn|"
    rf"you (?:first|start|begin)|over to you|remind us|{address_words.REQUEST})\b",
    re.IGNORECASE,
)


def read_line(text: str, listeners: Sequence[str]) -> dict[str, Any]:
    """Return the names of the listeners whom a line asks (`asked`), and `is_open_question`: whether it asks everybody.

    A question asks whom it calls, else whom it names without speaking to others; a question that names nobody asks the
    person called before it, or after. A person that is called and requested to speak is asked, too.
    """
    text = unicodedata.normalize("NFC", text)
    named = tt.mentions(text, listeners)
    asked: set[str] = set()
    called: tuple[str, ...] = ()  # whom the line has called so far
    thanked = False  # whether it did so only to thank them
    waiting = False  # whether a question has not found its addressee yet
    is_open = False
    for sentence in filter(None, map(str.strip, _SENTENCE.findall(text))):
        found = tt.mentions(sentence, listeners)
        mentions = [(place, name) for name in named for place in found.get(name, ())]
        now_called = _called(sentence, sorted(mentions))
        if waiting and now_called and not _is_question(sentence):
            asked.update(now_called)
            waiting = False
        if now_called:
            called, thanked = now_called, bool(_THANKS.match(sentence))
        if _is_question(sentence):
            addressees = now_called or _talked_of(sentence, mentions)
            if not addressees and not _TO_ALL.search(sentence) and (not thanked or _TO_ONE.search(sentence)):
                addressees = called
            asked.update(addressees)
            is_open = is_open or waiting or (not addressees and bool(_TO_ALL.search(sentence)))
            waiting = not addressees and not _TO_ALL.search(sentence)
        elif now_called and _REQUEST.search(sentence):
            asked.update(now_called)
        asked.update(name for (start, _), name in mentions if _HANDS_ON.search(sentence[:start]))
    return {"asked": [name for name in named if name in asked], "is_open_question": is_open or waiting}


@tt.node("read_address", description="finds whom a line asks by words: English, German, French, Spanish")
async def asked_by_words(state: Any, runtime: Any) -> dict[str, Any]:
    """Find whom a line asks, by words of English, German, French and Spanish."""
    return {"address": read_line(state["line"], state["listeners"])}


NODES = (asked_by_words,)


def _is_question(sentence: str) -> bool:
    return bool(_QUESTION.search(sentence) or _GREEK_QUESTION.search(sentence))


def _called(sentence: str, mentions: Sequence[Mention]) -> tuple[str, ...]:
    """Return whom a sentence calls; names in a row (`Ana, Bo and Cy, …`) are called, or not, all at once."""
    groups: list[list[Mention]] = []
    for mention in mentions:
        between = sentence[groups[-1][-1][0][1] : mention[0][0]] if groups else ""
        if groups and _BETWEEN_NAMES.fullmatch(between):
            groups[-1].append(mention)
        else:
            groups.append([mention])
    names: list[str] = []
    for group in groups:
        before, behind = sentence[: group[0][0][0]], sentence[group[-1][0][1] :]
        is_last = not re.search(r"\w", behind)
        begins = bool(_BEFORE_CALL.search(before))
        is_called = _BEHIND_CALL.match(behind) or _MENTIONED.search(before)
        if (begins and is_called) or (is_last and _ASKS_LAST.search(before)):
            names += [name for _, name in group]
        elif begins and len(group) > 1:  # `Bo, did Ana …?` reads as a row only if a comma parts them
            between = sentence[group[0][0][1] : group[1][0][0]]
            names += [group[0][1]] if "," in between else []
    return tuple(dict.fromkeys(names))


def _talked_of(question: str, mentions: Sequence[Mention]) -> tuple[str, ...]:
    """Return the people that a question asks without calling them: `What does Jonas think?`."""
    if _OTHERS_MEANT.search(question):
        return ()
    owners = [place for place, _ in mentions if _POSSESSIVE.match(question[place[1] :])]
    masked, shift, at = question, 0, {}
    for place, name in sorted(mentions):
        if place not in owners:
            start, end = place[0] - shift, place[1] - shift
            masked = masked[:start] + _NAME + masked[end:]
            shift += end - start - len(_NAME)
            at[start] = name
    if not _IN_KNOWN_LANGUAGE.search(masked):
        return tuple(at.values())
    asked = [found.span() for found in _ASKS_FOR_VIEW.finditer(masked)]
    return tuple(name for start, name in at.items() if any(begin <= start < end for begin, end in asked))
