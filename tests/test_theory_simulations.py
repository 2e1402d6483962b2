"""The theorems against the boosters: on learners with an edge, against adversaries, and in the regret of alpha.

These are quick versions; ``python benchmarks/theory.py`` prints the full figures.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
import reference_theory
from helpers import lost_weight
from onlineboost import AdaBoostOLM, OnlineMBBM, load_dataset, prequential
from onlineboost.boosters.losses import LOSSES, alpha_bound
from onlineboost.boosters.potentials import asymptotic_error, build_tables
from onlineboost.estimators.online_mbbm import PaperMBBM
from onlineboost.theory import (
    adaptive_regret_bounds,
    best_expert_bound,
    excess_of_votes,
    hedge_bound,
    least_error,
    mbbm_bound,
    olm_bound,
    regret_bounds,
    useless_rounds,
)
from onlineboost.theory.guarantee import guarantee
from onlineboost.theory.simulate import Outcome, Simulation, alpha_regrets, draw_labels, draw_votes, greedy_votes
from reference_baselines import OzaBoosting

# ------------------------------------------------------------------------------------------------ the simulators' twins


def test_votes_are_draws_from_u_gamma():
    y = draw_labels(30, 4, seed=5)
    edges = [0.0, 0.3, 0.9]
    votes = draw_votes(y, 4, 3, edges, useless=10, seed=5)
    for t in range(30):
        for i, edge in enumerate(edges):
            want = reference_theory.draw_vote(5, i, t + 1, y[t], 4, edge if t >= 10 else 0.0)
            assert votes[t, i] == want
    y = draw_labels(60_000, 4)
    votes = draw_votes(y, 4, 1, 0.2)[:, 0]
    shares = np.bincount((votes - y) % 4) / 60_000  # the right label, and each of the others
    np.testing.assert_allclose(shares, [0.4, 0.2, 0.2, 0.2], atol=0.008)
    np.testing.assert_allclose(np.bincount(y) / 60_000, 0.25, atol=0.008)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_a_simulated_adaboost_olm_is_algorithm_2(loss):
    y = draw_labels(60, 3, seed=1)
    votes = draw_votes(y, 3, 5, 0.3, seed=1)
    booster = Simulation("adaboost-olm", 3, 5, loss=loss, seed=4)
    twin = reference.AdaboostOLM([reference_theory.Told(i) for i in range(5)], loss, [1.0] * 5, 4, "argmax")
    said = np.concatenate([booster.play(votes[:25], y[:25]).predictions, booster.play(votes[25:], y[25:]).predictions])
    assert said.tolist() == [twin.round(x, label, 3) for x, label in zip(votes.tolist(), y.tolist(), strict=True)]
    np.testing.assert_allclose(booster.edges, twin.edges, atol=1e-12)
    np.testing.assert_allclose(booster.state.alpha, twin.alpha, atol=1e-12)
    np.testing.assert_allclose(booster.weights, [-own for _, own in twin.cost_sums])


def test_a_simulated_online_mbbm_is_algorithm_1():
    y = draw_labels(40, 3, seed=1)
    votes = draw_votes(y, 3, 4, 0.3, seed=1)
    booster = Simulation("online-mbbm", 3, 4, gamma=0.1, seed=4)
    twin = reference.OnlineMBBM([reference_theory.Told(i) for i in range(4)], Fraction(1, 10), [1.0] * 4, 4, "argmax")
    outcome = booster.play(votes, y)
    want = [twin.round(x, label, 3) for x, label in zip(votes.tolist(), y.tolist(), strict=True)]
    assert outcome.predictions.tolist() == want
    np.testing.assert_allclose(booster.edges, twin.edges(3), atol=1e-9)
    counts = (votes[:, :, None] == np.arange(3)).sum(axis=1)
    own = counts[np.arange(40), y]
    counts[np.arange(40), y] = -1
    np.testing.assert_array_equal(outcome.lost, counts.max(axis=1) >= own)


@pytest.mark.parametrize("k", [2, 4])
def test_a_simulated_oza_is_the_pseudo_code(k):
    """Oza and Russell's figure 2 without draws: every vote is known beforehand, and learning changes none."""
    y = draw_labels(200, k, seed=1)
    votes = draw_votes(y, k, 6, np.linspace(0.05, 0.7, 6), seed=1)
    booster = Simulation("oza", k, 6)
    said = np.concatenate([booster.play(votes[:80], y[:80]).predictions, booster.play(votes[80:], y[80:]).predictions])
    twin = OzaBoosting([reference_theory.Told(i) for i in range(6)], 0, draws=False)
    assert said.tolist() == [twin.round(x, label, k) for x, label in zip(votes.tolist(), y.tolist(), strict=True)]
    np.testing.assert_allclose(booster.state.alpha, twin.votes(), atol=1e-12)
    assert np.ptp(booster.state.alpha) > 0.0


