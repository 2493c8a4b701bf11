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
from importlib.resources import files

import yaml
from pydantic import Field

from tertulia.state.language_model import Embedder
from tertulia.state.records import Record

#: The name of no act: plain statements and questions.
NO_ACT = ""

#: By act, sentences that perform it; by `NO_ACT` those that perform none.
PROTOTYPES: Mapping[str, tuple[str, ...]] = {
    NO_ACT if act == "none" else act: tuple(sentences)
    for act, sentences in yaml.safe_load(
        files("tertulia.metrics").joinpath("speech_acts.yaml").read_text(encoding="utf-8")
    ).items()
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
