"""The words of proposals, as patterns: how they begin, what bars them, what may stand beside a time. English only."""

import re

from tertulia.nodes.agreements.openings import LEAD, any_of, opening
from tertulia.state.patterns import lazy_pattern

#: How a proposal to be somewhere together begins; times are `|` (`without_times`).
TOGETHER = opening(
    r"let's\b|let us\b|shall we\b|(?:can|could|should|may|might) we\b|we (?:could|can|shall|will|should)\b|we'll\b",
    r"why don't (?:we|you)\b|why not (?:come|meet|join|drop|pop|stop|have|make)|how about\b|what about\b",
    r"what do you say (?:to|we)\b|what say (?:you|we)\b|do you (?:want|care|feel like|fancy)\b|want to\b"
    r"|fancy\b|wanna\b",
    r"would you (?:like|care|fancy|be up for|mind (?:coming|meeting|joining))\b|care (?:to|for)\b"
    r"|feel like\b|up for\b",
    r"(?:are )?you (?:guys )?(?:up for|game for|game to|still on|still up for)\b(?= .*\|)|(?:will|shall"
    r"|can) i see you\b|see you\b",
    r"i(?:'ll| will) see you (?!through)|(?:i'll |i could |i can |i will |shall i )?(?:pick you up|meet you"
    r"|catch you|fetch you)\b",
    r"meet (?:me|us|up|at|by|in|outside|under|\||here|there)\b|join (?:me|us)\b|(?:sit|walk|ride|eat|dine"
    r"|sing|dance) with (?:me|us)\b",
    r"come (?:to|by|over|and|with|along|here|at|in|round|up|down|see|find|join|have|for|before|after|early|late|\|)",
    r"(?:drop|pop|stop|swing|call|nip|look) (?:in|by|round|over|into|down|up)\b|call (?:on|for) me\b"
    r"|pay (?:me|us) a visit",
    r"(?:grab|get|take|have|share) (?:an?|some|your|supper|dinner|lunch|breakfast|coffee|tea) .*\bwith (?:me"
    r"|us)\b|find me\b|wait for me\b",
    r"bring .*(?:\||\bhere|\bround|\bover\b)|be (?:at|in|on|here|there|ready|by|outside|my guest|down|up)\b"
    r"|lend (?:me|us) a hand|give (?:me|us) a hand|help me\b",
    r"(?:can|could|may|might|shall|should) i (?:come|visit|join|bring|show|call|help|see|walk|pick|drop|stop"
    r"|take you|meet|pop)\b",
    r"(?:can|could|may|might) i (?:have a word|borrow you|look in|treat you|buy you|invite you|tempt you"
    r"|interest you|count on you)",
    r"(?:can|could|will|would) you (?:please |possibly )?(?:come|arrive|be|meet|join|bring|visit|help"
    r"|show me|call|sit|manage|make)\b",
    r"(?:can|could|will|would) you (?:please |possibly )?(?:stop|drop|pop|swing|walk|spare|lend|give|do \|"
    r"|look in|stay)\b",
    r"i'd be (?:glad|happy|delighted|honoured|grateful) if you (?:came|come|could|would)\b|i'd like you to\b"
    r"|i want you to\b",
    r"i(?:'d| would) (?:like|love) to (?:see|meet|show|take|invite|have|buy|cook|treat|talk to|walk"
    r"|thank) (?:you|with you|it with you)",
    r"i want to (?:show|take|invite|talk to) you|you're (?:invited|expected|welcome)\b|i invite you|i(?:'ll"
    r"| will) expect you\b",
    r"you (?:must|should|can|could|ought to|have to) (?:come|join us|be there|bring)\b|you'll (?=.*\bwon't you\b)",
    r"(?:remember|don't forget),?(?: that)? we meet\b|would \|.*\b(?:suit|work|do|be (?:all right|good|ok"
    r"|okay|convenient|better))\b",
    r"(?:does|is|will|how's|how is|how does) \|.*\b(?:suit|work|do|all right|okay|ok|good|convenient"
    r"|possible|sound|better|fit)\b",
    r"(?:would|is) \|.*\btoo (?:early|late|soon)\b|(?:do|would) you mind if (?:i|we) (?:come|came|joined?"
    r"|met|meet|brought)\b",
    r"i(?:'ll)? (?:need|could use|want) (?:some ?one|some ?body|a hand|help|some help|your help)\b|i(?:'ll"
    r"| will) wait for you\b",
    r"how (?:does|is|would) \||i(?:'ll)? (?:need|want) you (?:there|here|at|by|to (?:be|come))\b"
    r"|there's (?:room|a place|a seat) for",
)
#: How somebody says when they are free, or where they are: another may come.
FREE = opening(
    r"i(?:'m| am|'ll be| will be) (?:usually )?(?:free|available|around|about|in town|in my|at home|home"
    r"|here|in the|at the|at my|off|back|open)\b",
    r"(?:i have|i've got) (?:an hour|half an hour|time|some time|a free|a spare|nothing|a space|a slot"
    r"|room)\b|i could do \||i can do \|",
    r"you(?:'ll| will| can)? find me\b|my door(?:'s| is)\b|i'm free\b|we(?:'re| are) (?:open|at the|in the"
    r"|free)\b|\|.* i'm free\b",
)
#: What may stand before what somebody does.
ADVERB = (
    r"(?:(?:also|just|gladly|certainly|definitely|surely|happily|make sure to|be sure to|be happy to|be glad to) )*"
)
#: How somebody offers to come, or to do something; how they ask it of another; and what they do.
OFFER = lazy_pattern(
    LEAD
    + any_of(r"i'll|i will|i shall|i can|i could|i might|let me|shall i|allow me to|i'm (?:happy|glad) to")
    + rf" {ADVERB}(?P<deed>(?P<verb>[\w'’-]+).*)",
    re.IGNORECASE,
)
REQUEST = lazy_pattern(
    LEAD + r"(?:(?:can|could|will|would) (?:you|some ?one|some ?body|any ?one|any ?body"
    r"|one of you)(?: please)?(?: be (?:willing|able|prepared|so kind as) to)? (?:also )?(?P<verb>[\w'’-]+)"
    + r"|would you mind (?P<minded>\w+ing)\b|(?P<told>tell|ask) (?!me\b|us\b|yourself\b))",
    re.IGNORECASE,
)
PLEASE = lazy_pattern(r"(?:^|, )please (?P<verb>[\w'’-]+)(?P<told>)", re.IGNORECASE)
#: What is done where the other is.
IN_PERSON = lazy_pattern(
    r"(?:bring|come|arrive|meet|show|visit|call (?:on|for|by|in|round|at|back)|stop|drop|return|help|join"
    r"|wait|walk|pick|collect|fetch|see|give|hand|pop|swing"
    r"|look in|turn up|sit|treat|take you|drive you|pay you)\b"
    r"|be (?:at|in|on|by the|here|there|outside|behind|near|waiting|with you|round|over|along)\b(?! (?:bed"
    r"|trouble|time|my way))",
    re.IGNORECASE,
)
#: What somebody says that they take upon themselves.
LEFT = opening(r"(?:you can )?leave (?:the|it|that|this|my|your|those|them|all) ?[^.?!]*\b(?:to|with) me\b")
SEES_TO = lazy_pattern(
    r"(?:tell (?!you\b)|ask (?!you\b)|have (?:it|the|that|this|your|them)\b|let (?:him|her|them|the)"
    r"|start (?:on|the)|see to|see about|look (?:after|into|at)|take care of|keep an eye|(?:speak"
    r"|talk) (?:to|with) (?!you\b)|find out|get (?:the|it|them|some|hold|on it)|go (?:up|down|round|over|out"
    r"|back|and) .*\band)\b",
    re.IGNORECASE,
)
ALONG = lazy_pattern(r"\b(?:with you|then|there|along|too)\b", re.IGNORECASE)
HAND = lazy_pattern(r"\byou (?:please )?(?:(?:lend|give) (?:me |us )?a hand|help|spare)\b", re.IGNORECASE)
#: What begins like an offer, or like a request, and is one for words and thoughts alone.
NO_DEED = frozenset(
    re.findall(
        r"\w+",
        """
        be say think see know admit never always not remember forget miss try need want have bet guess hope
        feel believe find let only just understand like love imagine tell get hear go stay keep live die
        sleep look suppose manage also still probably stop wait listen agree explain start begin talk speak
        add assume confess come meet
        """,
    )
)
NO_REQUEST = frozenset(
    re.findall(
        r"\w+",
        """
        explain imagine believe see say hear remember be sit wait stop excuse let forgive tell
        come meet join visit drop pop swing make manage spare do stay
        """,
    )
)
HEDGED = lazy_pattern(
    any_of(
        r"\bif (?!you\b(?! (?:had|were|was|ever|asked|think|thought|knew|see)\b)|it\b|it's\b|that\b|that's\b"
        r"|the (?:rain|weather"
        r"|wind|snow|sun|sea|tide|fog|storm|ice)\b|we may\b|i may\b)(?<!mind if )\w+",
        r"\bmight\b(?! (?:i|we|as well)\b)|\b(?:some ?day|sometime|one day|would have|wish|never|not"
        r"|every \w+|all day)\b",
        r"\bdon't (?!you\b|we\b|forget\b|worry\b|be\b)|\bwon't (?!you\b)|\b(?:i|we|he|she|they) (?:always|usually)\b",
    ),
    re.IGNORECASE,
)
#: A time of another thing, that who invites goes on from: not one that bars it.
BARRED = lazy_pattern(
    r"\b(?:until|till|since|n['’]t|not|no|never|was|were|had|did|went|said|asked|told)\b|n['’]t\b", re.IGNORECASE
)
DEADLINE = lazy_pattern(
    r"(?<!come )(?<!drop )(?<!stop )(?<!pop )(?<!call )(?<!swing )\b(?:by|until|before) (?:the |next )?"
    r"(?:tomorrow|tonight|noon|evening|\w+day)\b",
    re.IGNORECASE,
)
TOO = lazy_pattern(r"\btoo (?:early|late|soon)\b", re.IGNORECASE)
YES = lazy_pattern(r"^\W*(?:yes|yeah|yep|it is|it would|a bit|rather|quite|much)\b", re.IGNORECASE)
TAKEN = lazy_pattern(
    r"\b(?:is no (?:trouble|problem|bother)|is (?:okay|ok|great|lovely|perfect)|it is|is fine|is good|then"
    r"|suits|works|yes|is perfect|is all right|it shall be|will do|it'll be)\b",
    re.IGNORECASE,
)
#: What may stand beside a time and a place in a proposal that has no verb.
FILLERS = frozenset(
    re.findall(
        r"[\w'’]+",
        """
        then and or so please perhaps maybe say about sharp ok okay yes no well is that all right would be
        better make it could we a an the at in on by for supper dinner lunch breakfast tea coffee drinks
        chess walk swim earlier later move suits suit me works good fine again same time to
        's ’s s i'd i’d usual instead push shift change bring put forward back sorry how how's how’s what rather
        brunch drink beer beers pint pints wine film movie game games cards match run ride stroll picnic chat word
        talk rehearsal practice dance dancing concert show trip meet meeting meal pizza soup cake ice cream barbecue
        party quiz darts swimming fishing skating sailing riding running bowling shopping painting singing
        with you your my our us together from outside early half past ish around great perfect lovely grand
        can do does work still sure right quick little let's let’s of course pick up there here though just only
        shall after before out over into down next this now actually us two both fancy
        """,
    )
)
#: What a place is called without `at`: `The clubhouse, seven thirty`, `Platform two?`, `Mine?`
BARE_PLACE = lazy_pattern(
    r"(?:the|our) (?P<the>[\w'’-]+(?: [\w'’-]+){0,2})|(?P<my>(?:my|your) [\w'’-]+(?: [\w'’-]+)?)|(?P<mine>mine|yours)"
    r"|(?P<numbered>(?:platform|gate|room|pier|berth|table|door|stall|number) [\w-]+)"
    r"|(?P<name>(?-i:[A-Z])[\w'’-]+(?: (?-i:[A-Z])[\w'’-]+){0,2})",
    re.IGNORECASE,
)
NO_PLACE = lazy_pattern(
    r"^(?:usual (?:time|place|spot)|same|others?|two|three|kids|children|boys|girls|latter|former|earlier"
    r"|later|first|second|best|last|next)\b"
    r"|^(?:Yes|No|Yeah|Yep|Sure|Fine|Good|Great|Perfect|Ok|Okay|Right|Then|So|And|Or|But|Oh|Ah|Well|I|We|You"
    r"|It|That|This"
    r"|Say|Maybe|Perhaps|Sorry|Dear|Mum|Dad|Mr|Mrs|Miss|Sir|Deal|Done|Agreed|Lovely|Brilliant|Cool|Thanks"
    r"|Make|How|What)\b",
    re.IGNORECASE,
)

