"""Single columns, and pairs and triples of them: both voices are those of the twin, and learn what they are for."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import learn_panel
from onlineboost.chain import evidence
from onlineboost.data.places import AT_ONCE
from onlineboost.panel import additive
from onlineboost.panel.panel import ask_panel, begin, new_panel_work
from onlineboost.panel.state import COLUMNS, new_panel, room_for_rows, with_classes, with_room
from reference_additive import Additive

K, ONE = 3, slice(None, 1)
VOICES = slice(8, 10)


def fresh(n_numeric, n_nominal, n_values, rows, k=K):
    panel = new_panel(n_numeric, n_nominal, 3)
    begin(panel)
    return room_for_rows(with_room(with_classes(panel, k), columns=n_numeric + n_values), rows)


def stream(n, n_numeric, n_nominal, k=K, seed=0):
    """Skewed, whole, constant and missing numbers; nominal values; classes that depend on some of them; weights."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.exponential(3.0, (n, n_numeric)), rng.integers(0, 4, (n, n_nominal))])
    X[:, 1], X[:, 2] = np.round(X[:, 1]), 5.0
    y = (X[:, -1] + (X[:, 0] > 2.0) + (rng.random(n) < 0.1)).astype(np.int64) % k
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y, rng.choice([0.2, 1.0, 4.0], n)


def logits_of(p):
    logits = np.log(np.array(p) + 0.001)
    return logits - logits.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("k", [2, 3])
def test_they_are_those_of_the_twin(k):
    """With more columns than are chosen, quantiles taken anew, values and weights of all kinds."""
    n, n_numeric, n_nominal = 140, 7, 3
    X, y, weight = stream(n, n_numeric, n_nominal, k)
    panel, twin, memory = fresh(n_numeric, n_nominal, 12, n, k), Additive(n_numeric, n_nominal), []
    work, s = new_panel_work(panel, k), np.zeros((1, k))
    stats = panel.shared.stats
    for b in range(n):
        ask_panel(panel, X[b : b + 1], k, work, s)
        codes = [None if v != v else v for v in X[b, n_numeric:]]
        values, there = work.row.values[:n_numeric].tolist(), (work.row.there[:n_numeric] > 0.0).tolist()
        want = twin.distributions(values, there, codes, work.row.z[:n_numeric], k)
        np.testing.assert_allclose(work.newton.logits[VOICES], logits_of(want[::2]), atol=1e-4, err_msg=f"row {b}")
        pulls, variances = stats.columns.pull.copy(), stats.columns.variance.copy()
        before = stats.dense.unit[:n_numeric].copy(), stats.dense.origin[:n_numeric].copy()
        learn_panel(panel, X[b : b + 1], y[b : b + 1], weight[b : b + 1], k, work, s)
        for j in range(n_numeric):  # a column in another unit
            unit, origin = before[0][j], before[1][j]
            if unit > 0.0 and (stats.dense.unit[j], stats.dense.origin[j]) != (unit, origin):
                factor = stats.dense.unit[j] / unit
                move = (origin - stats.dense.origin[j]) * stats.dense.unit[j]
                twin.move(j, factor, move, lambda v, a, c: float(np.float32(v * a + c)))
                pulls[j] = variances[j] = 0.0
        values, there = work.row.values[:n_numeric].tolist(), (work.row.there[:n_numeric] > 0.0).tolist()
        twin.distributions(values, there, codes, work.row.z[:n_numeric], k)
        memory = panel.shared.neighbours.values[:n_numeric, : b + 1].T.tolist()
        used = int(stats.used[COLUMNS])
        owners = [None] * n_numeric + stats.dense.owner[n_numeric:used].tolist()
        twin.learn(int(y[b]), weight[b], memory, pulls[:used], variances[:used], owners)
    assert sorted(twin.chosen) == sorted(panel.members.additive.chosen.tolist()) != list(range(additive.CHOSEN))
    np.testing.assert_allclose(panel.members.additive.edges, [twin.edges[j] for j in range(n_numeric)], rtol=1e-6)


