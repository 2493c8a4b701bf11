"""A hand-made calibration of λ."""

from typing import Any

from tertulia.state.setpoint import Inconsistency, Line, Setpoint

#: Utterances of its pilot, and of its window.
WINDOW = 6


def a_setpoint(**fields: Any) -> Setpoint:
    """Diversity rises from 0.5 to 0.8; the running measure by 0.1 with λ, and all of its deviation shows."""
    return Setpoint(
        **{
            "metric": "dist3",
            "trials": 4,
            "rounds": WINDOW,
            "window": WINDOW,
            "removal_factors": (0.0, 0.5, 1.0),
            "diversity": (0.5, 0.6, 0.8),
            "low": (0.48, 0.58, 0.78),
            "high": (0.52, 0.62, 0.82),
            "running": tuple(Line(at_zero=1 - 0.02 * count, slope=0.1) for count in range(1, WINDOW + 1)),
            "gains": (0.0, 0.4, 0.6, 0.8, 0.9, 1.0),
            "inconsistency": Inconsistency(expected=Line(at_zero=1.0, slope=1.0), deviation=0.5),
            **fields,
        }
    )
