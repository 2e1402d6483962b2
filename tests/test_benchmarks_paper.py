"""The booster that is wrong on purpose is wrong in the one way that it should be."""

import sys
from pathlib import Path

import numpy as np
import pytest

from onlineboost.boosters.mbbm import new_mbbm, weigh
from onlineboost.boosters.potentials import build_tables, cost_matrix
from onlineboost.boosters.votes import Vote
from onlineboost.contracts.rows import new_rows, new_work

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import paper_variants
from paper_variants import LateOnlineMBBM


def rows_with(s, booster, t=1):
    """A block with these votes, (rows, k)."""
    n, k = s.shape
    weight = np.ones(n)
    empty = np.empty((n, 0))
    rows = new_rows(empty, np.zeros(n, bool), empty, t, k, booster.n_learners, booster.new_notes(n, k, weight))
    rows.s[:] = s
    rows.lead[:] = s.argmax(axis=1)
    return rows


def asked(tables_for, s, i, y):
    """A state of 4 learners of scale 7, its rows with the votes s, and the place of the costs at learner i."""
    state = new_mbbm(Vote.COST, 0, np.full(4, 7.0), build_tables(3, tables_for, 0.1), plain=True)
    rows, work = rows_with(np.array([s], float), state), new_work(3)
    work.labels[:3], work.p[:3] = np.arange(3), 1 / 3
    return state, rows, paper_variants.prepare(state, i, rows, 0, y, work, 3)


@pytest.mark.parametrize(("i", "s"), [(0, [0, 0, 0]), (2, [1, 1, 0]), (3, [2, 0, 1])])
@pytest.mark.slow
def test_the_late_index_has_a_draw_too_many(i, s):
    """Learner i, counted from 0, is charged phi_{N-i}: the paper counts from 1."""
    state, rows, place = asked(5, s, i, y=1)
    costs = cost_matrix(s, remaining=4 - i, gamma=0.1)[1]
    assert weigh(state, i, rows, 0, 1, 1.0, place) == pytest.approx(7.0 * (costs - costs[1]).sum())


def test_the_late_estimator_has_tables_for_a_learner_more():
    assert len(LateOnlineMBBM(4, gamma=0.1)._tables(3, seed=0, n=4).reach) == 5
