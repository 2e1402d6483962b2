"""OnlineMBBM is as good as a booster can be: the bounds from above and from below meet, in N and in T."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlineboost.boosters.potentials import weight_bounds
from onlineboost.boosters.potentials.draws import own_draws, vote_distribution
from onlineboost.theory import (
    chernoff_learners,
    draw_labels,
    draw_votes,
    edge_of_votes,
    excess_of_votes,
    least_error,
    least_error_closed,
    least_examples,
    least_learners,
    mbbm_examples,
    mbbm_learners,
    measure_edge,
    shrinking_edge,
    useless_rounds,
    weight_sum,
    weight_sum_closed,
)
from onlineboost.theory.planning import first_where

PLANS = [(k, gamma) for k in (2, 5, 26, 100) for gamma in (0.02, 0.1, 0.2)]
ks, gammas, losses, deltas = st.integers(2, 200), st.floats(0.0, 0.9), st.floats(2.0, 1e4), st.floats(1e-6, 0.5)

# --------------------------------------------------------------------------------- votes that satisfy the condition


@given(ks, gammas, losses, deltas)
def test_the_edge_and_the_excess_loss_of_votes_belong_together(k, gamma, S, delta):
    edge = edge_of_votes(k, gamma, S, delta)
    assert gamma < edge < 1.0
    assert excess_of_votes(edge, gamma, delta, k) == pytest.approx(S, rel=1e-5)
    assert excess_of_votes(edge, gamma, delta) >= S * (1 - 1e-5)  # for any k
    assert edge <= gamma + (1 - gamma) * math.log(1 / delta) / (2 * S) + 1e-12
    a, m, q = math.log(1 / delta) / S, (1 - edge) / k, (1 - gamma) / k
    for w in (0.01, 0.3, 1.0):  # the supermartingale: E e^(a (x - q w)) <= 1 for costs x of 0 or w
        assert math.log1p(m * math.expm1(a * w)) <= a * q * w + 1e-9


def test_the_edge_has_its_limits():
    assert edge_of_votes(5, 0.1, math.inf, 0.05) == 0.1
    assert edge_of_votes(5, 0.1, 0.0, 0.05) == 1.0
    assert edge_of_votes(5, 0.1, 1e-6, 0.05) == pytest.approx(1.0)
    assert excess_of_votes(1.0, 0.1, 0.05, 5) == 0.0


@pytest.mark.parametrize(("k", "gamma", "edge"), [(2, 0.1, 0.2), (5, 0.1, 0.2), (3, 0.2, 0.3)])
def test_the_excess_loss_of_votes_is_what_it_takes(k, gamma, edge):
    """All cost on one wrong label: the condition fails with probability at most delta, and not much less."""
    delta, runs, T = 0.2, 400, 1500
    S, failures = excess_of_votes(edge, gamma, delta, k), 0
    for seed in range(runs):
        y = draw_labels(T, k, seed)
        votes = draw_votes(y, k, 1, edge, seed=seed)[:, 0]
        failures += measure_edge(votes == (y + 1) % k, np.ones(T), k).excess_loss(gamma) > S
    assert delta / 4 * runs <= failures <= (delta + 0.03) * runs


# One weight in a round for all, as a booster might choose it: all 1, none after a while, at random, ever smaller.
WEIGHTS = {
    "one": lambda t, rng: 1.0,
    "few": lambda t, rng: float(t < 2000),
    "random": lambda t, rng: float(rng.choice([0.0, 0.1, 0.5, 1.0])),
    "falling": lambda t, rng: 1.0 / math.sqrt(1 + t // 50),
}


@pytest.mark.parametrize(("kind", "told"), [*((kind, True) for kind in WEIGHTS), ("random", False)])
def test_learners_with_any_excess_loss_come_to_edge_gamma(kind, told):
    """A shrinking edge keeps the condition with S and delta for all T, and is gamma in the long run.

    Not told the weight before the vote, the learner takes it to be 1.
    """
    k, gamma, S, delta, n, T = 3, 0.1, 4.0, 0.2, 300, 20_000
    rng = np.random.default_rng(0)
    excess, lowest, failed = np.zeros(n), np.zeros(n), np.zeros(n, bool)
    made = {}
    for t in range(T):
        w = WEIGHTS[kind](t, rng)
        seen = w if told else 1.0
        times = np.floor(np.log((S - lowest) / S) / math.log(4) + 1e-9).astype(int)
        for j in set(times.tolist()) - {j for j, at in made if at == seen}:
            made[j, seen] = shrinking_edge(k, gamma, S, delta, 4.0**j * S, seen)
        edges = np.array([made.get((j, seen), np.nan) for j in range(times.max() + 1)])[times]
        wrong = rng.random(n) < (1 - edges) / k  # the one wrong label that costs
        excess += w * (wrong - (1 - gamma) / k)
        failed |= excess > S
        lowest = np.where(failed, lowest, np.minimum(lowest, excess))
    assert failed.mean() <= delta
    assert edges[~failed].mean() <= 1.25 * gamma
    assert shrinking_edge(k, gamma, S, delta, S) > 2.5 * gamma  # from where it came


# ------------------------------------------------------------------------------------------------ learners: N


@given(st.integers(2, 60), st.integers(1, 200), st.floats(0.0, 0.95))
def test_closed_bounds_are_below_the_exact_one(k, n, gamma):
    p, _ = vote_distribution(k, gamma)
    least = least_error(k, n, gamma)
    assert least_error_closed(k, n, gamma) <= least + 1e-12
    assert (1 - p) ** n <= least_error_closed(k, n, gamma) + 1e-15
    assert least_error_closed(k, n, gamma, 5.0, 0.05) <= least_error(k, n, gamma, 5.0, 0.05) + 1e-12
    assert least_error(k, n, gamma, 5.0, 0.05) <= least + 1e-12


@pytest.mark.parametrize(("k", "gamma"), PLANS)
def test_the_gap_in_learners_closes(k, gamma):
    """In the long run the two differ by ties alone; at any time the ratio is below 2 if S is a few times the least."""
    enough, least = mbbm_learners(k, gamma, 0.05), least_learners(k, gamma, 0.05)
    assert least <= enough <= 1.15 * least
    each = 0.05 / enough
    S = 3.0 * excess_of_votes(2 * gamma, gamma, each, k)
    assert least_learners(k, gamma, 0.05, S, each) <= enough <= 2 * least_learners(k, gamma, 0.05, S, each)
    assert enough > 2.7 * least_learners(k, 2 * gamma, 0.05)  # the paper's edge 2 gamma


@pytest.mark.parametrize("k", [2, 3, 10, 100, 1000])
@pytest.mark.parametrize("error", [0.05, 0.001])
def test_the_gap_of_the_closed_forms_is_a_constant(k, error):
    for gamma in np.geomspace(1e-3, 0.249, 12):
        enough = chernoff_learners(k, gamma, error)
        least = first_where(lambda n, g=gamma: least_error_closed(k, n, g) <= error, 0, enough)
        assert least <= enough <= 8 * least + 8


@given(st.integers(2, 3000), st.floats(0.002, 1.0), st.floats(1e-12, 0.01))
def test_the_gap_has_an_explicit_constant_for_edges_up_to_one_in_k(k, share, error):
    """Corollary 1 with constants: 6 (A + B) / (k gamma^2) are enough, and 22 times fewer are not."""
    gamma, A, B = share / k, math.log(1 / error), math.log(k - 1)
    needed = max(A / 2, math.log(k / 2) - error * B) / (k * gamma**2)
    assert least_error_closed(k, max(1, math.ceil(needed) - 1), gamma) > error
    assert 6 * (A + B) / (k * gamma**2) <= 22 * needed
    p, q = vote_distribution(k, gamma)
    most = math.log(k - 1) + 6 * (A + B) / (k * gamma**2) * math.log1p(-((math.sqrt(p) - math.sqrt(q)) ** 2))
    assert most <= math.log(error)  # Theorem 1


# ------------------------------------------------------------------------------------------------ examples: T


@pytest.mark.parametrize(("k", "n", "gamma"), [(2, 40, 0.1), (3, 30, 0.02), (4, 20, 0.3), (6, 10, 0.1), (8, 8, 0.6)])
def test_no_weight_exceeds_the_likeliest_number_of_draws(k, n, gamma):
    """w^{i*} <= (k - 1) max_x b(x), with equality where b is largest for two classes and no edge."""
    exact, bound = weight_bounds(k, n, gamma, exact=True), weight_bounds(k, n, gamma)
    assert (exact <= bound + 1e-12).all()
    assert bound.sum() <= 1.25 * exact.sum()
    np.testing.assert_allclose(weight_bounds(2, 20, 0.0, exact=True), weight_bounds(2, 20, 0.0), atol=1e-12)


@given(st.integers(1, 2000), st.integers(2, 100), st.floats(0.0, 0.95))
def test_the_likeliest_number_of_draws_is_rare(m, k, gamma):
    p, _ = vote_distribution(k, gamma)
    assert own_draws(m, k, gamma).max() <= 0.46883 / math.sqrt(m * p * (1 - p)) + 1e-12


@given(st.integers(2, 50), st.integers(1, 3000), st.floats(0.01, 0.9))
def test_the_closed_sum_of_weights_is_a_bound(k, n, gamma):
    assert weight_sum(k, n, gamma) <= weight_sum_closed(k, n, gamma) * (1 + 1e-9)
    error = 0.01
    if (enough := chernoff_learners(k, gamma, error)) < 5000:
        p, L = vote_distribution(k, gamma)[0], math.log((k - 1) / error)
        assert weight_sum(k, enough, gamma) <= (k - 1) * (1 + 1.9 * math.sqrt(L / (1 - p)) / gamma)


@pytest.mark.parametrize(("k", "gamma"), PLANS)
def test_the_gap_in_examples_closes(k, gamma):
    """For large S, OnlineMBBM needs at most five times the examples that all boosters need."""
    n, S, delta = 2 * mbbm_learners(k, gamma, 0.05), 1e6, 1e-4
    enough, least = mbbm_examples(k, n, gamma, 0.05, S), least_examples(k, gamma, 0.05, S, delta)
    assert least <= enough <= 5 * least
    assert useless_rounds(k, gamma, S, delta) >= 0.95 * k * S / gamma
