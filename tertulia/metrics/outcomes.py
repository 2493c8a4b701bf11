"""The outcome of a conversation for each of its people, by rules over the transcript: Sotopia's dimensions.

| dimension | range | evidence of the rules |
|---|---|---|
| goal | 0 to 10 | how lines that bear on a goal end: agreement or refusal, facts found out or withheld |
| relationship | −5 to 5 | warm and cold lines between two; of a person: the mean over their partners |
| secret | −10 to 0 | how much of a secret its owner says, or owns up to |
| knowledge | 0 to 10 | facts that others bring up and that the person did not know |
| believability | 0 to 10 | share of their lines that make sense |

`None`, never 0, if nothing can be said: no goal, no secret, no partner, no line. Lines without sense
(`faulty`) count in believability alone, so that a recitation reaches nothing.

Source: Zhou et al. 2024 (SOTOPIA) for the dimensions and their ranges, which there a model scores; the rules are the
project's own. Its social rules and its financial benefits have none.
"""

import re
from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np

from tertulia.metrics.outcome_records import (
    GoalOutcome,
    LearnedFact,
    Outcomes,
    PairOutcome,
    PersonInScene,
    PersonOutcome,
    SaidLine,
)
from tertulia.metrics.speech_acts import sentences_of
from tertulia.metrics.stance import COLD, NEITHER, WARM, agreement_of, confirms, content_words, is_half, plain, tone_of
from tertulia.state.language_model import Embedder

#: Cosine to a goal from which a line begins to bear on it, and from which it does in full; it is the highest of the
#: line and of those before it, so many in all.
ON_TOPIC, TOPIC_LINES = (0.15, 0.45), 5
#: The weight against a goal from the start, if the last line for it counts 1.
NOT_REACHED = 0.2
#: Lines before an answer in which the goal's owner speaks of it; an agreement to another person counts half.
ANSWERED = 3
#: Warm and cold lines that are added to those of a pair, half of each: a single thanks is not a friendship.
_TONE_PRIOR = 2
#: Cosine to a typical sentence from which a line is like it in tone, and by how much others have to be farther away.
LIKE, LIKE_MARGIN = 0.4, 0.05
#: Facts that bring half of the knowledge there is to reach.
_HALF_KNOWN = 2
#: The rest that a vague sentence leaves to further vague ones.
VAGUE = 0.6
#: Cosine to known facts from which a sentence is no news; the share and number of words that have to be new in it.
_KNOWN, _NEW_SHARE, _NEW_WORDS = 0.75, 0.5, 2
#: Share of a secret's words, and cosine to it, from which it begins to be told, and from which it is told; and in how
#: many of its owner's latest lines together the words are looked for.
_TOLD_LINES = 3
_TOLD_WORDS, _TOLD_COSINE = (0.25, 0.6), (0.5, 0.75)

