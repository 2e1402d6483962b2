"""The scikit-learn facade: any labels, any frames, one row or many, and an invalid call leaves the model as it was."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference
from helpers import (
    assert_finite,
    assert_same_tree,
    forest_of,
    frozen,
    mixed_stream,
    model_state,
    number_stream,
    plain,
    twins_of,
)
from onlineboost import AdaBoostOLM, EagerTrees, HoeffdingTree, NearestNeighbours, RefittedTrees, lookup
from onlineboost._compile.random import SAMPLE, SETTING, uniform
from onlineboost.registry import ENTRIES

KINDS = [lookup.make(entry.name, n_learners=4) for entry in ENTRIES]


@pytest.fixture(params=KINDS, ids=lambda clf: type(clf).__name__)
def clf(request):
    """A fresh classifier of every kind."""
    return clone(request.param)


# ---------------------------------------------------------------------------------------- scikit-learn's own checks

CANNOT_HOLD = {
    "check_sample_weight_equivalence_on_dense_data": (
        "one example of weight 2 is one round of learning, two copies are two: online they are not the same stream"
    ),
}


OWN_LABEL = {
    "check_class_weight_classifiers": "rows of next to no weight still decide where there are no others near",
}


def cannot_hold(estimator):
    near = isinstance(estimator, EagerTrees | NearestNeighbours | RefittedTrees)
    return CANNOT_HOLD | OWN_LABEL if near else CANNOT_HOLD


@parametrize_with_checks(KINDS, expected_failed_checks=cannot_hold)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------------------------ frames and columns


def frames(X):
    """The mixed stream in all kinds of frames."""
    columns = dict(zip(("colour", "length", "size", "width", "count"), X.T, strict=True))
    lists = {name: list(column) for name, column in columns.items()}
    return {
        "numpy": X,
        "pandas": pd.DataFrame(lists),
        "polars": pl.DataFrame(lists),
        "pyarrow": pa.table(lists),
    }


def test_y_may_be_a_series_and_a_list(clf, numbers):
    X, y = numbers
    states = []
    for labels in (y, y.tolist(), pd.Series(y), pl.Series(y)):
        states.append(model_state(clone(clf).fit(X, labels)))
    assert states == states[:1] * 4


@pytest.mark.parametrize("given", [["c", "a"], [0, 2], [True, False, True]], ids=["names", "positions", "mask"])
def test_categorical_features(clf, given):
    rng = np.random.default_rng(0)
    codes = rng.integers(4, size=(300, 3)).astype(float)
    y = (codes[:, 0] % 2 + codes[:, 2] % 2) % 2  # nothing a threshold can find
    frame = pd.DataFrame(codes, columns=["a", "b", "c"])
    clf.set_params(categorical_features=given).fit(frame, y)
    text = clone(clf).set_params(categorical_features=None)
    text.fit(frame.astype({"a": str, "c": str}), y)
    assert clf._model.encoder.nominal == text._model.encoder.nominal == [0, 2]
    assert clf.predict(frame).tolist() == text.predict(frame.astype({"a": str, "c": str})).tolist()


def test_categories_and_text_of_the_same_order_of_appearance_predict_the_same():
    X, y, _ = mixed_stream(200, seed=3)
    text = frames(X)["pandas"]
    values = {c: [v for v in dict.fromkeys(text[c]) if isinstance(v, str)] for c in ("colour", "size")}
    category = text.astype({c: pd.CategoricalDtype(values[c]) for c in values})
    enum = pl.DataFrame({c: list(column) for c, column in zip(text.columns, X.T, strict=True)}).with_columns(
        *(pl.col(c).cast(pl.Enum(values[c])) for c in values)
    )
    said = [HoeffdingTree().fit(frame, y).predict(frame).tolist() for frame in (category, enum)]
    assert said[0] == said[1]


def test_a_list_of_mixed_rows_is_taken_as_single_rows_are(clf):
    X, y, _ = mixed_stream(60, seed=2, missing=0.0)
    rows = X.tolist()
    block = clone(clf).partial_fit(rows, y)
    for x, label in zip(rows, y, strict=True):
        clf.learn_one(x, label)
    assert model_state(clf)["chain"] == model_state(block)["chain"]


# ------------------------------------------------------------------------------------------- fit, seeds, settings


def test_fit_forgets_and_partial_fit_does_not(clf, numbers):
    X, y = numbers
    once = model_state(clone(clf).fit(X, y))
    assert model_state(clf.fit(X[:50], y[:50]).fit(X, y)) == once
    assert clf.n_samples_seen_ == 300
    assert clf.partial_fit(X, y).n_samples_seen_ == 600
    assert model_state(clf) != once


def test_random_state_may_be_anything_scikit_learn_takes(numbers):
    X, y = numbers
    for state in (3, np.int64(3)):
        again = model_state(AdaBoostOLM(3, random_state=3).fit(X, y))
        assert model_state(AdaBoostOLM(3, random_state=state).fit(X, y)) == again
    source = [np.random.RandomState(1) for _ in range(2)]
    first, second = (model_state(AdaBoostOLM(3, random_state=state).fit(X, y)) for state in source)
    assert first == second
    seeds = {AdaBoostOLM(3, random_state=None).fit(X, y)._model.chain.seed for _ in range(3)}
    assert len(seeds) == 3


def test_settings_are_drawn_once_per_learner_from_their_ranges():
    X, y = number_stream(30)
    tree = HoeffdingTree(grace_period=(5, 9), split_confidence=(0.01, 0.5), tie_threshold=(0.02, 0.2))
    forests = {}
    for n in (3, 200):
        clf = AdaBoostOLM(n, learner=tree, weight_scale=(2, 4), random_state=5).fit(X, y)
        forests[n] = forest_of(clf)
        scale = clf._model.chain.gather("scale")
    u = np.array([[uniform(5, SETTING, i, which) for which in range(4)] for i in range(200)])
    forest = forests[200]
    np.testing.assert_allclose(forest.grace, 5.0 + 4.0 * u[:, 0])
    np.testing.assert_allclose(np.exp(-forest.log_delta), 0.01 * 50.0 ** u[:, 1])
    np.testing.assert_allclose(forest.tie, 0.02 * 10.0 ** u[:, 2])
    np.testing.assert_allclose(scale, 2.0 + 2.0 * u[:, 3])
    np.testing.assert_array_equal(forest.unit, scale)
    np.testing.assert_array_equal(forests[3].grace, forest.grace[:3])  # learner i is the same in a longer chain


def test_ways_to_give_the_weight_scale():
    X, y = number_stream(30)

    def scale(given, n=4):
        return AdaBoostOLM(n, weight_scale=given).fit(X, y)._model.chain.gather("scale").tolist()

    assert scale(3) == [3.0] * 4
    assert scale([1, 2, 3, 4]) == [1.0, 2.0, 3.0, 4.0]
    assert scale((1, 2), n=2) != [1.0, 2.0]  # a tuple of two is a range
    assert scale([1, 2], n=2) == [1.0, 2.0]
    rising = scale("rising", n=10)
    assert rising == sorted(rising)
    assert rising[0] < rising[-1]
    assert len(rising) == 10
    assert len(scale("rising", n=1)) == 1


def test_alphas_edges_and_expert_weights_keep_their_bounds(mixed):
    X, y, weight = mixed
    for loss, bound in (("logistic", 2.0), ("exponential", 2.0), ("squared_hinge", 1.0 / np.sqrt(6.0))):
        clf = AdaBoostOLM(6, loss=loss)
        for a in range(0, 300, 50):
            clf.partial_fit(X[a : a + 50], y[a : a + 50], sample_weight=weight[a : a + 50])
            assert (np.abs(clf.alphas_) <= bound).all()
            assert (np.abs(clf.edges_) <= 1.0).all()
            assert clf.expert_weights_.sum() == pytest.approx(1.0)
            assert (clf.expert_weights_ >= 0.0).all()
        assert clf.alphas_.any()


def test_boosting_is_better_than_one_tree_and_a_tree_better_than_nothing():
    X, y = number_stream(3000, d=6, n_classes=4, seed=1)
    tail = slice(2000, None)
    right = [(model.test_then_train(X, y)[tail] == y[tail]).mean() for model in (HoeffdingTree(), AdaBoostOLM(30))]
    assert right[0] > 0.4
    assert right[1] > right[0] - 0.02


# -------------------------------------------------------------------------------------- streams that are hard to like

HARD = {
    "constant columns": lambda rng: np.ones((200, 3)),
    "nothing known": lambda rng: np.full((200, 3), np.nan),
    "a column never known": lambda rng: np.column_stack([rng.normal(size=200), np.full(200, np.nan)]),
    "a column known late": lambda rng: np.column_stack(
        [rng.normal(size=200), np.where(np.arange(200) < 150, np.nan, 1.0 * np.arange(200))]
    ),
    "huge": lambda rng: rng.normal(size=(200, 3)) * 1e150,
    "small": lambda rng: rng.normal(size=(200, 3)) * 1e-200,
    "subnormal": lambda rng: rng.normal(size=(200, 3)) * 1e-310,
    "far from zero": lambda rng: rng.normal(size=(200, 3)) * 1e-3 + 1e12,
    "few rows again and again": lambda rng: rng.normal(size=(4, 3))[rng.integers(4, size=200)],
    "huge and small": lambda rng: rng.normal(size=(200, 3)) * 10.0 ** rng.integers(-150, 150, size=(200, 3)),
    "a step": lambda rng: np.repeat([[0.0], [1.0]], 100, axis=0),
}


@pytest.mark.parametrize("leaf", ["majority", "nb", "nba"])
@pytest.mark.parametrize("stream", HARD)
def test_nothing_but_numbers_comes_of_hard_streams(stream, leaf):
    rng = np.random.default_rng(0)
    X, y = HARD[stream](rng), rng.integers(3, size=200)
    tree = HoeffdingTree(leaf_prediction=leaf, grace_period=5, tie_threshold=0.5)
    for model in (tree, AdaBoostOLM(4, learner=clone(tree), weight_scale=(1, 20))):
        for labels in (y, np.zeros(200, int)):
            model = clone(model).partial_fit(X[:100], labels[:100]).partial_fit(X[100:], labels[100:])
            assert_finite(model)
            p = model.predict_proba(X)
            assert np.isfinite(p).all()
            np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_predictions_stay_proper_when_squares_overflow(clf):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1.0, 1.0, size=(200, 3)), rng.integers(3, size=200)
    X[::7, 1] = np.nan
    for size in (1e155, 1e200, 1.7e308):
        p = clf.fit(X * size, y).predict_proba(X * size)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        if isinstance(clf, AdaBoostOLM):
            assert np.isfinite(clf.alphas_).all()


@pytest.mark.parametrize("loss", ["logistic", "exponential", "squared_hinge"])
@pytest.mark.parametrize("weight", [1e-12, 1e6])
def test_weights_of_any_size(loss, weight, numbers):
    X, y = numbers
    clf = AdaBoostOLM(5, loss=loss).partial_fit(X, y, sample_weight=np.full(300, weight))
    assert_finite(clf)
    assert np.isfinite(clf.predict_proba(X)).all()


def test_a_stream_of_text_alone_and_of_one_column(clf):
    X = np.array([["u"], ["v"], ["w"]] * 60, object)
    y = ["a", "b", "a"] * 60
    assert clf.fit(X, y).predict(X[:3]).tolist() == ["a", "b", "a"]


def test_many_classes(clf):
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(150), rng.integers(150, size=50)])
    X = y[:, None] + rng.normal(size=(200, 2))
    clf.partial_fit(X, y)
    assert_finite(clf)
    assert clf.predict_proba(X[:5]).shape == (5, 150)


# ------------------------------------------------------------------------------------------------- other weak learners


class Sampled(BaseEstimator):
    """Label counts by the sign of the first column; takes no weights."""

    def partial_fit(self, X, y, classes=None):
        if not hasattr(self, "counts"):
            self.counts = np.full((2, len(classes)), 0.1)
        for x, label in zip(X, y, strict=True):
            self.counts[int(x[0] > 0.0), label] += 1.0
        return self

    def predict_proba(self, X):
        side = self.counts[(X[:, 0] > 0.0).astype(int)]
        return side / side.sum(axis=1, keepdims=True)


class Outside:
    """The twin's view of a scikit-learn learner: one that knows nothing gives every label the same probability."""

    def __init__(self, learner, i, scale, seed):
        self.learner, self.i, self.scale, self.seed = learner, i, scale, seed
        self.weighted = not isinstance(learner, Sampled)
        self.started = False

    def distribution(self, x, k):
        p = self.learner.predict_proba(np.array([x]))[0].tolist() if self.started else [np.nan]
        return p if np.isfinite(p).all() else [1.0 / k] * k

    def learn(self, x, y, weight, t):
        X, y, classes = np.array([x]), np.array([y]), np.arange(3)
        if self.weighted:
            self.learner.partial_fit(X, y, classes=classes, sample_weight=np.array([weight]))
        elif weight > uniform(self.seed, SAMPLE, self.i, t) * self.scale:
            self.learner.partial_fit(X, y, classes=classes)
        else:
            return
        self.started = True