@pytest.mark.parametrize("loss", list(LOSSES))
def test_the_regret_is_the_regret(loss):
    y = draw_labels(40, 3, seed=2)
    votes = draw_votes(y, 3, 3, 0.2, seed=2)
    run = Simulation("adaboost-olm", 3, 3, loss=loss).play(votes, y, trace=True)
    reach = alpha_bound(LOSSES[loss], 3)
    want = [
        reference_theory.regret(loss, run.before[:, i], votes[:, i], y, run.alphas[:, i], reach, points=401)
        for i in range(3)
    ]
    np.testing.assert_allclose(alpha_regrets(loss, votes, run), want, atol=2e-3)


# ------------------------------------------------------------------------------------------- learners with an edge


@pytest.mark.parametrize("k", [2, 3, 5, 10])
@pytest.mark.parametrize("n", [10, 50, 100, 200])
def test_the_theorems_hold_on_learners_with_an_edge(k, n):
    T = 800 if k * n <= 500 else 250
    edge, delta = 0.3, 1e-3
    y = draw_labels(T, k, seed=k * n)
    votes = draw_votes(y, k, n, edge, seed=k * n)
    single = (votes != y[:, None]).sum(axis=0).min()

    # OnlineMBBM, told the edge: its error is phi_N(0), within four standard deviations, ...
    booster = Simulation("online-mbbm", k, n, gamma=edge)
    outcome = booster.play(votes, y)
    phi = asymptotic_error(k, n, edge)
    assert abs(outcome.lost.sum() - phi * T) <= 4.0 * math.sqrt(phi * (1 - phi) * T) + 1.0
    # ... and exactly what its edges make of it: the theorem's proof is an identity.
    identity = phi * T + ((edge - booster.edges) * booster.weights).sum() / k
    assert identity == pytest.approx(outcome.lost.sum(), abs=1e-6)
    assert outcome.mistakes <= outcome.lost.sum()
    # Told less than the edge, the learners satisfy the weak learning condition, and Theorem 1 holds.
    for gamma in (0.1, 0.2, 0.25):
        S = excess_of_votes(edge, gamma, delta / n)
        assert outcome.lost.sum() <= mbbm_bound(k, n, gamma, T, S)

    # Adaboost.OLM: its bounds, from what it has shown.
    booster = Simulation("adaboost-olm", k, n)
    adaptive = booster.play(votes, y)
    assert adaptive.mistakes <= olm_bound("logistic", booster.edges, k, T, booster.weights, delta)
    assert adaptive.mistakes <= hedge_bound(adaptive.expert_mistakes.min(), n, T, delta)
    if n >= 50:
        assert max(outcome.mistakes, adaptive.mistakes) <= 0.5 * single
    else:
        assert max(outcome.mistakes, adaptive.mistakes) < single


def test_the_bound_of_adaboost_olm_says_something_on_long_streams():
    """With edges of 0.6 and k = 2 it does from some ten thousand examples on, and holds."""
    k, n, T, edge = 2, 60, 60_000, 0.6
    y = draw_labels(T, k)
    votes = draw_votes(y, k, n, edge)
    booster = Simulation("adaboost-olm", k, n)
    mistakes = booster.play(votes, y).mistakes
    bound = olm_bound("logistic", booster.edges, k, T)
    assert mistakes <= bound < 0.8 * T


# ------------------------------------------------------------------------------------------------- a gamma for each


def lost_by_edges(booster, gammas, T):
    """Theorem 1 as an identity: phi(0) T + sum_i (gamma_i - edge_i) W_i / k."""
    phi = asymptotic_error(booster.k, booster.n_learners, gammas)
    return phi * T + ((gammas - booster.edges) * booster.weights).sum() / booster.k