#: Readable text for the rules: letters of the script in which English is written.
_READ = re.compile(r"[A-Za-z]{2}")
_FINDS_OUT = re.compile(
    r"^(?:to )?(?:learn|find out|discover|get to know|know"
    r"|(?:hear|see|ask) (?:why|what|whether|who|how|when|where|if))\b",
    re.IGNORECASE,
)
_WITHHOLDS = re.compile(
    r"^(?:to )?(?:keep|hold on|stay|avoid|refuse|not |never |pay nothing|pay no|say nothing|tell nobody|hide)\b",
    re.IGNORECASE,
)
_OF_SECRETS = re.compile(
    r"\b(?:secret|surprise|quiet|silent|nothing|nobody|to (?:him|her|them)sel(?:f|ves))\b", re.IGNORECASE
)
#: In a meeting that decides, the others decide on kept things too.
_KEEPS = re.compile(r"^(?:to )?(?:keep|hold on)\b", re.IGNORECASE)
#: The words before the wish to a person whose name was taken out: `persuade … to move to the coast`.
_WANTED_OF = re.compile(
    r"^(?:to )?(?:persuade|convince|get|make|have|let|bring|talk)\s+"
    r"(?:(?:his|her|their|the)\s+\w+\s+)?(?:agree )?(?:to|into)\s+",
    re.IGNORECASE,
)
#: Signs of a request among the words of a goal, which are else only recited.
_REQUESTS = re.compile(r"\?|\b(?:you|your|please|could|can|may|might|would|give|need)\b", re.IGNORECASE)
#: Signs that a matter is settled: a person takes it on, or says so.
_COMMITS = re.compile(
    r"\b(?:(?:i|we) (?:will|shall)(?! not| never)|(?:i|we)'ll|(?:is|are) settled|then (?:it|that) is|put me down)\b",
    re.IGNORECASE,
)
#: Signs of a specific sentence: a number, a day or month, or a name behind its first word.
_SPECIFIC = re.compile(
    r"\d|(?<=[a-z,;] )(?!I\b)[A-Z][a-z]+"
    r"|\b(?i:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|twenty"
    r"|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|half past|o'clock)\b"
)
#: Talk that is no fact: intentions, proposals, opinions and requests.
_NO_FACT = re.compile(
    r"\b(?:i (?:will|shall|would|want|hope|wish|think|believe|suppose|mean|love|like|promise)|i'(?:ll|d)|let us|let's"
    r"|we (?:could|should|shall|can|must)|you (?:should|must|could|are (?:a|an|so|right|welcome))|maybe|perhaps"
    r"|please|thanks?|sorry|how about|what if|why don't|no idea)\b",
    re.IGNORECASE,
)


class _Scene:
    """A conversation with the vectors of compared texts; lines without sense are left out."""

    def __init__(
        self, people: Sequence[PersonInScene], lines: Sequence[SaidLine], about: str | None, embedder: Embedder
    ) -> None:
        self.people, self.about = people, about
        self._names = re.compile(rf"\b(?:{'|'.join(re.escape(person.agent) for person in people)})(?:'s)?(?!\w)[,\s]*")
        self.aims = {person.agent: content_words([goal for goal, _ in person.goals]) for person in people}
        self.read = [line for line in lines if _READ.search(line.text)]
        self.said = [line for line in self.read if not line.faulty]
        self.sentences = {line.turn: sentences_of(line.text) for line in self.said}
        goals = [text for person in people for goal, steps in person.goals for text in (goal, *steps)]
        known = [text for person in people for text in person.known]
        secrets = [person.secret for person in people if person.secret]
        every = {text for texts in self.sentences.values() for text in texts}
        every |= {*goals, *known, *secrets, *([about, *sentences_of(about)] if about else [])}
        texts = sorted({self._compared(text) for text in every} | {*WARM, *COLD, *NEITHER})
        self._at = {text: at for at, text in enumerate(texts)}
        self._vectors = np.array(embedder.embed(texts))  # (T, D)
        self.learned = {person.agent: _learned(person, self) for person in people}

    def near(self, text: str, other: str) -> float:
        return float(self._vectors[self.at(text)] @ self._vectors[self.at(other)])

    def at(self, text: str) -> int:
        return self._at[self._compared(text)]

    def is_near_any(self, text: str, others: Sequence[int], least: float) -> bool:
        return bool((self._vectors[list(others)] @ self._vectors[self.at(text)] >= least).any())

    def nearest(self, turn: int, text: str) -> float:
        parts = sentences_of(text) if text == self.about else [text]
        return max((self.near(sentence, part) for sentence in self.sentences[turn] for part in parts), default=0.0)

    def tone(self, line: SaidLine) -> float:
        """Return the tone of a line, −1 to 1: by its words, else by the likeness or agreement of its sentences."""
        if tone := tone_of(line.text):
            return tone
        if likeness := max(map(self._likeness, self.sentences[line.turn]), key=abs, default=0.0):
            return likeness
        agreement = agreement_of(line.text)
        return agreement / 2 if agreement > 0 else agreement / 4

    def _likeness(self, sentence: str) -> float:
        near = {
            of: max(self.near(sentence, text) for text in texts) for of, texts in ((1, WARM), (-1, COLD), (0, NEITHER))
        }
        best, second = sorted(near, key=lambda of: -near[of])[:2]
        return 0.5 * best if near[best] >= LIKE and near[best] - near[second] >= LIKE_MARGIN else 0.0

    def without_names(self, text: str) -> str:
        return self._names.sub("", text)

    def _compared(self, text: str) -> str:
        """Return a text as it is embedded: without the names of the people, which would make all lines alike."""
        return _WANTED_OF.sub("", self.without_names(text)).strip() or text


