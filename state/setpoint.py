"""A calibrated setpoint: which λ gives which diversity, for a model and a scenario, as plain numbers.

A run that is asked for a diversity has this among its parameters, so that it goes on, forks and replays without the
pilot that the numbers were measured in (tertulia/lab/experiments/setpoint.py). nodes/shared/steering.py finds λ then.
"""

import json
from bisect import bisect_left
from itertools import pairwise
from typing import Any, Literal

from pydantic import Field, model_validator

from tertulia.state.errors import SettingError
from tertulia.state.records import Record

#: The metrics that may be asked for: dist-N and sim over the dialogues of a case. Source: APP §2.
DiversityMetric = Literal["dist1", "dist2", "dist3", "sim"]

#: Names for a level: how far it lies between the least and the most that λ reaches, as `Setpoint.reachable` has them.
LEVELS = {"low": 0.25, "medium": 0.5, "high": 0.75}

#: The least range of diversity that λ can be steered over.
LEAST_RANGE = 0.01

#: The most conversations at each λ that a pilot is advised to have.
MOST_TRIALS = 50


class Line(Record):
    """A figure that is a straight line in λ."""

    at_zero: float
    slope: float

    def at(self, removal_factor: float) -> float:
        """Return the figure at λ."""
        return self.at_zero + self.slope * removal_factor


class Inconsistency(Record):
    """The judge's figure of utterances, as it is at λ, and how far single utterances lie from it."""

    expected: Line
    deviation: float = Field(ge=0, description="standard deviation between utterances")


#: A rise of the metric from the least to the greatest λ that is worth finding: a refusal tells its price.
NOTABLE_RISE = 0.11


class Evidence(Record):
    """Whether a pilot shows that λ moves the metric, by a permutation test (tertulia/lab/experiments/evidence.py)."""

    p: float = Field(gt=0, le=1, description="how often chance alone parts the λ of the pilot as far")
    level: float = Field(gt=0, lt=1, description="the greatest p that counts")
    permutations: int = Field(ge=1, description="of λ over the dialogues of each trial, that p was found by")
    is_exact: bool = Field(description="whether these are all there are")
    looks: int = Field(0, ge=0, description="smaller pilots of these conversations that were refused before")
    trials_needed: int | None = Field(
        None,
        description="dialogues at each λ by which an effect of this size would be shown and leave a range; None: more "
        f"than {MOST_TRIALS}, or there is no effect",
    )

    trials_at_best: int | None = Field(
        None, description="the same for an effect as large as the pilot leaves possible, to a one-sided 95 %"
    )
    trials_for_rise: int | None = Field(
        None,
        ge=1,
        description=f"dialogues at each λ by which a steady rise of {NOTABLE_RISE} is shown with a probability of 0.8, "
        "by the scatter of this pilot; None: it was not reckoned, as the pilot shows one",
    )

    @property
    def is_shown(self) -> bool:
        """Whether λ moves the metric by more than chance."""
        return self.p <= self.level

    @property
    def for_rise(self) -> str:
        """How many dialogues a rise that matters takes, as the end of a sentence; empty if λ is shown to act."""
        if self.is_shown or self.trials_for_rise is None:
            return ""
        many = f"about {self.trials_for_rise} conversations at each λ show"
        return f"; {many} a steady rise of {NOTABLE_RISE} in four of five pilots that scatter like this one"


