"""The weak learning condition as a measurement, LEA, and the link between the two."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import SGDClassifier

import reference_theory
from helpers import number_stream
from onlineboost import HoeffdingTree
from onlineboost.theory import (
    Simulation,
    draw_labels,
    draw_votes,
    excess_of_regret,
    excess_of_votes,
    lea,
    lea_regret,
    lea_step,
    link,
    measure_edge,
    measure_learner,
    sure_edges,
    useless_rounds,
)


def random_costs(rng, T, k, y):
    """Weights, and rows of costs C_t[y_t], of several kinds: spread, or all on one label."""
    C = rng.dirichlet(np.full(k, 0.3), T)
    C[np.arange(T), y] = 0.0
    C += 1e-12 * (np.arange(k) != y[:, None])
    w = rng.random(T) ** 2 if rng.random() < 0.5 else (rng.random(T) < 0.7).astype(float)
    return w, C / C.sum(axis=1, keepdims=True)


# ------------------------------------------------------------------------------------------------------ the condition


@given(st.integers(2, 6), st.integers(0, 1000), st.floats(0.0, 30.0), st.floats(-1.0, 1.0))
def test_gamma_and_excess_loss_are_the_two_sides_of_the_condition(k, seed, S, gamma):
    """For the largest gamma the inequality holds after every example, and is tight after one; the same for S."""
    rng = np.random.default_rng(seed)
    w = rng.random(200)
    edge = measure_edge(w * rng.random(200), w, k)
    x, total = edge.cost, edge.weight
    largest = edge.gamma_for(S)
    assert (x <= (1 - largest) / k * total + S + 1e-9).all()
    assert largest == 1.0 or np.isclose(x, (1 - largest) / k * total + S).any()
    smallest = edge.excess_loss(gamma)
    assert (x <= (1 - gamma) / k * total + smallest + 1e-9).all()
    assert edge.excess_loss(largest) <= S + 1e-9
    assert edge.lower <= edge.gamma


@pytest.mark.parametrize(("k", "gamma"), [(2, 0.1), (5, 0.3), (10, 0.02)])
def test_the_lower_bound_of_an_edge_fails_less_often_than_it_says(k, gamma):
    """Independent votes have the edge gamma exactly, for any costs and weights, seen at any time."""
    rng = np.random.default_rng(k)
    T, delta, failures, gap = 400, 0.2, 0, []
    for seed in range(200):
        y = draw_labels(T, k, seed)
        votes = draw_votes(y, k, 1, gamma, seed=seed)[:, 0]
        w, C = random_costs(rng, T, k, y)
        x = w * C[np.arange(T), votes]
        failures += any(measure_edge(x[:n], w[:n], k, delta).lower > gamma for n in (10, 50, 100, 200, T))
        gap.append(gamma - measure_edge(x, w, k, delta).lower)
    assert failures <= delta * 200
    # And it is of use: within a small factor of sqrt(2 log(1/delta) k / weight), what a normal variable would have.
    assert np.median(gap) < 4.0 * math.sqrt(2 * math.log(1 / delta) * k / (0.5 * T))


@pytest.mark.parametrize("booster", ["adaboost-olm", "online-mbbm"])
def test_sure_edges_fail_less_often_than_they_say(booster):
    """Votes from u_edge have that edge under the costs of both boosters, given the past."""
    k, n, T, delta = 3, 5, 500, 0.2
    edges, failures, found = np.array([0.0, 0.05, 0.3, 0.6, 0.8]), 0, []
    for seed in range(100):
        y = draw_labels(T, k, seed)
        run = Simulation(booster, k, n, gamma=0.2)
        run.play(draw_votes(y, k, n, edges, seed=seed), y)
        sure = sure_edges(run.edges, run.weights, -1.0 if booster == "adaboost-olm" else 1.0 - k, k - 1.0, delta)
        failures += (sure > edges).any()
        found.append(sure)
        assert (sure <= run.edges).all()
    assert failures <= delta * 100
    assert (np.median(found, axis=0)[3:] > 0.1).all()  # and it is of use
    assert sure_edges([0.5], [0.0], -1.0, 1.0).tolist() == [-1.0]


@pytest.mark.parametrize("useless", [False, True])
@pytest.mark.parametrize(("k", "gamma"), [(2, 0.1), (6, 0.05)])
def test_the_adversaries_satisfy_the_condition(k, gamma, useless):
    """Votes from u_(2 gamma), or guesses for T_0 rounds and then the truth: edge gamma and S, but for delta."""
    rng = np.random.default_rng(1)
    delta = 0.2
    least = excess_of_votes(2 * gamma, gamma, delta)
    S = 3 * least if useless else least
    start = useless_rounds(k, gamma, S, delta) if useless else 0
    T, failures, runs = start + 1000, 0, 100
    for seed in range(runs):
        y = draw_labels(T, k, seed)
        votes = draw_votes(y, k, 1, 1 - 1e-9 if useless else 2 * gamma, useless=start, seed=seed)[:, 0]
        w, C = random_costs(rng, T, k, y)
        failures += measure_edge(w * C[np.arange(T), votes], w, k).excess_loss(gamma) > S
    assert failures <= delta * runs


def test_a_learner_is_measured_as_it_votes():
    """The costs are those of least expected cost, predicted before the label is learned."""
    X, y = number_stream(150, d=3, n_classes=3, seed=2)
    rng = np.random.default_rng(0)
    C = rng.random((150, 3, 3)) * (1 - np.eye(3))
    C /= C.sum(axis=2, keepdims=True)
    w = rng.random(150)
    edge = measure_learner(HoeffdingTree(), X, y, weights=w, costs=C)
    tree, total = HoeffdingTree(), 0.0
    for t in range(150):
        p = tree.predict_proba(X[t : t + 1])[0] if t else np.full(3, 1 / 3)
        total += w[t] * C[t, y[t], min(range(3), key=lambda l: (p @ C[t])[l])]
        tree.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1, 2], sample_weight=w[t : t + 1])
    assert edge.cost[-1] == pytest.approx(total)
    assert edge.gamma == pytest.approx(1 - 3 * total / w.sum())
    assert 0.2 < measure_learner(SGDClassifier(loss="log_loss"), X, y).gamma <= 1.0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: measure_edge([0.1], [2.0], 3), r"weights.*2.0"),
        (lambda: measure_edge([0.9], [0.5], 3), "costs"),
        (lambda: measure_edge([], [], 3), "one cost and one weight"),
        (lambda: measure_learner(HoeffdingTree(), np.zeros((2, 1)), [0, 0]), "two classes"),
        (lambda: measure_learner(HoeffdingTree(), np.zeros((2, 1)), [0, 1], costs=np.ones((2, 2))), "cost matrix"),
        (lambda: measure_learner(HoeffdingTree(), np.zeros((2, 1)), [0, 1], costs=np.ones((3, 3))), r"\(3, 3\)"),
        (lambda: link(1, 3, 0.1, 0.05), "n_experts.*1"),
        (lambda: link(5, 3, 0.6, 0.05), "edge=1.2"),
        (lambda: excess_of_regret(math.sqrt, 3, 0.0), "gamma.*0.0"),
        (lambda: excess_of_regret(math.sqrt, 1, 0.1), "n_classes.*1"),
        (lambda: excess_of_regret(lambda T: T, 3, 0.1), "sublinear"),
        (lambda: sure_edges([2.0], [10.0], -1.0, 1.0), "edges.*2.0"),
        (lambda: sure_edges([0.2], [-1.0], -1.0, 1.0), "weights.*-1.0"),
        (lambda: sure_edges([0.2], [1.0, 2.0], -1.0, 1.0), "1 and 2"),
        (lambda: lea([[0, 3]], [[0.0, 1.0]], 0.1), "advice must lie in 0..1, got 0 to 3"),
        (lambda: lea([[0, -1]], [[0.0, 1.0]], 0.1), "advice must lie in 0..1, got -1"),
        (lambda: lea([[0, 1], [0, 1]], [[0.0, 1.0]], 0.1), "advice.*shape"),
        (lambda: lea([[0, 1]], [[0.0, math.nan]], 0.1), "costs"),
        (lambda: lea([[0, 1]], [[0.0, 1.0]], math.nan), "eta.*nan"),
        (lambda: lea_step(0, 10), "n_experts.*0"),
        (lambda: lea_step(3, 0), "n_examples.*0"),
        (lambda: lea_regret(0, 10, 0.1), "n_experts.*0"),
        (lambda: lea_regret(3, math.nan, 0.1), "n_examples.*nan"),
        (lambda: measure_edge([0.1], [1.0], 2).gamma_for(math.nan), "excess_loss.*nan"),
    ],
)
def test_a_bad_number_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()


# ---------------------------------------------------------------------------------------------------------------- LEA


def test_lea_is_its_pseudo_code():
    rng = np.random.default_rng(0)
    advice, costs = rng.integers(4, size=(80, 5)), rng.random((80, 4))
    out, incurred = lea(advice, costs, eta=0.7, seed=3)
    assert out.tolist() == reference_theory.lea(advice.tolist(), costs.tolist(), 0.7, 3)
    np.testing.assert_array_equal(incurred, costs[np.arange(80), out])


@pytest.mark.parametrize("n", [2, 30])
def test_lea_keeps_its_regret(n):
    """Against the best expert in hindsight, on random costs and on those that punish whoever leads."""
    rng = np.random.default_rng(n)
    T, k, delta = 400, 3, 0.1
    advice = rng.integers(k, size=(T, n))
    failures = 0
    for seed in range(60):
        costs = rng.random((T, k)) ** 3
        if seed % 2:
            costs = np.eye(k)[np.arange(T) % k]
        _, incurred = lea(advice, costs, lea_step(n, T), seed)
        best = costs[np.arange(T)[:, None], advice].sum(axis=0).min()
        failures += incurred.sum() - best > lea_regret(n, T, delta)
    assert failures <= delta * 60


@pytest.mark.parametrize(("k", "gamma"), [(2, 0.15), (8, 0.15)])
def test_experts_with_an_edge_make_lea_a_weak_learner(k, gamma):
    """One expert of 20 is just good enough, the others guess."""
    rng = np.random.default_rng(0)
    T, n, delta, failures = 1500, 20, 0.2, 0
    eta, S = link(n, k, gamma, delta)
    for seed in range(40):
        y = draw_labels(T, k, seed)
        advice = rng.integers(k, size=(T, n))
        w, C = random_costs(rng, T, k, y)
        good = y.copy()
        dearest = C.argmax(axis=1)
        allowed = (1 - 2 * gamma) / k * np.cumsum(w)
        spent = 0.0
        for t in range(T):  # the expert errs as dearly and as early as edge 2 gamma lets it
            price = w[t] * C[t, dearest[t]]
            if spent + price <= allowed[t]:
                good[t] = dearest[t]
                spent += price
        advice[:, seed % n] = good
        _, incurred = lea(advice, w[:, None] * C, eta, seed)
        failures += measure_edge(incurred, w, k).excess_loss(gamma) > S
    assert failures <= delta * 40


def test_the_links_excess_loss():
    """The paper's maximum has a closed form; ours needs no least weight, and no k once k is large."""
    a, b = math.sqrt(math.log(50)), math.sqrt(math.log(1 / 0.1))
    for k, m in ((2, 1.0), (10, 0.3)):
        want = k * (a + b) ** 2 / (8 * 0.1 * m)
        got = excess_of_regret(lambda T: lea_regret(50, T, 0.1), k, 0.1, m)
        assert got == pytest.approx(want, rel=1e-3)
        assert link(50, k, 0.1, 0.1).excess_loss <= want * (1 + 1e-9)
    assert link(50, 1000, 0.1, 0.1).excess_loss == link(50, 100, 0.1, 0.1).excess_loss


def test_a_regret_that_is_0_at_first_has_an_excess_all_the_same():
    """max_T 5 sqrt T - 20 - T / 50 is at T = 125^2."""
    assert excess_of_regret(lambda T: max(0.0, 5.0 * T**0.5 - 20.0), 5, 0.1) == pytest.approx(292.5, abs=1e-6)
    assert excess_of_regret(lambda T: 0.0, 5, 0.1) == 0.0
    late = excess_of_regret(lambda T: 0.0 if T < 1e5 else 1e4, 5, 0.1)
    assert late == pytest.approx(1e4 - 0.02 * 1e5, rel=0.2)