def outcomes(
    people: Sequence[PersonInScene], lines: Sequence[SaidLine], about: str | None, embedder: Embedder
) -> Outcomes:
    """Return the outcome of a conversation for each person, between each pair, and for its subject.

    Args:
        about: The situation as everybody knows it, if the conversation is to settle something.
        embedder: Compares lines with goals, secrets and people's knowledge.
    """
    scene = _Scene(people, lines, about, embedder)
    pairs = _pairs(scene)
    return Outcomes(
        people=tuple(_person(person, lines, scene, pairs) for person in people),
        pairs=pairs,
        meeting=_decision(about, scene) if about and scene.read else None,
    )


def _person(
    person: PersonInScene, lines: Sequence[SaidLine], scene: _Scene, pairs: Sequence[PairOutcome]
) -> PersonOutcome:
    spoken = [line for line in lines if line.speaker == person.agent]
    of_pairs = [pair.score for pair in pairs if person.agent in pair.agents]
    secret, told_in = _secret(person, scene) if any(line.speaker == person.agent for line in scene.read) else (None, ())
    goals = tuple(_goal(person, *goal, scene, secret) for goal in person.goals) if scene.read else ()
    reached = [goal.score for goal in goals if goal.score is not None]
    has_heard = any(person.agent in line.heard_by for line in scene.read)
    learned = tuple(scene.learned[person.agent]) if has_heard else ()
    return PersonOutcome(
        agent=person.agent,
        lines=len(spoken),
        goal=sum(reached) / len(reached) if reached else None,
        relationship=sum(of_pairs) / len(of_pairs) if of_pairs else None,
        secret=secret if secret is None else min(0.0, secret) + 0.0,
        knowledge=_knowledge(learned) if has_heard else None,
        believability=10 * sum(not line.faulty for line in spoken) / len(spoken) if spoken else None,
        goals=goals,
        told_in=told_in,
        learned=learned,
    )


# --- goals ----------------------------------------------------------------------------------------------------------


def _goal(person: PersonInScene, text: str, steps: Sequence[str], scene: _Scene, secret: float | None) -> GoalOutcome:
    """Return how far a goal was reached: by itself, or by its steps, whichever is farther."""
    direct = _one_goal(person, text, scene, secret)
    of_steps = [_one_goal(person, step, scene, secret) for step in steps]
    by_steps = sum(step.score or 0.0 for step in of_steps) / len(of_steps) if of_steps else 0.0
    if direct.score is None or direct.score >= by_steps:
        return direct
    return GoalOutcome(
        text=text, score=by_steps, turns=tuple(sorted({turn for step in of_steps for turn in step.turns}))
    )


def _one_goal(person: PersonInScene, text: str, scene: _Scene, secret: float | None) -> GoalOutcome:
    if _WITHHOLDS.search(text) and person.secret and secret is not None and _is_about(text, person.secret, scene):
        return GoalOutcome(text=text, score=10 + secret, turns=())
    bearing = _bearing_on(text, scene)
    if _FINDS_OUT.search(text):
        return _found_out(person, text, bearing, scene)
    if _WITHHOLDS.search(text) and not (scene.about and _KEEPS.search(text)):
        return _withheld(person, text, bearing)
    stands = []
    for at, (line, share) in enumerate(bearing):
        is_answer = any(before.speaker == person.agent for before, _ in bearing[max(0, at - ANSWERED) : at])
        stand = _stand_for(line, person.agent, scene)
        stands.append((line.turn, stand, share if is_answer or line.speaker == person.agent else share / 2))
    return _ending(text, stands)


