"""The response latency of an agent. Source: ChatAgents App. B, Eq. 2 and 4 to 6."""

import math
import random
from typing import Literal

from tertulia.state.meeting import LATENCY_CLASSES, LatencyClass
from tertulia.state.parameters import Parameters

Form = Literal["as_printed", "moment_matched"]

#: k₁ of Eq. 4 and k₂ of Eq. 5, and the factor of App. B on the latency of an agent without the floor.
SCALE_SENSITIVITY, SPREAD_SENSITIVITY, PERSISTENCE_FACTOR = 0.5, 0.3, 0.7


def base_latency(latency: LatencyClass | tuple[float, float] | None, parameters: Parameters) -> tuple[float, float]:
    """Return μ₀ and σ₀ in seconds.

    Args:
        latency: A class of Eq. 2, whose unadjusted draw has the distribution of that class; or μ₀ and σ₀ themselves;
            or `None` for those of the parameters.
        parameters: The form of Eq. 6, and the defaults.
    """
    if latency is None:
        return parameters.latency_scale_s, parameters.latency_spread_s
    if not isinstance(latency, str):
        return latency
    log_mean, log_deviation = LATENCY_CLASSES[latency]
    if parameters.latency_form == "moment_matched":
        log_mean += log_deviation**2 / 2
    scale = math.exp(log_mean)
    return scale, scale * math.sqrt(math.expm1(log_deviation**2))


def adjusted_latency(base: tuple[float, float], similarity: float) -> tuple[float, float]:
    """Return μ and σ in seconds: a thought that continues earlier thoughts comes faster. Source: Eq. 4 and 5."""
    scale, spread = base
    return (
        scale * math.exp(-SCALE_SENSITIVITY * similarity),
        spread * math.exp(-SPREAD_SENSITIVITY * similarity),
    )


def log_moments(scale: float, spread: float, form: Form) -> tuple[float, float]:
    """Return log-mean and log-deviation of the draw. Source: Eq. 6.

    Args:
        scale: μ > 0, in seconds; the median of the draw as the equation is printed, its mean if `moment_matched`.
        spread: σ ≥ 0, in seconds.
        form: `as_printed` or `moment_matched`.
    """
    variance = math.log1p((spread / scale) ** 2)
    log_mean = math.log(scale) - (variance / 2 if form == "moment_matched" else 0.0)
    return log_mean, math.sqrt(variance)


def draw_latency(scale: float, spread: float, form: Form, generator: random.Random) -> float:
    """Draw a latency in seconds. Source: Eq. 6."""
    return generator.lognormvariate(*log_moments(scale, spread, form))


def persistence_of(unheard: int, parameters: Parameters) -> float:
    """Return the factor on the latency of an agent that was willing in consecutive rounds without getting the floor."""
    rounds = unheard if parameters.persistence == "compounding" else min(unheard, 1)
    return PERSISTENCE_FACTOR**rounds
