"""Measure album chats: the form of plans, questions and answers, and the choice of pictures.

A text counts for its writer: plan and question for the asker, the answer for the answerer. Intervals are over agents,
not over exchanges: the texts of one agent share a role, an album and a history, so they are no independent
observations. They are delete-one jackknife intervals: a figure is taken again without each agent. A bootstrap would
draw agents twice, and a repeated text brings no new n-gram and is as similar to itself as can be: dist-N
would come out too low, and sim too high. Of invented texts with Zipf's frequencies and an agent's favourite words, by 8
and by 32 agents, the intervals hold the true dist-1 in 94 to 98 % of samples. Agents that met have heard each other,
which no interval over agents knows; and one run says nothing about another seed.

Source: Fig. 13 to 15 of the pairwise album chat; Efron and Stein 1981 (jackknife).
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import inf, sqrt
from operator import attrgetter, methodcaller

import numpy as np
from numpy.typing import NDArray

from tertulia.metrics.diversity import words
from tertulia.metrics.inference import ROUNDING
from tertulia.metrics.statistics import t_quantile
from tertulia.metrics.variety import expected_distinct
from tertulia.state.album import CALLS, Found
from tertulia.state.language_model import Embedder
from tertulia.state.records import Record
from tertulia.state.text import folded

#: Lengths of n-grams.
_N = (1, 2, 3)

_OF_TEXTS = (
    *("len", *(f"dist{n}" for n in _N), *(f"dist{n}_equal" for n in _N)),
    *("without_sense", "repeated_lines", "sim"),
)

#: The figures of each call, in the order in which they are shown.
FIGURES: Mapping[str, Sequence[str]] = {
    "plan": (*_OF_TEXTS, "names_picture", "chosen_before", "most_chosen", "distinct_pictures"),
    "question": (*_OF_TEXTS, "names_partner", "asked_before", "asked_before_by_asker"),
    "answer": (*_OF_TEXTS, "names_partner"),
}

#: The meaning of each figure.
MEANINGS: Mapping[str, str] = {
    "len": "words per text",
    **{f"dist{n}": f"distinct over all {n}-grams of words" for n in _N},
    **{
        f"dist{n}_equal": f"the same for equally many {n}-grams of both settings: the expectation for a sample"
        for n in _N
    },
    "without_sense": "share of texts that make no sense where they are said, by rules: diversity of nonsense is none",
    "repeated_lines": "share of texts that equal an earlier one of their kind, by anybody",
    "sim": "mean cosine over all pairs of texts",
    "names_partner": "share of texts that name the partner",
    "asked_before": "share of questions that were asked before, by anybody",
    "asked_before_by_asker": "share of questions that the asker has asked before",
    "names_picture": "share of plans that name a picture; only their pictures count as chosen",
    "chosen_before": "share of chosen pictures that the asker has chosen before",
    "most_chosen": "share of chosen pictures that are the most chosen one",
    "distinct_pictures": "pictures that were chosen at all",
}

#: The bounds of a figure, if they are not [0, 1].
_BOUNDS = {"len": (0.0, inf), "sim": (-1.0, 1.0), "distinct_pictures": (0.0, inf)}


class AlbumExchange(Record):
    """The acts and words of two in an exchange.

    Attributes:
        found: Whether the plan named the picture, and so chose it, or it was only the most similar to the plan.
        naming: The calls whose texts name the partner.
        faults: By call, why its text makes no sense in its place (empty: it does); `None`: it was not checked.
    """

    turn: int
    round: int
    asker: str
    answerer: str
    picture: str
    found: Found = "named"
    plan: str
    question: str
    answer: str
    naming: tuple[str, ...] = ()
    faults: dict[str, tuple[str, ...]] | None = None

    def speaker(self, call: str) -> str:
        """Return the writer of the text of a call."""
        return self.answerer if call == "answer" else self.asker

    def text(self, call: str) -> str:
        """Return the text of a call."""
        text: str = getattr(self, call)
        return text

    @cached_property
    def words(self) -> Mapping[str, Sequence[str]]:
        """The words of each text, by call."""
        return {call: words(self.text(call)) for call in CALLS}


@dataclass(frozen=True)
class Measured:
    """A figure with the data of its interval.

    Attributes:
        value: The figure; `None` if there is nothing to measure.
        n: The number of texts, or of exchanges.
        without: The figure without each agent; agents without which nothing is left are missing.
    """

    value: float | None
    n: int
    without: Mapping[str, float] = field(default_factory=dict)


class Estimate(Record):
    """A figure with its 95 % interval, or the difference of two; n is of texts or exchanges, of a difference of agents.

    There is no interval if there are too few agents, or the figure is the same without each of them.
    """

    value: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    n: int


#: Figures by call and name.
Figures = Mapping[str, Mapping[str, Measured]]


def vectors_of(exchanges: Iterable[AlbumExchange], embedder: Embedder) -> dict[str, NDArray[np.float64]]:
    """Return the direction of every text, each embedded once; a text without words has none."""
    texts = dict.fromkeys(exchange.text(call) for exchange in exchanges for call in CALLS)
    worded = [text for text in texts if words(text)]
    vectors = np.asarray(embedder.embed(worded), dtype=np.float64) if worded else ()
    return {text: vector / np.linalg.norm(vector) for text, vector in zip(worded, vectors, strict=True)}


def sample_sizes(*runs: Sequence[AlbumExchange]) -> dict[tuple[str, int], int]:
    """Return by call and N how many n-grams every run has, even without any one of its agents."""
    return {(call, n): min((_smallest(run, call, n) for run in runs), default=0) for call in CALLS for n in _N}


def figures_of(
    exchanges: Sequence[AlbumExchange],
    vectors: Mapping[str, NDArray[np.float64]] | None = None,
    sizes: Mapping[tuple[str, int], int] | None = None,
    before: Sequence[AlbumExchange] = (),
) -> dict[str, dict[str, Measured]]:
    """Return the figures of exchanges by call and name (`FIGURES`).

    Args:
        exchanges: In the order of their turns.
        vectors: The directions of their texts (`vectors_of`); without them there is no sim.
        sizes: How many n-grams dist-N at equal length is for (`sample_sizes`).
        before: Earlier exchanges, which count as earlier questions and choices.
    """
    figures: dict[str, dict[str, Measured]] = {}
    for call in CALLS:
        spoken = [(exchange.speaker(call), exchange) for exchange in exchanges]
        agents = [agent for agent, _ in spoken]
        found = {"len": _mean((agent, len(exchange.words[call])) for agent, exchange in spoken)}
        for n in _N:
            grams = _grams(exchanges, call, n)
            found[f"dist{n}"] = _distinct(grams, agents)
            size = (sizes or {}).get((call, n), 0)
            found[f"dist{n}_equal"] = _distinct(grams, agents, size) if size else Measured(None, 0)
        found["sim"] = _similarity((agent, (vectors or {}).get(exchange.text(call))) for agent, exchange in spoken)
        found["without_sense"] = _mean(
            (agent, bool(exchange.faults[call])) for agent, exchange in spoken if exchange.faults is not None
        )
        found["repeated_lines"] = _mean(
            _again(before, exchanges, methodcaller("speaker", call), partial(_folded_text, call))
        )
        found["names_partner"] = _mean((agent, call in exchange.naming) for agent, exchange in spoken)
        figures[call] = found
    chosen = [(exchange.asker, exchange.picture) for exchange in exchanges if exchange.found == "named"]
    asker = attrgetter("asker")
    figures["question"]["asked_before"] = figures["question"]["repeated_lines"]
    figures["question"]["asked_before_by_asker"] = _mean(
        _again(before, exchanges, asker, lambda of: (of.asker, folded(of.question)))
    )
    figures["plan"]["chosen_before"] = _mean(
        _again(before, exchanges, asker, lambda of: (of.asker, of.picture) if of.found == "named" else None)
    )
    figures["plan"]["names_picture"] = _mean((exchange.asker, exchange.found == "named") for exchange in exchanges)
    figures["plan"]["most_chosen"] = _counted(chosen, lambda counts: max(counts.values()) / counts.total())
    figures["plan"]["distinct_pictures"] = _counted(chosen, len)
    return {call: {name: figures[call][name] for name in FIGURES[call]} for call in CALLS}


def estimate(name: str, measured: Measured) -> Estimate:
    """Return a figure with its 95 % interval."""
    if measured.value is None:
        return Estimate(value=None, n=measured.n)
    lowest, highest = _BOUNDS.get(name, (0.0, 1.0))
    half = _half_width([*measured.without.values()])
    if half is None:
        return Estimate(value=measured.value, n=measured.n)
    low, high = max(lowest, measured.value - half), min(highest, measured.value + half)
    return Estimate(value=measured.value, ci_low=low, ci_high=high, n=measured.n)


def difference(low: Measured, high: Measured) -> Estimate:
    """Return how much higher a figure is in the high setting, with its 95 % interval.

    If the same agents took part in both, they are left out of both at once: the typical traits of an agent cancel out.
    """
    agents = [*low.without]
    n = len(agents)
    if low.value is None or high.value is None:
        return Estimate(value=None, n=n)
    if set(agents) == set(high.without):
        half = _half_width([high.without[agent] - low.without[agent] for agent in agents])
    else:
        n = min(n, len(high.without))
        halves = [_half_width([*figure.without.values()], n) for figure in (low, high)]
        half = None if None in halves else sqrt(sum((part or 0.0) ** 2 for part in halves))
    value = high.value - low.value
    if half is None:
        return Estimate(value=value, n=n)
    return Estimate(value=value, ci_low=value - half, ci_high=value + half, n=n)


def _half_width(without: Sequence[float], agents: int | None = None) -> float | None:
    """Return half the width of the jackknife's interval, by Student's t with one less than the number of agents.

    There is no interval of a figure that is the same without each of them, such as a share of 0: it would claim
    certainty.
    """
    agents = len(without) if agents is None else agents
    if agents < 2:
        return None
    mean = sum(without) / len(without)
    error = sqrt((len(without) - 1) / len(without) * sum((value - mean) ** 2 for value in without))
    if error <= ROUNDING:
        return None
    return t_quantile(agents) * error


# --- figures, and the same without each agent -----------------------------------------------------------------------


def _mean(values: Iterable[tuple[str, float]]) -> Measured:
    sums: dict[str, float] = {}
    counts: Counter[str] = Counter()
    for agent, value in values:
        sums[agent] = sums.get(agent, 0.0) + value
        counts[agent] += 1
    n, total = counts.total(), sum(sums.values())
    without = {agent: (total - sums[agent]) / (n - counts[agent]) for agent in sums if n > counts[agent]}
    return Measured(total / n if n else None, n, without)


def _similarity(vectors: Iterable[tuple[str, NDArray[np.float64] | None]]) -> Measured:
    """Return the mean cosine over all pairs; by sums, as there may be millions of pairs."""
    sums: dict[str, NDArray[np.float64] | float] = {}
    counts: Counter[str] = Counter()
    for agent, vector in vectors:
        sums[agent] = sums.get(agent, 0.0) + (0.0 if vector is None else vector)
        counts[agent] += vector is not None
    n, total = counts.total(), sum(sums.values())

    def mean(of: NDArray[np.float64] | float, count: int) -> float:
        return (float(np.dot(of, of)) - count) / (count * (count - 1))

    without = {agent: mean(total - sums[agent], n - counts[agent]) for agent in sums if n - counts[agent] > 1}
    return Measured(mean(total, n) if n > 1 else None, n, without)


def _counted(chosen: Sequence[tuple[str, str]], figure: Callable[[Counter[Hashable]], float]) -> Measured:
    if not chosen:
        return Measured(None, 0)
    counts: Counter[Hashable] = Counter(thing for _, thing in chosen)
    by_agent = _by_agent(chosen)
    left = {agent: counts - of_agent for agent, of_agent in by_agent.items()}
    return Measured(figure(counts), len(chosen), {agent: figure(rest) for agent, rest in left.items() if rest})


def _distinct(grams: Sequence[tuple[str, Hashable]], agents: Sequence[str], size: int | None = None) -> Measured:
    """Return distinct over all n-grams, each given with its writer; with a size, its expectation in such a sample."""
    counts, by_agent = Counter(gram for _, gram in grams), _by_agent(grams)
    total, kinds = counts.total(), Counter(counts.values())
    without = {}
    for agent in dict.fromkeys(agents):
        of_agent = by_agent.get(agent, Counter())
        rest = Counter(kinds)
        rest.subtract(counts[gram] for gram in of_agent)
        rest.update(counts[gram] - count for gram, count in of_agent.items())
        del rest[0]
        if total > of_agent.total():
            without[agent] = expected_distinct(rest, total - of_agent.total(), size)
    return Measured(expected_distinct(kinds, total, size) if total else None, len(agents), without)


def _grams(exchanges: Sequence[AlbumExchange], call: str, n: int) -> list[tuple[str, Hashable]]:
    texts = [(exchange.speaker(call), exchange.words[call]) for exchange in exchanges]
    return [(agent, gram) for agent, text in texts for gram in zip(*(text[skip:] for skip in range(n)), strict=False)]


def _smallest(exchanges: Sequence[AlbumExchange], call: str, n: int) -> int:
    """Return how many n-grams of a call are left without the agent with the most."""
    by_agent: Counter[str] = Counter()
    for exchange in exchanges:
        by_agent[exchange.speaker(call)] += max(0, len(exchange.words[call]) - n + 1)
    return by_agent.total() - max(by_agent.values(), default=0)


def _by_agent(things: Iterable[tuple[str, Hashable]]) -> dict[str, Counter[Hashable]]:
    counts: dict[str, Counter[Hashable]] = {}
    for agent, thing in things:
        counts.setdefault(agent, Counter())[thing] += 1
    return counts


def _folded_text(call: str, exchange: AlbumExchange) -> str:
    return folded(exchange.text(call))


def _again(
    before: Iterable[AlbumExchange],
    exchanges: Iterable[AlbumExchange],
    speaker: Callable[[AlbumExchange], str],
    key: Callable[[AlbumExchange], Hashable],
) -> Iterator[tuple[str, float]]:
    """Yield of each exchange its speaker, and whether an earlier one has its key; none of an exchange without a key."""
    seen = {*map(key, before)}
    for exchange in exchanges:
        if (found := key(exchange)) is not None:
            yield speaker(exchange), float(found in seen)
            seen.add(found)