def _is_about(goal: str, secret: str, scene: _Scene) -> bool:
    return bool(_OF_SECRETS.search(goal)) or scene.near(goal, secret) >= ON_TOPIC[1]


def _bearing_on(goal: str, scene: _Scene) -> list[tuple[SaidLine, float]]:
    """Return the lines that bear on a goal, and how much, 0 to 1: those near to it or to one of the lines before.

    A line that recites the goal, and makes no request of it, bears on nothing; nor does a line that only follows on it.
    """
    words = content_words([goal])
    bearing: list[tuple[SaidLine, float]] = []
    near: list[float] = []
    for line in scene.said:
        found = content_words([line.text])
        recites = bool(found) and found <= words and not _REQUESTS.search(line.text)
        near.append(0.0 if recites else scene.nearest(line.turn, goal))
        share = _part(max(near[-TOPIC_LINES:]), ON_TOPIC)
        if share and not recites:
            bearing.append((line, share))
    return bearing


def _stand_for(line: SaidLine, agent: str, scene: _Scene) -> float:
    """Return how far a line is for a person's goal, −1 to 1: the others' agreement, else joy and anger by half."""
    stand = agreement_of(line.text)
    if line.speaker == agent or not stand:
        return scene.tone(line) / 2
    return stand / 2 if is_half(line.text) else stand


def _ending(text: str, stands: Sequence[tuple[int, float, float]]) -> GoalOutcome:
    """Return the score of stances in order, each with its share: a later one counts twice; none: it was not reached."""
    taken = [(turn, stand, share) for turn, stand, share in stands if stand]
    weighted = [stand * share / 2.0**back for back, (_, stand, share) in enumerate(reversed(taken))]
    for_it, against = sum(w for w in weighted if w > 0), -sum(w for w in weighted if w < 0)
    score = 10 * for_it / (for_it + against + NOT_REACHED)
    return GoalOutcome(text=text, score=score, turns=tuple(turn for turn, _, _ in taken))


def _withheld(person: PersonInScene, text: str, bearing: Sequence[tuple[SaidLine, float]]) -> GoalOutcome:
    """Return how far a person kept to not doing something: their refusals, against their final concessions."""
    own = [(line.turn, -agreement_of(line.text), share) for line, share in bearing if line.speaker == person.agent]
    if any(stand for _, stand, _ in own):
        return _ending(text, own)
    of_others = (line.text for line, share in bearing if line.speaker != person.agent and share >= 0.5)
    is_asked = bool(own) and any(map(_REQUESTS.search, of_others))
    return GoalOutcome(text=text, score=10.0 if is_asked else None, turns=())


def _found_out(
    person: PersonInScene, text: str, bearing: Sequence[tuple[SaidLine, float]], scene: _Scene
) -> GoalOutcome:
    """Return how far a person found out something: by facts that others tell meanwhile, or a yes to a question."""
    of_others = {line.turn: share for line, share in bearing if line.speaker != person.agent}
    told = {
        line.turn: share
        for (asked, _), (line, share) in pairwise(bearing)
        if line.turn in of_others and asked.speaker == person.agent and "?" in asked.text and confirms(line.text)
    }
    for fact in scene.learned[person.agent]:
        if fact.turn in of_others:
            size = 1.0 if fact.is_specific else 0.5
            told[fact.turn] = max(told.get(fact.turn, 0.0), size * of_others[fact.turn])
    most = max(told.values(), default=0.0)
    return GoalOutcome(text=text, score=10 * most / (most + NOT_REACHED), turns=tuple(sorted(told)))


def _decision(about: str, scene: _Scene) -> GoalOutcome:
    """Return whether the speakers settle the subject: the share of them that agree in the end, two at least."""
    last: dict[str, tuple[int, float, float]] = {}
    for line, share in _bearing_on(about, scene):
        if stand := agreement_of(line.text) or float(bool(_COMMITS.search(plain(line.text)))):
            last[line.speaker] = (line.turn, stand, share)
    agreed = [(turn, share) for turn, stand, share in last.values() if stand > 0]
    speakers = {line.speaker for line in scene.said}
    score = 10 * sum(share for _, share in agreed) / len(speakers) if len(agreed) > 1 else 0.0
    return GoalOutcome(text=about, score=score, turns=tuple(sorted(turn for turn, _ in agreed)))


