"""Whether a line leaves the question before it, by rules over its words."""

import re
from collections.abc import Mapping

from tertulia.nodes.shared.sense_stems import sentences, stems
from tertulia.nodes.shared.sense_times import DAYS, TENS, UNITS
from tertulia.nodes.shared.situation import Situation


def leaves_question(text: str, situation: Situation) -> bool:
    """Whether the line before it asks its speaker something, and the line does not take it up."""
    if not situation.before or len(situation.people) != 2:
        return False
    asker, asked = situation.before[-1]
    question = next(iter(reversed(sentences(asked))), "")
    if asker == situation.speaker or not question.endswith("?"):
        return False
    line = text.strip()
    if _ANSWERS.match(line) or (stems(asked) & stems(line)):
        return False
    kind = _WH.search(question.casefold())
    if kind is None:
        return bool(_YES_NO.match(question)) and not _IS_ECHO.search(" ".join(sentences(line)[:1]))
    answers = _ANSWER_OF.get(kind[1])
    return answers is not None and not any(answer.search(line) for answer in answers)


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
_IS_ECHO = _any_of(f"{_AUXILIARY} yes no not sure course maybe perhaps if", r"|n['’]t\b|['’](?:ll|m|d|ve|re|s)\b")

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
