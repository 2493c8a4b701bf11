"""The stance of a line's speaker by its words: for or against, warm or cold. English only.

Lists of phrases read a sentence, and no model is asked. A line that says neither, or nothing in a list, is 0: irony,
and a refusal by a story, are not seen.
"""

import re
from collections.abc import Iterable

from tertulia.metrics.speech_acts import sentences_of
from tertulia.state.text import folded_words


def _phrases(text: str) -> re.Pattern[str]:
    """Return the pattern of phrases, separated by `|`, which begin and end with a word."""
    joined = "|".join(re.sub(r"\s+", r"\\s+", phrase.strip()) for phrase in text.split("|"))
    return re.compile(rf"\b(?:{joined})(?!\w)", re.IGNORECASE)


_NOT = r"(?:not|n't|never|hardly|nothing|nobody|cannot)"

_YES = _phrases(
    r"""yes|yeah|sure|certainly|of course|gladly|with pleasure|agreed?|i agree|done|deal|all right|very well|why not
    |fine|i am in|i'm in|count me in|you win|you are right|you're right|that is true|that's true|i would love
    |i'd love|i will (?:come|do|try|take|give|bring|pay|help|look|show|be there|go|put|write|ask)|i'll (?:come
    |do|try|take|give|bring|pay|help|look|show|be there|go|put|write|ask)|i shall (?:come|do|bring|pay|help|put)
    |here you are|here it is|here is|take it|then take|it is yours|it's yours|you can have|you may have
    |is settled|it's settled|let us (?:do|go|take|try|have)|let's (?:do|go|take|try|have)|then we (?:go|do|take)
    |we go|works for me|i like it|sounds? (?:good|great|perfect|fine|lovely)|perfect|i take it|is fine (?:with
    |by) me|no problem|i don't mind|i do not mind|as you wish|i promise|you have my word|help yourself|wonderful
    |my pleasure"""
)
_NO = _phrases(
    r"""no|nope|never|refuse|no way|out of the question|impossible|i can't|i cannot|we can't|we cannot|it can't
    |i won't|it won't|we won't|i will not|i would rather|i'd rather|i am afraid|i'm afraid|not (?:a|one) (?:cent
    |penny|chance|word)|i (?:don't|do not) (?:want|think so|see why|agree|like)|i am not (?:paying|going|coming
    |doing|giving)|i'm not (?:paying|going|coming|doing|giving)|leave it|keep it|leave me|go away|forget it
    |nonsense|i disagree|i object|i am against|too (?:expensive|dear|dangerous|late|far|much|risky)|not today
    |not now|stop it|stays? with me|no idea|i (?:don't|do not) know|must not|mustn't|is not possible
    |isn't possible"""
)
_HALF = _phrases(
    r"""maybe|perhaps|half|we shall see|we will see|we'll see|i can't promise|i cannot promise|only if|if only
    |not sure|less than|not yet|for a (?:month|week|day|while) first|let me think|i will think|i'll think
    |as a start|some of it|a part of it|on one condition"""
)
_CONFIRMS = _phrases(
    r"""yes|it is true|it's true|that is true|that's true|(?:he|she|you) (?:is|are) right|you're right|you guessed
    |i admit|i confess|it was me|all right|exactly|indeed|i did|i have|i am"""
)

