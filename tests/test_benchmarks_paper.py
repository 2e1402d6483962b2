"""The boosters that are wrong on purpose are wrong in the one way that they should be."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from onlineboost.boosters import olm
from onlineboost.boosters.losses import Loss
from onlineboost.boosters.mbbm import new_mbbm
from onlineboost.boosters.olm import new_olm
from onlineboost.boosters.potentials import build_tables, cost_matrix
from onlineboost.boosters.votes import Vote
from onlineboost.contracts.rows import new_rows, new_work
from onlineboost.trees.state import Columns

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import paper_variants
from paper_variants import EvenTree, LateOnlineMBBM, PlainMbbm, PrintedOlm


def rows_with(s, booster, t=1):
    """A block with these votes, (rows, k)."""
    n, k = s.shape
    weight = np.ones(n)
    empty = np.empty((n, 0))
    rows = new_rows(empty, np.zeros(n, bool), empty, t, k, booster.n_learners, booster.new_notes(n, k, weight))
    rows.s[:] = s
    rows.lead[:] = s.argmax(axis=1)
    return rows


def alphas(kind, settle_block, s, votes, y, weight):
    """alpha after a block in which learner 0 of 1 voted so."""
    state = kind(*new_olm(Loss.LOGISTIC, Vote.COST, 0, np.ones(1)))
    state.alpha[0] = 0.3
    rows = rows_with(s, state)
    rows.notes.e[:] = np.exp(s)
    olm.prepare_block(state, 0, rows, y)
    rows.notes.votes[:] = votes
    settle_block(state, 0, rows, y, weight)
    return state


def test_the_printed_gradient_is_that_of_the_paper():
    rng = np.random.default_rng(0)
    s, y, votes = rng.normal(size=(20, 3)), rng.integers(3, size=20), rng.integers(3, size=20)
    votes[::2] = y[::2]
    weight = rng.uniform(0.1, 0.5, 20)
    state = alphas(PrintedOlm, paper_variants.settle_block, s, votes, y, weight)
    alpha = 0.3
    for t in range(20):
        r, l = y[t], votes[t]
        if l == r:
            slope = -sum(1.0 / (1.0 + math.exp(s[t, j] + alpha - s[t, r])) for j in range(3) if j != r)
        else:
            slope = 1.0 / (1.0 + math.exp(s[t, r] - s[t, l] - alpha))
        alpha -= 2.0 * math.sqrt(2.0) / (2.0 * math.sqrt(t + 1)) * weight[t] * slope
        alpha = min(2.0, max(-2.0, alpha))
    assert state.alpha[0] == pytest.approx(alpha, rel=1e-9)
    right = alphas(olm.Olm, olm.settle_block, s, votes, y, weight)
    assert state.alpha[0] != pytest.approx(right.alpha[0], rel=1e-3)
    for field in ("vote_cost", "right_cost", "seen"):
        np.testing.assert_allclose(getattr(state, field), getattr(right, field))


def test_the_printed_gradient_steps_further_the_better_an_example_is_classified():
    y = np.zeros(1, np.int64)
    steps = {}
    for kind, settle_block in ((PrintedOlm, paper_variants.settle_block), (olm.Olm, olm.settle_block)):
        steps[kind] = [
            alphas(kind, settle_block, np.array([[lead, 0.0, 0.0]]), y, y, np.full(1, 0.1)).alpha[0] - 0.3
            for lead in (0.0, 1.0, 3.0)
        ]
    assert steps[PrintedOlm] == sorted(steps[PrintedOlm])
    assert steps[olm.Olm] == sorted(steps[olm.Olm], reverse=True)


def asked(tables_for, s, i, y):
    """A state of 4 learners of scale 7, its rows with the votes s, and the place of the costs at learner i.

    Kernels take any state with the right fields; one type for all tests is compiled once.
    """
    state = PlainMbbm(*new_mbbm(Vote.COST, 0, np.full(4, 7.0), build_tables(3, tables_for, 0.1)))
    rows, work = rows_with(np.array([s], float), state), new_work(3)
    work.labels[:3], work.p[:3] = np.arange(3), 1 / 3
    return state, rows, paper_variants.prepare(state, i, rows, 0, y, work, 3)


@pytest.mark.parametrize(("i", "s"), [(0, [0, 0, 0]), (2, [1, 1, 0]), (3, [2, 0, 1])])
def test_the_late_index_has_a_draw_too_many(i, s):
    """Learner i, counted from 0, is charged phi_{N-i}: the paper counts from 1."""
    state, rows, place = asked(5, s, i, y=1)
    costs = cost_matrix(s, remaining=4 - i, gamma=0.1)[1]
    assert paper_variants.weigh(state, i, rows, 0, 1, 1.0, place) == pytest.approx(7.0 * (costs - costs[1]).sum())


def test_the_late_estimator_has_tables_for_a_learner_more():
    assert len(LateOnlineMBBM(4, gamma=0.1)._tables(3, seed=0, n=4).reach) == 5


def test_plain_weights_do_not_depend_on_their_past():
    state, rows, place = asked(5, [1, 0, 0], 1, y=2)
    costs = cost_matrix([1, 0, 0], remaining=3, gamma=0.1)[2]
    for past in (0.0, 1000.0):
        state.weights[:], state.seen[:] = past, 10.0
        given = paper_variants.weigh(state, 1, rows, 0, 2, 0.5, place)
        assert given == pytest.approx(7.0 * 0.5 * (costs - costs[2]).sum())


def test_even_trees_draw_the_same_numbers_evenly():
    columns, ranges = Columns(2, []), {"split_confidence": (0.01, 0.9), "tie_threshold": (0.02, 0.8)}
    even = EvenTree(**ranges)._trees(columns, np.ones(50), seed=3)
    log = paper_variants.HoeffdingTree(**ranges)._trees(columns, np.ones(50), seed=3)
    np.testing.assert_array_equal(even.grace, log.grace)
    for values, logs, (low, high) in (
        (np.exp(-even.log_delta), np.exp(-log.log_delta), ranges["split_confidence"]),
        (even.tie, log.tie, ranges["tie_threshold"]),
    ):
        u = np.log(logs / low) / np.log(high / low)
        np.testing.assert_allclose(values, low + (high - low) * u)
