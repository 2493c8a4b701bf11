"""The words of the rehearsal: sentences of a stock about phrases of the prompt, and how those are found.

A rehearsed line says itself that it means nothing.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

#: Texts at the end of a prompt whose phrases are taken up more often.
_RECENT = 2
#: The most words of a phrase after its article.
_LONGEST = 3

_DETERMINER = re.compile(r"\b(?:the|an?|my|your|his|her|its|our|their) (?=\w)", re.IGNORECASE)
_TOKEN = re.compile(r" ?([^\W\d_]+(?:['’-][^\W\d_]+)*)|(.)", re.DOTALL)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words before which a phrase surely ends, and others that begin something else.
_SURE_END = _words("of is was are were has had have will would can cannot could may might must should who whom whose")
_AFTER_A_PHRASE = _SURE_END | _words(
    """in on at for from with by and or but under over between behind before after into onto about around against
    through without near beside across along inside outside beneath above below past than as did does do be that which
    where when while because so if until since not it itself himself herself themselves myself yourself
    aloud twice once afterwards instead tonight today tomorrow yesterday out off away ahead ago up down back here there
    fast busy open full gone bare closed upright again free alone empty further underneath tidy abroad else
    came went fell rose stood sat lay ran left kept told said saw knew thought found gave took made got grew began
    spoke broke brought bought sold held met paid put rang read sent set shut slept wrote wore won hung let lit led
    drew drove ate felt flew forgot heard hit hurt laid lent lost meant rode sang sank shook shone spent stole struck
    swam swept taught tore threw understood woke sit stand lie remembers knows thinks wants hates likes"""
)
#: Words without which a phrase names nothing: it is left out.
_NO_NOUN = _words(
    """a an the own same other others another first second third last next former latter one ones two three four five
    six seven eight nine ten eleven twelve hundred few many most more less least rest way ways thing things lot
    bit kind sort very only best better worse worst such half everybody nobody somebody anybody everyone
    everything nothing something whoever great deal while time times day days moment minute minutes end all both
    each every any some no yes this these those he she they we you i me him them us to just too rather quite
    really never always seldom still also even top bottom middle out size number sentence sentences word words
    line lines question conversation meeting utterance speaker object reply rehearsal true false following answer
    setting monday tuesday wednesday thursday friday saturday sunday"""
)
#: Words with which a phrase does not end.
_NO_END = _words("whole new old good right little big large small young early late long short quick quiet upper lower")
#: How the last of two words must not end unless the phrase surely does: it may be a verb, as the third of three may.
_MAY_BE_A_VERB = re.compile(r"(?:ed|ing|[^s]s)$")

#: A long word, for a text without phrases: in a language other than English.
_LONG_WORD = re.compile(r"[^\W\d_]{6,18}")

#: Topics for a prompt with fewer phrases than these: so lines are about as varied with any removed units.
_ANYTHING = tuple(
    f"the {word}"
    for word in (
        *("weather", "market", "evening", "neighbours", "harbour", "garden", "music", "supper", "morning", "journey"),
        *("bridge", "letter", "kettle", "winter", "lamp", "river", "newspaper", "window", "train", "orchard", "recipe"),
        *("umbrella", "song", "mountain"),
    )
)


@dataclass(frozen=True)
class Words:
    """The words of the rehearsal: pieces of sentences, and their topics.

    Attributes:
        openings: Of an utterance, in every other.
        remarks: Of every utterance; `{a}` and `{b}` are its topics.
        endings: Of an utterance, in three of five.
        comments: Thoughts, reasons and all other texts that are no speech.
        named: How a caption of a picture is named.
        topic: Draws a topic from the texts of a prompt.
    """

    openings: tuple[str, ...]
    remarks: tuple[str, ...]
    endings: tuple[str, ...]
    comments: tuple[str, ...]
    named: str
    topic: Callable[["Texts", random.Random], str]

    def remarks_about(self, a: str, b: str) -> list[str]:
        """Return the remarks that can be made about `a` and `b`."""
        return _suited(self.remarks, a, b)

    def comments_about(self, a: str, b: str) -> list[str]:
        """Return the comments that can be made about `a` and `b`."""
        return _suited(self.comments, a, b)


def _suited(sentences: Sequence[str], a: str, b: str) -> list[str]:
    return [sentence for sentence in sentences if a != b or "{b}" not in sentence]


@dataclass(frozen=True)
class Texts:
    """The texts of a prompt that are about people and events, in order; each is decoded when it is read."""

    count: int
    read: Callable[[int], str]


def _phrase(texts: Texts, generator: random.Random) -> str:
    """Draw a phrase of the last texts, in every other draw, else of any, or of the stock if these have few."""
    if generator.random() < 0.5:
        recent = range(max(0, texts.count - _RECENT), texts.count)
        if phrases := [phrase for place in recent for phrase in phrases_of(texts.read(place))]:
            return generator.choice(phrases)
    known = _known(tuple(map(texts.read, range(texts.count))))
    place = generator.randrange(max(len(known), len(_ANYTHING)))
    return known[place] if place < len(known) else _ANYTHING[place]


@lru_cache(maxsize=64)
def _known(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return all phrases of these texts, each once; without any, as in other languages, long words."""
    words = dict.fromkeys(f"the word “{word}”" for text in texts for word in _LONG_WORD.findall(text))
    phrases = dict.fromkeys(phrase for text in texts for phrase in phrases_of(text))
    return tuple(phrases) or (tuple(words) if len(words) >= len(_ANYTHING) else ())


