"""Test, then train: what `prequential` reports is what was predicted before each label was learned."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from helpers import in_blocks, mixed_stream, model_state, number_stream
from onlineboost import AdaBoostOLM, HoeffdingTree, evaluation, prequential
from onlineboost.data.errors import DataError
from onlineboost.data.frames import as_table
from onlineboost.data.table import Block
from onlineboost.evaluation import LastClass, MajorityClass, Result, Tally, runner


def test_a_run_is_predict_then_learn_row_by_row():
    X, y, _ = mixed_stream(200, seed=1)
    result = prequential(AdaBoostOLM(4), X, y)
    by_hand, said = AdaBoostOLM(4), []
    for b in range(200):
        x = X[b : b + 1]
        said.append(by_hand.predict(x)[0] if b else by_hand.test_then_train(x, y[:1], classes=np.unique(y))[0])
        if b:
            by_hand.partial_fit(x, y[b : b + 1])
    assert result.predictions.tolist() == said
    assert result.y.tolist() == y.tolist()


@pytest.mark.parametrize("block_rows", [1, 37, 4096])
def test_the_size_of_the_blocks_does_not_matter(monkeypatch, block_rows):
    X, y, _ = mixed_stream(150, seed=2)
    monkeypatch.setattr(runner, "BLOCK_ROWS", block_rows)
    clf = HoeffdingTree()
    result = prequential(clf, X, y)
    whole = HoeffdingTree()
    assert result.predictions.tolist() == whole.test_then_train(X, y, classes=np.unique(y)).tolist()
    assert model_state(clf) == model_state(whole)


def test_frames_lists_and_blocks_give_the_same_run():
    X, y, _ = mixed_stream(120, seed=3)
    names = ["colour", "length", "size", "width", "count"]
    frame = pd.DataFrame({name: list(column) for name, column in zip(names, X.T, strict=True)})
    table = as_table(frame)
    blocks = [Block(table[a : a + 50], y[a : a + 50], a, min(1.0, (a + 50) / 120)) for a in range(0, 120, 50)]
    want = prequential(AdaBoostOLM(3), X, y).predictions.tolist()
    assert prequential(AdaBoostOLM(3), frame, pd.Series(y)).predictions.tolist() == want
    assert prequential(AdaBoostOLM(3), X.tolist(), y.tolist()).predictions.tolist() == want
    assert prequential(AdaBoostOLM(3), blocks, classes=np.unique(y)).predictions.tolist() == want


def test_classes_grow_with_blocks_that_do_not_say_them():
    X, y, _ = mixed_stream(120, seed=3)
    table = as_table(X)
    blocks = [Block(table[a : a + 50], y[a : a + 50], a, 1.0) for a in range(0, 120, 50)]
    result = prequential(AdaBoostOLM(3), iter(blocks))
    assert result.predictions.tolist() == in_blocks(AdaBoostOLM(3), X, y, 120)
    assert result.predictions[0] is None
    assert not result.right[0]


@pytest.mark.parametrize("delay", [None, 2])
def test_the_baselines_take_weights(delay):
    y = np.array(["a", "b", "b", "a", "b", "c"])
    X, weight = np.zeros((6, 1)), np.array([3.0, 1.0, 1.0, 1.0, 4.0, 1.0])
    majority = prequential(MajorityClass(), X, y, weight=weight, delay=delay)
    assert majority.predictions.tolist() == ([None, *"aaaab"] if delay is None else [None, None, None, *"aaa"])
    assert majority.metrics.accuracy == 1 / 11
    last = prequential(LastClass(), X, y, weight=weight, delay=delay)
    assert last.predictions.tolist() == prequential(LastClass(), X, y, delay=delay).predictions.tolist()


def test_any_classifier_with_partial_fit_can_be_measured():
    X, y = number_stream(200, n_classes=2)
    model, said = _Mean(), []
    result = prequential(_Mean(), X, y)
    for b in range(200):
        said.append(model.predict(X[b : b + 1])[0] if b else None)
        model.partial_fit(X[b : b + 1], y[b : b + 1])
    assert result.predictions.tolist() == said
    assert 0.5 < result.tail_accuracy(0.5) <= 1.0


class _Mean:
    """Nearest running class mean."""

    def __init__(self):
        self.sums = {}

    def partial_fit(self, X, y, classes=None):
        total, count = self.sums.get(int(y[0]), (0.0, 0))
        self.sums[int(y[0])] = (total + X[0], count + 1)
        return self

    def predict(self, X):
        far = {label: ((X[0] - total / count) ** 2).sum() for label, (total, count) in self.sums.items()}
        return np.array([min(far, key=far.__getitem__)])


def test_a_classifier_of_numbers_is_told_that_a_column_is_nominal():
    X, y, _ = mixed_stream(20)
    with pytest.raises(DataError, match=r"_Mean needs numbers.*nominal"):
        prequential(_Mean(), as_table(X), y)


def test_measures():
    y = np.array(list("aabbbaabbb"))
    result = Result(predictions=np.array(list("aababaaabb")), y=y, seconds=2.0)
    assert result.right.tolist() == [True, True, True, False, True, True, True, False, True, True]
    assert result.accuracy == 0.8
    assert result.tail_accuracy(0.3) == pytest.approx(2 / 3)
    assert result.tail_accuracy(1.0) == 0.8
    assert result.tail_accuracy(1e-9) == 1.0  # at least one example
    assert result.examples_per_second == 5.0
    at, share = result.curve(2)
    assert (at.tolist(), share.tolist()) == ([5, 10], [0.8, 0.8])
    at, share = result.curve(1000)
    assert at.tolist() == list(range(1, 11))
    assert share.tolist() == result.right.tolist()


def test_a_result_prints_as_a_line():
    labels = np.array(["a", "b"] * 6000)
    result = Result(predictions=np.array(["a"] * 12000), y=labels, seconds=2.0)
    line = "Result(12,000 examples, accuracy 0.5000, last 20 % 0.5000, 2.00 s, 6,000 examples/s)"
    assert repr(result) == str(result) == line
    assert repr(Result(labels[:0], labels[:0], 0.0)) == "Result(0 examples)"


def test_the_curve_averages_to_the_accuracy():
    rng = np.random.default_rng(0)
    result = Result(rng.integers(3, size=1013), rng.integers(3, size=1013), 1.0)
    at, share = result.curve(50)
    assert np.diff([0, *at]) @ share / 1013 == pytest.approx(result.accuracy)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, np.nan])
def test_a_share_outside_the_stream_is_named(share):
    with pytest.raises(ValueError, match=r"share must lie in \(0, 1\]"):
        Result(np.array([1]), np.array([1]), 1.0).tail_accuracy(share)


def test_progress_is_told_after_every_block(monkeypatch):
    monkeypatch.setattr(runner, "BLOCK_ROWS", 40)
    X, y = number_stream(100)
    told = []
    prequential(HoeffdingTree(), X, y, progress=lambda seen, share: told.append((seen, share)))
    assert told == [(40, 0.4), (80, 0.8), (100, 1.0)]


def test_what_cannot_be_run_is_named():
    X, y = number_stream(10)
    with pytest.raises(DataError, match="10 rows and y has 9"):
        prequential(HoeffdingTree(), X, y[:9])
    with pytest.raises(DataError, match="empty"):
        prequential(HoeffdingTree(), iter([]))
    with pytest.raises(DataError, match="empty"):
        prequential(HoeffdingTree(), X[:0], y[:0])


@pytest.mark.parametrize("delay", [None, 2])
def test_what_there_is_to_warn_of_is_said_once(delay):
    """Not a second time by the copy that has the kernels compiled."""
    X, y = np.array([[2**53 + 1, 0], [2**53 + 3, 1]] * 20), np.array(["a", "b"] * 20)
    with pytest.warns(UserWarning, match="beyond 2\\*\\*53") as told:
        prequential(HoeffdingTree(), X, y, delay=delay)
    assert len(told) == 1


def test_the_package_has_what_it_says():
    assert evaluation.__all__ == sorted(evaluation.__all__)
    for name in evaluation.__all__:
        assert hasattr(evaluation, name)
    assert evaluation.prequential is prequential


def test_baselines():
    y = np.array(list("abbacbb"), object)
    X = np.zeros((7, 1))
    assert prequential(MajorityClass(), X, y).predictions.tolist() == [None, "a", "a", "b", "a", "a", "b"]
    assert prequential(LastClass(), X, y).predictions.tolist() == [None, "a", "b", "b", "a", "c", "b"]
    model = LastClass()
    cut = [said for a in (0, 3, 6) for said in model.test_then_train(X[a : a + 3], y[a : a + 3])]
    assert cut == [None, "a", "b", "b", "a", "c", "b"]


def test_the_accuracy_of_the_tail_is_a_number_that_can_be_called():
    y = np.array(["a"] * 10)
    result = Result(np.array(["b"] * 5 + ["a"] * 5), y, 1.0)
    tally = Tally()
    tally.add(result.right, 1.0)
    for each in (result, tally):
        assert each.accuracy == 0.5
        assert each.tail_accuracy == each.tail_accuracy() == 1.0
        assert each.tail_accuracy(1.0) == 0.5
        assert json.dumps({"tail": each.tail_accuracy}) == '{"tail": 1.0}'
        assert type(pickle.loads(pickle.dumps(each.tail_accuracy))) is float


def test_probabilities_of_all_blocks_are_in_the_columns_of_the_classes_at_the_end():
    """Classes come late, and take their places among the others."""
    X, y, _ = mixed_stream(90, seed=3)
    names = {"a": "m", "b": "z", "c": "k", "d": "a"}
    labels = np.array([names[label] for label in y], object)
    table = as_table(X)
    parts = [Block(table[a : a + 30], labels[a : a + 30], a, (a + 30) / 90) for a in range(0, 90, 30)]
    for model, delay in ((AdaBoostOLM(3), None), (AdaBoostOLM(3), 4)):
        result = prequential(model, iter(parts), delay=delay)
        assert result.classes.tolist() == sorted(set(labels)) == result.metrics.labels
        one = AdaBoostOLM(3)
        for b in range(50):
            if b and delay is None:
                known = one.predict_proba_one(list(X[b]))
                assert result.probabilities[b].tolist() == [known.get(label, 0.0) for label in result.classes]
            one.learn_one(list(X[b]), labels[b])
        spoke = result.probabilities.sum(axis=1) > 0.0
        likeliest = result.classes[result.probabilities.argmax(axis=1)]
        assert likeliest[spoke].tolist() == result.predictions[spoke].tolist()
        confusion = result.metrics.confusion
        assert confusion[0, 0] == ((labels == "a") & (result.predictions == "a")).sum()
        assert [one["label"] for one in result.metrics.per_class()] == result.classes.tolist()


def test_rows_without_labels_are_named():
    X, y = number_stream(10)
    for stream in (X, [(X, y)], pd.DataFrame(X)):
        with pytest.raises(DataError, match="give X and y"):
            prequential(HoeffdingTree(), stream)
