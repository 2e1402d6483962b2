"""The bounds are what their formulas say, are in the right order, and planning finds the least number."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_theory
from helpers import number_stream
from onlineboost import AdaBoostOLM, OnlineMBBM, theory
from onlineboost.boosters.potentials import asymptotic_error, weight_bounds
from onlineboost.estimators.adaboost_olm import PaperOLM
from onlineboost.theory import (
    adaptive_regret_bounds,
    best_expert_bound,
    chernoff_error,
    edge_gain,
    excess_of_votes,
    guarantee,
    hedge_bound,
    hoeffding_error,
    least_error,
    least_error_closed,
    least_examples,
    least_learners,
    mbbm_bound,
    mbbm_error,
    mbbm_examples,
    mbbm_learners,
    olm_bound,
    olm_examples,
    olm_learners,
    paper_weight_bounds,
    regret_bounds,
    useless_rounds,
    weight_sum,
    weight_sum_closed,
)

ks, ns, gammas = st.integers(2, 12), st.integers(1, 150), st.floats(0.01, 0.9)

# ------------------------------------------------------------------------------------------------ OnlineMBBM, limits


@pytest.mark.parametrize("ties", ["lost", "shared"])
@pytest.mark.parametrize(("k", "n", "gamma"), [(2, 6, 0.2), (3, 5, 0.1), (4, 6, 0.4), (5, 5, 0.0), (2, 1, 0.3)])
def test_the_error_of_a_majority_is_that_of_all_outcomes(k, n, gamma, ties):
    want = reference_theory.majority_error(k, [gamma] * n, ties)
    assert asymptotic_error(k, n, gamma, ties=ties) == pytest.approx(want, abs=1e-13)


several = st.integers(2, 4).flatmap(
    lambda k: st.tuples(st.just(k), st.lists(st.floats(0.0, 0.95), min_size=1, max_size=[0, 0, 9, 6, 5][k]))
)


@settings(max_examples=60)
@given(several, st.integers(0, 1000), st.floats(0.0, 50.0))
def test_the_bound_of_online_mbbm_takes_a_gamma_for_each_learner(chosen, T, S):
    k, gammas = chosen
    n, error = len(gammas), reference_theory.majority_error(k, gammas, "lost")
    weights = math.fsum(reference_theory.largest_weights(k, gammas))
    assert mbbm_error(k, n, gammas) == pytest.approx(error, abs=1e-12)
    assert weight_sum(k, n, gammas) == pytest.approx(weights, rel=1e-12)
    assert weight_sum_closed(k, n, np.array(gammas)) >= weights * (1.0 - 1e-12)
    assert mbbm_bound(k, n, gammas, T, S) == pytest.approx(error * T + S * weights, rel=1e-11, abs=1e-9)
    assert error <= chernoff_error(k, n, gammas) + 1e-12
    assert chernoff_error(k, n, gammas) <= hoeffding_error(k, n, gammas) * (1.0 + 1e-6)
    if error < 0.9:
        T = mbbm_examples(k, n, gammas, 0.95, excess_loss=20.0)
        assert pytest.approx(0.95 * T, rel=1e-9) == error * T + 20.0 * weights


@given(ks, ns, gammas)
def test_a_list_of_one_gamma_is_that_gamma(k, n, gamma):
    alike = [gamma] * n
    for bound in (mbbm_error, weight_sum, weight_sum_closed, chernoff_error, hoeffding_error):
        assert bound(k, n, alike) == bound(k, n, gamma), bound.__name__
    assert mbbm_bound(k, n, alike, 1000, 5.0) == mbbm_bound(k, n, gamma, 1000, 5.0)
    assert mbbm_examples(k, n, alike, 0.5, 5.0) == mbbm_examples(k, n, gamma, 0.5, 5.0)


@pytest.mark.parametrize("k", [2, 7])
def test_the_sum_of_weights_of_many_learners_is_a_bound_for_different_gammas_too(k):
    gammas = np.random.default_rng(k).uniform(0.0, 0.6, 1500)
    exact = weight_bounds(k, 1500, gammas).sum()
    assert exact <= weight_sum(k, 1500, gammas) <= 1.2 * exact
    assert weight_sum(k, 1500, gammas) <= weight_sum_closed(k, 1500, gammas)


@given(ks, ns, gammas)
def test_the_errors_are_in_order(k, n, gamma):
    """No booster is below the least error; phi_N(0) is at most Chernoff's bound, which is at most the paper's."""
    phi = asymptotic_error(k, n, gamma)
    assert asymptotic_error(k, n, gamma, ties="shared") <= phi + 1e-12
    assert phi <= chernoff_error(k, n, gamma) + 1e-12
    assert chernoff_error(k, n, gamma) <= hoeffding_error(k, n, gamma) * (1.0 + 1e-12)
    assert least_error_closed(k, n, gamma / 2.0) <= least_error(k, n, gamma / 2.0) + 1e-12
    assert least_error(k, n + 1, gamma / 2.0) <= least_error(k, n, gamma / 2.0) + 1e-12


def test_chernoff_has_the_right_exponent():
    """Where Hoeffding's is too small by k / 2: learners needed fall with k, as the lower bound says."""
    k, gamma = 50, 0.005
    steps = (20_000, 40_000)
    exact = math.log(asymptotic_error(k, steps[0], gamma) / asymptotic_error(k, steps[1], gamma))
    chernoff = math.log(chernoff_error(k, steps[0], gamma) / chernoff_error(k, steps[1], gamma))
    hoeffding = math.log(hoeffding_error(k, steps[0], gamma) / hoeffding_error(k, steps[1], gamma))
    assert exact == pytest.approx(chernoff, rel=0.15)
    assert hoeffding < 0.05 * exact


