"""Whether a line leaves the question before it, by its words: a logistic regression over what they have in common.

What has not the form of an answer to *where*, *when*, *who* or *how many*, and no word of the question, leaves it
anyway. The regression was fitted on lines of `worlds/scenes/` and of a public set, as they are and with lines of other
conversations in their places (docs/measuring.md), and knows English alone.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from math import exp

from tertulia.nodes.shared.sense_stems import STOP, said_stems, sentences, stem, stems, stems_of
from tertulia.nodes.shared.sense_times import DAYS, TENS, UNITS
from tertulia.nodes.shared.situation import Situation
from tertulia.state.text import folded_words

#: The most words of a question that asks back whatever was asked.
_ASKS_SHORTLY = 3
#: Above which probability a line is taken for one that leaves the question: where both are known well, where little is
#: known and was said, and where nothing is known of its speaker. From so many words on they are known well.
_SURE, _SURE_OF_LITTLE, _SURE_OF_NOBODY, _WELL = 0.7, 0.87, 0.95, 40


def leaves_question(text: str, situation: Situation) -> bool:
    """Return whether the line before it asks its speaker something, and the line does not take it up."""
    found = evidence(text, situation)
    if found is None or _asks_back(text, situation.before[-1][1]):
        return False
    is_taken_up = found["of the question"] or found["of its line"] or _ANSWERS.match(text)
    if not is_taken_up and _has_not_its_form(text, situation.before[-1][1]):
        return True
    score = sum(_WEIGHTS[name] * value for name, value in found.items())
    return 1 / (1 + exp(-score)) > _sureness(situation)


def _has_not_its_form(text: str, asked: str) -> bool:
    """Whether a question begins with *where*, *when*, *who* or *how many*, and a line has not the form of an answer."""
    kind = _WH.search(sentences(asked)[-1].casefold())
    answers = () if kind is None or len(kind.string[: kind.start()].split()) > 1 else _ANSWER_OF.get(kind[1], ())
    return bool(answers) and not any(answer.search(text) for answer in answers)


def _asks_back(text: str, asked: str) -> bool:
    """Whether a line begins with a question about what was asked: `Which key?`, `Why?`."""
    first = next(iter(sentences(text)), "")
    return first.endswith("?") and (len(first.split()) <= _ASKS_SHORTLY or bool(stems(first) & stems(asked)))


def _sureness(situation: Situation) -> float:
    if not situation.known.get(situation.speaker):
        return _SURE_OF_NOBODY
    known = frozenset().union(*(stems_of(tuple(texts)) for texts in situation.known.values()))
    return _SURE if len(known | said_stems(situation)) >= _WELL else _SURE_OF_LITTLE


def evidence(text: str, situation: Situation) -> Mapping[str, float] | None:
    """Return what tells whether a line takes up the question before it; `None` where none was asked, or in no English.

    Each is a count that is capped, or 1 or 0: words that the line shares with the question, the lines before and what
    both know; how much of it is new; whether it has the form of an answer, of an answer of another kind, or of a
    remark on news.
    """
    if not situation.before or len(situation.people) != 2:
        return None
    asker, asked = situation.before[-1]
    question = next(iter(reversed(sentences(asked))), "")
    words, stems_told = folded_words(text), stems(text)
    if asker == situation.speaker or not question.endswith("?") or not (stems_told or set(words) & STOP):
        return None
    before = said_stems(situation)
    own = stems_of(tuple(situation.known.get(situation.speaker, ())))
    others = frozenset().union(*(stems_of(tuple(known)) for who, known in situation.known.items() if who == asker))
    new = stems_told - before - own - others - stems(situation.place or "")
    asked_stems, first = stems(question), next(iter(sentences(text)), "")
    return {
        "one": 1,
        "nothing known": not own,
        "of the question": min(2, len(stems_told & asked_stems)),
        "of its line": min(2, len(stems_told & (stems(asked) - asked_stems))),
        "own": min(4, len(stems_told & own)),
        "other's": min(4, len(stems_told & others)),
        "new share": len(new) / max(1, len(stems_told)),
        "words": min(10, len(stems_told)),
        "light words": len(_light(question) & _light(text)),
        "refers back": bool(_REFERS_BACK.search(question)),
        **_forms(text, first, question),
    }


def _forms(text: str, first: str, question: str) -> Mapping[str, float]:
    """Return which forms of an answer a line has, by whether the question asks for yes or no."""
    yes_no = bool(_YES_NO.match(question))
    asks_what = not yes_no and bool(_ASKS_WHAT.search(question))
    kind = None if yes_no else _WH.search(question.casefold())
    answers = () if kind is None else _ANSWER_OF.get(kind[1], ())
    says_yes, remarks, begins = bool(_SAYS_YES.match(text)), bool(_REMARKS.match(text)), bool(_ANSWERS.match(text))
    to_you, of_me = bool(_YOU.search(question)), bool(_ME.search(question))
    return {
        "yes or no asked": yes_no,
        "yes": yes_no and says_yes,
        "yes to what": asks_what and says_yes,
        "begins as answer": yes_no and begins,
        "begins as answer to what": asks_what and begins,
        "neither": yes_no and not says_yes and not begins,
        "remarks on what": asks_what and remarks,
        "remarks on yes or no": yes_no and remarks,
        "remarks": not yes_no and not asks_what and remarks,
        "of another kind": bool(answers) and not any(answer.search(text) for answer in answers),
        "asks": text.rstrip().endswith("?"),
        "begins with question": first.endswith("?"),
        "I to you": to_you and bool(_ME.search(first)),
        "you to me": of_me and bool(_YOU.search(first)),
        "not of the past": bool(_PAST.search(question)) and not _PAST.search(text),
    }


@lru_cache(maxsize=1024)
def _light(text: str) -> frozenset[str]:
    return _LIGHT.intersection(map(stem, folded_words(text)))


#: Verbs that say little, and yet come back in an answer.
_LIGHT = frozenset(
    map(
        stem,
        re.findall(
            r"\w+",
            "like want have think work need go get make know take see come find feel name favorite favourite do live "
            "say tell give love enjoy plan play buy sell eat cost keep use put",
        ),
    )
)


def _any_of(words: str, beside: str = "") -> re.Pattern[str]:
    """Return a pattern that finds any of these words (`_` for a space), or what stands beside them."""
    listed = "|".join(word.replace("_", " ") for word in words.split())
    return re.compile(rf"\b(?:{listed})\b{beside}", re.IGNORECASE)


_AUXILIARY = (
    "do does did is are was were can could will would shall should have has had may must am don't doesn't didn't isn't "
    "aren't wasn't can't couldn't won't wouldn't haven't hasn't"
)
_OPENS = r"(?:(?:and|but|so|then|well|oh|ah|hm+),?\s+)?"
_YES_NO = re.compile(rf"{_OPENS}(?:{'|'.join(_AUXILIARY.split())})\b", re.IGNORECASE)
#: What an answer to any question may begin with.
_ANSWERS = re.compile(
    rf"{_OPENS}(?:yes|yeah|yep|no|nope|not|never|sure|of course|certainly|maybe|perhaps|probably|all right|fine|good"
    r"|gladly|nobody|nothing|none|ask|let me|only|just|some|both|neither|because|so that|exactly|right|true|please|they"
    r"|she|he|i (?:don['’]?t|do not|can['’]?t|cannot|can|could|will|won['’]?t|would|do|did|didn['’]?t|am|think|hope"
    r"|know|might|may|have|had|was|want|need)|i['’](?:m|ll|d|ve)|we['’](?:re|ll|d|ve)|we (?:do|did"
    r"|can|will|have|are|must|need)|it (?:is|was|does|did|has)|it['’]s|that['’]s|that is)\b",
    re.IGNORECASE,
)
#: What an answer to yes or no begins with; what a remark on news does, which answers no question.
_SAYS_YES = re.compile(
    rf"{_OPENS}(?:yes|yeah|yep|no|nope|not|never|sure|of course|certainly|maybe|perhaps|probably|absolutely|definitely"
    r"|i (?:do|did|am|have|will|would|can|could|was|don|didn|haven|won)|it (?:is|was|does|did)|they (?:are|do|were)"
    r"|we (?:are|do|were|did|have|can)|s?he (?:is|does|was|did)|you (?:can|may|could|should|do|are))\b",
    re.IGNORECASE,
)
_REMARKS = re.compile(
    r"(?:(?:oh|wow|ah|well|yeah|yes|no|hey),?\s+)*(?:that['’]s|that sounds|that is|that was|wow|cool|great|awesome|nice"
    r"|thanks|thank|me too|i['’]m glad|i['’]m sure|i can (?:imagine|see|tell)|it was nice|sounds|you too|you['’]re"
    r"|i agree|no problem|bye|goodbye|see you|have a|hi|hello|hey|i['’]ve (?:never|always|heard)|i know|i['’]ll"
    r"|you should|let['’]s|then|it is|they are|i bet|congratulations|what a|good (?:luck|for|idea))\b",
    re.IGNORECASE,
)
_ASKS_WHAT = re.compile(r"\b(?:what|who|whose|where|when|why|how|which)\b", re.IGNORECASE)
#: A question whose words are in the lines before it.
_REFERS_BACK = re.compile(
    r"\b(?:(?:what|how) about (?:you|yours?|it|that)|and you(?:rs)?|are you|you|why|why not|what else|which one|who"
    r"|like what|really|right)\s*\?",
    re.IGNORECASE,
)
_YOU, _ME = re.compile(r"\byou(?:rs?)?\b", re.IGNORECASE), re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Ww]e|[Oo]ur)\b")
_PAST = re.compile(r"\b(?:did|was|were|had|\w+ed)\b", re.IGNORECASE)

_WH = re.compile(r"\b(where|when|what time|how (?:many|much|long|far|often|old)|who|whose|why)\b")
_PLACE = _any_of(
    "in at on under behind near beside next by to from here there home outside inside upstairs downstairs over between "
    "with around where across above below"
)
_TIME = _any_of(
    f"{' '.join(DAYS)} {UNITS} noon midnight today tonight tomorrow yesterday morning afternoon evening night soon "
    "now later after before when until since ago next last as_soon day week month year spring summer autumn winter "
    "january february march april may june july august september october november december early late always never",
    r"|\d",
)
_COUNT = _any_of(
    f"{UNITS} {' '.join(TENS)} hundred thousand half dozen few some many all none enough more most much every both "
    "once twice a an no",
    r"|\d",
)
_SOMEBODY = _any_of(
    "i me my you your he she we they nobody somebody everybody people man woman mother father brother sister son "
    "daughter friend neighbour uncle aunt boss teacher",
    r"|(?<=\s)(?-i:[A-Z])\w+",
)
#: What the line that answers such a question has, whatever it says; a reason has no form of its own.
_ANSWER_OF: Mapping[str, tuple[re.Pattern[str], ...]] = {
    "where": (_PLACE,),
    "when": (_TIME,),
    "what time": (_TIME,),
    "how long": (_TIME,),
    "how often": (_TIME, _COUNT),
    "how many": (_COUNT,),
    "how much": (_COUNT,),
    "how old": (_COUNT,),
    "how far": (_COUNT, _PLACE),
    "who": (_SOMEBODY,),
    "whose": (_SOMEBODY,),
}

#: The weights of a logistic regression, fitted once.
_WEIGHTS: Mapping[str, float] = {
    "one": -0.40,
    "nothing known": -0.83,
    "of the question": -1.89,
    "of its line": -1.53,
    "own": -1.46,
    "other's": -0.13,
    "new share": 1.06,
    "words": 0.06,
    "light words": -0.89,
    "refers back": -0.24,
    "yes or no asked": 0.68,
    "yes": -0.89,
    "yes to what": 0.82,
    "begins as answer": -0.12,
    "begins as answer to what": -0.13,
    "neither": -0.03,
    "remarks on what": 3.07,
    "remarks on yes or no": 0.96,
    "remarks": 0.45,
    "of another kind": 0.74,
    "asks": 0.96,
    "begins with question": 2.45,
    "I to you": -0.39,
    "you to me": -0.74,
    "not of the past": 0.50,
}