class Setpoint(Record):
    """How diversity follows λ, as it was measured in a pilot, and as the course of a conversation shows it.

    `diversity` is the figure that a user asks for: the metric over the trials of a case. A conversation does not see
    it. It sees its running measure, dist-N within its last utterances; `running` is the value of that if λ acts as in
    the pilot, and `gains` how much of a deviation shows in the conversation's part in `diversity`.
    """

    metric: DiversityMetric
    trials: int = Field(ge=2, description="dialogues of a case over which the metric is taken")
    rounds: int = Field(ge=1, description="utterances of each at most")
    window: int = Field(ge=2, description="last utterances that the running measure is taken over")
    removal_factors: tuple[float, ...] = Field(min_length=2, description="λ of the pilot, ascending")
    diversity: tuple[float, ...] = Field(description="the metric at each λ, by the monotone fit")
    low: tuple[float, ...] = Field(description="lower end of its band, 95 %")
    high: tuple[float, ...] = Field(description="upper end")
    running: tuple[Line, ...] = Field(min_length=1, description="expected running measure behind each utterance")
    gains: tuple[float, ...] = Field(
        description="behind each utterance, what part of a deviation of the running measure shows in the metric"
    )
    inconsistency: Inconsistency | None = Field(default=None, description="None: nothing was judged")
    evidence: Evidence

    @model_validator(mode="before")
    @classmethod
    def _read(cls, values: Any) -> Any:
        """Read JSON if it is a text, so that an experiment's setting can hold it."""
        return json.loads(values) if isinstance(values, str) else values

    @model_validator(mode="after")
    def _check(self) -> "Setpoint":
        of_lambda = {len(curve) for curve in (self.removal_factors, self.diversity, self.low, self.high)}
        if len(of_lambda) > 1 or len(self.running) != len(self.gains):
            raise ValueError("curves of a setpoint have one figure for each λ, and for each utterance")
        factors = self.removal_factors
        if any(a >= b for a, b in pairwise(factors)) or not (factors[0] >= 0 and factors[-1] <= 1):
            raise ValueError("removal_factors of a setpoint rise, within [0, 1]")
        if any(a > b for a, b in pairwise(self._rising)):
            raise ValueError("diversity of a setpoint is monotone in λ")
        return self

    @property
    def n(self) -> int:
        """The length of the n-grams of the running measure: that of the metric, or 3 for sim."""
        return 3 if self.metric == "sim" else int(self.metric.removeprefix("dist"))

    @property
    def sign(self) -> int:
        """1 if more diversity is a greater figure; -1 for sim."""
        return -1 if self.metric == "sim" else 1

    @property
    def _rising(self) -> tuple[float, ...]:
        return tuple(self.sign * figure for figure in self.diversity)

    @property
    def fitted(self) -> tuple[float, float]:
        """The least and the greatest figure of the fit."""
        return min(self.diversity), max(self.diversity)

    @property
    def _ends(self) -> tuple[float, float]:
        """The figures that may be asked for, from least to most diversity: beyond the bands of both ends of λ."""
        return (self.high[0], self.low[-1]) if self.sign > 0 else (self.low[0], self.high[-1])

    @property
    def reachable(self) -> tuple[float, float]:
        """The least and the greatest figure that a λ gives as surely as the pilot tells; equal if there is none."""
        first, last = self._ends
        return (first, first) if self.sign * (last - first) < 0 else (min(first, last), max(first, last))

    @property
    def can_be_asked(self) -> bool:
        """Whether the pilot shows that λ moves the metric, over a range that is large enough."""
        least, most = self.reachable
        return self.evidence.is_shown and most - least >= LEAST_RANGE

    def check_reachable(self, diversity: float) -> None:
        """Raise `SettingError` for a figure that no λ is known to give, with the known range and the remedy."""
        least, most = self.reachable
        measured = f"{self.metric} over {self.trials} dialogues of {self.rounds} utterances"
        if not self.can_be_asked:
            raise SettingError("diversity", f"{diversity:g}", f": {self._nothing_shown(measured)}")
        if not least <= diversity <= most:
            problem = f": λ reaches {least:.3f} to {most:.3f} ({measured}); ask for a figure in there"
            raise SettingError("diversity", f"{diversity:g}", problem)

    def _nothing_shown(self, measured: str) -> str:
        """Return why nothing can be asked for, and the remedy."""
        found = f"{measured} is {self.fitted[0]:.3f} to {self.fitted[1]:.3f}"
        p = f"p = {self.evidence.p:.2g}"
        if self.evidence.is_shown:
            shown = (
                f"λ moves it ({p}), but the bands of the least and the greatest λ leave no range to ask for: {found}"
            )
        elif self.fitted[1] - self.fitted[0] < LEAST_RANGE:
            shown = f"a higher λ does not give more: {found} whatever λ is ({p})"
        else:
            shown = (
                f"the pilot does not show that λ moves it: {found}, which may be chance ({p}, and at most "
                f"{self.evidence.level:g} counts)"
            )
        return f"{shown}; {self._what_would_help(self.evidence)}{self.evidence.for_rise}"

    def _what_would_help(self, evidence: Evidence) -> str:
        """Return how many more conversations would be enough, and the alternative."""
        trials = evidence.trials_needed or evidence.trials_at_best
        if trials is None:
            return (
                f"even were the effect as large as this pilot leaves possible, {MOST_TRIALS} conversations at each λ "
                "would not be enough; choose λ with --lambda"
            )
        more = (trials - self.trials) * len(self.removal_factors)
        if evidence.trials_needed is None:
            size = (
                f"of this size, more than {MOST_TRIALS} conversations at each λ would be needed; were it as large as "
                f"this pilot leaves possible, {more} more in all would be enough"
            )
        else:
            size = f"of this size, about {more} more conversations in all would be enough"
        return f"were the effect {size}: --pilot {trials} goes on from those there are; or choose λ with --lambda"

    def named(self, level: str) -> float:
        """Return the figure of a level by name (`LEVELS`); a high diversity is a low sim."""
        first, last = self._ends
        return first + LEVELS[level] * (last - first)

    def removal_factor_for(self, diversity: float) -> float:
        """Return the least λ that gives a figure; beyond the reachable figures the λ at that end."""
        factors, rising, wanted = self.removal_factors, self._rising, self.sign * diversity
        after = bisect_left(rising, wanted)
        if after == 0:
            return factors[0]
        if after == len(factors):
            return factors[bisect_left(rising, rising[-1])]
        part = (wanted - rising[after - 1]) / (rising[after] - rising[after - 1])
        return factors[after - 1] + part * (factors[after] - factors[after - 1])

    def expected_running(self, utterances: int, removal_factor: float) -> float:
        """Return the running measure to expect after so many utterances, from 1, at λ.

        After more utterances than the pilot had it is the pilot's last, as the measure has a window.
        """
        return self.running[min(utterances, len(self.running)) - 1].at(removal_factor)

    def gain(self, utterances: int) -> float:
        """Return the share of a deviation of the running measure, after so many utterances, that shows in diversity."""
        return self.gains[min(utterances, len(self.gains)) - 1]
