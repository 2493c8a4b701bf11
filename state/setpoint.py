"""A calibrated setpoint: which λ gives which diversity, for a model and a scenario, as plain numbers.

A run that is asked for a diversity has this among its parameters, so that it goes on, forks and replays without the
pilot that the numbers were measured in (lab/experiments/setpoint.py). What λ is then is found in
nodes/shared/steering.py.
"""

import json
from bisect import bisect_left
from itertools import pairwise
from typing import Any, Literal

from pydantic import Field, model_validator

from tertulia.state.errors import SettingError
from tertulia.state.records import Record

#: What may be asked for: dist-N and sim over the dialogues of a case. Source: APP §2.
DiversityMetric = Literal["dist1", "dist2", "dist3", "sim"]

#: Names for a level: how far it lies between the least and the most that λ reaches.
LEVELS = {"low": 0.25, "medium": 0.5, "high": 0.75}

#: The least range of diversity that λ can be steered over.
LEAST_RANGE = 0.01


class Line(Record):
    """A figure that is a straight line in λ."""

    at_zero: float
    slope: float

    def at(self, removal_factor: float) -> float:
        """Return the figure at λ."""
        return self.at_zero + self.slope * removal_factor


class Inconsistency(Record):
    """The judge's figure of what is said, as it is at λ, and how far single utterances lie from it."""

    expected: Line
    deviation: float = Field(ge=0, description="standard deviation between utterances")


class Setpoint(Record):
    """How diversity follows λ, as it was measured in a pilot, and what the course of a conversation says of it.

    `diversity` is what a user asks for: the metric over the trials of a case. A conversation does not see it. What it
    sees is its running measure, dist-N within its last utterances; `running` says what that is where λ does what it
    did in the pilot, and `gains` how much of a deviation shows in the conversation's part in `diversity`.
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

    @model_validator(mode="before")
    @classmethod
    def _read(cls, values: Any) -> Any:
        """Read JSON where it is a text, so that an experiment's setting can hold it."""
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
        """1 where more diversity is a greater figure; -1 for sim."""
        return -1 if self.metric == "sim" else 1

    @property
    def _rising(self) -> tuple[float, ...]:
        return tuple(self.sign * figure for figure in self.diversity)

    @property
    def reachable(self) -> tuple[float, float]:
        """The least and the greatest figure that a λ gives."""
        return min(self.diversity), max(self.diversity)

    def check_reachable(self, diversity: float) -> None:
        """Raise `SettingError`, with the reachable range, for a figure that no λ gives."""
        least, most = self.reachable
        measured = f"{self.metric} over {self.trials} dialogues of {self.rounds} utterances"
        if most - least < LEAST_RANGE:
            problem = f": a higher λ does not give more: {measured} is {least:.3f} to {most:.3f} whatever λ is"
            raise SettingError("diversity", f"{diversity:g}", problem)
        if not least <= diversity <= most:
            problem = f": λ reaches {least:.3f} to {most:.3f} ({measured}); ask for a figure in there"
            raise SettingError("diversity", f"{diversity:g}", problem)

    def named(self, level: str) -> float:
        """Return the figure of a level by name (`LEVELS`); a high diversity is a low sim."""
        first, last = self.diversity[0], self.diversity[-1]
        return first + LEVELS[level] * (last - first)

    def removal_factor_for(self, diversity: float) -> float:
        """Return the least λ that gives a figure; beyond what is reachable the λ at that end."""
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