def test_values_of_a_wide_column_go_by_evidence_in_two_classes():
    """A value has the bin of the code that a value without a name would have that has shown the same; 70 have names."""
    assert additive.LIMITS == evidence.LIMITS
    assert (additive.WIDE, additive.EVIDENCE_ROWS) == (AT_ONCE, evidence.ROWS)
    rng = np.random.default_rng(0)
    n = 900
    codes = np.concatenate([np.arange(70), rng.integers(0, 70, n - 70)]).astype(float)
    y = (rng.random(n) < np.where(codes % 8 == 1, 0.4, 0.05)).astype(np.int64)
    panel = new_panel(0, 1, 3)
    begin(panel)
    panel = room_for_rows(with_room(with_classes(panel, 2), columns=70), n)
    work, s, bins = new_panel_work(panel, 2), np.zeros((1, 2)), []
    for b in range(n):
        X = codes[b : b + 1, None]
        ask_panel(panel, X, 2, work, s)
        counts = [np.bincount(codes[:b][y[:b] == c].astype(int), minlength=70) for c in range(2)]
        bins.append(int(work.members[1].bins[0]) - 1)
        if codes[b] >= 64 or b < 65:
            assert bins[-1] == codes[b]
        else:
            pi = (np.array([sum(own) for own in counts]) + 0.5) / (b + 1.0)
            rarer = int(pi[1] < pi[0])
            ratio = pi[1 - rarer] / pi[rarer] * counts[rarer].sum() / counts[1 - rarer].sum()
            p = np.array([counts[rarer][int(codes[b])], ratio * counts[1 - rarer][int(codes[b])]])
            p += 10.0 * np.array([pi[rarer], pi[1 - rarer]])
            d = np.log(p[0] / p[1]) - np.log(pi[rarer] / pi[1 - rarer])
            if min(abs(d - limit) for limit in evidence.LIMITS) > 1e-6:
                assert bins[-1] == 64 + 8 * rarer + sum(d > limit for limit in evidence.LIMITS)
        learn_panel(panel, X, y[b : b + 1], np.ones(1), 2, work, s)
    late = np.array(bins[600:])[codes[600:] < 64], codes[600:][codes[600:] < 64] % 8 == 1
    assert late[0][late[1]].mean() > late[0][~late[1]].mean() + 3.0


def test_values_that_are_known_in_advance_keep_their_own_cells():
    """They have codes from the start, and code 64 may be one of them: then it is not met after all before it."""
    codes = np.random.default_rng(0).permutation(70).astype(float)
    panel = new_panel(0, 1, 3)
    begin(panel)
    panel = room_for_rows(with_room(with_classes(panel, 2), columns=70), 140)
    work, s = new_panel_work(panel, 2), np.zeros((1, 2))
    for code in [*codes, *codes]:
        learn_panel(panel, np.array([[code]]), np.array([int(code) % 2]), np.ones(1), 2, work, s)
        assert work.members[1].bins[0] == code + 1


def parities(n, of, seed=1):
    """The class is the parity of some of five columns of two values."""
    codes = np.random.default_rng(seed).integers(0, 2, (n, 5))
    return codes.astype(np.float64), codes[:, :of].sum(axis=1) % 2


@pytest.mark.parametrize("of", [1, 2, 3])
def test_each_order_learns_what_takes_so_many_columns(of):
    n = 400
    X, y = parities(n, of)
    panel = fresh(0, 5, 10, n)
    work, s, right = new_panel_work(panel, K), np.zeros((1, K)), np.zeros(3)
    for b in range(n):
        learn_panel(panel, X[b : b + 1], y[b : b + 1], np.ones(1), K, work, s)
        right += (b >= n // 2) * (work.members[1].p.argmax(axis=1) == y[b])
    share = right / (n - n // 2)
    assert (share[of - 1 :] > 0.85).all(), share
    assert (share[: of - 1] < 0.65).all(), share


def test_by_the_rules_of_older_files_they_say_and_learn_nothing():
    X, y, weight = stream(80, 3, 2)
    panel = fresh(3, 2, 8, 80)
    panel.rules[0] = 2
    before = [field.copy() for field in panel.members.additive]
    work = new_panel_work(panel, K)
    learn_panel(panel, X, y, weight, K, work, np.zeros((80, K)))
    for was, now in zip(before, panel.members.additive, strict=True):
        np.testing.assert_array_equal(was, now)
    np.testing.assert_allclose(work.newton.logits[VOICES], 0.0, atol=1e-15)
    np.testing.assert_array_equal(panel.newton.beta[VOICES], 0.0)


def test_a_new_cell_takes_over_what_shared_one_with_it():
    """Linear hashing: with one cell more, a combination stays where it is, or moves from the copied cell to the new."""
    keys = np.random.default_rng(0).integers(0, 1 << 62, 300)
    for n in (1, 2, 63, 64, 65, 127, 128, 1000):
        spans = additive.span_of(n), additive.span_of(n + 1)
        copied = n - additive.span_of(n)
        for key in keys:
            old, new = additive.place(key, n, spans[0]), additive.place(key, n + 1, spans[1])
            assert 0 <= old < n
            assert new == old or (new, old) == (n, copied)
