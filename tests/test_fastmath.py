"""Logarithm and normal distribution are those of the C library; random numbers are pure and uniform."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlineboost._compile.fastmath import exp, log, normal_cdf, xlogx
from onlineboost._compile.random import child_key, uniform

keys = st.integers(0, 2**62)


@given(st.floats(2.3e-308, 1.7e308))
def test_log_is_the_logarithm(x):
    assert abs(log(x) - math.log(x)) <= 3e-15 * max(1.0, abs(math.log(x)))


@pytest.mark.parametrize("near", [1.0, math.sqrt(0.5), math.sqrt(2.0), 2.0, 0.5])
def test_log_is_exact_to_rounding_where_its_pieces_meet(near):
    for x in near * (1.0 + np.arange(-50, 51) * 2.0**-52):
        assert abs(log(x) - math.log(x)) <= 4e-16 * max(1.0, abs(math.log(x)))


@given(st.floats(0.0, 1e300))
def test_xlogx_is_continuous_at_zero(x):
    want = x * math.log(x) if x > 1e-290 else 0.0
    assert xlogx(x) == pytest.approx(want, rel=1e-14, abs=1e-14 * x + 1e-280)


@given(st.floats(-700.0, 700.0))
@pytest.mark.compiled  # machine code multiplies and adds without rounding in between
def test_exp_is_the_exponential(x):
    assert exp(x) == pytest.approx(math.exp(x), rel=3e-14)
    assert exp(x / 35.0) == pytest.approx(math.exp(x / 35.0), rel=2e-15)


@given(st.floats(-40.0, 40.0))
def test_normal_cdf_is_the_distribution_function(z):
    assert abs(normal_cdf(z) - 0.5 * math.erfc(-z / math.sqrt(2.0))) <= 1e-13


def test_normal_cdf_rises_and_stays_within_bounds_whatever_it_is_given():
    z = np.linspace(-9.0, 9.0, 20_001)
    values = np.array([normal_cdf(at) for at in z])
    assert (np.diff(values) >= -1e-15).all()
    assert normal_cdf(-math.inf) == pytest.approx(0.0, abs=1e-15)
    assert normal_cdf(math.inf) == pytest.approx(1.0, abs=1e-15)
    assert 0.0 <= normal_cdf(math.nan) <= 1.0


@given(keys, st.integers(0, 9), st.integers(0, 10**6), st.integers(0, 2**40))
def test_uniform_is_a_pure_function_into_the_unit_interval(seed, purpose, i, t):
    u = uniform(seed, purpose, i, t)
    assert 0.0 <= u < 1.0
    assert u == uniform(seed, purpose, i, t)
    assert len({u, uniform(seed + 1, purpose, i, t), uniform(seed, purpose + 1, i, t)}) == 3
    assert len({u, uniform(seed, purpose, i + 1, t), uniform(seed, purpose, i, t + 1)}) == 3


@pytest.mark.parametrize("moving", range(4))
def test_uniform_fills_the_interval_evenly_along_every_argument(moving):
    arguments = [1, 2, 3, 4]
    draws = []
    for value in range(4000):
        arguments[moving] = value
        draws.append(uniform(*arguments))
    counts, _ = np.histogram(draws, bins=20, range=(0.0, 1.0))
    chi_squared = ((counts - 200.0) ** 2 / 200.0).sum()
    assert chi_squared < 45.0  # 99.9 % quantile with 19 degrees of freedom is 43.8
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.05


@given(keys, st.integers(0, 1000))
def test_child_keys_are_usable_as_keys_and_differ_between_branches_and_levels(key, branch):
    child = child_key(key, branch)
    assert 0 <= child < 2**63
    assert child == child_key(key, branch)
    assert len({key, child, child_key(key, branch + 1), child_key(child, branch)}) == 4