@pytest.mark.parametrize(("k", "n"), [(2, 30), (3, 700), (7, 1200)])
def test_the_sum_of_weights_is_a_bound_and_hardly_larger(k, n):
    want = weight_bounds(k, n, 0.1).sum()
    assert want <= weight_sum(k, n, 0.1) <= 1.005 * want
    assert (weight_bounds(k, n, 0.1) <= paper_weight_bounds(k, n, 0.1)).all()
    assert paper_weight_bounds(k, n, 0.6).max() == k


def test_theorem_1_is_the_sum_of_its_terms():
    assert mbbm_bound(3, 20, 0.2, 1000) == pytest.approx(1000 * asymptotic_error(3, 20, 0.2))
    more = mbbm_bound(3, 20, 0.2, 1000, excess_loss=2.0) - mbbm_bound(3, 20, 0.2, 1000)
    assert more == pytest.approx(2.0 * weight_bounds(3, 20, 0.2).sum())


# ------------------------------------------------------------------------------------------------------- Adaboost.OLM


@given(st.floats(-1.0, 1.0), st.floats(0.0, 1.0))
def test_the_gain_of_an_edge_is_lemma_1_and_no_more(gamma, more):
    """min over |a| <= 2 of A (e^a - 1) + B (e^-a - 1) <= -gain for all A, B of Lemma 1, with equality at A + B = 1."""
    gain = float(edge_gain(gamma))
    assert gain >= gamma**2 / 2.0 - 1e-12
    a = np.linspace(-2.0, 2.0, 2001)
    low = more * (1.0 - abs(gamma)) / 2.0  # the smaller of A and B
    A, B = (low, low + gamma) if gamma > 0 else (low - gamma, low)
    assert (A * np.expm1(a) + B * np.expm1(-a)).min() <= -gain + 1e-5
    if more == 1.0:
        assert (A * np.expm1(a) + B * np.expm1(-a)).min() == pytest.approx(-gain, abs=1e-5)


def test_regret_bounds_have_the_constants_of_the_page():
    k, n, T = 4, 9, 400
    i, c = np.arange(1, n + 1), 1.0 / 3.0
    root2, rootT = math.sqrt(2.0), 20.0
    np.testing.assert_allclose(regret_bounds("logistic", k, n, T), 4 * root2 * (k - 1) * rootT)
    want = 2 * root2 * (k - 1) * (np.exp(i) + np.exp(3 * i)) * rootT
    np.testing.assert_allclose(regret_bounds("exponential", k, n, T), want)
    K, G = k - 1 + c * n, (k - 1) * (1 + c * i)
    np.testing.assert_allclose(regret_bounds("squared_hinge", k, n, T), root2 * c * (K + G**2 / K) * rootT)
    assert regret_bounds("exponential", 3, 1000, 10)[-1] == math.inf


