"""Student's t without SciPy: SciPy's own figures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.on_use import on_use

from tertulia.metrics.student import student_quantile, student_tail

special = on_use("scipy.special")

FREEDOM = st.one_of(st.floats(1.0, 60.0), st.integers(1, 5000).map(float))


@given(FREEDOM, st.floats(0.01, 40.0))
def test_the_tail_is_that_of_scipy(freedom: float, t: float) -> None:
    assert student_tail(freedom, t) == pytest.approx(float(special.stdtr(freedom, -t)), rel=1e-10, abs=1e-280)
    assert student_tail(freedom, -t) == pytest.approx(float(special.stdtr(freedom, t)), rel=1e-12)


@given(FREEDOM, st.floats(0.51, 0.9999))
def test_the_quantile_is_that_of_scipy(freedom: float, share: float) -> None:
    assert student_quantile(freedom, share) == pytest.approx(float(special.stdtrit(freedom, share)), rel=1e-10)
    assert student_quantile(freedom, 1 - share) == pytest.approx(-student_quantile(freedom, share), rel=1e-9)