def outside(learner, scale, seed):
    """The twin's learners: copies of a scikit-learn one, with the seeds that the booster gives them."""
    copies = [clone(learner) for _ in scale]
    if "random_state" in learner.get_params():
        copies = [copy.set_params(random_state=seed + i) for i, copy in enumerate(copies)]
    return [Outside(copy, i, scale[i], seed) for i, copy in enumerate(copies)]


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(
    "learner", [SGDClassifier(loss="log_loss"), GaussianNB(), Sampled()], ids=lambda learner: type(learner).__name__
)
def test_a_learner_of_another_make_is_boosted_by_the_same_algorithm(learner, numbers):
    X, y = numbers
    X, y, scale = X[:200], y[:200], [1.0, 2.0, 0.5]
    clf = AdaBoostOLM(3, learner=learner, weight_scale=scale, random_state=9)
    said = clf.test_then_train(X, y, classes=[0, 1, 2]).tolist()

    twin = reference.AdaboostOLM(outside(learner, scale, 9), "logistic", scale, 9, clf.vote)
    assert said == [twin.round(x, label, 3) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    np.testing.assert_allclose(clf.alphas_, twin.alpha, atol=1e-9)
    np.testing.assert_allclose(clf.edges_, twin.edges, atol=1e-9)
    assert clf.predict(X[:30]).tolist() == [twin.predict(x, 3) for x in X[:30].tolist()]
    assert (np.array(said[100:]) == y[100:]).mean() > 0.35


def test_a_learner_of_another_make_needs_the_classes(numbers):
    X, y = numbers
    clf = AdaBoostOLM(3, learner=Sampled())
    with pytest.raises(ValueError, match="classes"):
        clf.partial_fit(X, y)
    assert clf.fit(X, y).n_samples_seen_ == 300  # fit knows them


def test_trees_in_a_booster_are_trees_of_their_own(mixed):
    """A booster of one tree trains it on weights that depend on nothing: the tree is the twin's, too."""
    X, y, weight = mixed
    clf = AdaBoostOLM(1, learner=HoeffdingTree(grace_period=12, max_features=1.0), weight_scale=2.0)
    clf.partial_fit(X, y, classes=list("abcd"), sample_weight=weight)
    past = reference.Past(3, 2)
    (tree,) = twins_of(forest_of(clf), past, 0)
    twin = reference.AdaboostOLM([tree], "logistic", [2.0], 0, clf.vote)
    reference.run(twin, past, plain(X), ["abcd".index(label) for label in y], weight, k=4)
    assert_same_tree(forest_of(clf), 0, tree.root)


# -------------------------------------------------------------------------------- an invalid call changes nothing

GOOD_X, GOOD_Y = number_stream(40, d=2)


def fitted(clf):
    return clf.partial_fit(GOOD_X, GOOD_Y, classes=[0, 1, 2])


BAD_BLOCKS = {
    "too many columns": (np.zeros((2, 3)), [0, 1], None, r"3 features.*expecting 2"),
    "too few columns": (np.zeros((2, 1)), [0, 1], None, r"1 features.*expecting 2"),
    "text in a numeric column": (np.array([[1.0, 2.0], ["tall", 2.0]], object), [0, 1], None, r"row 1.*'x0'.*'tall'"),
    "infinity": (np.array([[1.0, 2.0], [1.0, np.inf]]), [0, 1], None, r"row 1.*'x1'.*infinity"),
    "one dimension": (np.zeros(2), [0, 1], None, r"Expected 2D array"),
    "an unknown label": (np.zeros((2, 2)), [0, 7], None, r"row 1: unknown label 7"),
    "a missing label": (np.zeros((2, 2)), np.array([0.0, np.nan]), None, r"(missing|NaN)"),
    "no rows": (np.zeros((0, 2)), [], None, r"0 sample"),
    "more labels than rows": (np.zeros((2, 2)), [0, 1, 2], None, r"2 rows and y has 3"),
    "labels in two columns": (np.zeros((2, 2)), [[0, 1], [1, 0]], None, r"(1d|multilabel)"),
    "no labels": (np.zeros((2, 2)), None, None, r"y"),
    "a negative weight": (np.zeros((2, 2)), [0, 1], [1.0, -1.0], r"row 1: sample_weight is -1"),
    "a weight that is not a number": (np.zeros((2, 2)), [0, 1], [np.nan, 1.0], r"row 0: sample_weight is nan"),
    "an infinite weight": (np.zeros((2, 2)), [0, 1], [1.0, np.inf], r"row 1: sample_weight is inf"),
    "weights as text": (np.zeros((2, 2)), [0, 1], ["1", "2"], r"row 0: sample_weight is '1'"),
    "a weight as text": (np.zeros((2, 2)), [0, 1], np.array([1.0, "2"], object), r"row 1: sample_weight is '2'"),
    "too many weights": (np.zeros((2, 2)), [0, 1], [1.0] * 3, r"sample_weight"),
    "weights in two columns": (np.zeros((2, 2)), [0, 1], np.ones((2, 2)), r"1D"),
}


NO_ERROR_LATER = {"no rows"}  # once the columns are known
# fit starts anew: to it, other columns and labels are not wrong, and a column with text in it is nominal
FINE_FOR_FIT = {"too many columns", "too few columns", "an unknown label", "text in a numeric column"}


def test_a_bad_block_is_named_and_changes_nothing(clf):
    fitted(clf)
    before = frozen(clf)
    for method in ("partial_fit", "test_then_train", "fit"):
        for case, (X, y, weight, says) in BAD_BLOCKS.items():
            if case not in (FINE_FOR_FIT if method == "fit" else NO_ERROR_LATER):
                with pytest.raises(ValueError, match=says):
                    getattr(clf, method)(X, y, sample_weight=weight)
                assert frozen(clf) == before, (method, case)


def test_a_bad_first_block_leaves_a_fresh_model_fresh(clf):
    before = frozen(clf)
    for case in ("infinity", "no rows", "more labels than rows", "a negative weight", "no labels"):
        X, y, weight, says = BAD_BLOCKS[case]
        with pytest.raises(ValueError, match=says):
            clf.partial_fit(X, y, sample_weight=weight)
        assert frozen(clf) == before, case
    assert model_state(fitted(clf)) == model_state(fitted(clone(clf)))


BAD_TO_PREDICT = [
    (np.zeros((2, 3)), "3 features"),
    (np.zeros((0, 3)), "3 features"),
    (np.array([[1.0, np.inf]]), "infinity"),
    (np.array([["tall", 1.0]], object), "'tall'"),
    (np.zeros(2), "2D"),
]


def test_a_bad_block_to_predict_is_named_and_changes_nothing(clf):
    fitted(clf)
    before = frozen(clf)
    for X, says in BAD_TO_PREDICT:
        for method in (clf.predict, clf.predict_proba):
            with pytest.raises(ValueError, match=says):
                method(X)
    assert frozen(clf) == before


BAD_ROWS = [
    ([1.0], 0, 1.0, "1 features"),
    (["tall", 1.0], 0, 1.0, "'tall'"),
    ([1.0, np.inf], 0, 1.0, "infinity"),
    ({"x0": 1.0, "colour": "red"}, 0, 1.0, "unknown column 'colour'"),
    ([1.0, 2.0], 7, 1.0, "unknown label 7"),
    ([1.0, 2.0], None, 1.0, "missing"),
    ([1.0, 2.0], 0, -1.0, "weight"),
    ([1.0, 2.0], 0, np.nan, "weight"),
    ([1.0, 2.0], 0, np.inf, "weight"),
]


def test_a_bad_row_is_named_and_changes_nothing(clf):
    fitted(clf).learn_one([1.0, 2.0], 0)  # single rows have all at hand
    before = frozen(clf)
    for x, y, weight, says in BAD_ROWS:
        with pytest.raises(ValueError, match=says):
            clf.learn_one(x, y, weight)
        assert frozen(clf) == before, says


BAD_SETTINGS = [
    (AdaBoostOLM, "weight_scale", ["falling", 0, -1.0, (3, 1), [1.0, 2.0, 3.0, 4.0], ["a"] * 3, (1, np.inf), None]),
    (AdaBoostOLM, "learner", [3, "tree", GaussianNB]),
    (AdaBoostOLM, "categorical_features", [["nope"], [9], [True]]),
    (HoeffdingTree, "grace_period", [-1, "abc", (5, 1), (1, 2, 3), None, np.nan]),
    (HoeffdingTree, "split_confidence", [0, 1, 1.5, -0.1, (0.0, 0.5), "abc"]),
    (HoeffdingTree, "tie_threshold", [-1, (0.0, 0.5), (1, 2, 3), "abc"]),
    (HoeffdingTree, "max_features", [0, 2.0, -0.5, "half", None]),
    (HoeffdingTree, "categorical_features", [["nope"], [9], [True]]),
]


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        pytest.param(make, name, value, id=f"{make.__name__} {name}={value!r}"[:60])
        for make, name, values in BAD_SETTINGS
        for value in values
    ],
)
def test_a_bad_setting_is_named(make, name, value):
    clf = make(**({"n_learners": 3} if make is AdaBoostOLM else {})).set_params(**{name: value})
    with pytest.raises((ValueError, TypeError), match=name):
        clf.fit(GOOD_X, GOOD_Y)
    if make is HoeffdingTree and name != "categorical_features":
        with pytest.raises((ValueError, TypeError), match=name):
            AdaBoostOLM(3, learner=clf).fit(GOOD_X, GOOD_Y)