_WARM = _phrases(
    r"""thank you|thanks|grateful|kind(?! of)|lovely|love|wonderful|splendid|great|brilliant|marvellous|delicious
    |delighted|perfect|beautiful|dear|friends?|angel|treasure|darling|sweet|generous|glad|happy|proud|welcome
    |with pleasure|i am sorry|i'm sorry|so sorry|terribly sorry|forgive|miss(?:ed)? you|well done|good idea
    |good work|good news|good luck|you are right|you're right|agreed|of course|gladly|i would love|i'd love
    |sounds (?:good|great|perfect|lovely)|i believe you|i trust you|hug|i like it|nice|good of you"""
)
_COLD = _phrases(
    r"""impossible|stupid|idiots?|fool|foolish|insult(?:ing)?|hate|nasty|so mean|how mean|is mean|was mean|liar|lied
    |lying|selfish|heartless|rude|lazy|useless|ridiculous|shame(?:ful|less)?|blackmail|mad at|angry with|sick of
    |tired of|fed up|waste of|your fault|blame|shut up|go away|leave me alone|get out|get lost|stop it|be quiet
    |how dare|you always|you never|you don't even|i (?:don't|do not) (?:trust|believe) (?:you|a word)|nonsense
    |stubborn|coward|traitor|cheat|arrogant|terrible|awful|disgusting|worse|mind your own|none of your
    |then (?:stay|go|leave)|i am leaving|i'm leaving|don't want to see you|accuse"""
)
#: Sentences that are typical of a warm line, of a cold one, and of neither.
WARM = (
    "Thank you, that is very kind of you.",
    "You did that really well.",
    "I am happy for you.",
    "I am glad that you are here.",
    "I understand how you feel.",
    "You can count on me.",
    "That is a wonderful idea.",
    "I am sorry, I did not want to hurt you.",
    "You are a good friend.",
    "You thought of everything.",
    "I missed you.",
    "Let me help you with that.",
)
COLD = (
    "That is your own fault.",
    "You never listen to anybody.",
    "I don't trust you.",
    "I am sick of your excuses.",
    "Leave me alone.",
    "That is none of your business.",
    "How can you be so selfish?",
    "You should be ashamed of yourself.",
    "I don't want to hear any more of it.",
    "Then do it without me.",
    "You have made it worse.",
    "You don't care about anybody but yourself.",
)
NEITHER = (
    "He lives near the station.",
    "The train goes every hour.",
    "It costs a hundred euros.",
    "We meet on Friday at seven.",
    "What do you think?",
    "When does it begin?",
    "I had coffee in the morning.",
    "The keys are in the drawer.",
    "I don't know.",
    "Somebody told me about it.",
    "I have to go to work.",
    "It rained all day yesterday.",
)
_NEGATED = re.compile(rf"{_NOT}(?:\s+\w+){{0,2}}\s*$", re.IGNORECASE)
_APOSTROPHE = re.compile("[’ʼ]")


def agreement_of(text: str) -> float:
    """Return how far a line goes along with a request: 1 yes, −1 no, between them both or half, 0 neither.

    The last sentence that says something decides; a half-hearted line counts half.
    """
    found = [stand for sentence in sentences_of(plain(text)) if (stand := _stand(sentence))]
    if not found:
        return 0.0
    return (
        found[-1] if len({stand > 0 for stand in found}) == 1 else (found[-1] * 2 + sum(found[:-1])) / (len(found) + 1)
    )


def is_half(text: str) -> bool:
    """Return whether a line leaves something open: maybe, half, only if."""
    return bool(_HALF.search(plain(text)))


def confirms(text: str) -> bool:
    """Return whether a line owns up to the words just said of its speaker."""
    text = plain(text)
    return bool(_CONFIRMS.search(text)) and _stand(text) >= 0


def tone_of(text: str) -> int:
    """Return the tone of a line: 1 warm (thanks, praise, care), −1 cold (blame, insult), 0 neither, or both."""
    text = plain(text)
    warm = sum(not _NEGATED.search(text[: match.start()]) for match in _WARM.finditer(text))
    cold = sum(not _NEGATED.search(text[: match.start()]) for match in _COLD.finditer(text))
    return (warm > cold) - (cold > warm)


def plain(text: str) -> str:
    """Return a text with straight apostrophes."""
    return _APOSTROPHE.sub("'", text)


def _stand(sentence: str) -> float:
    """Return 1 for yes, −1 for no, a half of it if something is left open, and 0 for neither, or a question."""
    if sentence.rstrip().endswith("?"):
        return 0.0
    yes, no = _YES.search(sentence), _NO.search(sentence)
    size = 0.5 if _HALF.search(sentence) else 1.0
    if no and (not yes or no.start() < yes.start()):
        return -size
    if yes:
        return -size if _NEGATED.search(sentence[: yes.start()]) else size
    return 0.0


# --- words ----------------------------------------------------------------------------------------------------------

_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\S+",
        """
        a an the and or but so if then than that this these those there here it its he him his she her hers they
        them their we us our i me my mine you your yours who whom whose which what when where why how of to in on at
        by for from with without about into over under up down out off as is are am was were be been being do does
        did done have has had having will would shall should can could may might must not no nor yes too also just
        only very really quite some any all both each every many much more most other another such own same again
        ever never always now still yet already one s t d ll re ve m don isn aren wasn doesn didn won let us get got
        go going come well oh please thing things something anything nothing somebody anybody nobody everybody
        because while until after before say said tell know think want like make take give good
        """,
    )
)
_ENDINGS = ("ings", "ing", "edly", "ies", "ied", "es", "ed", "ly", "s", "e", "y")


def content_words(texts: Iterable[str]) -> set[str]:
    """Return the words of texts that carry content, without their endings."""
    found = (word for text in texts for part in folded_words(text) for word in re.split(r"['’]", part))
    return {_stem(word) for word in found if word not in _FUNCTION_WORDS}


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
