"""class_weight and cost_matrix: what they do to the examples, and what is said of settings that make no sense."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pandas
import pytest

import reference_costs as reference
from contract.kinds import every_estimator
from helpers import asked_rows, assert_finite, in_blocks, lost_weight, mixed_stream, model_state, number_stream
from onlineboost import AdaBoostOLM, AdaBoostOVA, BestTree, HoeffdingTree, OnlineMBBM, load_dataset
from onlineboost.boosters.potentials import asymptotic_error
from onlineboost.chain.experts import Combiner, hedge_rounds
from onlineboost.estimators import costs as costs_module
from onlineboost.estimators import learning
from onlineboost.estimators.costs import costs_of
from onlineboost.theory import guarantee
from reference import relative

MATRIX = {"a": {"b": 5.0}, "b": {"c": 0.25}, "d": {"a": 9.0, "c": 2.0}}
every_class = pytest.mark.parametrize("kind", every_estimator(), ids=str)


def weights_as_they_are():
    """Not relative to their mean."""
    return patch.object(learning, "relative", lambda weight, mean, t: (weight, weight))


def learned_state(clf):
    """What a model has learned beside the counts of its classes."""
    return {name: value for name, value in model_state(clf).items() if name != "counts"}


# ------------------------------------------------------------------------------------------------------- the factors


@every_class
@pytest.mark.parametrize("settings", [{"class_weight": "balanced"}, {"class_weight": {"a": 0.5, "c": 3.0, "never": 7}}])
def test_class_weights_are_the_twins_example_weights(kind, settings):
    X, y, weight = mixed_stream(240, seed=3)
    clf, twin = kind.make(**settings), kind.make()
    said = in_blocks(clf, X, y, 50, weight)
    weight = np.array(relative(weight))
    with weights_as_they_are():
        want = in_blocks(twin, X, y, 240, weight * reference.factors(y, weight, **settings))
    assert said == want
    np.testing.assert_allclose(clf.predict_proba(X), twin.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("class_weight", [None, "balanced", {"b": 2.0}])
@pytest.mark.parametrize("cost_matrix", [None, MATRIX])
@pytest.mark.parametrize("classes", [(), "abcd"])
def test_the_factors_are_the_twins(class_weight, cost_matrix, classes):
    _, y, weight = mixed_stream(240, seed=1)
    costs = costs_of(class_weight, cost_matrix)
    if costs is None:
        return
    labels = list(classes) or list(dict.fromkeys(y))
    codes = np.array([labels.index(label) for label in y])
    given = costs.weigh(np.zeros(0), labels, len(classes), codes, weight) / weight
    np.testing.assert_allclose(given, reference.factors(y, weight, class_weight, cost_matrix, classes), rtol=1e-12)


@every_class
def test_with_two_classes_a_cost_matrix_is_an_example_weight(kind):
    X, y = number_stream(300, n_classes=2)
    clf, twin = kind.make(cost_matrix=[[0.0, 1.0], [4.0, 0.0]]), kind.make()
    said = clf.test_then_train(X, y, classes=[0, 1])
    weight = np.array(reference.factors(y, np.ones(300), cost_matrix={1: {0: 4.0}}, classes=[0, 1]))
    with weights_as_they_are():
        assert said.tolist() == twin.test_then_train(X, y, classes=[0, 1], sample_weight=weight).tolist()
    scaled = kind.make(cost_matrix={0: {1: 1024.0}, 1: {0: 4096.0}}).partial_fit(X, y, classes=[0, 1])
    assert model_state(scaled) == model_state(clf)
    assert model_state(kind.make(class_weight={1: 4}).partial_fit(X, y, classes=[0, 1])) == model_state(clf)


@every_class
def test_an_array_is_a_dict_in_the_order_of_the_classes(kind):
    X, y, weight = mixed_stream(160, seed=4)
    matrix = [[reference.cost(MATRIX, r, l) for l in "abcd"] for r in "abcd"]
    a, b = (kind.make(cost_matrix=given) for given in (MATRIX, np.array(matrix)))
    for clf in (a, b):
        in_blocks(clf, X, y, 60, weight, classes=list("dbca"))
    assert model_state(a) == model_state(b)


@every_class
def test_weights_and_costs_that_are_all_the_same_change_nothing(kind):
    """Not a bit of what is learned."""
    X, y, weight = mixed_stream(200, seed=5)
    plain = kind.make()
    in_blocks(plain, X, y, 60, weight)
    pairs = {r: {l: 1.0 for l in "abcd" if l != r} for r in "ab"}
    for settings in ({"class_weight": {}}, {"class_weight": {"a": 1, "b": 1.0}}, {"cost_matrix": pairs}):
        clf = kind.make(**settings)
        in_blocks(clf, X, y, 60, weight)
        assert learned_state(clf) == learned_state(plain)


@every_class
def test_ratios_alone_matter(kind):
    X, y, weight = mixed_stream(160, seed=6)
    a, b = (kind.make(class_weight={label: unit * (3 + i) for i, label in enumerate("abcd")}) for unit in (1.0, 512.0))
    for clf in (a, b):
        in_blocks(clf, X, y, 60, weight)
    assert model_state(a) == model_state(b)


def test_balanced_classes_count_the_same_in_total():
    """In the long run; and the mean weight stays 1 all the way."""
    rng = np.random.default_rng(0)
    y = rng.choice(4, 20_000, p=[0.9, 0.07, 0.02, 0.01])
    weight = costs_of("balanced", None).weigh(np.zeros(0), range(4), 4, y, np.ones(len(y)))
    shares = np.bincount(y, weight) / weight.sum()
    np.testing.assert_allclose(shares, 0.25, atol=0.03)
    assert weight.mean() == pytest.approx(1.0, abs=0.02)
    assert weight.max() < len(y) / 40  # of the first example of a class that comes late


def test_counts_belong_to_the_settings_that_need_them():
    X, y = number_stream(60)
    assert AdaBoostOLM(3).fit(X, y)._model.counts.size == 0
    assert AdaBoostOLM(3, class_weight="balanced").fit(X, y)._model.counts.sum() == 60.0
    late = AdaBoostOLM(3).fit(X, y).set_params(class_weight="balanced").partial_fit(X[:9], y[:9])
    assert late._model.counts.sum() == 9.0


# ---------------------------------------------------------------------------------------------------------- experts


def test_experts_count_what_their_mistakes_cost():
    rng = np.random.default_rng(1)
    experts, y = rng.integers(3, size=(40, 5)).astype(np.int32), rng.integers(3, size=40)
    weight, costs = rng.uniform(0.1, 1.0, 40), rng.uniform(0.1, 3.0, (3, 3))
    log_v, out = np.zeros(5), np.empty(40, np.int64)
    hedge_rounds(Combiner.BEST, log_v, 0, 1, experts, y, weight, 3, out, costs)
    paid = np.where(experts != y[:, None], weight[:, None] * costs[y[:, None], experts], 0.0)
    np.testing.assert_allclose(-log_v, paid.sum(axis=0))
    before = np.vstack([np.zeros(5), np.cumsum(paid, axis=0)[:-1]])
    assert out.tolist() == [experts[b, before[b].argmin()] for b in range(40)]


def test_the_best_tree_is_the_cheapest():
    X, y = number_stream(200)
    matrix = np.array([[0.0, 1.0, 8.0], [1.0, 0.0, 2.0], [3.0, 3.0, 0.0]])
    clf = BestTree(4, cost_matrix=matrix)
    clf.partial_fit(X[:1], y[:1], classes=range(3))
    paid = clf.mistakes_.copy()
    for b in range(1, 200):
        said = asked_rows(clf._model.chain, X[b : b + 1], 3).experts[0]
        clf.partial_fit(X[b : b + 1], y[b : b + 1])
        mean = reference.factors(y[: b + 1], np.ones(b + 1), None, as_dict(matrix), range(3))[-1]
        paid += mean * matrix[y[b], said] / (matrix[y[b]].sum() / 2)
    np.testing.assert_allclose(clf.mistakes_, paid)
    assert clf.best_ == paid.argmin()


def as_dict(matrix):
    return {r: {l: cost for l, cost in enumerate(row) if l != r} for r, row in enumerate(matrix)}


# ----------------------------------------------------------------------------------------------------------- theory


@pytest.mark.parametrize(
    "settings", [{"class_weight": "balanced"}, {"class_weight": {"B": 5.0}}, {"cost_matrix": {"B": {"L": 9.0}}}]
)
def test_theorem_1_holds_by_weight(settings):
    """Weight of the labels not strictly ahead = phi(0) W + sum_i (gamma_i - edge_i) W_i / k; W: weight of all."""
    data = load_dataset("balance").shuffled(1)
    clf = OnlineMBBM(15, combiner="last", **settings)
    weight = reference.factors(data.y, np.ones(len(data)), **settings, classes=data.classes)
    lost = lost_weight(clf, data, weight)
    gammas, weights = clf.gammas_, clf._model.chain.gather("weights")
    promised = asymptotic_error(3, 15, gammas) * sum(weight) + float(((gammas - clf.edges_) * weights).sum()) / 3
    # In the first round nothing has been learned, and predict_proba cannot be asked.
    assert min(abs(promised - lost - first * weight[0]) for first in (0, 1)) < 1e-6
    assert not guarantee(clf, 0)  # bounds on the number of mistakes say nothing of their weight


# ----------------------------------------------------------------------------------------------------------- errors

BAD = [
    ({"class_weight": "heavy"}, "class_weight must be None, \"balanced\" or a dict.*'heavy'"),
    ({"class_weight": [1.0, 2.0]}, "class_weight must be None"),
    ({"class_weight": {"a": 0.0}}, "class_weight of 'a' must be a number above 0, .*, got 0.0; .*leave out its rows"),
    ({"class_weight": {"a": np.nan}}, "class_weight of 'a'.*nan"),
    ({"class_weight": {"a": "big"}}, "class_weight of 'a'.*'big'"),
    ({"class_weight": {"a": True}}, "class_weight of 'a'.*True"),
    ({"cost_matrix": "balanced"}, "cost_matrix must be an array .* or a dict of dicts, got 'balanced'"),
    ({"cost_matrix": [1.0, 2.0]}, r"cost_matrix must be.*shape \(2,\)"),
    ({"cost_matrix": [[0.0, 1.0]]}, r"cost_matrix must be.*shape \(1, 2\)"),
    ({"cost_matrix": [[0.0, 1.0], [2.0, 1.0]]}, r"cost_matrix\[1\]\[1\] is 1.0: a right prediction costs 0"),
    ({"cost_matrix": [[0.0, -1.0], [2.0, 0.0]]}, r"cost_matrix\[0\]\[1\] is -1.0: a mistake must cost"),
    ({"cost_matrix": {"a": 3.0}}, "cost_matrix of 'a' must be a dict of prediction: cost, got 3.0"),
    ({"cost_matrix": {"a": {"a": 1.0}}}, r"cost_matrix\['a'\]\['a'\] is 1.0: a right prediction"),
    ({"cost_matrix": {"a": {"b": np.inf}}}, r"cost_matrix\['a'\]\['b'\] is inf"),
    ({"cost_matrix": {"a": {"b": None}}}, r"cost_matrix\['a'\]\['b'\] is None"),
]


@pytest.mark.parametrize(("settings", "says"), BAD)
def test_a_setting_that_makes_no_sense_is_named(settings, says):
    for make in (HoeffdingTree, AdaBoostOLM):
        clf = make(**settings)
        with pytest.raises(ValueError, match=says):
            clf.fit([[0.0], [1.0]], ["a", "b"])
        assert not hasattr(clf, "_model")


@every_class
def test_a_matrix_that_does_not_fit_the_classes_is_named(kind):
    X, y, _ = mixed_stream(50)
    clf = kind.make(cost_matrix=np.ones((3, 3)) - np.eye(3))
    with pytest.raises(ValueError, match=r"cost_matrix is an array.*give `classes` on the first call"):
        clf.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"cost_matrix has 3 rows and there are 4 classes.*'a', 'b', 'c', 'd'"):
        clf.partial_fit(X, y, classes=list("abcd"))
    for settings in ({"class_weight": {0: 2.0, 1: 3.0}}, {"cost_matrix": {0: {1: 2.0}}}):
        (name,) = settings
        with pytest.raises(ValueError, match=f"{name} has '0'.*, but the classes are 'a', 'b'"):
            kind.make(**settings).partial_fit(X, y, classes=list("abcd"))
    assert not hasattr(clf, "_model")


@pytest.mark.parametrize("settings", [{"class_weight": "balanced"}, {"cost_matrix": MATRIX}])
@pytest.mark.parametrize("make", [AdaBoostOLM, AdaBoostOVA, BestTree])
def test_a_tree_of_a_chain_takes_no_costs(make, settings):
    with pytest.raises(ValueError, match="of a weak learner has no effect: give it to the booster"):
        make(2, learner=HoeffdingTree(**settings)).fit([[0.0], [1.0]], ["a", "b"])


# ------------------------------------------------------------------------------------- what a hostile user gave


@every_class
@pytest.mark.parametrize("settings", [{"class_weight": {"a": 1e149}}, {"cost_matrix": {"a": {"b": 1e149}}}], ids=str)
def test_costs_that_are_far_apart_make_no_infinite_weights(kind, settings):
    X, y, weight = mixed_stream(150, seed=3)
    clf = kind.make(**settings).fit(X, y, sample_weight=weight)
    assert np.isfinite(clf.predict_proba(X)).all()
    assert_finite(clf)


def test_a_frame_goes_by_its_names():
    pd = pytest.importorskip("pandas")
    X, y, _ = mixed_stream(150, seed=3, n_classes=2)
    frame = pd.DataFrame([[0, 9.0], [2.0, 0]], index=["b", "a"], columns=["b", "a"])
    by_frame, by_dict = (AdaBoostOLM(3, cost_matrix=m).fit(X, y) for m in (frame, {"b": {"a": 9.0}, "a": {"b": 2.0}}))
    np.testing.assert_array_equal(by_frame.predict_proba(X), by_dict.predict_proba(X))


@pytest.mark.parametrize("key", ["1", 1, 1.0, np.int64(1)], ids=repr)
def test_labels_of_costs_are_written_as_labels_are(key):
    X, y = number_stream(100, n_classes=2)
    want = AdaBoostOLM(3, class_weight={1: 20.0}).partial_fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(AdaBoostOLM(3, class_weight={key: 20}).partial_fit(X, y).predict_proba(X), want)


def test_labels_of_costs_may_be_dates():
    X, y = number_stream(100, n_classes=2)
    days = np.array(["2020-01-01", "2021-01-01"], "M8[D]")
    clf = AdaBoostOLM(3, class_weight={days[1]: 20.0}).fit(X, days[y])
    want = AdaBoostOLM(3, class_weight={1: 20.0}).fit(X, y)
    np.testing.assert_array_equal(clf.predict_proba(X), want.predict_proba(X))


@pytest.mark.parametrize("weight", [10**400, np.complex128(2), 1e200, "3", None, True], ids=repr)
def test_weights_that_are_no_numbers_are_named(weight):
    X, y = number_stream(20, n_classes=2)
    with pytest.raises(ValueError, match="class_weight of 1 must be a number above 0"):
        AdaBoostOLM(3, class_weight={1: weight}).fit(X, y)
    with pytest.raises(ValueError, match=r"cost_matrix\[1\]\[0\] is .* must cost a number above 0"):
        AdaBoostOLM(3, cost_matrix={1: {0: weight}}).fit(X, y)


@pytest.mark.parametrize("matrix", [np.ma.masked_equal([[0, 1.0], [2.0, 0]], 2.0), np.array([[0, 1j], [1, 0]])])
def test_arrays_that_say_something_else_are_refused(matrix):
    X, y = number_stream(20, n_classes=2)
    with pytest.raises(ValueError, match="cost_matrix must be an array with a row and a column for each class"):
        AdaBoostOLM(3, cost_matrix=matrix).fit(X, y)


WAYS = {
    "array": np.array,
    "whole numbers": lambda m: np.array(m, int),
    "lists": list,
    "tuples": lambda m: tuple(map(list, m)),
    "frame": lambda m: pandas.DataFrame(m, columns=range(3)),
    "dict": lambda m: {r: {c: cost for c, cost in enumerate(row) if c != r} for r, row in enumerate(m)},
}


@pytest.mark.parametrize("way", WAYS)
def test_costs_are_checked_once_and_again_when_they_change_in_place(way, monkeypatch):
    matrix = WAYS[way]([[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]])
    checks, real = [], costs_module.costs_of
    monkeypatch.setattr(costs_module, "costs_of", lambda *given: checks.append(given) or real(*given))
    clf = HoeffdingTree(cost_matrix=matrix).partial_fit([[0.0]] * 3, [0, 1, 2], classes=[0, 1, 2])
    for y in (0, 1, 2, 0):
        clf.learn_one([1.0], y)
    assert len(checks) == 1
    before = clf._costs(clf._model.labels).worth([0, 1, 2]).tolist()
    for cost in (60.0, -1.0):
        if way == "frame":
            matrix.loc[2, 1] = cost
        else:
            matrix[2][1] = cost
        if cost > 0.0:
            clf.learn_one([1.0], 1)
            assert clf._costs(clf._model.labels).worth([0, 1, 2]).tolist() != before
    with pytest.raises(ValueError, match=r"cost_matrix\[2\]\[1\] is -1"):
        clf.learn_one([1.0], 1)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"class_weight": {"fruad": 10.0, "ok": 1.0}}, "class_weight has 'fruad'.*Did you mean 'fraud'"),
        ({"cost_matrix": {"fraud": {"kk": 10.0}}}, "cost_matrix has 'kk', which is none of the classes 'fraud', 'ok'"),
    ],
    ids=str,
)
def test_a_label_of_the_settings_that_cannot_come_is_told_once(settings, says):
    X, y = [[0.0], [1.0]] * 20, ["fraud", "ok"] * 20
    with pytest.warns(UserWarning, match=says) as caught:
        clf = HoeffdingTree(**settings).fit(X, y).partial_fit(X, y)
    assert [each.filename for each in caught] == [__file__]
    clf.learn_one([0.0], "ok")
    HoeffdingTree(**settings).partial_fit(X, y).learn_one([0.0], "ok")  # others may turn up
