"""A hand-made calibration of λ."""

from typing import Any

from tertulia.state.setpoint import Evidence, Inconsistency, Line, Setpoint

#: Utterances of its pilot, and of its window.
WINDOW = 6

#: That λ moves diversity, and that it does not.
SHOWN = Evidence(p=0.001, level=0.04, permutations=1999, is_exact=False)
CHANCE = Evidence(p=0.3, level=0.04, permutations=1999, is_exact=False, trials_needed=9)

#: Bands around diversity.
BANDS = {"low": (0.48, 0.58, 0.78), "high": (0.52, 0.62, 0.82)}


def a_setpoint(**fields: Any) -> Setpoint:
    """Diversity rises from 0.5 to 0.8, without a band; the running measure by 0.1 with λ, and its deviation shows."""
    diversity = fields.get("diversity", (0.5, 0.6, 0.8))
    return Setpoint(
        **{
            "metric": "dist3",
            "trials": 4,
            "rounds": WINDOW,
            "window": WINDOW,
            "removal_factors": (0.0, 0.5, 1.0),
            "diversity": diversity,
            "low": diversity,
            "high": diversity,
            "running": tuple(Line(at_zero=1 - 0.02 * count, slope=0.1) for count in range(1, WINDOW + 1)),
            "gains": (0.0, 0.4, 0.6, 0.8, 0.9, 1.0),
            "inconsistency": Inconsistency(expected=Line(at_zero=1.0, slope=1.0), deviation=0.5),
            "evidence": SHOWN,
            **fields,
        }
    )
