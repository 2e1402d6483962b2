"""Costs are gradients of the losses, and the kernels' costs are those of the paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from onlineboost.boosters import losses
from onlineboost.boosters.losses import LOSSES
from onlineboost.boosters.votes import Vote, two_lowest
from onlineboost.contracts.rows import new_work

CODES = {name: int(loss) for name, loss in LOSSES.items()}  # as the kernels get them
BALLOTS = {"cost": int(Vote.COST), "tempered": int(Vote.TEMPERED), "normalized": int(Vote.NORMALIZED)}
names = st.sampled_from(sorted(LOSSES))
votes = st.lists(st.floats(-6.0, 6.0), min_size=2, max_size=6)


def costs_of_kernel(name, s):
    """The whole cost matrix, entry by entry from the kernels."""
    s = np.array(s, float)
    e, k = np.exp(np.minimum(s, 700.0)), len(s)
    near = losses.in_reach(CODES[name], s, k, np.inf)
    votes = CODES[name], near, s, e
    return [
        [-losses.off_diagonal(*votes, r, k) if l == r else losses.pair_cost(*votes, r, l) for l in range(k)]
        for r in range(k)
    ]


@given(names, votes)
def test_cost_matrix_equals_the_paper(name, s):
    np.testing.assert_allclose(costs_of_kernel(name, s), reference.cost_matrix(name, s), rtol=1e-12, atol=1e-14)


@given(st.lists(st.floats(-340.0, 340.0), min_size=2, max_size=4))
def test_logistic_costs_are_right_beyond_the_reach_of_exp(s):
    np.testing.assert_allclose(costs_of_kernel("logistic", s), reference.cost_matrix("logistic", s), rtol=1e-9)


@pytest.mark.compiled  # the exponential of Python overflows with an error, that of machine code with infinity
def test_costs_of_hopeless_votes_are_finite():
    assert costs_of_kernel("logistic", [2000.0, -2000.0]) == [[0.0, 0.0], [1.0, -1.0]]
    assert costs_of_kernel("exponential", [2000.0, -2000.0]) == [[0.0, 0.0], [math.exp(300.0), -math.exp(300.0)]]
    assert costs_of_kernel("squared_hinge", [2000.0, -2000.0]) == [[0.0, 0.0], [4001.0, -4001.0]]


@given(names, votes)
def test_a_row_of_costs_is_the_gradient_of_the_loss(name, s):
    C = reference.cost_matrix(name, s)
    h = 1e-6
    for r in range(len(s)):
        size = max(1.0, reference.loss(name, s, r))
        for l in range(len(s)):
            up, down = list(s), list(s)
            up[l] += h
            down[l] -= h
            slope = (reference.loss(name, up, r) - reference.loss(name, down, r)) / (2.0 * h)
            assert C[r][l] == pytest.approx(slope, abs=1e-6 * max(size, abs(slope)))


@given(names, votes, st.floats(-2.0, 2.0), st.data())
def test_the_gradient_of_alpha_is_the_derivative_of_the_loss_and_the_cost_after_the_vote(name, s, alpha, data):
    l, y = data.draw(st.tuples(*[st.integers(0, len(s) - 1)] * 2))

    def f(a):
        moved = list(s)
        moved[l] += a
        return reference.loss(name, moved, y)

    slope = reference.gradient(name, s, l, y, alpha)
    h = 1e-6
    assert slope == pytest.approx((f(alpha + h) - f(alpha - h)) / (2.0 * h), abs=1e-6 * max(1.0, f(alpha), abs(slope)))
    after = list(s)
    after[l] += alpha
    assert slope == pytest.approx(costs_of_kernel(name, after)[y][l], rel=1e-10, abs=1e-12)
    if name == "logistic":
        assert abs(slope) <= len(s) - 1


def test_the_gradient_printed_in_the_paper_is_not_the_derivative():
    """(gradientLogistic) for l = y prints 1 / (1 + exp(s[j] + alpha - s[y])): the exponent's sign is wrong."""
    s, alpha, h = [0.5, -0.3], 0.4, 1e-6
    up, down = ([s[0] + alpha + step, s[1]] for step in (h, -h))
    slope = (reference.loss("logistic", up, 0) - reference.loss("logistic", down, 0)) / (2.0 * h)
    printed = -1.0 / (1.0 + math.exp(s[1] + alpha - s[0]))
    assert abs(printed - slope) > 0.1
    assert reference.gradient("logistic", s, 0, 0, alpha) == pytest.approx(slope, abs=1e-8)


