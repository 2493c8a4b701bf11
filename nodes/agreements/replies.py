"""How people reply to a proposal: they assent, refuse, take it back, or ask when or where. English only."""

import re

from tertulia.nodes.agreements.openings import any_of, opening
from tertulia.state.patterns import lazy_pattern

_ASKED_WHEN = lazy_pattern(
    r"\b(?:when|what time|which day|where)\b.*\b(?:can|may|shall|should|could|do|will|would) (?:we|i|you)\b.*\?"
    r"|\bare you free\b|\bhave you (?:got )?time\b|\bdo you have time\b|\bwhen (?:is|would be) (?:good|best"
    r"|convenient)\b"
    r"|(?:^|[.!?,] |\b(?:and|but|so) )(?:at )?(?:when|where(?:abouts)?|what time|which day|what day|how late"
    r"|how early)"
    r"(?: then| exactly| though| is it| does it start| suits(?: you)?)?\?",
    re.IGNORECASE,
)
_ABOUT_PAST = lazy_pattern(r"^\W*(?:\w+ )?(?:did|was|were|had|has|have|does|is|are)\b.*\?", re.IGNORECASE)
#: What is no refusal, though it has such a word.
FRIENDLY_NO = lazy_pattern(
    r"\b"
    + any_of(
        "can't wait|no problem|not a problem|no objections?|why not|don't worry|do not worry|no worries",
        "(?:won't|will not|not|don't|do not|shan't) (?:be late|keep you|let you down|forget|miss (?:it|that)"
        "|be a minute)",
        "wouldn't (?:miss|dream)(?: (?:it|that|this))?|no doubt|nothing better|don't mind|wouldn't mind|not at all",
        "if you (?:like|want|wish|insist|must|don't mind)|no trouble|no (?:rush|hurry|bother|fuss|need to ask|excuses)",
        "might as well|rather (?:like|enjoy|fancy)|nothing (?:on|planned|else)|not (?:bad|a minute later"
        "|doing anything)",
        "would i ever|no idea how|(?:won't|can't|couldn't) (?:argue|complain|say no|resist|refuse)"
        "|don't (?:you )?(?:leave|go|start) without me|nothing i(?:'d| would) (?:like|love|enjoy)"
        "|not (?:a bit|in the least)|don't fret|why ever not|wild horses couldn't|never better"
        "|not before time|sorry (?:i asked|to ask)",
        "but (?=bring|mind|don't be|be |you're |you owe|only because|let me pay|i'm paying|that suits|works|yes|ok)",
        r"don't you (?:dare )?(?:be late|forget)|don't be late|no later|not later|no sooner said",
    )
    + r"\b",
    re.IGNORECASE,
)
_REFUSED = lazy_pattern(
    r"\b"
    + any_of(
        r"no|not|never|nor|\w+n't|cannot|unfortunately|afraid|rather|(?:an|some) ?other (?:time|day|night|week)|busy",
        r"impossible|forget it|too (?:early|late|far|busy|tired)|hardly|maybe|perhaps|might|let me (?:think"
        r"|see|check|ask|do)",
        r"but (?=i\b|my\b|not\b|only\b|it\b|we\b|the\b|there|what|where|who|how|isn|that|she|he|they|then"
        r"|first)|depends",
        r"i'll see\b(?! you)|we'll see\b|(?:have|need) to (?:see|ask|think|check)|(?:think|sleep) (?:about"
        r"|on|over) it",
        r"instead|sorry|if (?:i|my|we)|(?:i'm|we're) (?:away|in|on|at|off|working|out)\b(?= \w)(?! (?:in$"
        r"|for it))|away on",
        r"get back to you|(?:is|'s) (?:out|taken|tight|the funeral|no good|worse)|worse|rain check|next time"
        r"|fat chance",
        r"in your dreams|over my dead body|as if|ask me|pass$|i'll pass|who are you",
    )
    + r"\b",
    re.IGNORECASE,
)
_ASSENTED = opening(
    r"(?:yes|yeah|yep|yup|yea|ya|aye|sure|of course|certainly|absolutely|definitely|gladly|happily"
    r"|with pleasure|indeed",
    r"good(?! luck)|great|fine|okay|ok|all right|alright|right|righto|right-o|agreed|deal|done|perfect"
    r"|lovely|wonderful",
    r"excellent|brilliant|very well|thanks|thank you|cheers|ta|please do|please$|i (?:will|shall|can|am|do"
    r"|would|accept)",
    r"splendid|super|grand|smashing|terrific|fantastic|marvellous|fab|sweet|awesome|nice|cool|delightful"
    r"|capital|ace|magic",
    r"sold|booked|noted|settled|accepted|got it|you got it|you bet|will do|can do|sure thing|by all means"
    r"|naturally|roger",
    r"i'll (?!see\b(?! you))|we will|we'll|we shall|we'd|we would|my pleasure|i'm (?:in|game|there|up for"
    r"|happy|glad|free|easy)",
    r"count me in|count on (?:me|it|us)|you can|you may|works|sounds|let's|so be it|go on(?: then)?"
    r"|twist my arm|all good",
    r"i(?:'d| would) (?:love|(?:quite |really |rather )?(?:like|enjoy) (?:that|it|to\W*$)|be (?:glad|happy"
    r"|delighted|honou?red))",
    r"(?:love|happy|glad|delighted|honou?red|thrilled) to|it's a (?:pleasure|bargain|promise)|delighted"
    r"|honou?red|gosh, yes",
    r"that(?: works|(?: does)? suits?|'d be| sounds| would be| is (?:fine|kind|good)| will do|'ll do|'ll be| does)",
    r"that's (?:fine|good|great|perfect|kind|very kind|all right|settled|a (?:deal|date|plan|promise)|agreed|lovely)",
    r"it (?:does|is|will|would|'ll)|see you|you (?:are|will)|you're (?:on|a star|an angel|a lifesaver"
    r"|too kind|very kind|welcome)",
    r"suits (?:me|us)|no problem|not a problem|no objections?|no (?:rush|hurry|bother)|looking forward"
    r"|i look forward",
    r"you'd be (?:most |very )?welcome|be my guest|why not|i can't wait|i wouldn't miss|wouldn't miss"
    r"|don't worry|not at all",
    r"it's a (?:deal|date)|a deal|a date|any ?time|until (?:then|tomorrow|\w+day)|till (?:then|tomorrow"
    r"|\w+day)|there,? then",
    r"nothing i(?:'d| would) (?:like|love)|would i ever|bless you|would you(?: really)?\?|i'd be (?:so "
    r"|very |most )?(?:grateful|honou?red)|that(?:'d| would) (?:help|save|mean|suit)|much (?:obliged"
    r"|appreciated)|i(?:'d)? appreciate|i owe you|you're a (?:saint|treasure|marvel|legend|hero|gem|love"
    r"|dear|godsend)|what would i do without you|my hero|thank (?:god|goodness|heaven)|it's a plan|good plan"
    r"|i (?:won't|can't|couldn't) (?:argue|complain|say no|resist|refuse)|see (?:that|to it)|you(?:'ve"
    r"| have) got (?:yourself )?a deal|not a bit|give it (?:to me|here)|then yes|consider (?:it|me|them)"
    r"|leave it (?:to|with) me|fine (?:by|with) me|same here|me too|never better|as you say)\b",
)
#: A yes that what follows does not take back, unless it is one of `_HARD_NO`.
_FIRM = opening(
    r"(?:yes|yeah|yep|aye|sure|of course|certainly|absolutely|definitely|gladly|with pleasure|deal|agreed"
    r"|perfect|done|great|lovely"
    r"|brilliant|wonderful|splendid|excellent|i'd love|i'd be (?:glad|happy|delighted|honoured)|count me in"
    r"|see you|i'll be there"
    r"|works for me|you're on|fine|all right|okay|ok|good)\b"
)
_HARD_NO = lazy_pattern(
    r"\b"
    + any_of(
        r"can't|cannot|won't|but|sorry|unfortunately|afraid|rather|(?:an|some) ?other (?:time|day)|instead"
        r"|if (?:i|my|we)|maybe"
        r"|perhaps|might|depends|don't (?:think|want|like)|doubt|not (?:today|tomorrow|tonight|then|now|at"
        r"|on|this|until|before|\w+day)"
        r"|i'll see(?! you)|let me|have to|need to|forget it|busy|no|wouldn't|couldn't"
    )
    + r"\b",
    re.IGNORECASE,
)
_COMES = lazy_pattern(
    r"\b"
    + any_of(
        "see you|i'll (?:come|be there|drop|stop|pop|call|visit|look in|bring|swing|walk|find you|meet|take"
        "|have)|a date|works"
        r"|count me in|it is|then\W*$|i will come|suits|expect me|that'll do|let's (?:say|do|meet|make)|perfect"
    )
    + r"\b",
    re.IGNORECASE,
)
#: What answers a proposal in a few words and is an assent all the same: `Bring a torch.`, `Try and stop me.`
_NO_ORDER = lazy_pattern(
    r"^\W*(?:(?:i|i['’]\w+|my|our|his|her|their|the|there|it|it['’]s|he|she|they|we|we['’]\w+|you|you['’]\w+"
    r"|that|this|what|who|why"
    r"|where|when|how|an?|ask|pass|hm+|ha|nice try|dream on|get (?:lost|out|off)|leave|go|let|wait|says?|oh"
    r"|really|good (?:grief|luck)"
    r"|heavens|bye|goodbye|nobody|somebody|is|are|was|do|does|did|has|have|had|can|could|will|would|should"
    r"|in|at|on|after|before|until"
    r"|tomorrow|today|tonight|yesterday|think|stop|terrible|shame|pity|poor|funny|strange|odd|interesting"
    r"|worse|typical|people|some"
    r"|so|because|only|just|then|\w+day|\w+s)\b|[A-Z][a-z]+ (?:is|has|was|will|said|says|comes|goes)\b)",
    re.IGNORECASE,
)


