"""λ in the course of a conversation that is asked for a diversity: a pure function of the spoken lines.

1. λ begins at the calibration's value for the asked figure.
2. A conversation does not see its diversity, which is a figure over trials. Its part in that figure is estimated from
   the deviation of its running measure from the one expected at the λ in force, shrunk by the pilot's finding on such
   deviations (`Setpoint.gains`); λ goes to the value at which the calibration makes up for it, as far as λ moves
   anything.
3. If the judge's figures climb beyond the scatter of single utterances, λ is taken back.
4. λ moves part of the way in each turn, a limited step at most, and stays near its beginning, whatever is measured.

The effect of λ on the running measure is part of the expected figure, so λ is not moved by its own effect: that is why
it comes to rest, while an integrating controller with such delays would swing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tertulia.state.setpoint import Setpoint

#: The part of the way that λ goes in a turn to its proper value.
_PART = 0.5

#: The most that λ moves from one turn to the next.
STEP_MAX = 0.1

#: The most that λ departs from the calibrated one.
AUTHORITY = 0.3

#: How many standard errors the mean inconsistency must be above the expected one before λ is taken back, and by how
#: much it then is, for each standard error beyond.
_TOLERATED, _CAUTION = 2.0, 0.1


#: The range of the calibrated curve at which half of the way is worth going: if λ moves diversity little, making up for
#: a deviation would take much of λ, which would mostly follow noise.
_RANGE_HALF = 0.05


@dataclass(frozen=True)
class Observation:
    """The observation after an utterance.

    Attributes:
        running: dist-N over the last utterances, this one among them; `None` if there are too few words.
        removal_factor: λ that was in force; `None` if it was not λ that made it, as with words typed by a person.
        inconsistency: The judge's figure of the line; `None` if it was not judged.
    """

    running: float | None
    removal_factor: float | None
    inconsistency: float | None


@dataclass(frozen=True)
class Steering:
    """λ for the next utterance, and why.

    Attributes:
        calibrated: The λ at which the calibration has the asked figure.
        deviation: By how much the running measure is above the expected one; `None` before there is one.
        for_diversity: By how much λ should depart from the calibrated one, for the running measure's sake.
        for_consistency: By how much, for that of consistency; at most 0.
    """

    removal_factor: float
    calibrated: float
    deviation: float | None
    for_diversity: float
    for_consistency: float


def steer(setpoint: Setpoint, target: float, observed: Sequence[Observation]) -> Steering:
    """Return λ for the next utterance, given the asked figure and everything observed so far, oldest first."""
    calibrated = setpoint.removal_factor_for(target)
    least, most = setpoint.fitted
    worth = (most - least) ** 2 / ((most - least) ** 2 + _RANGE_HALF**2)
    steering = Steering(calibrated, calibrated, None, 0.0, 0.0)
    for count in range(1, len(observed) + 1):
        recent = observed[max(0, count - setpoint.window) : count]
        factors = [past.removal_factor for past in recent if past.removal_factor is not None]
        if not factors:
            continue
        factor = sum(factors) / len(factors)
        running = observed[count - 1].running
        deviation = None if running is None else running - setpoint.expected_running(count, factor)
        estimated = setpoint.gain(count) * (deviation or 0.0)
        for_diversity = worth * (setpoint.removal_factor_for(target - estimated) - calibrated)
        for_consistency = -_excess(setpoint, recent, factor) * _CAUTION
        wanted = _within(for_diversity + for_consistency, AUTHORITY)
        departs = steering.removal_factor - calibrated
        moved = departs + _within(_PART * (wanted - departs), STEP_MAX)
        steering = Steering(
            removal_factor=min(max(calibrated + moved, 0.0), 1.0),
            calibrated=calibrated,
            deviation=deviation,
            for_diversity=for_diversity,
            for_consistency=for_consistency,
        )
    return steering


def _excess(setpoint: Setpoint, recent: Sequence[Observation], factor: float) -> float:
    """Return by how many standard errors, beyond those tolerated, inconsistency is above the one expected at λ."""
    figures = [past.inconsistency for past in recent if past.inconsistency is not None]
    if setpoint.inconsistency is None or not figures or not setpoint.inconsistency.deviation:
        return 0.0
    above = sum(figures) / len(figures) - setpoint.inconsistency.expected.at(factor)
    return max(0.0, above * math.sqrt(len(figures)) / setpoint.inconsistency.deviation - _TOLERATED)


def _within(value: float, bound: float) -> float:
    return min(max(value, -bound), bound)