def test_adaptive_regret_bounds_have_the_constants_of_the_page():
    V = np.array([0.0, 7.0, 1e6])
    for loss, rate, reach in (("logistic", 0.1, 2.0), ("exponential", 0.03, 2.0), ("squared_hinge", 0.1, 3**-0.5)):
        want = reach * ((2 / rate + rate) * np.sqrt(9.0 + V) - 3.0 * rate)
        np.testing.assert_allclose(adaptive_regret_bounds(loss, 4, V), want)


@pytest.mark.parametrize("loss", ["logistic", "exponential", "squared_hinge"])
def test_gentle_slopes_make_the_bounds_of_adaptive_steps_better(loss):
    """The paper's steps are charged for the steepest slopes there could be, adaptive ones for those there were."""
    edges, T = np.full(30, 0.4), 10**6
    bounds = [best_expert_bound(loss, edges, 10, T, squares=np.full(30, V)) for V in (0.0, 1e5, 1e6, 1e7)]
    assert bounds == sorted(bounds)
    assert bounds[1] < best_expert_bound(loss, edges, 10, T)
    assert olm_bound(loss, edges, 10, T, squares=np.full(30, 1e5)) == hedge_bound(bounds[1], 30, T)


def test_the_bound_of_the_paper_follows_from_ours():
    """(8 (k - 1) T + 209 (k - 1) N^2) / sum gamma^2 + 2 log N + 2.22 log(2 / delta): its O, with constants."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        k, n, T = int(rng.integers(2, 20)), int(rng.integers(1, 300)), int(10 ** rng.uniform(1, 8))
        edges = rng.uniform(-1, 1, n) ** 3
        squares = (edges**2).sum()
        paper = (8 * (k - 1) * T + 209 * (k - 1) * n**2) / squares + 2 * math.log(n) + 2.22 * math.log(2 / 0.05)
        assert olm_bound("logistic", edges, k, T) <= paper


@pytest.mark.parametrize("loss", ["logistic", "exponential", "squared_hinge"])
def test_measured_weights_never_make_a_bound_worse(loss):
    edges, T = np.linspace(0.1, 0.6, 5), 10_000
    plain = best_expert_bound(loss, edges, 3, T)
    assert best_expert_bound(loss, edges, 3, T, np.full(5, 0.9 * T)) <= plain
    assert best_expert_bound(loss, np.zeros(5), 3, T) == math.inf


def test_the_bound_of_a_mixture_depends_on_the_number_of_forecasts():
    for n in (1, 2, 4, 9):
        assert theory.mixture_bound([5.0] * n, 10) == pytest.approx(5.0 + math.log(n) + math.log(10))
        assert theory.mixture_bound([5.0], 10, n_forecasts=n) == pytest.approx(5.0 + math.log(n) + math.log(10))


def test_hedge_keeps_its_promise():
    """Three kinds of experts, many draws: the bound fails less often than it says."""
    from onlineboost.chain.experts import Combiner, hedge_rounds

    rng = np.random.default_rng(0)
    T, n, failures, delta = 300, 8, 0, 0.2
    for seed in range(300):
        rates = [rng.uniform(0, 1, n), np.full(n, 0.5), np.linspace(0, 1, n)][seed % 3]
        experts = (rng.random((T, n)) < rates).astype(np.int32)
        y, out, log_v = np.zeros(T, np.int64), np.empty(T, np.int64), np.zeros(n)
        hedge_rounds(Combiner.HEDGE, log_v, seed, 1, experts, y, np.ones(T), 2, out)
        failures += (out != y).sum() > hedge_bound(experts.sum(axis=0).min(), n, T, delta)
    assert failures <= delta * 300


# ------------------------------------------------------------------------------------------------------------ planning


@pytest.mark.parametrize("k", [2, 3, 10, 40])
@pytest.mark.parametrize("gamma", [0.15, 0.4])
def test_the_fewest_learners_are_the_fewest(k, gamma):
    for error in (0.5, 0.1, 0.02):
        n = mbbm_learners(k, gamma, error)
        assert asymptotic_error(k, n, gamma) <= error
        assert all(asymptotic_error(k, m, gamma) > error for m in range(1, n))
        n = least_learners(k, gamma, error)
        assert least_error(k, n, gamma) <= error
        assert n == 1 or least_error(k, n - 1, gamma) > error


def test_plans_of_examples_are_where_the_bounds_meet_the_error():
    T = mbbm_examples(5, 300, 0.1, 0.05, excess_loss=20.0)
    assert mbbm_bound(5, 300, 0.1, math.ceil(T), 20.0) == pytest.approx(0.05 * T, rel=1e-4)
    assert mbbm_examples(5, 100, 0.1, 0.05, excess_loss=20.0) == math.inf
    n = olm_learners(2, 0.4, 0.2)
    assert olm_examples(2, n // 2, 0.4, 0.2) == math.inf
    T = olm_examples(2, 2 * n, 0.4, 0.2)
    assert olm_bound("logistic", [0.4] * (2 * n), 2, T) <= 0.2 * T
    assert olm_bound("logistic", [0.4] * (2 * n), 2, T - 1) > 0.2 * (T - 1)
    edges = [0.9, 0.4] * n
    T = olm_examples(2, 2 * n, edges, 0.2)
    assert olm_bound("logistic", edges, 2, T) <= 0.2 * T
    assert olm_bound("logistic", edges, 2, T - 1) > 0.2 * (T - 1)


@given(st.integers(2, 20), st.floats(0.01, 0.45), st.floats(1.0, 1e4), st.floats(0.001, 0.5))
def test_useless_rounds_fit_into_the_excess_loss(k, gamma, S, delta):
    """And are at least the paper's k S / (4 gamma), less rounding, wherever its condition on S is met."""
    rounds = useless_rounds(k, gamma, S, delta)
    assert rounds <= k * S / gamma
    if k * math.log(1 / delta) / gamma <= S and gamma < 0.25:
        assert rounds >= math.floor(k * S / (4 * gamma))
    assert least_examples(k, gamma, 0.1, S, delta) >= (1 - 1 / k) * rounds / 0.1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: mbbm_learners(5, 0.0, 0.1), "gamma.*0.0"),
        (lambda: mbbm_learners(5, 0.1, 0.0), "error.*0.0"),
        (lambda: mbbm_learners(1, 0.1, 0.1), "n_classes.*1"),
        (lambda: mbbm_bound(3, 10, 0.1, 10, -1.0), "excess_loss.*-1.0"),
        (lambda: asymptotic_error(3, 10, 0.1, ties="won"), "ties.*'won'"),
        (lambda: excess_of_votes(0.1, 0.2, 0.05), "gamma=0.2"),
        (lambda: useless_rounds(3, 1.6, 10, 0.1), "gamma.*1.6"),
        (lambda: hedge_bound(3, 10, 10, delta=0.0), "delta.*0.0"),
        (lambda: regret_bounds("hinge", 3, 10, 10), "'hinge'"),
        (lambda: adaptive_regret_bounds("hinge", 3, [1.0]), "'hinge'"),
        (lambda: edge_gain([1.5]), "1.5"),
        (lambda: mbbm_bound(3, 10, [0.1] * 9, 10), "each of the 10 learners; got 9"),
        (lambda: olm_examples(3, 10, [0.1] * 9, 0.1), "each of the 10 learners; got 9"),
        (lambda: mbbm_learners(3, [0.1, 0.2], 0.1), "gamma must be one number here"),
        (lambda: olm_learners(3, np.array([0.1, 0.2]), 0.1), "gamma must be one number here"),
        (lambda: least_learners(3, [0.1, 0.2], 0.1), "gamma must be one number here"),
        (lambda: least_error(3, 2, [0.1, 0.2]), "gamma must be one number here"),
        (lambda: least_examples(3, [0.1, 0.2], 0.1, 10.0, 0.1), "gamma must be one number here"),
        (lambda: excess_of_votes(0.3, [0.1, 0.2], 0.1), "gamma must be one number here"),
        (lambda: paper_weight_bounds(3, 2, [0.1, 0.2]), "gamma must be one number here"),
        (lambda: theory.link(3, 2, [0.1, 0.2], 0.1), "gamma must be one number here"),
        (lambda: hedge_bound(math.nan, 10, 10), "best.*nan"),
        (lambda: hedge_bound(-1.0, 10, 10), "best.*-1.0"),
        (lambda: hedge_bound(3, 10, 10, 0.1, least_weight=0.0), "least_weight.*0.0"),
        (lambda: edge_gain([0.1, math.nan]), "nan"),
        (lambda: best_expert_bound("logistic", [], 3, 10), "edges"),
        (lambda: best_expert_bound("logistic", [2.0], 3, 10), "edges.*2.0"),
        (lambda: best_expert_bound("logistic", [0.2], 3, 10, weights=[1.0, 2.0]), "weights.*1 edges.*2"),
        (lambda: adaptive_regret_bounds("logistic", 3, [-1.0]), "squares.*-1.0"),
        (lambda: theory.mixture_bound([], 10), "losses"),
        (lambda: theory.mixture_bound([math.nan], 10), "losses.*nan"),
        (lambda: theory.mixture_bound([3.0], 0), "T.*0"),
        (lambda: theory.mixture_bound([3.0], 10, switches=1), "n_forecasts"),
        (lambda: theory.guarantee(object(), -1), "mistakes.*-1"),
        (lambda: theory.guarantee(object(), 1, delta=2.0), "delta.*2.0"),
        (lambda: theory.shrinking_edge(5, 0.1, 10, 0.05, room=math.nan), "room.*nan"),
        (lambda: theory.shrinking_edge(5, 0.1, 10, 0.05, room=20, weight=2.0), "weight.*2.0"),
        (lambda: useless_rounds(3, 0.1, math.nan, 0.1), "excess_loss.*nan"),
        (lambda: theory.edge_of_votes(3, 0.1, math.nan, 0.1), "excess_loss.*nan"),
    ],
)
def test_a_bad_number_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_the_public_names_are_sorted_and_there():
    names = theory.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name))
    assert all(hasattr(theory, name) for name in names)