@pytest.mark.parametrize("k", range(2, 11))
@pytest.mark.parametrize("n", [1, 7, 60, 200])
def test_theorem_1_is_an_identity_for_any_gammas(k, n):
    """Whatever the learners do: here some guess, some are good, some are worse than guessing."""
    T = 60 if n == 200 else 300
    rng = np.random.default_rng(k * n)
    y = draw_labels(T, k, seed=n)
    votes = draw_votes(y, k, n, rng.choice([0.0, 0.05, 0.4], n), seed=n)
    votes[:, rng.random(n) < 0.2] = 0
    for gammas in (OnlineMBBM(n)._gammas(n), rng.random(n) * rng.choice([0.1, 0.99])):
        booster = Simulation("online-mbbm", k, n, gamma=gammas)
        assert booster.play(votes, y).lost.sum() == pytest.approx(lost_by_edges(booster, gammas, T), abs=1e-6)


def every_gamma_for_all_that_follow(k, n, gammas):
    """Tables in which learner i takes its own gamma for all later learners: they satisfy no theorem."""
    tables = build_tables(k, n, gammas)
    level, phi = tables.dense.level, tables.dense.phi.copy()
    for m, gamma in enumerate(tables.gamma.tolist()):
        phi[level[m] : level[m + 1]] = build_tables(k, n, gamma).dense.phi[level[m] : level[m + 1]]
    return tables._replace(dense=tables.dense._replace(phi=phi))


@pytest.mark.parametrize(("k", "n"), [(2, 40), (3, 30), (5, 20)])
def test_no_adversary_within_the_condition_gets_above_the_potential(k, n):
    T, gammas = 3000, OnlineMBBM(n)._gammas(n)
    phi = asymptotic_error(k, n, gammas)
    y = draw_labels(T, k)
    booster = Simulation("online-mbbm", k, n, gamma=gammas)
    lost = booster.play(greedy_votes(y, booster.state.tables), y).lost.mean()
    assert (booster.edges >= gammas - 1e-9).all()  # the condition holds for each learner, with its own gamma
    assert phi - 0.01 <= lost <= phi + 1e-9  # a greedy adversary uses up nearly all it may
    booster = Simulation("online-mbbm", k, n, gamma=gammas)
    wrong = every_gamma_for_all_that_follow(k, n, gammas)
    booster.state = booster.state.with_tables(wrong).with_cache()
    lost = booster.play(greedy_votes(y, wrong), y).lost.mean()
    assert (booster.edges >= gammas - 1e-9).all()
    assert lost > phi + 0.05


@pytest.mark.parametrize(("k", "n"), [(2, 30), (4, 25), (26, 60)])
def test_the_identity_holds_while_gammas_change(k, n):
    """Gammas chosen by the past alone. In each stretch of time the tables are those of its gammas, and so is phi(0)."""
    T, gammas = 100, np.full(n, 0.1)
    y = draw_labels(5 * T, k, seed=k)
    votes = draw_votes(y, k, n, np.linspace(0.0, 0.5, n), useless=2 * T, seed=k)
    booster = Simulation("online-mbbm", k, n, gamma=gammas)
    account = lost = 0.0
    for start in range(0, 5 * T, T):
        costs, weights = booster.state.vote_cost.copy(), booster.weights.copy()
        lost += booster.play(votes[start : start + T], y[start : start + T]).lost.sum()
        costs, weights = booster.state.vote_cost - costs, booster.weights - weights  # of this stretch
        account += asymptotic_error(k, n, gammas) * T + (costs - (1.0 - gammas) / k * weights).sum()
        assert account == pytest.approx(lost, abs=1e-6)
        gammas = np.clip(booster.edges, 0.0, 0.9)
        booster.change_gamma(gammas)


# ---------------------------------------------------------------------------------------- nobody beats the lower bound


