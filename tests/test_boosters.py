"""Boosters vote, weigh and update as Algorithm 2 of the paper does (Olm), or not at all (Plain).

OnlineMBBM's are in test_mbbm.py and test_potentials.py, Oza's in test_baselines.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from onlineboost._compile.random import VOTE_TIE, uniform
from onlineboost.boosters.losses import LOSSES
from onlineboost.boosters.olm import new_olm
from onlineboost.boosters.oza import new_oza
from onlineboost.boosters.plain import Plain
from onlineboost.boosters.votes import Vote
from onlineboost.contracts.booster import booster as as_booster
from onlineboost.contracts.booster import cast, prepare_block, settle_block, update, vote, weigh
from onlineboost.contracts.rows import new_rows, new_work

names = st.sampled_from(sorted(LOSSES))
BALLOTS = {vote.name.lower(): vote for vote in Vote}


def olm(loss="logistic", ballot="cost", seed=0, scale=(1.0,), adaptive=False):
    return new_olm(LOSSES[loss], BALLOTS[ballot], seed, np.array(scale), adaptive=adaptive)


def row_with(booster, s, t=1):
    """A block of one row in round t, whose votes so far are s."""
    k, none = len(s), np.empty((1, 0))
    rows = new_rows(none, np.zeros(1, bool), none, t, k, booster.n_learners, booster.new_notes(1, k, np.ones(1)))
    rows.s[0] = s
    rows.lead[0] = np.argmax(s)
    if rows.notes is not None:
        rows.notes.e[0] = np.exp(np.minimum(s, 700.0))
    return rows


def said(k, labels, p):
    """(work, n): a learner has given these labels these probabilities, and no other any."""
    work = new_work(k)
    work.labels[: len(labels)] = labels
    work.p[: len(labels)] = p
    return work, len(labels)


def vote_of(booster, i, t, s, p, labels=None):
    """Learner i's vote in round t, from its distribution p; `labels`: those that it is given for, the others have 0."""
    labels = list(range(len(s)) if labels is None else labels)
    work, n = said(len(s), labels, [p[l] for l in labels])
    return int(vote(booster, i, row_with(booster, s, t), 0, t, 0, work, n))


@st.composite
def situations(draw, max_k=5):
    """(s, p): votes so far and a distribution, often with equal entries."""
    k = draw(st.integers(1, max_k))
    levels = st.sampled_from([0.0, 0.0, 0.5, -0.5, 1.25, -2.0]) | st.floats(-3.0, 3.0)
    s = draw(st.lists(levels, min_size=k, max_size=k))
    some = st.floats(1e-6, 1.0)  # costs that differ by less than 1e-12 or so are taken as equal
    shares = draw(st.lists(st.sampled_from([0.0, 1.0, 1.0, 2.0]) | some, min_size=k, max_size=k))
    total = sum(shares)
    return s, [share / total for share in shares] if total > 1e-9 else [0.0] * k


@settings(max_examples=100)
@pytest.mark.parametrize("ballot", sorted(BALLOTS))
@given(names, situations(), st.integers(0, 3), st.integers(1, 50))
def test_the_vote_is_the_cheapest_label_then_the_likeliest_then_a_draw(ballot, name, situation, i, t):
    s, p = situation
    booster = olm(name, ballot, 5, np.ones(4))
    want = reference.vote(ballot, reference.cost_matrix(name, s), p, uniform(5, VOTE_TIE, i, t))
    assert vote_of(booster, i, t, s, p) == want
    assert vote_of(booster, i, t, s, p, [l for l in reversed(range(len(p))) if p[l] > 0.0]) == want


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=5))
def test_without_votes_so_far_every_ballot_elects_the_likeliest_label(shares):
    """All rows of the cost matrix are the same then, but for their own label."""
    k = len(shares)
    p = [share / sum(shares) for share in shares]
    for ballot in BALLOTS:
        booster = olm(ballot=ballot, seed=5, scale=np.ones(4))
        assert p[vote_of(booster, 0, 1, [0.0] * k, p)] >= max(p) * (1.0 - 1e-9)