def test_a_bad_setting_leaves_a_fresh_model_fresh(clf):
    clf.set_params(categorical_features=["nope"])
    before = frozen(clf)
    for call in (lambda: clf.fit(GOOD_X, GOOD_Y), lambda: clf.learn_one(GOOD_X[0], 0)):
        with pytest.raises(ValueError, match="nope"):
            call()
        assert frozen(clf) == before


def test_a_weak_learner_that_fails_on_the_way_is_reported_and_nothing_is_half_learned():
    """SGDClassifier takes no missing values; the row that has one comes second."""
    clf = AdaBoostOLM(3, learner=SGDClassifier(loss="log_loss")).fit(GOOD_X, GOOD_Y)
    before = frozen(clf)
    with pytest.raises(ValueError, match="NaN"):
        clf.partial_fit(np.array([[1.0, 2.0], [np.nan, 1.0]]), [0, 1])
    assert frozen(clf) == before


class Weighted(BaseEstimator):
    """Takes weights in `partial_fit`; whether it has a `fit`, and what that takes, is nobody's business."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.weights = [*getattr(self, "weights", []), None if sample_weight is None else float(sample_weight[0])]
        self.k = len(classes)
        return self

    def predict_proba(self, X):
        return np.full((len(X), self.k), 1.0 / self.k)


class WeightedFit(BaseEstimator):
    """The reverse: weights in `fit` alone."""

    def partial_fit(self, X, y, classes=None):
        self.n, self.k = getattr(self, "n", 0) + 1, len(classes)
        return self

    def fit(self, X, y, sample_weight=None):
        return self

    predict_proba = Weighted.predict_proba


def test_whether_a_learner_takes_weights_is_seen_from_its_partial_fit(numbers):
    X, y = numbers
    clf = AdaBoostOLM(2, learner=Weighted(), weight_scale=2.0).partial_fit(X[:50], y[:50], classes=[0, 1, 2])
    for learner in clf._model.chain.segments[0].learners.learners:
        assert len(learner.weights) == 50
        assert all(weight > 0.0 for weight in learner.weights)
    clf = AdaBoostOLM(2, learner=WeightedFit(), weight_scale=2.0).partial_fit(X[:50], y[:50], classes=[0, 1, 2])
    for learner in clf._model.chain.segments[0].learners.learners:
        assert 0 < learner.n < 50  # sent an example with a probability in proportion to its weight
