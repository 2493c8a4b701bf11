"""Check the utterances of a two-party dialogue: the reasons why one does not count as to the point (`LineCheck`).

1. *Recited* is the share of an utterance's words that stand in runs of three with texts of its case, whatever the
   case, endings and pronouns are: `I slept in my car` recites `Mia Roth slept in her car`. Words that say nothing by
   themselves are part of runs, and are not counted. A shorter text is recited as a whole. An utterance of which the
   order can't be told, as it is short, is recited if one text has all its words.
2. *Denied*: the nearest text of the case is near, has a good part of the utterance's words in its order, and only one
   of the two says *not*.
3. *The partner's*: something that only the partner knows is nearer than all that the speaker knows, and than all that
   was said before; a question, or an utterance with *you*, may be about the partner.
4. *Out of order*: `word_order`. *Senseless*: the rules of `reading.faults`.

Thresholds were chosen on half of the dialogues of docs/measuring.md. 2 to 4 know English alone.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tertulia.metrics.diversity import Dialogue
from tertulia.metrics.repetition import equals_earlier
from tertulia.metrics.to_the_point import LineCheck
from tertulia.nodes.shared.known import known_to
from tertulia.nodes.shared.names_in_text import without_names
from tertulia.state.language_model import Embedder
from tertulia.state.records import Case
from tertulia.state.words import words
from tertulia.views.measuring.stems import STOP, stem
from tertulia.views.measuring.word_order import english_order
from tertulia.views.reading.faults import faults_in

#: Words in a row that are a run.
_RUN = 3
#: How near a text is that an utterance denies (a cosine), and the share of the utterance's words that it has.
_NEAR, _SHARED = 0.7, 0.4
#: By how much something of the partner's is nearer than all else.
_NEARER = 0.15
#: Below so many standard deviations above random orders, words stand in none.
_ORDER = 1.6

_YOU = re.compile(r"[?？]|\b(?:you|your|yours)\b", re.IGNORECASE)
#: Words by which a text says whose it is and when; they are no part of runs.
_WHOSE = frozenset(
    re.findall(
        r"\w+",
        """
        i m me my mine myself he him his himself she her hers herself it its itself you your yours yourself we us our
        ours ourselves they them their theirs themselves re ve ll s am is are was were be been being have has had do
        does did will would
        """,
    )
)
_NOT = frozenset(re.findall(r"\w+", "not no never nobody nothing none nor neither without cannot t"))
#: The rests of `don't` and the like without their `t`.
_HALVES = frozenset(re.findall(r"\w+", "don doesn didn isn aren wasn weren haven hasn hadn won wouldn couldn can"))

#: Stems, each with whether it says something.
Stems = tuple[tuple[str, bool], ...]


def checks_of(dialogue: Dialogue, case: Case, embedder: Embedder) -> list[LineCheck | None]:
    """Return the check of each utterance of a dialogue of a case; `None` for an utterance of nothing but names.

    Args:
        dialogue: Speakers are called as in the case.
        embedder: Tells which texts are near.
    """
    masked = [without_names(text, case.names) for _, text in dialogue]
    own = {name: _masked(known_to(case.participant(name)), case) for name in case.names}
    shared = _masked([line.text for earlier in case.previous_dialogues for line in earlier.utterances], case)
    shared += _masked([text for text in (case.place, case.description) if text], case)
    texts = list(dict.fromkeys((*shared, *(text for of_person in own.values() for text in of_person))))
    vectors = _vectors(embedder, [*texts, *filter(None, masked)])
    repeated, faults = equals_earlier(dialogue), faults_in(dialogue)
    found: list[LineCheck | None] = []
    for at, ((speaker, _), text) in enumerate(zip(dialogue, masked, strict=True)):
        if not text:
            found.append(None)
            continue
        theirs = [known for name, known_texts in own.items() if name != speaker for known in known_texts]
        ours = {*shared, *own.get(speaker, ())}
        others = [known for known in theirs if known not in ours]
        found.append(
            LineCheck(
                recited=recited_share(text, texts),
                said_before=repeated[at],
                out_of_order=is_out_of_order(text),
                denied=_is_denied(text, texts, vectors),
                partners=_is_anothers(text, others, [*ours, *filter(None, masked[:at])], vectors),
                senseless=bool(faults[at]),
            )
        )
    return found


def recited_share(text: str, units: Sequence[str]) -> float:
    """Return the share of a text's words that are recited from the units, in [0, 1]."""
    if english_order().of(text) is None:
        told = _telling(text)
        if told and any(told <= _telling(unit) for unit in units):
            return 1.0
    return _share(_reduced(text), _runs_of(tuple(units)))