@pytest.mark.parametrize("ballot", BALLOTS)
@pytest.mark.parametrize("k", [2, 3, 5, 7])
@pytest.mark.parametrize("known", [True, False])
def test_labels_that_are_equally_good_are_drawn_equally_often(ballot, k, known):
    booster = olm(ballot=ballot)
    p = [1.0 / k if known else 0.0] * k
    counts = np.bincount([vote_of(booster, 0, t, [0.0] * k, p) for t in range(1, 1401)], minlength=k)
    assert counts.min() > 0.75 * 1400 / k
    assert counts.max() < 1.25 * 1400 / k


def test_a_segment_draws_by_the_number_of_its_learners_in_the_whole_chain():
    whole = olm(seed=3, scale=np.ones(8))
    part = whole.part(5, 8)
    for t in range(1, 40):
        for i in range(3):
            assert vote_of(part, i, t, [0.0] * 4, [0.0] * 4) == vote_of(whole, 5 + i, t, [0.0] * 4, [0.0] * 4)


# ------------------------------------------------------------------------------------------- weight, alpha, edge


def learn(booster, i, rows, l, y, weight=1.0):
    """Learner i has voted l on the one row of a block, and the label is y. Returns the weight it is to learn with."""
    labels, weights = np.array([y]), np.array([weight])
    work, n = said(rows.k, [l], [1.0])
    prepare_block(booster, i, rows, labels)
    w = weigh(booster, i, rows, 0, y, weight, 0)
    update(booster, i, rows, 0, y, weight, l, 0, work, n)
    settle_block(booster, i, rows, labels, weights)
    return w


@st.composite
def histories(draw):
    """(loss, N, i, k, rounds), a round being (s before learner i, its vote l, the label y, the example's weight)."""
    name, n_learners, k = draw(names), draw(st.integers(1, 9)), draw(st.integers(2, 5))
    label = st.integers(0, k - 1)
    s = st.lists(st.floats(-3.0, 3.0), min_size=k, max_size=k)
    rounds = draw(st.lists(st.tuples(s, label, label, st.floats(0.1, 3.0)), min_size=1, max_size=12))
    return name, n_learners, draw(st.integers(0, n_learners - 1)), k, rounds


@pytest.mark.parametrize("adaptive", [False, True])
@given(histories())
def test_weight_alpha_and_edge_follow_the_paper(adaptive, history):
    name, n_learners, i, k, rounds = history
    scale = np.linspace(1.0, 4.0, n_learners)
    booster = olm(name, scale=scale, adaptive=adaptive)
    bound = reference.alpha_bound(name, n_learners)
    alpha, above, below, seen, slopes = 0.0, 0.0, 0.0, 0.0, []
    for t, (s, l, y, weight) in enumerate(rounds, start=1):
        C = reference.cost_matrix(name, s)
        rows = row_with(booster, s, t)

        w = learn(booster, i, rows, l, y, weight)
        assert w == pytest.approx(weight * scale[i] * reference.weight_of(C, y), rel=1e-11)
        assert w >= 0.0
        if name == "logistic":
            assert w <= weight * scale[i] * (1.0 + 1e-12)

        moved = list(s)
        moved[l] += alpha
        np.testing.assert_allclose(rows.s[0], moved, rtol=1e-12, atol=1e-12)  # s^i = s^{i-1} + alpha e_l
        np.testing.assert_allclose(rows.notes.e[0], np.exp(moved), rtol=1e-11)
        assert rows.lead[0] == rows.experts[0, i] == np.argmax(rows.s[0])

        slopes.append(weight * reference.gradient(name, s, l, y, alpha))
        if adaptive:
            eta = reference.adaptive_step_size(name, k, n_learners, slopes)
            assert booster.squares[i] == pytest.approx(sum(slope**2 for slope in slopes), rel=1e-10)
        else:
            eta = reference.step_size(name, k, n_learners, i, t)
        alpha = max(-bound, min(bound, alpha - eta * slopes[-1]))
        above, below, seen = above + weight * C[y][l], below + weight * C[y][y], seen + weight
        assert booster.alpha[i] == pytest.approx(alpha, rel=1e-11, abs=1e-12)
        assert -bound <= booster.alpha[i] <= bound
        assert booster.seen[i] == pytest.approx(seen, rel=1e-12)
        edge = booster.edges(k)[i]
        assert edge == pytest.approx(above / below if below else 0.0, rel=1e-10, abs=1e-10)
        assert -1.0 - 1e-12 <= edge <= 1.0 + 1e-12
    untouched = np.arange(n_learners) != i
    for field in set(booster.per_learner()) - {"scale"}:
        assert not getattr(booster, field)[untouched].any(), field