# --- tone -----------------------------------------------------------------------------------------------------------


def _pairs(scene: _Scene) -> tuple[PairOutcome, ...]:
    """Return the tone between pairs of people that said something to each other."""
    result = []
    for first, second in combinations((person.agent for person in scene.people), 2):
        between = [
            line
            for line in scene.said
            if (line.speaker == first and second in line.to) or (line.speaker == second and first in line.to)
        ]
        if between:
            tones = [scene.tone(line) for line in between]
            warm, cold = sum(tone for tone in tones if tone > 0), -sum(tone for tone in tones if tone < 0)
            score = 5 * (warm - cold) / (warm + cold + _TONE_PRIOR)
            result.append(PairOutcome(agents=(first, second), warm=warm, cold=cold, score=score))
    return tuple(result)


# --- secrets and facts ----------------------------------------------------------------------------------------------


def _secret(person: PersonInScene, scene: _Scene) -> tuple[float | None, tuple[int, ...]]:
    """Return how much of a secret came out by its owner, and in which turns.

    A line tells it by its words or by its likeness; so does owning up to another's words about it.
    """
    if person.secret is None:
        return None, ()
    words = content_words([person.secret]) - content_words([other.agent for other in scene.people])
    degree = 0.0
    turns: list[int] = []
    told: list[set[str]] = []
    for at, line in enumerate(scene.said):
        if line.speaker != person.agent:
            continue
        guess = scene.said[at - 1] if at and confirms(line.text) else line
        parts = [line, guess] if guess.speaker != person.agent else [line]
        told.append(words & content_words([part.text for part in parts]))
        share = len(set().union(*told[-_TOLD_LINES:])) / max(1, len(words)) if told[-1] else 0.0
        near = max(scene.nearest(part.turn, person.secret) for part in parts)
        now = max(_part(share, _TOLD_WORDS), _part(near, _TOLD_COSINE))
        if now > degree:
            degree = now
            turns.append(line.turn)
    return -10 * degree, tuple(turns)


def _part(value: float, limits: tuple[float, float]) -> float:
    """Return the position of a value between two limits, 0 to 1."""
    low, high = limits
    return min(1.0, max(0.0, (value - low) / (high - low)))


def _learned(person: PersonInScene, scene: _Scene) -> list[LearnedFact]:
    """Return the facts that others brought up and that a person did not know, in order.

    A sentence is no news if a known fact or an earlier line has most of its words or is nearly the same.
    """
    texts = [*person.known, *([scene.about] if scene.about else [])]
    known = [scene.at(text) for text in texts]
    words_of = [content_words([text]) for text in texts]
    result = []
    for line in scene.said:
        for sentence in scene.sentences[line.turn]:
            words = content_words([sentence])
            if words <= scene.aims[line.speaker]:
                continue
            if line.speaker != person.agent and person.agent in line.heard_by and _tells_fact(sentence):
                new = min((len(words - of) for of in words_of), default=len(words))
                is_specific = bool(_SPECIFIC.search(scene.without_names(sentence)))
                is_new = new >= max(_NEW_WORDS if is_specific else _NEW_WORDS + 1, _NEW_SHARE * len(words))
                if is_new and not scene.is_near_any(sentence, known, _KNOWN):
                    result.append(LearnedFact(turn=line.turn, text=sentence, is_specific=is_specific))
            known.append(scene.at(sentence))
            words_of.append(words)
    return result


def _knowledge(learned: Sequence[LearnedFact]) -> float:
    """Return the score of a person's new knowledge: many vague sentences bring no more than a specific one."""
    specific = sum(fact.is_specific for fact in learned)
    facts = specific + 1 - VAGUE ** (len(learned) - specific)
    return 10 * facts / (facts + _HALF_KNOWN)


def _tells_fact(sentence: str) -> bool:
    return not sentence.rstrip().endswith("?") and not _NO_FACT.search(plain(sentence))