def is_out_of_order(text: str) -> bool:
    """Return whether the words of a text stand in no order; not of short texts and other languages than English."""
    order = english_order().of(text)
    return order is not None and order < _ORDER


def _is_denied(text: str, units: Sequence[str], vectors: Callable[[Sequence[str]], NDArray[np.float64]]) -> bool:
    if not units:
        return False
    cosines = vectors(units) @ vectors([text])[0]
    nearest = units[int(cosines.argmax())]
    is_near = cosines.max() > _NEAR and _share(_reduced(text), _runs_of((nearest,))) > _SHARED
    return is_near and _denies(text) != _denies(nearest)


def _is_anothers(
    text: str,
    theirs: Sequence[str],
    known: Sequence[str],
    vectors: Callable[[Sequence[str]], NDArray[np.float64]],
) -> bool:
    if not theirs or _YOU.search(text):
        return False
    line = vectors([text])[0]
    nearest = float((vectors(known) @ line).max()) if known else -1.0
    return float((vectors(theirs) @ line).max()) - nearest > _NEARER


def _masked(texts: Sequence[str], case: Case) -> list[str]:
    return [masked for text in texts if (masked := without_names(text, case.names))]


def _vectors(embedder: Embedder, texts: Sequence[str]) -> Callable[[Sequence[str]], NDArray[np.float64]]:
    """Return a function that looks up the vectors of texts, each of unit length, as `(texts, D)`."""
    each = list(dict.fromkeys(texts))
    known = dict(zip(each, np.array(embedder.embed(each)) if each else (), strict=True))
    return lambda asked: np.array([known[text] for text in asked])


@lru_cache(maxsize=16384)
def _reduced(text: str) -> Stems:
    """Return a text's words as stems without those that say whose it is, each with whether it says something."""
    parts = [part for word in words(text) for part in re.split("['’]", word.casefold())]
    kept = [part for part in parts if part and part not in _WHOSE and part not in _NOT and part not in _HALVES]
    return tuple((stem(part), part not in STOP) for part in kept)


@lru_cache(maxsize=16384)
def _telling(text: str) -> frozenset[str]:
    return frozenset(word for word, says in _reduced(text) if says)


@lru_cache(maxsize=512)
def _runs_of(units: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    """Return the runs of words of texts, and the whole of those that are shorter than a run."""
    found: set[tuple[str, ...]] = set()
    for unit in units:
        said = [word for word, _ in _reduced(unit)]
        length = min(_RUN, len(said))
        found.update(tuple(said[at : at + length]) for at in range(len(said) - length + 1) if length)
    return frozenset(found)


def _share(line: Stems, runs: frozenset[tuple[str, ...]]) -> float:
    """Return the share of a line's words that stand in runs: of those that say something, if any does."""
    said = [word for word, _ in line]
    hit: set[int] = set()
    for length in range(1, _RUN + 1):
        for at in range(len(said) - length + 1):
            if tuple(said[at : at + length]) in runs:
                hit.update(range(at, at + length))
    counted = [place for place, (_, says) in enumerate(line) if says] or range(len(line))
    return sum(place in hit for place in counted) / len(counted) if counted else 0.0


def _denies(text: str) -> bool:
    parts = [part for word in words(text) for part in re.split("['’]", word.casefold())]
    return sum(part in _NOT for part in parts) % 2 == 1