@given(names, st.lists(st.floats(-3.0, 3.0), min_size=2, max_size=5), st.data())
def test_predicting_casts_the_same_vote_as_learning(name, s, data):
    l = data.draw(st.integers(0, len(s) - 1))
    booster = olm(name, scale=np.ones(3))
    booster.alpha[:] = data.draw(st.floats(-2.0, 2.0))
    predicted, learned = row_with(booster, s), row_with(booster, s)
    cast(booster, 1, predicted, 0, l, *said(len(s), [l], [1.0]))
    learn(booster, 1, learned, l, 0)
    assert predicted.s.tobytes() == learned.s.tobytes()
    assert predicted.notes.e.tobytes() == learned.notes.e.tobytes()
    assert (predicted.lead[0], predicted.experts[0, 1]) == (learned.lead[0], learned.experts[0, 1])


def test_always_right_has_edge_one_and_always_wrong_at_two_classes_minus_one():
    for l, edge in ((1, 1.0), (0, -1.0)):
        booster = olm()
        for t in range(1, 30):
            learn(booster, 0, row_with(booster, [0.0, 0.0], t), l, 1)
        assert booster.edges(2)[0] == edge
        assert np.sign(booster.alpha[0]) == edge


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_new_booster_knows_nothing(adaptive):
    booster = olm(scale=[1.0, 2.0], adaptive=adaptive)
    assert ("squares" in booster.per_learner()) == adaptive
    assert booster.edges(3).tolist() == [0.0, 0.0]
    for field in set(booster.per_learner()) - {"scale"}:
        assert getattr(booster, field).tolist() == [0.0, 0.0], field
    assert (booster.n_learners, booster.offset) == (2, 0)


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("weight", [0.0, 1e-300, 1e-9, 1e9, 1e300])
def test_adaptive_steps_are_finite_and_small_whatever_the_weights(loss, weight):
    booster = olm(loss, adaptive=True)
    bound = reference.alpha_bound(loss, 1)
    before = 0.0
    for t, (s, l) in enumerate([([0.0, 0.0], 1), ([900.0, -900.0], 1), ([900.0, -900.0], 0), ([0.0, 0.0], 1)], 1):
        learn(booster, 0, row_with(booster, s, t), l, 1, weight)
        assert np.isfinite(booster.alpha[0])
        assert abs(booster.alpha[0] - before) <= 0.1 * bound * (1.0 + 1e-12)
        before = booster.alpha[0]
    assert (before == 0.0) == (weight == 0.0)
    assert np.isfinite(booster.squares[0])


@given(st.sampled_from(["logistic", "squared_hinge"]), st.floats(1e4, 1e6), st.floats(1e4, 1e6))
def test_the_unit_of_large_weights_does_not_matter_to_adaptive_steps(name, first, second):
    """The paper's steps are proportional to it: with such weights alpha would jump from end to end."""
    alphas = []
    for unit in (first, second):
        booster = olm(name, adaptive=True)
        for t, (y, weight) in enumerate([(1, 1.0), (0, 2.0), (1, 0.5), (1, 1.0), (1, 3.0)], start=1):
            learn(booster, 0, row_with(booster, [0.0, 0.25], t), 1, y, unit * weight)
        alphas.append(booster.alpha[0])
    assert alphas[0] == pytest.approx(alphas[1], rel=1e-4)


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_learner_that_restarts_knows_nothing_and_the_others_all_they_did(adaptive):
    booster = olm(scale=[1.0, 2.0, 3.0], adaptive=adaptive)
    for i in range(3):
        for t in range(1, 9):
            learn(booster, i, row_with(booster, [0.0, 0.5, 0.0], t), t % 3, 1)
    before = {field: getattr(booster, field).copy() for field in booster.per_learner()}
    booster.restart(1, 6)
    for field in booster.per_learner():
        now = getattr(booster, field)
        assert now[1] == {"scale": 2.0, "born": 6}.get(field, 0.0), field
        assert now[[0, 2]].tolist() == before[field][[0, 2]].tolist(), field
    reborn, new = row_with(booster, [0.0, 0.5, 0.0], 7), row_with(booster, [0.0, 0.5, 0.0], 1)
    fresh = olm(scale=[1.0, 2.0, 3.0], adaptive=adaptive)
    learn(booster, 1, reborn, 0, 1)
    learn(fresh, 1, new, 0, 1)
    assert booster.alpha[1] == fresh.alpha[1]  # its steps are sized by its own age


