"""Recognise eight speech acts by their similarity to prototypical sentences.

1. An utterance is split into sentences, and each is compared with every prototype by cosine.
2. A sentence does the act of the prototype nearest to it, if the cosine reaches `THRESHOLD`; else none. Some prototypes
   do nothing that has a name here: they keep plain statements and questions from being taken for something.
3. An utterance does the acts of its sentences, so it may do several things, or nothing that has a name here.

The acts are those that ChatAgents reads off its conversations by eye (§IV-C, Fig. 4 and 5); prototypes and threshold
are the project's own, the threshold calibrated for `minilm` on the lines of tests/support/spoken_lines.py.
"""

import re
from collections.abc import Mapping, Sequence

from pydantic import Field

from tertulia.state.language_model import Embedder
from tertulia.state.records import Record

#: The name of no act: plain statements and questions.
NO_ACT = ""

#: Prototypes: by act, sentences that perform it, on no topic in particular or on several.
PROTOTYPES: Mapping[str, tuple[str, ...]] = {
    "proposes": (
        "I suggest that we do it this way.",
        "I propose a visit to the museum.",
        "How about we try this?",
        "How about a boat trip?",
        "What if we went there instead?",
        "What if everybody cooks together?",
        "We could meet at the lake.",
        "We could go bowling.",
        "Why don't we have a picnic?",
        "Why not take the bus?",
        "My idea is to hold it outdoors.",
        "Let's go for a walk and have some food afterwards.",
        "Maybe we should do it on Friday.",
        "Perhaps a Saturday would be good.",
    ),
    "agrees": (
        "I agree with you.",
        "That is a good idea.",
        "Yes, that sounds good to me.",
        "You are right.",
        "You are right about that, it is the best choice.",
        "I am happy with that, count me in.",
        "Exactly, I would like that too.",
        "That works for me.",
        "Okay, fine.",
        "Good point.",
        "I am all for it.",
        "I think so too, as Anna says.",
        "Yes, let us do that.",
    ),
    "objects": (
        "I don't agree.",
        "I disagree with you.",
        "No, that will not work.",
        "That won't work, the place is closed.",
        "I am against it.",
        "That is too expensive.",
        "That costs too much.",
        "That is too dangerous for us.",
        "That is too hard for most people.",
        "I don't like that idea at all.",
        "I don't want that.",
        "I doubt that this is a good plan.",
        "I don't think that this is right.",
        "Sorry, but that is boring.",
        "You are wrong.",
    ),
    "mediates": (
        "You both have a point, so let us find a middle way.",
        "Can we combine the two ideas, so that everyone is happy?",
        "Let us look for a compromise that suits both of you.",
        "There is no need to quarrel.",
        "Please listen to each other.",
        "We can do one thing first and the other afterwards, so that both get what they want.",
        "I understand both of you.",
        "He wants quiet and she wants action, and this would give them both.",
        "Both are right in their way.",
        "Let us not fight, there is a solution for everybody.",
        "Could we meet halfway?",
    ),
    "steers": (
        "Let us get back to the main question.",
        "Let's move on to the next point.",
        "Next topic: the food.",
        "We have talked about that enough, now to another subject.",
        "What we really have to settle first is where it takes place.",
        "Before we go on, we should talk about the place.",
        "We are getting lost in details.",
        "Let us turn to the date.",
        "Can we now talk about the costs?",
        "Now to the question of who does what.",
        "Back to what we are here for.",
    ),
    "minds_time": (
        "We have only ten minutes left.",
        "Time is running out.",
        "I have to leave at a quarter past three.",
        "I have to go now.",
        "It is getting late, we must hurry.",
        "We need to decide before the meeting ends.",
        "How much time do we still have?",
        "I can't stay much longer, my next appointment is waiting.",
        "There is no time for that.",
        "It is already half past two.",
    ),
    "jokes": (
        "Haha, that was funny.",
        "Just kidding!",
        "My cat could run this meeting better than we do.",
        "The last time I swam, the fish laughed at me.",
        "The ants will be glad of our sandwiches.",
        "If it rains we can call it a swimming party.",
        "I would win, as long as it is a contest in napping.",
        "I will bring the coffee and he can bring the bad mood.",
        "Only if the dog may come as the boss.",
        "My aunt is faster than a bus, and she has one leg.",
    ),
    "closes": (
        "So it is settled then.",
        "Then we have decided.",
        "That is our plan, and it is final.",
        "So we meet on Friday at the lake, that is settled.",
        "To sum up, this is what we have agreed on.",
        "In short: Tuesday, at ten, with lunch.",
        "That is everything, thank you all.",
        "Goodbye, see you tomorrow.",
        "Great, we are done here.",
        "I will write that down as our decision.",
    ),
    NO_ACT: (
        "He lives near the station.",
        "I have a brother and a sister.",
        "It rained all day yesterday.",
        "She works in the office upstairs.",
        "The keys are in the drawer.",
        "The train goes every hour.",
        "What do you think?",
        "How many people are there?",
        "Who is that?",
        "I read about it in the newspaper.",
        "The house belongs to my uncle.",
        "In the morning I had coffee.",
        "Last year we had a lot of snow.",
        "Can you tell me more?",
    ),
}