@pytest.mark.parametrize(("k", "n", "gamma"), [(2, 25, 0.1), (3, 40, 0.1), (10, 60, 0.05)])
def test_no_booster_beats_the_adversary(k, n, gamma):
    T = 4000 if k < 10 else 1500
    y = draw_labels(T, k, seed=n)
    votes = draw_votes(y, k, n, 2 * gamma, seed=n)
    least = least_error(k, n, gamma, excess_of_votes(2 * gamma, gamma, 0.01, k), 0.01)
    slack = 4.0 * math.sqrt(least * (1 - least) * T)
    mistakes = {name: Simulation(name, k, n, gamma=gamma).play(votes, y).mistakes for name in BOOSTERS}
    assert all(made >= least * T - slack for made in mistakes.values())
    assert mistakes["online-mbbm"] <= least * T + slack  # the majority attains it
    assert mistakes["online-mbbm"] == min(mistakes.values())


BOOSTERS = ("online-mbbm", "adaboost-olm", "oza")


def test_useless_learners_make_a_booster_wait():
    """Until T_0 everyone guesses, so all boosters make (1 - 1/k) T_0 mistakes; OnlineMBBM's theorem still holds."""
    k, n, gamma, delta = 3, 60, 0.1, 0.01
    S = 2.0 * excess_of_votes(2 * gamma, gamma, delta / n)
    start = useless_rounds(k, gamma, S, delta / n)
    T = 2 * start
    y = draw_labels(T, k, seed=3)
    votes = draw_votes(y, k, n, 1 - 1e-9, useless=start, seed=3)
    for name in BOOSTERS:
        outcome = Simulation(name, k, n, gamma=gamma).play(votes, y)
        assert outcome.mistakes >= (1 - 1 / k) * start - 4.0 * math.sqrt(start * 2 / 9)
        if name == "online-mbbm":
            assert outcome.lost.sum() <= mbbm_bound(k, n, gamma, T, S)


# -------------------------------------------------------------------------------------------------- the regret of alpha


def adversarial(loss, k, n, T, kind, adaptive=False):
    """Votes chosen in every round to hurt: (regrets, slopes |f'| by round) of all learners.

    "contrary": a learner is wrong if its alpha is positive, right if it is negative. "towering": the same, and all
    agree on the wrong label, so that losses add up. "swinging": all right, then all wrong, in phases that get longer.
    """
    booster = Simulation("adaboost-olm", k, n, loss=loss, adaptive=adaptive)
    runs, all_votes = [], []
    for t in range(T):
        alpha = booster.state.alpha
        if kind == "contrary":
            votes = np.where(alpha > 0.0, 1 + np.arange(n) % (k - 1), 0)
        elif kind == "towering":
            votes = np.where(alpha >= 0.0, 1, 0)
        else:
            votes = np.full(n, int(math.log2(t + 1)) % 2)
        all_votes.append(votes[None])
        runs.append(booster.play(votes[None], np.zeros(1, np.int64), trace=True))
    before, alphas = np.concatenate([run.before for run in runs]), np.concatenate([run.alphas for run in runs])
    votes = np.concatenate(all_votes)
    whole = Outcome(np.zeros(T, np.int64), None, None, None, before, alphas)
    slopes = [
        [abs(reference.gradient(loss, before[t, i].tolist(), votes[t, i], 0, alphas[t, i])) for i in range(n)]
        for t in range(T)
    ]
    return alpha_regrets(loss, votes, whole), np.array(slopes)


