"""How sentences begin that propose something, or assent: what may stand before that. English only."""

import re

from tertulia.state.patterns import lazy_pattern


def any_of(*lines: str) -> str:
    """Return a pattern of which one line matches, with either apostrophe."""
    return "(?:" + "|".join(lines).replace("'", "['’]") + ")"


#: A word of address, or of agreement, before the rest.
_WORD = any_of(
    "then|so|well|and|but|or|now|oh|ooh|ah|hm+|hey|hi|hello|aw|okay|ok|yes|yeah|no|good|great|fine|right"
    "|sure|all right",
    "very well|why|gosh|wow|listen|look|please|perhaps|maybe|actually|anyway|of course|by the way|in that case|i know",
    "tell you what|you know what|don't worry|no problem|I promise|i say|also|quick question|ha|course"
    "|hang on|wait|look here|mate|love|dear|my dear|darling|son|man",
    "guys|lads|old man|friend|my friend|lad|lass|boss|sir|madam|mum|dad|gran|grandpa|honey|neighbour|doctor|professor",
)
#: What makes a question, or a wish, of a proposal.
_POLITE = any_of(
    r"(?:i was |i'm |i am )?(?:wonder(?:ed|ing)?|hoping|thinking)(?: if| whether| that)? (?=we|you|i)",
    r"i promise(?: you)?(?: that)? (?=i)",
    r"(?:i (?:wonder|wondered)) (?:if|whether) ",
    r"(?:i (?:thought|suggest|propose)|do you think|i'd say|what if|is there any chance|any chance"
    r"|suppose) (?:that )?"
    r"(?=we|you|i)",
    r"if you(?:'re)? [^,]{1,40}, ",
    r"if (?:it|the (?:rain|weather|wind|snow|sun|sea|tide|fog|storm|ice))\b[^,]{0,25}?,? (?=we|i|let|come"
    r"|meet|you|how|why)",
    r"(?:on|when) you(?:r|'re|) [^,]{0,25}, ",
)
_NAME = r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Doctor)\.? )?(?-i:[A-Z])[\w'’-]+(?: (?-i:[A-Z])[\w'’-]+)?, "
#: A time (`|`, of `without_times`) in front.
_TIME = r"(?:(?:on|at|by|in|for|from|about|around|until|say) )?\|[, ]*"

#: What may stand before a proposal or an assent in its sentence. `Good, ` is a word and a name: so they are bounded.
LEAD = rf"^(?:{_WORD}[,:–—]? |{_POLITE}|{_NAME}|{_TIME}){{0,5}}"


def opening(*lines: str) -> re.Pattern[str]:
    """Return a pattern for how a sentence begins, with what may stand before it."""
    return lazy_pattern(LEAD + any_of(*lines), re.IGNORECASE)