ACTS = tuple(act for act in PROTOTYPES if act != NO_ACT)

#: Cosine from which a sentence does the act of its nearest prototype.
THRESHOLD = 0.3
#: A label is doubtful below this cosine, or if another act, or none, is nearer than this margin. Of the labels that
#: are neither, 20 of 24 are right on `HELD_OUT`; of the doubtful ones 5 of 10.
SURE = 0.4
SURE_MARGIN = 0.05


class ActLabel(Record):
    """A speech act of an utterance, with how sure the label is."""

    act: str
    cosine: float = Field(description="of the sentence that does it to its nearest prototype of the act")
    margin: float = Field(description="by how much the nearest prototype of another act, or of none, is farther away")

    @property
    def is_doubtful(self) -> bool:
        """Whether the sentence is far from the act's prototypes, or nearly as close to those of another."""
        return self.cosine < SURE or self.margin < SURE_MARGIN


class LineLabels(Record):
    """The labels of an utterance by prototypes."""

    labels: tuple[ActLabel, ...] = Field(description="its speech acts, strongest first")
    nearest: float = Field(description="highest cosine of a sentence to any prototype, those of no act among them")


_SENTENCE_BREAK = re.compile(r"(?<=[.!?…])[’”\"')]?\s+")


def acts_by_prototypes(texts: Sequence[str], embedder: Embedder, threshold: float = THRESHOLD) -> list[LineLabels]:
    """Return the speech acts of each utterance: for each sentence that of its nearest prototype, if near enough."""
    split = [sentences_of(text) for text in texts]
    every = [sentence for sentences in split for sentence in sentences]
    if not every:
        return [LineLabels(labels=(), nearest=0.0) for _ in texts]
    prototypes = {act: embedder.embed(sentences) for act, sentences in PROTOTYPES.items()}
    known = dict(zip(every, embedder.embed(every), strict=True))
    ranked = {sentence: _ranked(vector, prototypes) for sentence, vector in known.items()}
    result = []
    for sentences in split:
        labels: dict[str, ActLabel] = {}
        for label in (ranked[sentence] for sentence in sentences):
            before = labels.get(label.act)
            if label.act != NO_ACT and label.cosine >= threshold and (before is None or label.cosine > before.cosine):
                labels[label.act] = label
        nearest = max((ranked[sentence].cosine for sentence in sentences), default=0.0)
        strongest_first = sorted(labels.values(), key=lambda label: -label.cosine)
        result.append(LineLabels(labels=tuple(strongest_first), nearest=nearest))
    return result


def _ranked(vector: Sequence[float], prototypes: Mapping[str, Sequence[Sequence[float]]]) -> ActLabel:
    """Return the act of the nearest prototype, at any cosine."""
    cosines = {act: max(cosine(vector, prototype) for prototype in vectors) for act, vectors in prototypes.items()}
    best, second = sorted(cosines, key=lambda act: -cosines[act])[:2]
    return ActLabel(act=best, cosine=cosines[best], margin=cosines[best] - cosines[second])


def sentences_of(text: str) -> list[str]:
    """Return the sentences of an utterance."""
    return [sentence for part in _SENTENCE_BREAK.split(text) if (sentence := part.strip())]


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the cosine of two vectors of unit length."""
    return sum(x * y for x, y in zip(a, b, strict=True))