def test_with_one_class_there_is_nothing_to_learn_and_nothing_breaks():
    booster = olm()
    assert learn(booster, 0, row_with(booster, [0.0]), 0, 0) == 0.0
    assert (booster.alpha[0], booster.edges(3)[0]) == (0.0, 0.0)


def test_plain_adds_up_distributions_to_predict_and_weighs_nothing():
    booster = Plain(0, 2, 0, np.array([1.0, 3.0]))
    for labelled in (True, False):
        rows = row_with(booster, [0.5, 0.0, 0.0])
        work, n = said(3, [2, 0], [0.75, 0.25])
        assert weigh(booster, 1, rows, 0, 2, 1.0, 0) == 3.0
        assert weigh(booster, 1, rows, 0, 2, 0.5, 0) == 1.5
        if labelled:
            update(booster, 1, rows, 0, 0, 1.0, 2, 0, work, n)
        else:
            cast(booster, 1, rows, 0, 2, work, n)
        assert rows.s[0].tolist() == ([0.25, 0.0, 0.75] if labelled else [0.75, 0.0, 0.75])
        assert rows.experts[0, 1] == 2  # a learner's own label: there are no prefixes
    assert booster.per_learner() == ["scale"]
    assert booster.edges(3).tolist() == [0.0, 0.0]


# ------------------------------------------------------------------------------------------- what all boosters have


def filled(booster):
    """The booster with other numbers in every array, so that a mix-up shows."""
    for j, field in enumerate(booster.per_learner()):
        getattr(booster, field)[:] = 10 * j + np.arange(len(booster.scale))
    return booster


@pytest.mark.parametrize(
    "make",
    [
        lambda: olm(scale=np.ones(7)),
        lambda: olm(scale=np.ones(7), adaptive=True),
        lambda: new_oza(True, 3, 7),
        lambda: Plain(3, 7, 0, np.ones(7)),
    ],
)
def test_parts_have_their_own_state_and_join_to_the_whole(make):
    whole = filled(make())
    parts = [whole.part(a, b) for a, b in ((0, 2), (2, 3), (3, 7))]
    assert [part.offset for part in parts] == [0, 2, 3]
    assert [len(part.scale) for part in parts] == [2, 1, 4]
    assert {part.n_learners for part in parts} == {7}
    joined = parts[0].join(parts[1:])
    again = parts[2].part(1, 3)
    assert again.offset == 4
    for field in whole.per_learner():
        want = getattr(whole, field)
        np.testing.assert_array_equal(getattr(joined, field), want)
        np.testing.assert_array_equal(getattr(again, field), want[4:6])
        getattr(parts[1], field)[:] = -1
        assert want[2] >= 0  # nothing is shared
        assert getattr(joined, field)[2] >= 0
    assert {name: value for name, value in joined._asdict().items() if name not in whole.per_learner()} == {
        name: value for name, value in whole._asdict().items() if name not in whole.per_learner()
    }


def test_a_state_without_the_fields_of_a_booster_is_refused():
    class Bare(NamedTuple):
        seed: int
        scale: np.ndarray

    with pytest.raises(TypeError, match="Bare is not a booster: it has no field n_learners, offset"):
        as_booster(Bare)