@pytest.mark.parametrize("loss", list(LOSSES))
@settings(max_examples=25)
@given(st.integers(2, 6), st.integers(1, 6), st.integers(1, 150), st.floats(0.0, 0.9), st.integers(0, 10**6))
def test_the_regret_of_alpha_is_bounded_on_random_streams(loss, k, n, T, edge, seed):
    y = draw_labels(T, k, seed)
    votes = draw_votes(y, k, n, edge, useless=T // 2, seed=seed)
    run = Simulation("adaboost-olm", k, n, loss=loss).play(votes, y, trace=True)
    assert (alpha_regrets(loss, votes, run) <= regret_bounds(loss, k, n, T)).all()
    if loss == "logistic":
        assert (alpha_regrets(loss, votes, run) <= 4 * math.sqrt(2) * (k - 1) * math.sqrt(T)).all()


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("kind", ["contrary", "towering", "swinging"])
@pytest.mark.parametrize(("k", "n"), [(2, 6), (8, 4)])
def test_the_regret_of_alpha_is_bounded_on_adversarial_streams(loss, kind, k, n):
    regrets, slopes = adversarial(loss, k, n, 120, kind)
    assert (regrets <= regret_bounds(loss, k, n, 120)).all()
    i, c = np.arange(1, n + 1), alpha_bound(LOSSES[loss], n)
    steepest = {"logistic": k - 1.0, "exponential": (k - 1) * np.exp(2.0 * i), "squared_hinge": (k - 1) * (1 + c * i)}
    assert (slopes.max(axis=0) <= steepest[loss] + 1e-9).all()


@pytest.mark.parametrize("loss", list(LOSSES))
@settings(max_examples=25)
@given(st.integers(2, 6), st.integers(1, 6), st.integers(1, 150), st.floats(0.0, 0.9), st.integers(0, 10**6))
def test_the_regret_of_adaptive_steps_is_bounded_on_random_streams(loss, k, n, T, edge, seed):
    y = draw_labels(T, k, seed)
    votes = draw_votes(y, k, n, edge, useless=T // 2, seed=seed)
    booster = Simulation("adaboost-olm", k, n, loss=loss, adaptive=True)
    run = booster.play(votes, y, trace=True)
    assert (alpha_regrets(loss, votes, run) <= adaptive_regret_bounds(loss, k, booster.state.squares)).all()


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("kind", ["contrary", "towering", "swinging"])
@pytest.mark.parametrize(("k", "n"), [(2, 6), (8, 4)])
def test_the_regret_of_adaptive_steps_is_bounded_on_adversarial_streams(loss, kind, k, n):
    regrets, slopes = adversarial(loss, k, n, 120, kind, adaptive=True)
    assert (regrets <= adaptive_regret_bounds(loss, k, (slopes**2).sum(axis=0))).all()


def test_slopes_can_be_steeper_than_the_paper_says():
    """|f'| <= (k - 1) e^i (exponential) and |f'| <= (k - 1) + c i (squared hinge) are not true."""
    right, wrong = np.zeros((40, 2), np.int64), np.ones((40, 2), np.int64)
    for loss, k, first, then, paper in (
        ("exponential", 2, right, 1, math.exp(2.0)),  # both alphas grow; then both are wrong about the same label
        ("squared_hinge", 10, wrong, 0, 9.0 + 2.0 / math.sqrt(2.0)),  # both alphas fall below 0; then both are right
    ):
        booster = Simulation("adaboost-olm", k, 2, loss=loss)
        booster.play(first, np.zeros(40, np.int64))
        run = booster.play(np.full((1, 2), then), np.zeros(1, np.int64), trace=True)
        slope = reference.gradient(loss, run.before[0, 1].tolist(), then, 0, run.alphas[0, 1])
        assert abs(slope) > paper


# ------------------------------------------------------------------------------------------------- a run's guarantee


def test_the_guarantee_of_adaboost_olm():
    data = load_dataset("balance").shuffled(1)
    for combiner in ("hedge", "weighted", "best", "last"):
        clf = AdaBoostOLM(15, combiner=combiner)
        result = prequential(clf, data.X, data.y)
        found = guarantee(clf, (~result.right).sum())
        assert (found.examples, found.learners, found.mistakes) == (625, 15, (~result.right).sum())
        assert found.edges == (clf.edges_.min(), np.median(clf.edges_), clf.edges_.max())
        assert found.mistakes <= found.vote_bound
        assert 0 < found.sure < (clf.edges_ > 0.0).sum()
        assert (found.edge_bound is None) == (combiner != "hedge")
        assert all(isinstance(text, str) for line in found.lines(verbose=True) for text in line)
        assert set(found.lines()) <= set(found.lines(verbose=True))
        assert not any("says nothing" in text for _, text in found.lines())
        assert ("bound from experts" in dict(found.lines())) == (found.vote_bound <= 625)


@pytest.mark.parametrize(("loss", "steps"), [("logistic", "adaptive"), ("exponential", "auto")])
def test_the_guarantee_knows_the_steps(loss, steps):
    data = load_dataset("balance").shuffled(1)
    clf = AdaBoostOLM(15, loss=loss, alpha_steps=steps)
    found = guarantee(clf, (~prequential(clf, data.X, data.y).right).sum())
    chain = clf._model.chain
    squares = chain.gather("squares")
    assert (squares > 0.0).all()
    want = best_expert_bound(loss, clf.edges_, 3, 625, chain.gather("weights"), squares)
    assert found.expert_bound == want
    assert found.edge_bound == hedge_bound(want, 15, 625, 0.025)  # half of delta is for the edges
    assert found.mistakes <= found.edge_bound


def test_the_exponential_loss_learns_with_adaptive_steps_and_hardly_with_those_of_the_paper():
    k, n, T = 4, 20, 2000
    y = draw_labels(T, k, seed=1)
    votes = draw_votes(y, k, n, 0.2, seed=1)
    boosters = [Simulation("adaboost-olm", k, n, loss="exponential", adaptive=adaptive) for adaptive in (False, True)]
    paper, ours = (booster.play(votes, y, trace=True) for booster in boosters)
    assert ours.mistakes < 0.7 * paper.mistakes
    assert (np.abs(boosters[0].state.alpha[10:]) < 1e-3).all()
    assert (boosters[1].state.alpha > 0.05).all()
    assert alpha_regrets("exponential", votes, ours).mean() < 0.1 * alpha_regrets("exponential", votes, paper).mean()


@pytest.mark.parametrize("restart", ["always", "auto"])
def test_only_learners_before_the_first_that_restarted_add_to_the_guarantee(restart):
    """Up to there the chain is that of the paper; an edge since a restart says nothing of the stream before."""
    data = load_dataset("nursery").shuffled(1)
    clf, paper = AdaBoostOLM(20, restart=restart), AdaBoostOLM(20, restart="never")
    wrong = [(~prequential(booster, data.X[:3500], data.y[:3500]).right).sum() for booster in (clf, paper)]
    found = guarantee(clf, wrong[0])
    assert found.examples == 3500
    assert found.mistakes <= found.vote_bound
    lasting = np.cumsum(clf.ages_ < 3500.0) == 0
    assert not lasting.all()
    weights = -paper._model.chain.gather("right_cost")
    want = best_expert_bound("logistic", np.where(lasting, paper.edges_, 0.0), 4, 3500, weights)
    assert found.expert_bound == pytest.approx(want)
    assert found.expert_bound >= guarantee(paper, wrong[1]).expert_bound


@pytest.mark.parametrize("gamma", [0.1, "auto", np.linspace(0.5, 0.0, 15).tolist()])
def test_the_guarantee_of_online_mbbm_counts_the_lost_examples_without_looking(gamma):
    """From edges and weights alone: phi(0) T + sum_i (gamma_i - edge_i) W_i / k."""
    data = load_dataset("balance").shuffled(1)
    clf = OnlineMBBM(15, gamma=gamma, combiner="last")
    lost = lost_weight(clf, data, np.ones(len(data)))
    found = guarantee(clf, 0)
    # In the first round nothing has been learned, and predict_proba cannot be asked.
    assert min(abs(found.lost - lost - first) for first in (0, 1)) < 1e-6
    assert found.potential == asymptotic_error(3, 15, clf.gammas_)
    assert found.lost_promised == pytest.approx(found.potential * 625)
    assert found.gammas == (clf.gammas_.min(), clf.gammas_.max())
    said = dict(found.lines())["gamma in use"]
    assert said.startswith("0.100;" if gamma == 0.1 else f"{found.gammas[0]:.3f} to {found.gammas[1]:.3f};")


@pytest.mark.parametrize("adversary", [False, True])
@pytest.mark.parametrize(("k", "n"), [(2, 30), (3, 90), (10, 120)])
def test_theorem_1_is_an_identity_for_pairs_of_labels_too(k, n, adversary):
    """Labels that are not behind = (k - 1) G_N(0) T + sum_i (gamma_i - edge_i) W_i / k, and lost examples are fewer."""
    T, gammas = 500, OnlineMBBM(n)._gammas(n)
    tables, y = build_tables(k, n, gammas, loss="pairwise"), draw_labels(T, k, seed=n)
    booster = Simulation("online-mbbm", k, n, gamma=gammas)
    booster.state = booster.state.with_tables(tables).with_cache()
    votes = greedy_votes(y, tables) if adversary else draw_votes(y, k, n, np.linspace(0.0, 0.4, n), seed=k)
    played = booster.play(votes, y)
    s = (votes[:, :, None] == np.arange(k)).sum(axis=1)
    not_behind = (s >= s[np.arange(T), y][:, None]).sum() - T
    assert not_behind == pytest.approx(tables.start * T + ((gammas - booster.edges) * booster.weights).sum() / k)
    assert played.lost.sum() <= not_behind
    if adversary:  # it meets the condition
        assert played.lost.mean() <= tables.start


@pytest.mark.parametrize("gamma", [0.1, "auto"])
def test_the_guarantee_of_pairs_is_above_what_is_lost(gamma):
    data = load_dataset("balance").shuffled(1)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 3.0], len(data))
    clf = OnlineMBBM(15, gamma=gamma, loss="pairwise", combiner="last")
    lost = lost_weight(clf, data, np.ones(len(data)))
    found = guarantee(clf, 0)
    assert found.pairwise
    assert lost <= found.lost + 1e-6 <= 2.0 * lost  # a lost row is one of one or two other labels
    assert found.lost_promised == pytest.approx(625 * found.potential)
    assert dict(found.lines())["majority of all votes"].startswith(f"lost {found.lost:,.0f} at most: ")
    clf = OnlineMBBM(15, gamma=gamma, loss="pairwise", combiner="last")
    wrong = clf.test_then_train(data.X, data.y, classes=data.classes, sample_weight=weight) != data.y
    counted = weight / (np.cumsum(weight) / np.arange(1, 626))
    assert counted[wrong].sum() <= guarantee(clf, int(wrong.sum())).lost