def test_the_command_line_starts_without_the_theory():
    """It takes time to import, and few commands need it."""
    code = "import sys, onlineboost.cli.main; sys.exit('onlineboost.theory' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# ------------------------------------------------------------------------------------- what a hostile user gave


def test_one_gamma_of_very_many_learners_takes_no_memory():
    for bound in (mbbm_error, weight_sum, weight_sum_closed, hoeffding_error):
        assert bound(3, 491_875_182, 1e-4) >= 0.0


@pytest.mark.parametrize(
    "gamma", [None, "a", [".1", ".2", ".3"], [0.1, None, 0.2], {0.1, 0.2}, {"a": 0.1}, True], ids=repr
)
def test_a_gamma_that_is_no_number_is_named(gamma):
    for use in (
        lambda: OnlineMBBM(3, gamma=gamma).fit([[0.0], [1.0]], [0, 1]),
        lambda: weight_sum(3, 3, gamma),
        lambda: mbbm_learners(3, gamma, 0.1),
    ):
        with pytest.raises(ValueError, match="gamma must be"):
            use()


def test_no_bound_is_given_for_the_gradient_as_printed():
    X, y = number_stream(200, n_classes=2)
    found = {}
    for as_printed in (False, True):
        clf = PaperOLM(5, as_printed=as_printed, restart="never")
        found[as_printed] = guarantee(clf, int((clf.test_then_train(X, y, classes=[0, 1]) != y).sum()))
    assert found[False].edge_bound is not None
    assert found[True].edge_bound is None
    assert found[True].vote_bound is not None


def test_costs_that_were_learned_with_are_remembered():
    X, y = number_stream(100, n_classes=2)
    clf = AdaBoostOLM(5, class_weight="balanced").fit(X, y)
    assert not guarantee(clf.set_params(class_weight=None), 0)