@lru_cache(maxsize=2048)
def phrases_of(text: str) -> tuple[str, ...]:
    """Return the phrases of an English text that name something, each with `the`: *the east steps*.

    A phrase is an article or the like and up to three words, before a sign or a word that can belong to none. It is
    rather missed than wrong. Phrases of the stock itself are left out.
    """
    return tuple(phrase for phrase in _found(text) if phrase not in _of_the_stock())


def _found(text: str) -> Iterator[str]:
    for match in _DETERMINER.finditer(text):
        words: list[str] = []
        following = ""
        for token in _TOKEN.finditer(text, match.end()):
            word, sign = token.groups()
            if sign is not None or word.lower() in _AFTER_A_PHRASE:
                following = sign or word.lower()
                break
            words.append(word)
        if _names_something(words, following):
            yield f"the {' '.join(words)}"


def _names_something(words: Sequence[str], following: str) -> bool:
    """Return whether words after an article are a phrase, before a sign, a word or the end of the text."""
    if (
        not 0 < len(words) <= _LONGEST
        or following == "…"
        or following.isdigit()
        or any(word.lower() in _NO_NOUN for word in words)
    ):
        return False
    last = words[-1]
    if len(last) < 3 or last.lower() in _NO_END or last.endswith(("'s", "’s", "ly")):
        return False
    if any(first[0].islower() and then[0].isupper() for first, then in pairwise(words)):
        return False
    if following in _SURE_END or len(words) == 1:
        return True
    return len(words) < _LONGEST and not _MAY_BE_A_VERB.search(last)


@lru_cache(maxsize=1)
def _of_the_stock() -> frozenset[str]:
    """Return the phrases of the stock's own sentences."""
    sentences = (*WORDS.openings, *WORDS.remarks, *WORDS.endings, *WORDS.comments)
    return frozenset(phrase for sentence in sentences for phrase in _found(sentence.format(a="it", b="it")))


#: The words of the rehearsal.
WORDS = Words(
    openings=(
        "Good point.", "Hm, let me think.", "That is fair.", "You may be right.", "Oh, I see.", "Well, well.", "Yes.",
        "Not so fast.", "I had wondered.", "Funny you say so.", "True enough.", "Ah, now I follow.", "I am not sure.",
    ),
    remarks=(
        "I only rehearse, so I mention {a} without meaning it.",
        "Here I would say what I think of {a}, if I could think.",
        "A real speaker would have an opinion on {a} by now.",
        "I stand in for somebody who could tell you about {a}.",
        "Imagine that I had something clever to say about {a}.",
        "There is an empty page in my script where {a} should be.",
        "I was handed {a} and {b}, and I know nothing about either.",
        "Let this sentence count as a remark about {a}.",
        "Somebody with a mind would explain {a} to you now.",
        "I can name {a}, but I can't mean anything by it.",
        "For the sake of practice, I am all in favour of {a}.",
        "My notes mention {a}, and so I mention it all to you.",
        "Take these words as a stand-in for my view of {a}.",
        "First I name {a}, then I name {b}, and then I stop.",
        "A model would tell you what {a} and {b} have in common.",
        "Between {a} and {b} I would choose, if I were able to choose.",
        "Any other sentence would do here, as long as it names {a}.",
        "The draw fell on {a}, and so I speak of that.",
        "There would be more to say about {a} if anybody were speaking.",
        "I was asked to bring up {a}, which I have now done.",
        "With a straight face I turn from {a} to {b}.",
        "What I feel about {a} was left out of this rehearsal.",
        "Nobody wrote me a reply, so I point at {a} instead.",
        "Let me pretend that I remember {a} and care about {b}.",
        "My cue was {a}, and I am glad that I did not miss it.",
        "I say this for practice, and it is about {a}.",
        "Please imagine a long story here, with {a} in the middle.",
        "I am the understudy, and all I have learnt is {a}.",
    ),
    endings=(
        "What would you do about {b}?", "How would you put it, with {b} in mind?", "What do your notes say about {b}?",
        "Have you told anyone about {b}?", "Do you have a line about {b}?", "Who else knows about {b}?",
        "And what has {b} to do with it?", "Do you see it the same way?", "Shall we rehearse {b} next?",
        "What would a model make of {b}?", "Please go on with {b}.", "I would gladly hear you rehearse {b}.",
    ),
    comments=(
        "Nothing here goes against {a}.", "It stays close to {a}.", "Something about {a} would stand here.",
        "First {a}, and then {b}.", "This is about {a} alone.",
    ),
    named="the {}",
    topic=_phrase,
)  # fmt: skip