@pytest.mark.parametrize("settings", [{"loss": "logistic"}, {"potential": "monte_carlo"}])
def test_theorem_1_is_about_exact_potentials_of_the_0_1_loss(settings):
    data = load_dataset("balance").shuffled(1)
    clf = PaperMBBM(15, **settings)
    result = prequential(clf, data.X[:100], data.y[:100])
    found = guarantee(clf, (~result.right).sum())
    assert found.potential is None
    assert found.lost is None
    assert found.mistakes <= found.vote_bound
    assert dict(found.lines())["gamma in use"] == "0.010 to 0.300"


def test_no_guarantee_for_what_has_no_theorem():
    assert not guarantee(object(), 3)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Simulation("boost", 3, 4), "'boost'"),
        (lambda: draw_votes(np.zeros(3, np.int64), 3, 2, 1.0), "edges.*1.0"),
        (lambda: Simulation("oza", 3, 4).play(np.zeros((2, 3), np.int64), np.zeros(2, np.int64)), "3 learners.*4"),
        (lambda: Simulation("online-mbbm", 3, 4).play(np.full((2, 4), 3), np.zeros(2, np.int64)), "votes.*0..2.*3"),
        (lambda: Simulation("adaboost-olm", 3, 4).play(np.full((2, 4), 9), np.zeros(2, np.int64)), "votes.*0..2.*9"),
        (lambda: Simulation("adaboost-olm", 3, 4).play(np.zeros((2, 4), np.int64), np.full(2, 3)), "y must lie.*3"),
        (lambda: Simulation("adaboost-olm", 3, 4).play(np.zeros((3, 4), np.int64), np.zeros(2, np.int64)), "shape"),
        (lambda: Simulation("adaboost-olm", 3, 4).play(np.zeros((2, 4)), np.zeros(2, np.int64)), "whole numbers"),
        (lambda: Simulation("adaboost-olm", 1, 4), "n_classes.*1"),
        (lambda: Simulation("adaboost-olm", 3, 4, loss="hinge"), "'hinge'"),
        (lambda: Simulation("adaboost-olm", 3, 4).change_gamma(0.1), "online-mbbm"),
        (lambda: draw_votes(np.array([0, 3]), 3, 2, 0.1), "y must lie in 0..2"),
        (lambda: draw_votes(np.array([0, 1]), 3, 4, [0.1, 0.2]), "4 learners; got 2"),
        (lambda: draw_labels(-1, 3), "n_examples.*-1"),
        (lambda: draw_labels(5, 0), "n_classes.*0"),
    ],
)
def test_a_bad_number_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_what_is_no_run_and_no_table_is_refused():
    y = draw_labels(20, n_classes=3)
    with pytest.raises(TypeError, match=r"outcome must be what Simulation\.play returns, got int"):
        alpha_regrets("logistic", np.zeros((20, 2), int), 3)
    with pytest.raises(TypeError, match="tables must be those of a Simulation of online-mbbm, got list"):
        greedy_votes(y, [])
