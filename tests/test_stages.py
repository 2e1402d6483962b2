"""A stage votes, weighs and updates as Algorithm 2 of the paper does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from onlineboost._compile.fastmath import VOTE_TIE, uniform
from onlineboost.boosters import stages
from onlineboost.boosters.losses import LOSSES
from onlineboost.boosters.stages import ARGMAX, BALLOTS, COST, OLM, PLAIN, new_stage

names = st.sampled_from(sorted(LOSSES))


def kernel_vote(stage, i, t, s, p, labels=None):
    """`stages.vote` for plain lists; `labels`: those p is given for, all others have no mass."""
    k = len(s)
    labels = range(k) if labels is None else labels
    given_p = np.array([p[l] for l in labels], float)
    where = np.array(list(labels), np.int64)
    s = np.array(s, float)
    return int(stages.vote(stage, None, 0, i, t, s, np.exp(s), k, where, given_p, len(where), np.empty(2 * k)))


@st.composite
def situations(draw, max_k=5):
    """(s, p): votes so far and a distribution, often with equal entries."""
    k = draw(st.integers(1, max_k))
    levels = st.sampled_from([0.0, 0.0, 0.5, -0.5, 1.25, -2.0]) | st.floats(-3.0, 3.0)
    s = draw(st.lists(levels, min_size=k, max_size=k))
    shares = draw(st.lists(st.sampled_from([0.0, 1.0, 1.0, 2.0]) | st.floats(0.0, 1.0), min_size=k, max_size=k))
    total = sum(shares)
    return s, [share / total for share in shares] if total > 1e-9 else [0.0] * k


@settings(max_examples=400)
@pytest.mark.parametrize("ballot", sorted(BALLOTS))
@given(names, situations(), st.integers(0, 3), st.integers(1, 50))
def test_the_vote_is_the_cheapest_label_then_the_likeliest_then_a_draw(ballot, name, situation, i, t):
    s, p = situation
    stage = new_stage(OLM, LOSSES[name], BALLOTS[ballot], 5, np.ones(4))
    want = reference.vote(ballot, reference.cost_matrix(name, s), p, uniform(5, VOTE_TIE, i, t))
    assert kernel_vote(stage, i, t, s, p) == want
    assert kernel_vote(stage, i, t, s, p, [l for l in reversed(range(len(p))) if p[l] > 0.0]) == want


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=5))
def test_without_votes_so_far_every_ballot_elects_the_likeliest_label(shares):
    """All rows of the cost matrix are the same then, but for their own label."""
    k = len(shares)
    p = [share / sum(shares) for share in shares]
    for ballot in BALLOTS.values():
        stage = new_stage(OLM, LOSSES["logistic"], ballot, 5, np.ones(4))
        assert p[kernel_vote(stage, 0, 1, [0.0] * k, p)] >= max(p) * (1.0 - 1e-9)


@pytest.mark.parametrize("ballot", BALLOTS.values(), ids=BALLOTS)
@pytest.mark.parametrize("k", [2, 3, 5, 7])
@pytest.mark.parametrize("known", [True, False])
def test_labels_that_are_equally_good_are_drawn_equally_often(ballot, k, known):
    stage = new_stage(OLM, LOSSES["logistic"], ballot, 0, np.ones(1))
    p = [1.0 / k if known else 0.0] * k
    counts = np.bincount([kernel_vote(stage, 0, t, [0.0] * k, p) for t in range(1, 1401)], minlength=k)
    assert counts.min() > 0.75 * 1400 / k
    assert counts.max() < 1.25 * 1400 / k


def test_a_segment_draws_by_the_number_of_its_learners_in_the_whole_chain():
    whole = new_stage(OLM, 0, COST, 3, np.ones(8))
    part = whole._replace(offset=5, scale=np.ones(3), alpha=np.zeros(3), edge_sums=np.zeros((3, 2)))
    for t in range(1, 40):
        for i in range(3):
            assert kernel_vote(part, i, t, [0.0] * 4, [0.0] * 4) == kernel_vote(whole, 5 + i, t, [0.0] * 4, [0.0] * 4)


# ------------------------------------------------------------------------------------------- weight, alpha, edge


@st.composite
def histories(draw):
    """(loss, N, i, k, rounds), a round being (s before learner i, its vote l, the label y, the example's weight)."""
    name, n_learners, k = draw(names), draw(st.integers(1, 9)), draw(st.integers(2, 5))
    label = st.integers(0, k - 1)
    s = st.lists(st.floats(-3.0, 3.0), min_size=k, max_size=k)
    rounds = draw(st.lists(st.tuples(s, label, label, st.floats(0.1, 3.0)), min_size=1, max_size=12))
    return name, n_learners, draw(st.integers(0, n_learners - 1)), k, rounds


@given(histories())
def test_weight_alpha_and_edge_follow_the_paper(history):
    name, n_learners, i, k, rounds = history
    scale = np.linspace(1.0, 4.0, n_learners)
    stage = new_stage(OLM, LOSSES[name], COST, 0, scale)
    bound = reference.alpha_bound(name, n_learners)
    alpha, above, below = 0.0, 0.0, 0.0
    nothing = np.empty(0, np.int64), np.empty(0), 0
    for t, (s, l, y, weight) in enumerate(rounds, start=1):
        C = reference.cost_matrix(name, s)
        now, e = np.array(s), np.exp(s)

        own = stages.own_cost(stage, None, 0, now, e, k, y)
        w = stages.weigh(stage, None, i, k, own)
        assert w == pytest.approx(scale[i] * reference.weight_of(C, y), rel=1e-11)
        assert w >= 0.0
        if name == "logistic":
            assert w <= scale[i] * (1.0 + 1e-12)

        stages.update(stage, None, 0, i, t, now, e, k, l, y, own, weight, *nothing)
        moved = list(s)
        moved[l] += alpha
        np.testing.assert_allclose(now, moved, rtol=1e-12, atol=1e-12)  # s^i = s^{i-1} + alpha e_l
        np.testing.assert_allclose(e, np.exp(moved), rtol=1e-11)

        slope = reference.gradient(name, s, l, y, alpha)
        eta = reference.step_size(name, k, n_learners, i, t)
        alpha = max(-bound, min(bound, alpha - eta * weight * slope))
        above, below = above + weight * C[y][l], below + weight * C[y][y]
        assert stage.alpha[i] == pytest.approx(alpha, rel=1e-11, abs=1e-12)
        assert -bound <= stage.alpha[i] <= bound
        edge = stages.edges(stage, 3)[i]
        assert edge == pytest.approx(above / below if below else 0.0, rel=1e-10, abs=1e-10)
        assert -1.0 - 1e-12 <= edge <= 1.0 + 1e-12
    untouched = np.arange(n_learners) != i
    assert not stage.alpha[untouched].any()
    assert not stage.edge_sums[untouched].any()


def test_always_right_has_edge_one_and_always_wrong_at_two_classes_minus_one():
    for vote, edge in ((1, 1.0), (0, -1.0)):
        stage = new_stage(OLM, LOSSES["logistic"], COST, 0, np.ones(1))
        for t in range(1, 30):
            s, e, nothing = np.zeros(2), np.ones(2), (np.empty(0, np.int64), np.empty(0), 0)
            own = stages.own_cost(stage, None, 0, s, e, 2, 1)
            stages.update(stage, None, 0, 0, t, s, e, 2, vote, 1, own, 1.0, *nothing)
        assert stages.edges(stage, 3)[0] == edge
        assert np.sign(stage.alpha[0]) == edge


def test_a_new_stage_knows_nothing():
    stage = new_stage(OLM, 0, COST, 0, [1.0, 2.0])
    assert stages.edges(stage, 3).tolist() == [0.0, 0.0]
    assert stage.alpha.tolist() == [0.0, 0.0]
    assert (stage.n_learners, stage.offset) == (2, 0)


def test_with_one_class_there_is_nothing_to_learn_and_nothing_breaks():
    stage = new_stage(OLM, LOSSES["logistic"], COST, 0, np.ones(1))
    s, e = np.zeros(1), np.ones(1)
    own = stages.own_cost(stage, None, 0, s, e, 1, 0)
    assert stages.weigh(stage, None, 0, 1, own) == 0.0
    stages.update(stage, None, 0, 0, 1, s, e, 1, 0, 0, own, 1.0, np.zeros(1, np.int64), np.ones(1), 1)
    assert (stage.alpha[0], stages.edges(stage, 3)[0]) == (0.0, 0.0)


def test_a_plain_stage_adds_up_distributions_and_weighs_nothing():
    stage = new_stage(PLAIN, 0, ARGMAX, 0, np.array([1.0, 3.0]))
    s, e = np.array([0.5, 0.0, 0.0]), np.ones(3)
    own = stages.own_cost(stage, None, 0, s, e, 3, 2)
    assert stages.weigh(stage, None, 1, 3, own) == 3.0
    stages.update(stage, None, 0, 1, 1, s, e, 3, 2, 0, own, 1.0, np.array([2, 0]), np.array([0.75, 0.25]), 2)
    assert s.tolist() == [0.75, 0.0, 0.75]
    assert not stage.alpha.any()
