"""Hedge over the prefix experts: weights, draws and the four ways to follow them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from onlineboost.chain.experts import (
    MOST_NOISE,
    Combiner,
    choose_labels,
    draw_expert,
    expert_mass,
    hedge_part,
    hedge_rounds,
    learners_needed,
    more_noise,
    new_leader,
    noise,
)

RULES = {combiner.name.lower(): combiner for combiner in Combiner}

log_weights = st.lists(st.floats(-30.0, 0.0), min_size=1, max_size=8)


@given(log_weights, st.integers(0, 100), st.integers(1, 1000))
def test_the_draw_is_the_twins(log_v, seed, t):
    v = [math.exp(value) for value in log_v]
    assert draw_expert(np.array(log_v), seed, t) == reference.draw_expert(v, seed, t)


@given(st.integers(0, 2**53 - 1))
def test_noise_is_never_more_than_is_taken_for_granted(n):
    u = n * 2.0**-53
    assert -3.7 < noise(u) <= min(more_noise(u), MOST_NOISE)
    assert n == 0 or math.exp(-math.exp(-noise(u))) == pytest.approx(1.0 - u, rel=1e-9)


def test_experts_are_drawn_in_proportion_to_their_weights():
    log_v = np.log([1.0, 2.0, 5.0, 2.0])
    counts = np.bincount([draw_expert(log_v, 1, t) for t in range(1, 4001)], minlength=4)
    np.testing.assert_allclose(counts / 4000.0, [0.1, 0.2, 0.5, 0.2], atol=0.03)


def test_weights_too_small_for_a_float_are_no_trouble():
    log_v = np.array([-5000.0, -5001.0, -6000.0])
    counts = np.bincount([draw_expert(log_v, 0, t) for t in range(1, 2001)], minlength=3)
    np.testing.assert_allclose(counts / 2000.0, [0.731, 0.269, 0.0], atol=0.03)
    mass = expert_mass(log_v, np.array([[0, 1, 1]], np.int32), 2)
    np.testing.assert_allclose(mass / mass[0, 0], [[1.0, math.exp(-1.0)]])


@given(log_weights, st.data())
def test_the_mass_behind_a_label_is_that_of_the_experts_who_say_so(log_v, data):
    n, k = len(log_v), 4
    experts = data.draw(st.lists(st.lists(st.integers(0, k - 1), min_size=n, max_size=n), min_size=1, max_size=3))
    top = max(log_v)
    want = [
        [sum(math.exp(v - top) for v, e in zip(log_v, row, strict=True) if e == l) for l in range(k)] for row in experts
    ]
    got = expert_mass(np.array(log_v), np.array(experts, np.int32), k)
    np.testing.assert_allclose(got / got.sum(axis=1, keepdims=True), want / np.sum(want, axis=1, keepdims=True), 1e-12)


@st.composite
def games(draw):
    """(experts, y, weight) of some rounds with N experts and k labels."""
    n, k = draw(st.integers(1, 6)), 4
    label = st.integers(0, k - 1)
    rounds = draw(st.lists(st.tuples(st.lists(label, min_size=n, max_size=n), label, st.floats(0.1, 2.0)), min_size=1))
    experts, y, weight = zip(*rounds, strict=True)
    return np.array(experts, np.int32), np.array(y, np.int64), np.array(weight)


@pytest.mark.parametrize("rule", sorted(RULES))
@given(games())
def test_playing_equals_the_paper(rule, game):
    experts, y, weight = game
    n, k, first = experts.shape[1], 4, 17
    log_v, out = np.zeros(n), np.empty(len(y), np.int64)
    hedge_rounds(RULES[rule], log_v, 3, first, experts, y, weight, k, out)

    twin = reference.AdaboostOLM([None] * n, "logistic", [1.0] * n, 3, rule=rule)
    twin.t = first
    for b, said in enumerate(experts.tolist()):
        assert out[b] == twin.follow(said, k)
        twin.v = [v * math.exp(-weight[b] * (e != y[b])) for v, e in zip(twin.v, said, strict=True)]
        twin.t += 1
    np.testing.assert_allclose(log_v, np.log(twin.v), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_how_the_chain_is_cut_makes_no_difference(rule):
    """Bit for bit: neither the stretches of experts that are asked together, nor the blocks of rounds."""
    rng = np.random.default_rng(1)
    n, rounds, k = 30, 200, 3
    y, weight = rng.integers(k, size=rounds), rng.random(rounds)
    experts = np.where(rng.random((rounds, n)) < 0.8, y[:, None], rng.integers(k, size=(rounds, n))).astype(np.int32)
    results = []
    for ends, size in (([30], 200), ([1, 2, 17, 30], 200), ([7, 30], 60)):
        log_v, out, said = np.zeros(n), np.empty(rounds, np.int64), []
        for a in range(0, rounds, size):
            part = slice(a, a + size)
            following, first = new_leader(RULES[rule], len(y[part]), k), 0
            for end in ends:
                of_rows = experts[part], y[part], weight[part], None, *following
                hedge_part(int(RULES[rule]), log_v[first:end], first, 5, a + 1, *of_rows)
                first = end
            choose_labels(following, out[part])
            said.append(b"".join(part.tobytes() for part in following))
        results.append((out.tobytes(), log_v.tobytes(), said if size == 200 else results[0][2]))
    assert results[0] == results[1] == results[2]


def test_the_log_weight_of_an_expert_is_minus_its_mistakes():
    rng = np.random.default_rng(0)
    experts, y = rng.integers(3, size=(500, 5)).astype(np.int32), rng.integers(3, size=500)
    log_v = np.zeros(5)
    hedge_rounds(Combiner.HEDGE, log_v, 0, 1, experts, y, np.ones(500), 3, np.empty(500, np.int64))
    assert log_v.tolist() == (-(experts != y[:, None]).sum(axis=0)).tolist()


@pytest.mark.parametrize("seed", range(3))
def test_hedge_makes_hardly_more_mistakes_than_its_best_expert(seed):
    """With eta = 1, E[mistakes] <= (best + ln N) / (1 - 1/e); a draw's deviation stays within 4 standard deviations."""
    rng = np.random.default_rng(seed)
    n, rounds = 20, 3000
    y = rng.integers(3, size=rounds)
    right = rng.random((rounds, n)) < np.linspace(0.4, 0.9, n)
    experts = np.where(right, y[:, None], (y[:, None] + 1) % 3).astype(np.int32)
    out = np.empty(rounds, np.int64)
    hedge_rounds(Combiner.HEDGE, np.zeros(n), seed, 1, experts, y, np.ones(rounds), 3, out)
    best = (~right).sum(axis=0).min()
    assert (out != y).sum() <= (best + math.log(n)) / (1.0 - math.exp(-1.0)) + 4.0 * math.sqrt(rounds) / 2.0


def test_ties_of_the_best_and_of_the_weighted_rule_go_to_the_first():
    log_v, out = np.zeros(3), np.empty(1, np.int64)
    said = np.array([[2, 1, 0]], np.int32)
    for combiner, label, needed in ((Combiner.BEST, 2, 1), (Combiner.WEIGHTED, 0, 3), (Combiner.LAST, 0, 3)):
        hedge_rounds(combiner, log_v.copy(), 0, 1, said, np.zeros(1, np.int64), np.ones(1), 3, out)
        assert out[0] == label
        assert learners_needed(int(combiner), log_v, 0, 1) == needed
