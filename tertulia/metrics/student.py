"""Student's t without SciPy: its tail and its quantile, for degrees of freedom above 0, whole or not.

The page of the viewer needs them, which imports no SciPy. The tail is the regularised incomplete beta function, as a
continued fraction; the quantile is found in it by bisection. Both agree with SciPy's to 1e-11 of themselves.

Source: Abramowitz and Stegun 1964, 26.7.1 and 26.5.8; the fraction is evaluated as Lentz 1976 has it.
"""

from functools import lru_cache
from math import exp, inf, log, log1p, pi, sqrt

#: The limit of convergence of the continued fraction; its replacement for 0; its terms at most.
_CLOSE, _TINY, _TERMS = 3e-16, 1e-300, 10_000

#: The series of Γ(a + 1/2) / (Γ(a) √a) in 1/a, and the value from which on it is exact.
_GAMMA_RATIO, _LARGE = (1, -1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144), 100.0


def student_tail(freedom: float, t: float) -> float:
    """Return the chance that Student's t with these degrees of freedom is above a value."""
    if t < 0:
        return 1.0 - student_tail(freedom, -t)
    if t == inf:
        return 0.0
    square = t * t
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square)) / 2


@lru_cache(maxsize=4096)
def student_quantile(freedom: float, share: float) -> float:
    """Return the value below which a share of Student's t with these degrees of freedom lies.

    Args:
        share: In (0, 1).
    """
    if share < 0.5:
        return -student_quantile(freedom, 1 - share)
    if share == 0.5:
        return 0.0
    tail, low, high = 1 - share, 0.0, 1.0
    while student_tail(freedom, high) > tail:
        low, high = high, 2 * high
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        low, high = (middle, high) if student_tail(freedom, middle) > tail else (low, middle)


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """Return the regularised incomplete beta function at x, of which a or b is 1/2; `rest` is 1 - x in all digits."""
    if x <= 0:
        return 0.0
    if rest <= 0:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _incomplete_beta(b, a, rest, x)
    of_x = log(x) if x < 0.5 else log1p(-rest)
    of_rest = log(rest) if rest < 0.5 else log1p(-x)
    return exp(a * of_x + b * of_rest) / (a * _beta(b if a == 0.5 else a)) * _fraction(a, b, x)


def _beta(a: float) -> float:
    """Return the beta function of a number and 1/2; by logarithms, that of a large number would lose digits."""
    shifted, ratio = a, 1.0
    while shifted < _LARGE:
        ratio *= shifted / (shifted + 0.5)
        shifted += 1
    series, power = 0.0, 1.0
    for coefficient in _GAMMA_RATIO:
        series += coefficient * power
        power /= shifted
    return sqrt(pi) / (ratio * sqrt(shifted) * series)


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function."""
    value, upper, lower = _TINY, _TINY, 0.0
    for term in range(_TERMS):
        half, is_odd = divmod(term, 2)
        if term == 0:
            part = 1.0
        elif is_odd:
            part = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            part = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        lower = 1 / ((1 + part * lower) or _TINY)
        upper = (1 + part / upper) or _TINY
        value *= upper * lower
        if abs(upper * lower - 1) < _CLOSE and term:
            break
    return value
