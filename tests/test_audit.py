"""For which rows probabilities are wrong: what `Result.audit` says, beside sums written out, and by chance alone."""

import math

import numpy as np
import pytest

from onlineboost import AdaBoostOLM, HoeffdingTree, load_dataset, prequential
from onlineboost.data.table import Table
from onlineboost.evaluation import MajorityClass, Result


def a_result(p, y, labels, weight=None):
    predictions = np.array(labels)[p.argmax(axis=1)]
    return Result(predictions, y, 1.0, probabilities=p, classes=np.array(labels), weight=weight)


def drawn(rng, n, k):
    """Rows whose labels are drawn with the probabilities that are said of them."""
    x = rng.normal(size=n)
    logits = np.outer(x, rng.normal(size=k))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(k, p=row) for row in p])
    colour = np.array(["red", "blue", None], object)[rng.integers(3, size=n)]
    return Table(("x", "colour"), (x, colour)), y, p


def test_gaps_are_the_sums_that_the_page_says():
    rng = np.random.default_rng(0)
    X, y, p = drawn(rng, 500, 3)
    weight = rng.exponential(size=500)
    audit = a_result(p, y, [0, 1, 2], weight).audit(X)
    found = {(gap.column, gap.group, gap.label): gap for gap in audit}
    groups = {("in all rows", ""): [True] * 500}
    groups |= {("colour", f"is {name}"): [v == name for v in X.columns[1]] for name in ("red", "blue")}
    groups["colour", "is missing"] = [v is None for v in X.columns[1]]
    first, second, _ = np.quantile(X.columns[0], [0.25, 0.5, 0.75]).tolist()
    groups["x", f"<= {first!r}"] = [v <= first for v in X.columns[0]]
    groups["x", f"> {first!r} and <= {second!r}"] = [first < v <= second for v in X.columns[0]]
    for (column, group), inside in groups.items():
        for label in range(3):
            rows = [i for i in range(500) if inside[i]]
            excess = sum(weight[i] * (p[i, label] - (y[i] == label)) for i in rows)
            variance = sum(weight[i] ** 2 * p[i, label] * (1 - p[i, label]) for i in rows)
            mass = sum(weight[i] for i in rows)
            if variance < 5.0 * np.mean([weight[i] ** 2 for i in rows]):  # too few to say anything
                assert (column, group, label) not in found
                continue
            gap = found[column, group, label]
            assert gap.rows == len(rows)
            assert gap.z == pytest.approx(excess / math.sqrt(variance))
            assert gap.said - gap.seen == pytest.approx(excess / mass)
    assert [abs(gap.z) for gap in audit] == sorted((abs(gap.z) for gap in audit), reverse=True)


def test_right_probabilities_have_no_gap_beyond_chance_in_19_of_20_runs():
    false = 0
    for seed in range(200):
        X, y, p = drawn(np.random.default_rng(seed), 300, 2 + seed % 2)
        false += bool(a_result(p, y, list(range(p.shape[1]))).audit(X).beyond_chance)
    assert false <= 20  # 10 expected at most; more than 20 in one of 700 trials


def test_a_group_that_is_told_wrong_is_found_and_named():
    rng = np.random.default_rng(1)
    X, y, p = drawn(rng, 3000, 2)
    red = X.columns[1] == "red"
    p[red] = 0.5 * p[red] + [0.45, 0.05]
    audit = a_result(p, np.array(["no", "yes"])[y], ["no", "yes"]).audit(X)
    assert (audit[0].column, audit[0].group) == ("colour", "is red")
    assert {gap.label for gap in audit} == {audit[0].label}  # of two labels one
    assert ("colour", "is blue") not in {(gap.column, gap.group) for gap in audit.beyond_chance}
    assert "where colour is red" in str(audit).splitlines()[1]


def test_rows_of_which_nothing_was_said_are_left_out():
    X, y, p = drawn(np.random.default_rng(2), 600, 3)
    p[:100] = 0.0
    everywhere = [gap for gap in a_result(p, y, [0, 1, 2]).audit(X) if gap.column == "in all rows"]
    assert [gap.rows for gap in everywhere] == [500] * 3
    rest = a_result(p[100:], y[100:], [0, 1, 2]).audit(X[100:])
    assert everywhere == [gap for gap in rest if gap.column == "in all rows"]


def test_tiny_weights_are_no_weights():
    table, y, p = drawn(np.random.default_rng(2), 400, 3)
    plain = a_result(p, y, [0, 1, 2]).audit(table)
    tiny = a_result(p, y, [0, 1, 2], np.full(400, 1e-200)).audit(table)
    assert [gap.z for gap in tiny] == pytest.approx([gap.z for gap in plain])
    of_one_row = a_result(p, y, [0, 1, 2], np.where(np.arange(400) < 200, 1.0, 1e-200)).audit(table)
    assert all(np.isfinite(gap.z) for gap in of_one_row)


def test_labels_that_are_written_alike_are_one_class():
    X = np.random.default_rng(3).normal(size=(400, 2))
    low = X[:, 0] < 0.0
    mixed = np.array(["b" if own else "1" if b % 2 else 1 for b, own in enumerate(low)], object)
    clf = HoeffdingTree(sets=True)
    result, want = prequential(clf, X, mixed, sets=0.9), prequential(HoeffdingTree(), X, low, sets=0.9)
    assert result.accuracy == want.accuracy
    assert result.coverage == want.coverage
    assert [gap.z for gap in result.audit(X)] == pytest.approx([gap.z for gap in want.audit(X)])
    as_text, as_numbers = (prequential(clf.snapshot(), X, [("b" if own else one) for own in low]) for one in ("1", 1))
    assert as_text.accuracy == as_numbers.accuracy > 0.9
    given = prequential(HoeffdingTree(), X, low.astype(int).astype(str), classes=[0, 1])
    assert given.accuracy == want.accuracy


def test_without_probabilities_it_says_what_it_needs():
    data = load_dataset("balance")
    result = prequential(MajorityClass(), data.X, data.y)
    result.probabilities = None
    with pytest.raises(ValueError, match="audit needs probabilities"):
        result.audit(data.X)
    with pytest.raises(ValueError, match="625"):
        prequential(AdaBoostOLM(2), data.X, data.y).audit(data.X[:10])


@pytest.mark.parametrize("delay", [39, 40, 100])
def test_where_no_label_came_in_time_it_says_so(delay):
    X, y = [[0.0], [1.0]] * 20, ["a", "b"] * 20
    with pytest.raises(ValueError, match="no label had come before the last row; take a shorter delay"):
        prequential(HoeffdingTree(), X, y, delay=delay).audit(X)