_YES_LAST = lazy_pattern(
    r", (?:yes|yes please|sure|of course|gladly|certainly|always|any time|i will|i can)\W*$", re.IGNORECASE
)
_TAKES_BACK = lazy_pattern(
    r"\b"
    + any_of(
        "can't (?:make it|come|meet|do it|do (?=tomorrow|tonight|today|\\w+day))|cannot (?:make it|come"
        "|meet)|let's not",
        "won't (?:make it|be able|come)|not (?:going to make it|able to (?:make it|come))|never mind(?! me)"
        "|scrap (?:that|it)",
        "after all|on second thoughts?|forget (?:about|it|that)|(?:have to|must|need to) (?:cancel|call off)"
        "|changed my mind",
        "no,? wait|call it off|not coming|something(?:'s| has) come up|cry off|back out|take (?:that|it) back",
        "can't (?:on|at) (?:\\w+day|\\w+)(?: now)?",
    )
    + r"\b",
    re.IGNORECASE,
)


def orders(text: str) -> bool:
    """Return whether a reply tells the other what to bring, or to do: who does so has assented."""
    return len(text.split()) <= 9 and "?" not in text and not _NO_ORDER.search(text)


def comes(sentence: str) -> bool:
    """Return whether a sentence says that who says it comes, or that a time holds."""
    return bool(_COMES.search(sentence))


def says_yes(sentence: str) -> bool:
    """Return whether a sentence begins, or ends, as an assent."""
    return bool(_ASSENTED.search(sentence) or _YES_LAST.search(sentence))


def refuses(text: str) -> bool:
    """Return whether a line refuses what was proposed, or puts it off."""
    text = FRIENDLY_NO.sub("", text)
    first, _, rest = text.partition(".")
    if _FIRM.search(first) and not _REFUSED.search(first):
        return bool(_HARD_NO.search(rest))
    return bool(_REFUSED.search(text))


def takes_back(text: str) -> bool:
    """Return whether a line takes back what was agreed on."""
    return bool(_TAKES_BACK.search(text))


def asks_when(text: str) -> bool:
    """Return whether a line asks when or where to meet."""
    return bool(_ASKED_WHEN.search(text))


def asks_for_facts(text: str) -> bool:
    """Return whether a line asks what was, or is: a time that answers it proposes nothing."""
    return bool(_ABOUT_PAST.search(text)) or bool(
        re.search(r"\b(?:when|where) did\b|\bwhat time is\b", text, re.IGNORECASE)
    )