@given(names, votes)
def test_the_right_label_costs_least_and_rows_sum_to_zero(name, s):
    C = np.array(costs_of_kernel(name, s))
    size = np.abs(np.diag(C))[:, None]
    assert (np.diag(C)[:, None] - 1e-12 * size <= C).all()
    assert (size * (1.0 + 1e-12) >= C).all()
    assert (np.abs(C.sum(axis=1)) <= 1e-12 * size[:, 0]).all()


def said(k, labels, p):
    """A learner has given these labels these probabilities; nothing costs anything yet."""
    work = new_work(k)
    work.labels[: len(labels)] = labels
    work.p[: len(labels)] = p
    work.cost[:k] = 0.0
    return work


@given(names, votes, st.data())
def test_expected_costs_over_the_classes_with_mass_equal_those_over_all(name, s, data):
    k = len(s)
    labels = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=1, max_size=k, unique=True)), np.int64)
    mass = np.array(data.draw(st.lists(st.floats(0.01, 1.0), min_size=len(labels), max_size=len(labels))))
    p = np.zeros(k)
    p[labels] = mass / mass.sum()
    for ballot, vote in BALLOTS.items():
        work = said(k, labels, p[labels])
        votes = CODES[name], name == "logistic", np.array(s), np.exp(s), k
        for least, below in ((0.2, 2.0), (1e-300, 0.2)):
            losses.add_costs(*votes, work, len(labels), least, below, vote)
        C = reference.cost_matrix(name, s)
        C = reference.divided(C, ballot)
        size = max(abs(entry) for row in C for entry in row)
        want = reference.expected_costs(C, p.tolist())
        np.testing.assert_allclose(work.cost[:k], want, rtol=1e-12, atol=1e-13 * size)


@given(names, votes, st.sampled_from(list(BALLOTS.values())), st.data())
def test_labels_that_are_left_out_cannot_change_the_cheapest(name, s, vote, data):
    k = len(s)
    exponents = data.draw(st.lists(st.floats(-9.0, 0.0), min_size=k, max_size=k))
    p = 10.0 ** np.array(exponents) / (10.0 ** np.array(exponents)).sum()
    votes = CODES[name], name == "logistic", np.array(s), np.exp(s), k
    some, all_ = said(k, range(k), p), said(k, range(k), p)
    losses.likely_costs(*votes, some, k, p.max(), vote)
    size = losses.add_costs(*votes, all_, k, 0.0, 2.0, vote)
    label, low, second = two_lowest(all_.cost, k)
    assert [low, second] == sorted(all_.cost[:k])[:2]
    assert two_lowest(some.cost, k)[0] == label or second - low <= 1e-11 * size


@given(names, st.integers(2, 30), st.integers(1, 300), st.integers(1, 10**6), st.data())
def test_step_sizes_and_feasible_sets_are_those_of_the_paper(name, k, n_learners, t, data):
    i = data.draw(st.integers(0, n_learners - 1))
    want = reference.step_size(name, k, n_learners, i, t)
    assert losses.step_size(CODES[name], k, n_learners, i + 1, t) == pytest.approx(want, rel=1e-13, abs=1e-300)
    assert losses.alpha_bound(CODES[name], n_learners) == reference.alpha_bound(name, n_learners)


@given(names, st.integers(1, 30), st.integers(1, 300), st.lists(st.floats(-1e6, 1e6), max_size=9))
def test_adaptive_step_sizes_fall_with_the_slopes(name, k, n_learners, slopes):
    squares = math.fsum(g**2 for g in slopes)
    want = reference.adaptive_step_size(name, k, n_learners, slopes)
    eta = losses.adaptive_step_size(CODES[name], k, n_learners, squares)
    assert eta == pytest.approx(want, rel=1e-12)
    assert losses.adaptive_step_size(CODES[name], k, n_learners, squares + 1.0) <= eta
    steepest = max([abs(g) for g in slopes], default=0.0)  # no step is more than a share of the way
    assert eta * steepest <= losses.adaptive_rate(CODES[name]) * losses.alpha_bound(CODES[name], n_learners)
