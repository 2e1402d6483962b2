"""Potentials: exact, proper, symmetric, and the same from every table, cache and call."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlineboost.boosters.potentials import (
    Method,
    asymptotic_error,
    build_cache,
    build_tables,
    cost_matrix,
    excess_cost,
    expected_costs,
    find_costs,
    label_weight,
    make_costs,
    make_rows,
    potential,
    want_rows,
    weight_bounds,
)
from onlineboost.boosters.potentials.pairwise import PAIR_LOSSES
from onlineboost.boosters.potentials.races import race_tables
from onlineboost.boosters.votes import Vote
from reference_potentials import cost_row as reference_row
from reference_potentials import counting, recursion

PRECISION = 2e-14  # of a potential, up to 30 classes; the kernels round cost differences below 6e-14 to zero


def random_state(rng, k, votes):
    """Votes as they come: from one clear leader to all labels alike."""
    spread = rng.choice([0.1, 0.3, 1.0, 10.0])
    return rng.multinomial(votes, rng.dirichlet(np.full(k, spread)))


def fourier_twin(k, N, gamma):
    """Tables of the Fourier method where the dense one would be chosen."""
    tables = build_tables(k, N, gamma)
    return tables._replace(method=Method.FOURIER.value, races=race_tables(k, tables.gamma))


def random_gammas(rng, n):
    """Edges as a list of them may be: of a few values, of one, all different, and extreme."""
    few = rng.choice([0.3, 0.1, 0.03, 0.01], n)
    return [few, np.full(n, few[0]), rng.random(n), rng.choice([0.0, 0.99], n)][rng.integers(4)]


def fractions(gammas):
    return [Fraction(gamma) for gamma in gammas.tolist()]


def look_up(tables, cache, s, m, only=-1):
    """Where the costs are, those of all labels or of one."""
    k = tables.n_classes
    at = find_costs(cache, s, tables.reach[m], tables.key[m])
    if at < 0:
        at = make_costs(cache)
    if want_rows(cache, at, only, np.arange(k), np.ones(k), k if only < 0 else 0):
        make_rows(tables, cache, at, m)
    return at


def costs_of(tables, cache, s, m):
    """C[r, l] - C[r, r], as a stage would see it, and the weights."""
    k = tables.n_classes
    at = look_up(tables, cache, s, m)
    C = np.array([[excess_cost(cache, at, r, l) for l in range(k)] for r in range(k)])
    return C, np.array([label_weight(cache, at, r) for r in range(k)])


def normalized(C):
    """(normalizedCostMatrix)."""
    return C - C.diagonal()[:, None]


# ------------------------------------------------------------------------------------------------ against the paper


def test_the_two_references_agree():
    for votes, r, m in [([0, 0, 0], 0, 5), ([2, 1, 0, 0], 1, 6), ([4, 4], 1, 7), ([1, 0, 3, 0, 0], 2, 4)]:
        gamma = Fraction(1, 10)
        assert recursion(votes, r, m, gamma) == counting(votes, r, m, gamma)
        gammas = [Fraction(n, 10) for n in (9, 0, 3, 1, 7, 2, 0)[:m]]
        assert recursion(votes, r, m, gammas) == counting(votes, r, m, gammas) == counting(votes, r, m, gammas[::-1])


def test_equals_exact_rationals_on_many_states():
    rng = np.random.default_rng(0)
    for _ in range(200):
        k, m, gamma = int(rng.integers(2, 27)), int(rng.integers(61)), Fraction(int(rng.integers(10)), 10)
        s = random_state(rng, k, int(rng.integers(60)))
        r = int(rng.choice([s.argmax(), rng.integers(k)]))
        exact = counting(s.tolist(), r, m, gamma)
        assert abs(potential(s, r, m, float(gamma)) - float(exact)) < PRECISION, (s, r, m, gamma)


@pytest.mark.parametrize(("k", "m"), [(2, 1000), (3, 1000), (10, 400), (26, 99), (200, 1000), (1000, 30), (1000, 1000)])
@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.9])
def test_obeys_the_recursion(k, m, gamma):
    """phi_{m+1}(s) = p phi_m(s + e_r) + q sum_l phi_m(s + e_l), (potentialCond)."""
    rng = np.random.default_rng(k + m)
    s = random_state(rng, k, int(rng.integers(20)))
    C = cost_matrix(s, m, gamma)
    q = (1.0 - gamma) / k
    for r in {0, int(s.argmax()), int(s.argmin())}:
        expected = gamma * C[r, r] + q * C[r].sum()
        assert abs(potential(s, r, m + 1, gamma) - expected) < 1e-12


def test_binary_weights_are_those_of_online_bbm():
    """C(m, x) (1/2 + gamma/2)^x (1/2 - gamma/2)^(m - x), Beygelzimer, Kale, Luo (2015), section 3."""
    N, gamma = 40, 0.1
    for tables in (build_tables(2, N, gamma), fourier_twin(2, N, gamma)):
        cache = build_cache(tables, 1.0)
        for right in range(N):
            for wrong in range(N - right):
                m = N - 1 - right - wrong
                # r wins by one vote of this learner if x of the m others bring it to a tie, or to one vote ahead
                x = (m + wrong - right + 1) // 2
                bbm = math.comb(m, x) * (0.5 + gamma / 2) ** x * (0.5 - gamma / 2) ** (m - x) if 0 <= x <= m else 0.0
                at = look_up(tables, cache, np.array([right, wrong]), m)
                assert label_weight(cache, at, 0) == pytest.approx(bbm, abs=6e-14)


# ---------------------------------------------------------------------------------------------------- properties

states = st.lists(st.integers(0, 12), min_size=2, max_size=12)


@given(s=states, m=st.integers(0, 80), gamma=st.floats(0.0, 0.99), data=st.data())
@settings(max_examples=60, deadline=None)
def test_proper_symmetric_and_within_bounds(s, m, gamma, data):
    C = cost_matrix(s, m, gamma)
    assert ((C >= 0.0) & (C <= 1.0 + PRECISION)).all()
    assert (C.diagonal()[:, None] <= C).all()  # a vote for another label is never better than one for r
    r = data.draw(st.integers(0, len(s) - 1))
    now = potential(s, r, m, gamma)
    assert 0.0 <= now <= 1.0
    assert C[r, r] <= now + 1e-13  # decreasing in s_r
    assert (np.delete(C[r], r) >= now - 1e-13).all()  # increasing in the others
    order = np.array(data.draw(st.permutations(range(len(s)))))
    assert np.array_equal(cost_matrix(np.array(s)[order], m, gamma), C[np.ix_(order, order)])


@pytest.mark.parametrize("gamma", [0.0, 1e-12, 0.5, 0.999999, 1.0 - 2**-53])
@pytest.mark.parametrize("k", [2, 3, 40, 1000])
def test_extremes_give_numbers(k, gamma):
    for m in (0, 1, 2, 50, 1000):
        for s in (np.zeros(k, int), np.arange(k) % 7, np.eye(1, k, dtype=int)[0] * 1000):
            C = cost_matrix(s, m, gamma)
            assert np.isfinite(C).all()
            assert C.min() >= 0.0
            assert C.max() <= 1.0 + 1e-12


def test_a_decided_race_costs_nothing():
    s = np.array([40, 9, 5, 0])
    C = cost_matrix(s, 20, 0.1)
    assert np.array_equal(C, np.repeat([[0.0], [1.0], [1.0], [1.0]], 4, axis=1))


# ------------------------------------------------------------------------------------------- tables, cache, look-ups

KINDS = {
    "dense": lambda: build_tables(5, 40, 0.1),
    "fourier": lambda: build_tables(26, 100, 0.1),
    "fourier_twin": lambda: fourier_twin(5, 40, 0.1),
    "logistic": lambda: build_tables(5, 40, 0.1, loss="logistic"),
    "monte_carlo": lambda: build_tables(4, 20, 0.1, potential="monte_carlo", n_draws=20),
}


def test_kinds():
    methods = {name: kind().method for name, kind in KINDS.items()}
    assert methods == {
        "dense": Method.DENSE,
        "fourier": Method.FOURIER,
        "fourier_twin": Method.FOURIER,
        "logistic": Method.PAIRWISE,
        "monte_carlo": Method.MONTE_CARLO,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_cache_changes_nothing(kind):
    """A roomy cache, one that overflows all the time, and none at all: the same, bit for bit, in any order of calls."""
    tables = KINDS[kind]()
    rng = np.random.default_rng(1)
    visits = []
    for _ in range(6):
        i = int(rng.integers(tables.n_learners))
        visits.append((random_state(rng, tables.n_classes, i).astype(float), tables.n_learners - 1 - i))
    fresh = [costs_of(tables, build_cache(tables, 0.1), s, m) for s, m in visits]
    for cache in (build_cache(tables, 1.0), build_cache(tables, 0.0)):
        for n in rng.integers(len(visits), size=40):
            s, m = visits[n]
            order = rng.permutation(s.size)
            C, weight = costs_of(tables, cache, s[order], m)
            assert np.array_equal(C, fresh[n][0][np.ix_(order, order)])
            assert np.array_equal(weight, fresh[n][1][order])


@pytest.mark.parametrize("kind", ["dense", "fourier", "fourier_twin"])
def test_rows_of_costs_equal_single_values(kind):
    tables = KINDS[kind]()
    k, N, gamma = tables.n_classes, tables.n_learners, Fraction(1, 10)
    cache = build_cache(tables, 1.0)
    rng = np.random.default_rng(2)
    for _ in range(60):
        i = int(rng.integers(N))
        s = random_state(rng, k, i)
        C, weight = costs_of(tables, cache, s, N - 1 - i)
        assert np.abs(weight - C.sum(axis=1)).max() < 1e-13 * k
        assert np.abs(C - normalized(cost_matrix(s, N - 1 - i, 0.1))).max() < 1e-13
        r = int(s.argmax())
        exact = reference_row(s.tolist(), r, N - 1 - i, gamma) if N - 1 - i < 20 else None
        for l in range(k):
            one_more, right = s + (np.arange(k) == l), s + (np.arange(k) == r)
            excess = potential(one_more, r, N - 1 - i, 0.1) - potential(right, r, N - 1 - i, 0.1)
            assert abs(C[r, l] - excess) < 1e-13
            if exact:
                assert abs(C[r, l] - float(exact[l] - exact[r])) < 1e-13


@pytest.mark.parametrize("kind", ["dense", "fourier", "fourier_twin", "logistic"])
def test_a_row_does_not_depend_on_what_else_is_asked_for(kind):
    """Rows one by one in any order, or all at once: the same, bit for bit, and each is computed once."""
    tables = KINDS[kind]()
    k, N = tables.n_classes, tables.n_learners
    rng = np.random.default_rng(6)
    for _ in range(20):
        i = int(rng.integers(N))
        s = random_state(rng, k, i).astype(float)
        C, weight = costs_of(tables, build_cache(tables, 0.1), s, N - 1 - i)
        cache = build_cache(tables, 0.1)
        for r in rng.permutation(k):
            at = look_up(tables, cache, s, N - 1 - i, only=r)
            assert [excess_cost(cache, at, r, l) for l in range(k)] == C[r].tolist()
            assert label_weight(cache, at, r) == weight[r]
            assert not want_rows(cache, at, r, np.arange(k), np.zeros(k), k)
        assert cache.used[2] == 1


def test_a_certain_vote_needs_the_row_of_the_label_alone():
    tables = build_tables(26, 100, 0.1)
    cache, s, p = build_cache(tables, 1.0), np.arange(26.0) % 4, np.eye(26)[3]
    find_costs(cache, s, tables.reach[61], tables.key[61])
    at = make_costs(cache)
    assert not want_rows(cache, at, -1, np.arange(26), p, 26)
    assert want_rows(cache, at, 5, np.arange(26), p, 26)
    assert cache.wanted.sum() == 1
    assert want_rows(cache, at, 5, np.arange(26), np.full(26, 1 / 26), 26)
    assert cache.wanted.sum() == 4  # one for each tier


@pytest.mark.parametrize(
    ("k", "N", "gammas"),
    [(5, 200, [0.1]), (7, 120, [0.3, 0.1, 0.03, 0.01]), (2, 150, [0.0]), (26, 100, [0.9, 0.01]), (5, 60, [1 - 2**-53])],
)
def test_blocks_equal_single_states(k, N, gammas):
    """Two ways to the same number: rates shared by all m and edges, and a transform made for this state alone."""
    gammas = np.resize(gammas, N)
    tables = fourier_twin(k, N, gammas)
    cache = build_cache(tables, 1.0)
    rng = np.random.default_rng(7)
    for i in rng.integers(N, size=40):
        s = random_state(rng, k, i)
        C, _ = costs_of(tables, cache, s.astype(float), N - 1 - i)
        assert np.abs(C - normalized(cost_matrix(s, N - 1 - i, gammas[i + 1 :]))).max() < 1e-13


@given(seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_expected_costs_are_p_times_c(seed):
    rng = np.random.default_rng(seed)
    tables = TABLES[seed % 2]
    k, N = tables.n_classes, tables.n_learners
    cache = build_cache(tables, 1.0)
    i = int(rng.integers(N))
    s = random_state(rng, k, i).astype(float)
    C, weight = costs_of(tables, cache, s, N - 1 - i)
    n = int(rng.integers(1, k + 1))
    labels, p, cost = rng.permutation(k)[:n], rng.dirichlet(np.ones(n)), np.empty(k)
    at = look_up(tables, cache, s, N - 1 - i)
    expected_costs(cache, at, labels, p, n, Vote.COST, cost)
    assert cost == pytest.approx(p @ C[labels], abs=1e-14)
    for vote, power in ((Vote.TEMPERED, 0.5), (Vote.NORMALIZED, 1.0)):
        expected_costs(cache, at, labels, p, n, vote, cost)
        divisor = np.maximum(weight[labels], 1e-300) ** power
        assert cost == pytest.approx((p / divisor) @ C[labels], abs=1e-12)


TABLES = [build_tables(5, 40, 0.1), fourier_twin(5, 40, 0.1)]


# ------------------------------------------------------------------------------------------------- a gamma for each


@pytest.mark.parametrize(("k", "N"), [(2, 9), (3, 7), (4, 6), (6, 5)])
@pytest.mark.parametrize("make", [build_tables, fourier_twin], ids=["dense", "fourier"])
def test_costs_of_several_gammas_equal_exact_rationals_on_all_states(make, k, N):
    """phi_{i-1}(s) = E phi_i(s + e_l), l drawn with gamma_i, from the last learner back to the first."""
    rng = np.random.default_rng(k * N)
    for _ in range(4):
        gammas = random_gammas(rng, N)
        tables = make(k, N, gammas)
        cache = build_cache(tables, 1.0)
        for i in range(N):  # learners before this one
            for s in _all_states(k, i):
                C, weight = costs_of(tables, cache, np.array(s, float), N - 1 - i)
                for r in {0, k // 2, k - 1}:
                    row = reference_row(s, r, N - 1 - i, fractions(gammas[i + 1 :]), recursion)
                    exact = np.array([float(cost - row[r]) for cost in row])
                    assert np.abs(C[r] - exact).max() < 1e-13
                    assert abs(weight[r] - exact.sum()) < 1e-13 * k


def test_single_states_of_several_gammas_equal_exact_rationals():
    rng = np.random.default_rng(8)
    for _ in range(100):
        k, m = int(rng.integers(2, 27)), int(rng.integers(41))
        gammas, s = random_gammas(rng, m) if m else np.zeros(0), random_state(rng, k, int(rng.integers(60)))
        r = int(rng.choice([s.argmax(), rng.integers(k)]))
        exact = counting(s.tolist(), r, m, fractions(gammas))
        assert abs(potential(s, r, m, gammas if m else 0.1) - float(exact)) < PRECISION, (s, r, gammas)


@pytest.mark.parametrize("loss", PAIR_LOSSES)
def test_other_losses_of_several_gammas_equal_their_recursion(loss):
    def total(own, others):
        return float(PAIR_LOSSES[loss](np.array(others, dtype=float) - own).sum())

    def phi(s, r, m, gammas):
        return recursion(s, r, m, gammas, total)

    N, gammas = 7, np.array([0.1, 0.9, 0.3, 0.0, 0.2, 0.6, 0.05])
    tables = build_tables(3, N, gammas, loss=loss)
    for s in ([0, 0, 0], [2, 0, 1], [0, 5, 1]):
        i = sum(s)
        C, _ = costs_of(tables, build_cache(tables, 0.1), np.array(s, float), N - 1 - i)
        for r in range(3):
            row = reference_row(s, r, N - 1 - i, fractions(gammas[i + 1 :]), phi)
            assert C[r] == pytest.approx([float(cost - row[r]) for cost in row], rel=1e-11)
            assert cost_matrix(s, N - 1 - i, gammas[i + 1 :], loss=loss)[r] == pytest.approx(
                [float(cost) for cost in row], rel=1e-12
            )


@pytest.mark.parametrize(
    ("k", "N", "options"),
    [(3, 12, {}), (26, 60, {}), (4, 12, {"loss": "logistic"}), (4, 12, {"potential": "monte_carlo", "n_draws": 20})],
    ids=["dense", "fourier", "pairwise", "monte_carlo"],
)
def test_costs_depend_on_the_gammas_of_later_learners_alone(k, N, options):
    """And if those are alike, the costs are bit for bit those of one gamma."""
    rng = np.random.default_rng(3)
    one = build_tables(k, N, 0.1, **options)
    for i in rng.integers(N, size=8):  # learners before this one
        gammas = np.append(random_gammas(rng, i + 1), np.full(N - 1 - i, 0.1))
        tables = build_tables(k, N, gammas, **options)
        s = random_state(rng, k, i).astype(float)
        expected = costs_of(one, build_cache(one, 1.0), s, N - 1 - i)
        for cost, known in zip(costs_of(tables, build_cache(tables, 1.0), s, N - 1 - i), expected, strict=True):
            np.testing.assert_allclose(cost, known, rtol=0.0, atol=1e-13 if one.method == Method.FOURIER else 0.0)


def test_monte_carlo_converges_for_several_gammas():
    k, N, n_draws, s = 3, 20, 4000, np.array([3, 1, 1])
    gammas = np.resize([0.9, 0.0, 0.1], N)
    tables = build_tables(k, N, gammas, potential="monte_carlo", n_draws=n_draws)
    C, _ = costs_of(tables, build_cache(tables, 0.1), s.astype(float), 14)
    exact = cost_matrix(s, 14, gammas[6:])
    error = np.sqrt(exact * (1.0 - exact) / n_draws)
    assert (np.abs(C - normalized(exact)) <= 5.0 * (error + error.diagonal()[:, None]) + 1e-9).all()


@pytest.mark.parametrize(("k", "N"), [(2, 40), (5, 30), (26, 20), (3, 1)])
def test_asymptotic_error_of_several_gammas(k, N):
    rng = np.random.default_rng(k)
    for _ in range(6):
        gammas = random_gammas(rng, N)
        error = asymptotic_error(k, N, gammas)
        assert error == pytest.approx(float(counting([0] * k, 0, N, fractions(gammas))), abs=PRECISION)
        assert error == pytest.approx(asymptotic_error(k, N, rng.permutation(gammas)), abs=PRECISION)
        dense = build_tables(k, N, gammas).dense
        assert error == pytest.approx(dense.phi[dense.level[N]], abs=PRECISION)  # the recursion's last value


def test_weight_bounds_of_several_gammas():
    k, N = 3, 8
    rng = np.random.default_rng(9)
    for _ in range(4):
        gammas = random_gammas(rng, N)
        largest = np.zeros(N)
        for total in range(N):
            for s in _all_states(k, total):
                left = gammas[total + 1 :] if total < N - 1 else 0.0
                largest[total] = max(largest[total], normalized(cost_matrix(s, N - 1 - total, left)).sum(axis=1).max())
        assert weight_bounds(k, N, gammas, exact=True) == pytest.approx(largest, abs=1e-13)
        assert (weight_bounds(k, N, gammas) >= largest - 1e-13).all()


def test_a_cache_is_bounded():
    tables = build_tables(26, 100, 0.1)
    cache = build_cache(tables, 0.05)
    rng = np.random.default_rng(4)
    for _ in range(2000):
        i = int(rng.integers(60, 100))
        look_up(tables, cache, random_state(rng, 26, i), 99 - i)
    assert cache.blocks.nbytes + cache.slots.nbytes <= 0.05 * 2**20
    assert cache.used[0] <= cache.blocks.size


def test_votes_that_do_not_add_up():
    tables = build_tables(3, 10, 0.1)
    with pytest.raises(ValueError, match="do not add up"):
        look_up(tables, build_cache(tables, 1.0), np.array([1.0, 0.0, 0.0]), 6)


# ----------------------------------------------------------------------------------------- Monte Carlo, other losses


def test_monte_carlo_converges():
    rng = np.random.default_rng(5)
    k, N, n_draws = 4, 30, 4000
    tables = build_tables(k, N, 0.1, potential="monte_carlo", n_draws=n_draws, seed=7)
    for _ in range(8):
        i = int(rng.integers(N))
        s = random_state(rng, k, i)
        C, _ = costs_of(tables, build_cache(tables, 0.1), s, N - 1 - i)
        exact = cost_matrix(s, N - 1 - i, 0.1)
        error = np.sqrt(exact * (1.0 - exact) / n_draws)
        assert (np.abs(C - normalized(exact)) <= 5.0 * (error + error.diagonal()[:, None]) + 1e-9).all()


def test_monte_carlo_depends_on_seed_and_state_alone():
    s, m = np.array([3.0, 1.0, 0.0, 0.0]), 15
    first, again, other = (build_tables(4, 20, 0.1, potential="monte_carlo", seed=seed) for seed in (1, 1, 2))
    C = costs_of(first, build_cache(first, 0.1), s, m)[0]
    assert np.array_equal(C, costs_of(again, build_cache(again, 0.1), s, m)[0])
    assert not np.array_equal(C, costs_of(other, build_cache(other, 0.1), s, m)[0])
    # (3, 1, 0, 0) and (3, 0, 1, 0) are the same state up to order, so they get the same estimates
    assert C[0, 2] == costs_of(first, build_cache(first, 0.1), np.array([3.0, 0.0, 1.0, 0.0]), m)[0][0, 1]


@pytest.mark.parametrize("loss", PAIR_LOSSES)
def test_other_losses_equal_their_recursion(loss):
    gamma = Fraction(1, 10)

    def total(own, others):
        return float(PAIR_LOSSES[loss](np.array(others, dtype=float) - own).sum())

    for s in ([0, 0, 0, 0], [3, 1, 0, 0], [0, 5, 2, 1], [1, 1, 1, 2]):
        m = 7
        tables = build_tables(4, sum(s) + 1 + m, 0.1, loss=loss)
        C, weight = costs_of(tables, build_cache(tables, 0.1), np.array(s), m)
        for r in range(4):
            assert potential(s, r, m, 0.1, loss=loss) == pytest.approx(recursion(s, r, m, gamma, total), rel=1e-13)
            row = reference_row(s, r, m, gamma, lambda s, r, m, gamma: recursion(s, r, m, gamma, total))
            assert cost_matrix(s, m, 0.1, loss=loss)[r] == pytest.approx(row, rel=1e-12)
            assert C[r] == pytest.approx([cost - row[r] for cost in row], rel=1e-11)
            assert weight[r] == pytest.approx(sum(row) - 4 * row[r], rel=1e-11)


@pytest.mark.parametrize(("k", "s", "m"), [(2, [3, 4], 9), (3, [0, 0, 0], 40), (5, [4, 2, 2, 0, 1], 30)])
def test_the_pairwise_potential_is_a_sum_of_races_of_two(k, s, m):
    """It is that of the 0-1 loss if there are two classes, and else at least that, and below its Chernoff bound."""
    q = 0.9 / k
    p = q + 0.1
    ends = [math.log(p), math.log(q)]

    def behind(d):  # P(not strictly ahead after m steps up with p, down with q), from the multinomial law
        return math.fsum(
            math.exp(math.lgamma(m + 1) - math.lgamma(up + 1) - math.lgamma(down + 1) - math.lgamma(m - up - down + 1)
                     + up * ends[0] + down * ends[1]) * ((1 - p - q) ** (m - up - down))
            for up in range(m + 1) for down in range(m + 1 - up) if d + up - down <= 0
        )  # fmt: skip

    value = potential(s, 0, m, 0.1, loss="pairwise")
    assert value == pytest.approx(sum(behind(s[0] - v) for v in s[1:]), rel=1e-9)
    exact = potential(s, 0, m, 0.1)
    assert value == pytest.approx(exact, rel=1e-9) if k == 2 else exact < value
    if not any(s):
        assert value <= (k - 1) * (1.0 - (math.sqrt(p) - math.sqrt(q)) ** 2) ** m
        assert build_tables(k, m, 0.1, loss="pairwise").start == pytest.approx(value, rel=1e-12)


def test_exponential_potential_in_closed_form():
    """E exp(s_l - s_r) grows by 1 - p - q + p / e + q e with every draw."""
    s, m, gamma, k = np.array([2, 5, 1]), 30, 0.2, 3
    q = (1 - gamma) / k
    p = q + gamma
    closed = np.exp(np.delete(s, 0) - s[0]).sum() * (1 - p - q + p / math.e + q * math.e) ** m
    assert potential(s, 0, m, gamma, loss="exponential") == pytest.approx(closed, rel=1e-12)


def test_losses_stay_finite_for_many_learners():
    for loss in PAIR_LOSSES:
        assert np.isfinite(cost_matrix([1000, 0, 0], 1000, 0.1, loss=loss)).all()


# ---------------------------------------------------------------------------------------------------------- theory


@pytest.mark.parametrize(("k", "N", "gamma"), [(2, 30, "1/10"), (5, 40, "1/10"), (26, 25, "3/10"), (3, 1, "0")])
def test_asymptotic_error(k, N, gamma):
    gamma = Fraction(gamma)
    error = asymptotic_error(k, N, float(gamma))
    assert error == pytest.approx(float(counting([0] * k, 0, N, gamma)), abs=PRECISION)
    assert error <= (k - 1) * math.exp(-(float(gamma) ** 2) * N / 2)  # Lemma asymptoticError


def test_asymptotic_error_of_many_learners():
    """A sum of 100,000 signs: the normal tail is good to a per mille or so."""
    assert asymptotic_error(2, 100_000, 0.01) == pytest.approx(0.5 * math.erfc(0.01 * math.sqrt(50_000)), rel=0.02)


@pytest.mark.parametrize(("k", "N", "gamma"), [(2, 12, 0.1), (3, 9, 0.0), (4, 7, 0.3)])
def test_weight_bounds(k, N, gamma):
    """Exact bounds are the largest weights there are, and the general bounds are above them."""
    largest = np.zeros(N)
    for total in range(N):
        for s in _all_states(k, total):
            C = cost_matrix(s, N - 1 - total, gamma)
            largest[total] = max(largest[total], (C - C.diagonal()[:, None]).sum(axis=1).max())
    assert weight_bounds(k, N, gamma, exact=True) == pytest.approx(largest, abs=1e-13)
    bounds = weight_bounds(k, N, gamma)
    assert (bounds >= largest - 1e-13).all()
    assert (bounds <= k - 1).all()


def _all_states(k, total):
    """Votes that add up to the total, up to their order."""
    if k == 1:
        return [[total]]
    return [[v, *rest] for v in range(total + 1) for rest in _all_states(k - 1, total - v) if v >= rest[0]]


def test_weight_bounds_fall_like_the_root_of_what_is_left():
    """w^{i*} = O(k^{3/2} / sqrt(N - i)): the sum grows like sqrt(N), not like N."""
    totals = [weight_bounds(10, N, 0.1).sum() for N in (1000, 4000)]
    assert totals[1] / totals[0] == pytest.approx(2.0, rel=0.05)


# ---------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: build_tables(3, 10, 1.0), r"gamma must be a number in \[0, 1\), got 1.0"),
        (lambda: build_tables(3, 10, -0.1), r"gamma must be a number in \[0, 1\), got -0.1"),
        (lambda: build_tables(3, 10, math.nan), "gamma must be a number in .* got nan"),
        (lambda: build_tables(1, 10, 0.1), "n_classes must be an integer of at least 2, got 1"),
        (lambda: build_tables(3, 0, 0.1), "n_learners must be an integer of at least 1, got 0"),
        (
            lambda: build_tables(3, 2.5, 0.1),  # type: ignore[arg-type]
            "n_learners must be an integer of at least 1, got 2.5",
        ),
        (lambda: build_tables(3, 10, 0.1, loss="absolute"), "loss must be one of zero_one, .*; got 'absolute'"),
        (lambda: build_tables(3, 10, 0.1, potential="guess"), "potential must be .* got 'guess'"),
        (lambda: build_tables(3, 10, 0.1, loss="hinge", potential="monte_carlo"), "loss='hinge' is exact"),
        (lambda: build_tables(3, 10, 0.1, n_draws=0), "n_draws must be an integer of at least 1, got 0"),
        (lambda: build_tables(3, 10_000, 0.1), "n_learners=10000 is too many .* 10 GB; use at most 4400 learners"),
        (lambda: build_tables(3, 20_000, 0.1, loss="hinge"), "n_learners=20000 is too many .* use at most 11100"),
        (lambda: potential([1, 0, -2], 0, 5, 0.1), "votes must be whole numbers, none negative, got -2"),
        (lambda: potential([1.5, 0], 0, 5, 0.1), "votes must be whole numbers, none negative, got 1.5"),
        (lambda: potential([3], 0, 5, 0.1), r"at least 2 classes, got shape \(1,\)"),
        (lambda: potential([[1, 2]], 0, 5, 0.1), r"at least 2 classes, got shape \(1, 2\)"),
        (lambda: potential([1, 2], 2, 5, 0.1), "label must be below the number of classes 2, got 2"),
        (lambda: potential([1, 2], 0, -1, 0.1), "remaining must be an integer of at least 0, got -1"),
        (lambda: potential([1, 2], 0, 5, [0.1, 0.2]), "gamma must be a number, or one for each of the 5 draws; got 2"),
        (lambda: asymptotic_error(3, 10, 2.0), "gamma must be a number in"),
        (lambda: asymptotic_error(3, 10, [0.1] * 9), "gamma must be .* each of the 10 learners; got 9"),
        (lambda: weight_bounds(26, 100, 0.1, exact=True), "too many states .* n_classes=26, n_learners=100"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