OWN = {"my place": "mine", "your place": "yours"}
#: What is said of something else, and is no place: `The ferry leaves at nine`, `The meeting is on Friday`.
ABOUT_ANOTHER = lazy_pattern(
    r"^\W*(?:(?:the|our|my|your|his|her|their) (?:[\w'’-]+ ){1,3}?|(?:it|he|she|they|this|that|there) )(?:is"
    r"|are|was|were|leaves?"
    r"|starts?|begins?|ends?|opens?|closes?|goes|go|comes?|sails?|departs?|arrives?)\b.*\|?",
    re.IGNORECASE,
)
#: What asks for a fact, not whether to come.
VERBAL = lazy_pattern(
    r"\b(?:he|she|they|it|his|her|their|who|what|why|when|where|how|which|is|are|am|was|were|be|been|do|does"
    r"|did|has|have|had"
    r"|can|could|will|would|should|free|busy|working|awake|home|back|open|closed|sure|only|already|until"
    r"|till|since|still|not"
    r"|trains?|bus|buses|boat|ferry|leaves?|starts?|begins?|opens?|closes?|really|exactly|said|asked|mean"
    r"|meant)\b|n['’]t\b",
    re.IGNORECASE,
)
INVITED = opening(
    r"(?:an? |some |for (?:an? )?)?(?:coffee|tea|lunch|dinner|supper|breakfast|brunch|drinks?|beers?|pint"
    r"|film|movie|game|match|walk|swim"
    r"|run|ride|stroll|picnic|chat|quick word|dance|meal|pizza|chess|cards|barbecue)"
    r"(?: with (?:me|us)| together| then| at mine| on me)?\?$"
)
