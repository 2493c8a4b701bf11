"""The importance of a memory, from 1 to 10, by the subjects of its words: no model is asked.

A scale for the poignancy of Park et al. (2023, §4.1), 1 for brushing one's teeth and 10 for a break-up or a college
acceptance. Each family of words has a weight. The heaviest family in a text counts whole and each other one a quarter;
a word of no account lessens only a text without a grave word. Weights were fitted on half of 420 rated texts;
docs/towns.md has how well they do on the other half.

Words are read, not sentences: "nobody died" is as grave as a death. Only English is read.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import tertulia as tt

#: The importance of a text of which no word is known.
_BASE = 2.25
#: How much of the weight of each family counts but of the heaviest.
_FURTHER = 0.25
#: The weight from which a family is grave: words of no account beside it are not counted.
_GRAVE = 2.0


class Family(NamedTuple):
    """Words for one subject, and their addition to the importance of a text.

    Attributes:
        words: Separated by white space; one that ends with `*` is the beginning of words.
        phrases: Regular expressions, one a line.
    """

    weight: float
    words: str = ""
    phrases: str = ""


FAMILIES = {
    "death": Family(
        5.5,
        """die dies died dying dead death deaths deathbed funeral* grave graves graveside bury buries buried burial
        coffin cemetery drown* kill* murder* suicide widow* orphan* mourn* grief griev* bereave* perish* corpse""",
        r"""passed away
        lost (?:an?|his|her|their|my|our|one|two|three|four|five|six|\d+) (?:sons?|daughters?|child|children|baby|wife)
        lost (?:an?|his|her|their|my|our|one|both) (?:husband|brothers?|sisters?|mother|father|parents|friend|twin)
        (?:end|take|took|taken) (?:his|her|my|their|your) (?:own )?life
        (?:she|he|mother|father) is gone""",
    ),
    "birth": Family(
        5,
        "pregnan* newborn twins birth births babies adopt*",
        r"""(?:a|the) baby
        expecting
        be (?:a )?(?:grandfather|grandmother|father|mother|parents)
        (?:first child|had a (?:son|daughter|boy|girl))""",
    ),
    "illness": Family(
        5,
        """ill illness* cancer tumor* tumour* lump hospital hospitals surgeon* operation disease* fever* diagnos*
        wounded wounds injur* paraly* dement* depress* sober addict* overdose infect* crippl* amputat* ambulance
        unconscious coma breakdown""",
        r"""heart attack
        (?:had|has had|suffered) a stroke
        (?:is|going|went|gone) blind
        doctor['’]s words
        the doctor (?:has|said|says|found)
        test came back
        lost (?:an?|his|her|one) (?:leg|arm|hand|eye|foot|sight|hearing|memory)
        well again
        wake up""",
    ),
    "danger": Family(
        4.5,
        """danger* threat* knife gun guns pistol weapon* war wars bomb* soldier* flames explo* robber* robbed burgl*
        attack* assault* violen* beaten bleed* rape* kidnap* hostage trapped collaps* accident* shipwreck* wrecked
        earthquake avalanche arrest* police policem* prison* jail* trial crime* criminal* poison* escap* flee flees fled
        refugee* deport* smuggl* rescue* starv* hungry famine flood flooded""",
        r"""(?<!by the )\bfires?(?! brigade| station)
        burn(?:s|ed|t|ing)? (?:down|house)
        (?:was|were) burned
        r[au]n (?:him |her |it )?over
        saved (?:my|his|her|our|their) (?:life|lives)
        turned over
        (?:hits?|beats?) (?:her|him|me)
        be taken from
        missing (?:child|boy|girl|son|daughter)
        (?:child|boy|girl) (?:that|who) is missing""",
    ),
    "parting": Family(
        4.5,
        "divorc* separated separation abandon*",
        r"""(?:break|breaking|broke|broken|split) up
        left (?:him|her|me|his wife|her husband)
        leav(?:e|es|ing) (?:him|me|her husband|his wife)
        over between
        gave (?:him|her|it) away
        given away
        never came back
        (?:move|moves|moved|moving) out
        want to see (?:him|her|them) again
        never (?:see|saw|speak to) (?:him|her|them)
        not speaking
        without a word
        (?:weeks|months|years) of silence""",
    ),
    "secret and wrong": Family(
        4,
        """secret secrets secretly confess* admit* betray* liar* lied cheat* stole stolen steal* thief thieves theft
        fraud* swindl* deceiv* blackmail* anonymous hid hides hiding hidden conceal* scandal* unfaithful disgrac*
        guilty""",
        r"""l(?:ying|ies|ie) to
        an affair
        find out that
        found out
        must never
        (?:tell|told) nobody
        nobody (?:else )?(?:may |must )?knows?
        (?:does not|doesn['’]t) know that
        (?:take|takes|took|taken) the (?:money|silver|cash|ring|jewels)
        (?:crowns|pounds|dollars|euros|money) missing
        behind (?:his|her|my) back""",
    ),
    "love": Family(
        3.5,
        """beloved loved lover* kiss kissed kisses marry marries marrying married marriage* engagement wedding weddings
        bride bridegroom honeymoon sweetheart* romance romantic""",
        r"""in love
        loves? (?:her|him|you|me|them)
        (?:got |is |are )engaged
        fell for
        proposed to (?:her|him|me)
        ask\w* (?:her|him|me) to marry
        go dancing""",
    ),
    "money trouble": Family(
        3.5,
        """debt debts owe owes owed bankrupt* creditor* evict* foreclos* pawn* savings unpaid homeless redundant
        dismissed poverty""",
        r"""the bank will
        (?:can(?:no|['’])t|could not) (?:pay|afford)
        unless (?:he|she|they|we|I) pays?
        is finished
        (?:place|somewhere) (?:else )?to live
        lost (?:his|her|my|their) (?:job|post|place|house|home|money|farm|shop|work)
        out of work
        laid off
        have to go
        never paid
        well is dry""",
    ),
    "success": Family(
        3.5,
        """scholarship graduat* examination* exam exams diploma degree victory champion* prize* award* medal promot*
        elected talent* success* succeed* famous publish* triumph*""",
        r"""accepted (?:at|by|to|into)
        passed (?:her|his|my|the) (?:final|exam|test)
        (?:won|wins?) (?:the|an?|first|her|his)
        we won
        (?:sold|sells) (?:his|her|my|its) first
        first in (?:the|her|his) family
        (?:been )?made head
        looking for all
        at the (?:university|academy|conservatory)""",
    ),
    "quarrel": Family(
        3,
        """quarrel* argue argued argues arguing argument* feud* fight fights fought fighting shout* yell* scream*
        insult* accus* blame* furious rage hate hates hated enem* revenge resent* bitter* despise* offend* ruin*
        destroy* humiliat* rejected""",
        r"""called (?:her|him|me) an?
        against us
        (?:fell|falling) out
        (?:stormed|walked) out
        it stung
        had a row""",
    ),
    "making up": Family(
        3,
        "forgiv* forgave reconcil* apolog* regret* remorse atone* ashamed shame guilt",
        r"""(?:made|make) up
        was wrong
        second chance
        I should have
        too hard on
        (?:say|said) sorry""",
    ),
    "strong feeling": Family(
        3.5,
        """afraid fear fears feared fearful terrified terror scared frighten* dread* panic* despair* desperat* hopeless*
        heartbr* wept weep* tears cried crying sobbing lonely loneliness homesick misses devastat* horror overwhelm*
        joyful overjoyed jealous* trembl* shaking haunt* courage longing yearn*""",
        r"""pale with
        felt sick
        can(?:no|['’])t (?:believe|go on)
        it hurts
        lay awake
        not got over
        (?:leave|out of) my head
        keep hearing
        broke (?:my|his|her) heart
        alone on""",
    ),
    "turn in life": Family(
        3,
        """emigrat* immigrat* visa retire* resign* quit fired apprentic* apply applied application appoint* career
        homeland""",
        r"""leaves? the (?:island|town|village|country|city|valley)
        sell the (?:farm|house|business|boat|land)
        mov(?:e|es|ed|ing) (?:to|away)
        accept the (?:post|job|offer)
        new (?:job|post|life)
        first day (?:as|at)
        starts? over
        g(?:ive|ives|ave) up
        stop (?:playing|singing|working)
        stand for
        pulled down
        (?:school|shop|factory|mill|harbour|hospital) (?:will|is to) close
        closed down
        the offer
        for good
        take over
        who (?:my|his|her) (?:father|mother|parents) (?:was|were)""",
    ),
    "concern": Family(
        1.5,
        """worr* anxious nervous upset sad unhappy disappoint* trust trusts trusted hope hopes hoped dream* doubt*
        suspect* suspicio* uneasy troubled tired happy glad proud pride grateful gratitude angry angrier anger excited
        eager warn* warned curious hurt hurts whisper* myster* noticed strange* missing vanished broke broken""",
        r"""listens to me
        nobody (?:came|listens|helps|asked)
        somebody has been""",
    ),
    "kin": Family(
        1.5,
        """mother mother's father father's parents son sons son's daughter daughters daughter's wife husband brother
        brother's brothers sister sister's sisters child children grandfather grandmother grandson granddaughter
        grandchildren orphanage family""",
    ),
    "lasting": Family(
        1.5,
        "lifetime forever",
        r"""for ever
        (?:for the )?first time
        for years
        ever since
        after all these years
        all (?:his|her|my|their) life
        no longer
        any more
        never be(?:en)?
        nobody (?:has )?ever
        last chance
        since (?:he|she|they) (?:was|were)
        when (?:they|she|he|we|I) (?:were|was) (?:young|a girl|a boy|a child|little)
        years ago
        taught (?:him|her|me)""",
    ),
    "money": Family(
        1.5,
        "rent lease dearer inheritance inherit* wages salary fees loan loans lend lent pension cost costs money",
        "thousand (?:pounds|crowns|euros|dollars)",
    ),
    "resolve": Family(
        1.5,
        """promis* vow* swear* swore sworn pledge* decide decided decision* resolve* accept persuade* convince* vote
        votes petition* strike birthday* friend friends friendship""",
        r"""has the word
        gave (?:his|her|my|their) word
        I must
        (?:I|they) have to
        have decided""",
    ),
}

#: Matters that are gone by tomorrow. The heaviest in a text counts, and only beside nothing grave.
SLIGHT = {
    "talk of nothing": Family(
        1.5,
        """weather rain rained rainy fog chat chatted chatting greet* goodbye gossip pleasant ordinary usual usually
        average""",
        r"""good (?:morning|evening|night|day)
        in (?:general|particular)
        nothing (?:much|more)
        (?:few words|small talk)
        news of
        how are you""",
    ),
    "household": Family(
        1,
        """breakfast* lunch dinner supper egg eggs soup bread loaf loaves rolls buns dough flour milk tea coffee salt
        sugar jam recipe* cook cooks cooked cooking bake bakes baking kitchen kettle oven potatoes onions lettuce
        sandwich* eat eats eating meal* food washing dishes laundry clean* sweep* dust* ironing brush* teeth hair shower
        bath sleep* asleep nap napping shutters window* napkin* curtain* garden* plants watering hens cat shoes laces
        coat coats umbrella knitting knits plates shopping peeling""",
        "making the bed",
    ),
    "errand": Family(
        1,
        """bus buses train trains timetable queue stapler shelf shelves chair chairs armchair drill gate gutter colour
        bicycle* brakes parking van oil lamp lamps keys string tins box boxes list delivery deliveries supplier* seating
        postcode platform invoice receipt receipts tools spanner* ropes stall stalls till jar jars crate paper pencil*
        newspaper sorting sorted counting counted weighing weighed packing packed folding folded carrying bring fetch*
        borrow* practis* waiting reading decorations buy bought price* sale serving optician spectacles football
        crossword* swims walks drives plays scissors tractor""",
    ),
}

#: A capital inside a sentence begins a name, such as Hope or Cook.
_NAME = re.compile(r"(?<=[^\s.!?:;…\"“”(])\s+(?!I\b)[A-Z][\w'’-]*")
_WORD = re.compile(r"[^\W\d_]+")
#: Words that only English has among languages in Latin letters; and some that others have too, of which three tell.
_ENGLISH = frozenset(re.findall(r"\w+", "the and that with she they his their were from about what which who"))
_SHARED = frozenset(re.findall(r"\w+", "to of is it my i he has had have for be as at you will can not"))
#: So many words may be English without one of those.
_FEW = 5


@tt.node("rate_importance", description="rates by words of English; asks the model about other texts")
async def importance_by_words(state: Any, runtime: Any) -> dict[str, Any]:
    """Rate memories by the words of their contents; the model is asked if these are not English."""
    is_read = can_be_read(state["contents"], runtime.context.parameters.language)
    return {"importance": [importance_of(content) for content in state["contents"]] if is_read else None}


NODES = (importance_by_words,)


def importance_of(text: str) -> int:
    """Return the importance of an English text, from 1 to 10; 2 if none of its words is known. See `subjects_of`."""
    subjects = subjects_of(text)
    weights = sorted((FAMILIES[name].weight for name in subjects if name in FAMILIES), reverse=True)
    value = _BASE + sum(weights[:1]) + _FURTHER * sum(weights[1:])
    if not weights or weights[0] < _GRAVE:
        value -= max((SLIGHT[name].weight for name in subjects if name in SLIGHT), default=0)
    return min(10, max(1, int(value + 0.5)))


def subjects_of(text: str) -> list[str]:
    """Return the subjects of an English text: the names of families of words that occur in it."""
    text = " ".join(text.split())
    if text != text.upper():  # else capitals tell no names
        text = _NAME.sub(" _", text)
    return [name for name, pattern in _patterns().items() if pattern.search(text)]


def can_be_read(texts: Sequence[str], language: str) -> bool:
    """Return whether the words of texts, taken together, can be read: they are English, as far as can be seen.

    Args:
        language: That of the run's prompts. Texts may be in another, in a run that does not know it.
    """
    words = _WORD.findall(" ".join(texts))
    is_latin = bool(words) and all(letter < "\u0250" for word in words for letter in word)
    known = {word.lower() for word in words}
    is_english = bool(known & _ENGLISH) or len(known & _SHARED) > 2
    return language == "en" and (is_english or (is_latin and len(words) <= _FEW))


@lru_cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {name: _pattern(family) for name, family in {**FAMILIES, **SLIGHT}.items()}


def _pattern(family: Family) -> re.Pattern[str]:
    words = [word.replace("*", r"\w*") for word in family.words.split()]
    phrases = [phrase.strip() for phrase in family.phrases.splitlines() if phrase.strip()]
    return re.compile(rf"\b(?:{'|'.join([*words, *phrases])})\b", re.IGNORECASE)
