"""The paper's algorithms by name: whole runs against twins, and at two classes against the algorithms before it."""

from __future__ import annotations

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

import reference
import reference_binary
from helpers import assert_same_tree, forest_of, in_blocks, mixed_stream, n_inner, plain, twins_of
from onlineboost import AdaBoostOLM, AdaBoostOVA, HoeffdingTree, OneVsAll, OnlineMBBM, load
from onlineboost.estimators.settings import SCALE, draw
from onlineboost.trees.state import Columns

SEED = 5


def run_with_twin(clf, twin_of, n=400, n_classes=3):
    """A stream through an estimator and its twin, which is made of twins of its trees; both sets of predictions."""
    adaptive = isinstance(clf, AdaBoostOLM)  # the weights of others take few values: rounding decides between branches
    X, y, _ = mixed_stream(n, SEED, n_classes, missing=0.08 if adaptive else 0.0)
    names = list("abcdefgh"[:n_classes])
    said = in_blocks(clf, X, y, 57, classes=names)
    past, forest = reference.Past(3, 2), forest_of(clf)
    trees = twins_of(forest, past, SEED)
    twin, wanted = twin_of(trees), []
    for x, label in zip(plain(X), y, strict=True):
        x = past.meet(x, twin.t)
        wanted.append(twin.round(x, names.index(label)))
    assert n_inner(forest) >= 5  # there is something to compare
    if adaptive:
        for root, tree in zip(forest.roots, trees, strict=True):
            assert_same_tree(forest, root, tree.root, lead=False)
    return said, [names[code] for code in wanted], twin


def with_classes(twin, k):
    """A twin whose rounds have k classes."""
    plain_round = twin.round
    twin.round = lambda x, y: plain_round(x, y, k)
    return twin


@pytest.mark.parametrize("scale", [1.0, 4.0], ids=["weights in [0, 1]", "scaled"])
@pytest.mark.parametrize("as_printed", [False, True])
def test_adaboost_olm_is_algorithm_2(as_printed, scale):
    clf = AdaBoostOLM.paper(5, as_printed=as_printed, weight_scale=scale, random_state=SEED)
    said, wanted, twin = run_with_twin(
        clf,
        lambda trees: with_classes(
            reference.AdaboostOLM(trees, "logistic", [scale] * 5, SEED, "cost", "hedge", as_printed), 3
        ),
    )
    assert said == wanted
    np.testing.assert_allclose(clf.alphas_, twin.alpha, atol=1e-9)
    np.testing.assert_allclose(clf.edges_, twin.edges, atol=1e-9)
    np.testing.assert_allclose(clf.expert_weights_, np.array(twin.v) / sum(twin.v), rtol=1e-9)


def test_as_programmed_adaboost_olm_is_that_of_the_authors_program():
    """Another wrong gradient, weights times U(5, 200), but always 5 for the first learner; trees drawn in the log."""
    clf = AdaBoostOLM.paper(5, as_programmed=True, random_state=SEED)
    scale = draw((5, 200), 5, SEED, SCALE, "weight_scale").tolist()
    said, wanted, twin = run_with_twin(
        clf,
        lambda trees: with_classes(
            reference.AdaboostOLM(trees, "logistic", [10.0, *scale[1:]], SEED, "cost", "hedge", "programmed"), 3
        ),
    )
    assert said == wanted
    np.testing.assert_allclose(clf.alphas_, twin.alpha, atol=1e-9)
    np.testing.assert_allclose(clf.expert_weights_, np.array(twin.v) / sum(twin.v), rtol=1e-9)
    assert clf.learner.draws == "log"


@pytest.mark.parametrize("kind", [AdaBoostOVA, OneVsAll])
def test_as_programmed_the_weights_of_binary_trees_are_scaled_too(kind):
    X, y, _ = mixed_stream(300, SEED, 3)
    clf = kind.paper(4, as_programmed=True, random_state=SEED).fit(X, y)
    assert (clf.weight_scale, clf.vote, clf.learner.draws) == ((5, 200), "cost", "log")
    for segment in clf._fitted().chain.segments:
        assert segment.booster.programmed
        assert segment.booster.scale[0] == 10.0
        assert ((segment.booster.scale[1:] >= 5.0) & (segment.booster.scale[1:] <= 200.0)).all()
    printed = kind.paper(4, as_printed=True, random_state=SEED).fit(X, y)
    assert (printed.weight_scale, printed.learner.draws) == (1.0, "even")
    assert np.abs(clf.alphas_ - printed.alphas_).max() > 0.01


@pytest.mark.parametrize("late", [False, True])
def test_as_programmed_online_mbbm_has_a_tenth_of_the_scale_over_k_minus_1(late):
    """U(.5, 20) / (k - 1); k is the number of classes that there are, and may grow."""
    clf = OnlineMBBM.paper(0.1, 6, as_programmed=True, random_state=SEED)
    scale = draw((0.5, 20), 6, SEED, SCALE, "weight_scale") / 2.0
    if late:
        X, y, _ = mixed_stream(400, SEED, 3)
        clf.partial_fit(X[:1], y[:1]).partial_fit(X[1:], y[1:])
        np.testing.assert_array_equal(clf._fitted().chain.segments[0].booster.scale, scale)
        return
    said, wanted, twin = run_with_twin(
        clf,
        lambda trees: with_classes(
            reference.OnlineMBBM(trees, Fraction(1, 10), scale.tolist(), SEED, "cost", plain=True), 3
        ),
    )
    assert said == wanted
    np.testing.assert_allclose(clf.edges_, twin.edges(3), atol=1e-9)


def test_the_printed_gradient_is_another_one():
    X, y, _ = mixed_stream(400, SEED, 3)
    runs = [AdaBoostOLM.paper(5, as_printed=printed, random_state=SEED).fit(X, y).alphas_ for printed in (False, True)]
    assert np.abs(runs[0] - runs[1]).max() > 0.1


def test_the_printed_gradient_steps_further_the_better_an_example_is_classified():
    for slope, rising in ((reference.printed_gradient, True), (lambda *a: reference.gradient("logistic", *a), False)):
        steps = [-slope([lead, 0.0, 0.0], 0, 0, 0.3) for lead in (0.0, 1.0, 3.0)]
        assert steps == sorted(steps, reverse=not rising)


@pytest.mark.parametrize(("gamma", "scale"), [(Fraction(1, 10), 1.0), (Fraction(3, 10), 4.0)])
def test_online_mbbm_is_algorithm_1(gamma, scale):
    clf = OnlineMBBM.paper(float(gamma), 6, weight_scale=scale, random_state=SEED)
    said, wanted, twin = run_with_twin(
        clf,
        lambda trees: with_classes(reference.OnlineMBBM(trees, gamma, [scale] * 6, SEED, "normalized", plain=True), 3),
    )
    assert said == wanted
    np.testing.assert_allclose(clf.edges_, twin.edges(3), atol=1e-9)


class FromBinary:
    """A twin with the labels -1 and +1, called with 0 and 1."""

    def __init__(self, twin):
        self.twin = twin

    @property
    def t(self):
        return self.twin.t

    def round(self, x, y):
        return (self.twin.round(x, 2 * y - 1) + 1) // 2


def test_with_two_classes_adaboost_olm_is_adaboost_ol():
    """But for the constant of the steps: 2 sqrt 2 here, 4 there. For two classes every vote is for the likelier one."""
    clf = AdaBoostOLM.paper(5, vote="argmax", weight_scale=1.0, random_state=SEED)
    rate = 2.0 * math.sqrt(2.0)
    said, wanted, twin = run_with_twin(
        clf, lambda trees: FromBinary(reference_binary.AdaBoostOL(trees, SEED, rate)), n=600, n_classes=2
    )
    assert said == wanted
    np.testing.assert_allclose(clf.alphas_, twin.twin.alpha, atol=1e-9)
    np.testing.assert_allclose(clf.expert_weights_, np.array(twin.twin.v) / sum(twin.twin.v), rtol=1e-9)


@pytest.mark.parametrize("gamma", [0.02, 0.1, 0.4])
def test_with_two_classes_online_mbbm_is_online_bbm(gamma):
    """An odd number of learners: there are no ties. Normalized costs are the same for both labels at two classes."""
    clf = OnlineMBBM.paper(gamma, 7, weight_scale=1.0, random_state=SEED)
    said, wanted, _ = run_with_twin(
        clf, lambda trees: FromBinary(reference_binary.OnlineBBM(trees, gamma, SEED)), n=600, n_classes=2
    )
    assert said == wanted


@pytest.mark.parametrize("make", [AdaBoostOLM.paper, lambda: OnlineMBBM.paper(0.1), HoeffdingTree.paper])
def test_they_are_estimators_like_any_other(make):
    clf = make()
    assert clone(clf).get_params(deep=False).keys() == clf.get_params(deep=False).keys()
    assert str(clone(clf)) == str(clf)


def test_settings_can_be_changed():
    assert AdaBoostOLM.paper(weight_scale=(5, 200)).weight_scale == (5, 200)
    assert OnlineMBBM.paper(0.3, potential="monte_carlo").potential == "monte_carlo"
    assert HoeffdingTree.paper(draws="log").grace_period == (5, 20)
    with pytest.raises(TypeError, match="nonesuch"):
        AdaBoostOLM.paper(nonesuch=1)


@pytest.mark.parametrize("name", ["as_printed", "as_programmed", "gradient", "potential", "weights", "draws"])
def test_settings_for_comparison_are_taken_by_paper_alone(name):
    for kind in (AdaBoostOLM, OnlineMBBM, HoeffdingTree, OneVsAll):
        assert name not in inspect.signature(kind).parameters
        with pytest.raises(TypeError, match=rf"{name} is not a setting of {kind.__name__}: it is for \w+\.paper\("):
            kind(**{name: 1})
    with pytest.raises(ValueError, match=r"vote must be one of tempered, cost, argmax, got 'normalized'; .*paper"):
        OneVsAll(2, vote="normalized").fit([[0.0], [1.0]], [0, 1])


def test_they_are_saved_as_what_they_are(tmp_path):
    programmed = [kind.paper(2, as_programmed=True) for kind in (AdaBoostOLM, AdaBoostOVA, OneVsAll)]
    programmed += [OnlineMBBM.paper(0.1, 2, as_programmed=True), HoeffdingTree.paper(as_programmed=True)]
    printed = [AdaBoostOLM.paper(2, as_printed=True), OnlineMBBM.paper(0.1, 2), HoeffdingTree.paper()]
    for clf in (*printed, *programmed):
        clf.fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "model.olb")
        assert str(load(tmp_path / "model.olb")) == str(clf)


@pytest.mark.parametrize("loss", ["exponential", "squared_hinge"])
def test_only_the_logistic_loss_has_an_error_in_print(loss):
    with pytest.raises(ValueError, match="as_printed=True is an error of the logistic loss alone"):
        AdaBoostOLM.paper(3, as_printed=True, loss=loss).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="as_programmed=True is an error of the logistic loss alone"):
        AdaBoostOVA.paper(3, as_programmed=True, loss=loss).fit([[0.0], [1.0]], [0, 1])


def test_trees_draw_the_same_numbers_evenly():
    columns, ranges = Columns(2, []), {"split_confidence": (0.01, 0.9), "tie_threshold": (0.02, 0.8)}
    even, log = (
        HoeffdingTree.paper(draws=draws, **ranges)._trees(columns, np.ones(50), seed=3) for draws in ("even", "log")
    )
    np.testing.assert_array_equal(even.grace, log.grace)
    for values, logs, (low, high) in (
        (np.exp(-even.log_delta), np.exp(-log.log_delta), ranges["split_confidence"]),
        (even.tie, log.tie, ranges["tie_threshold"]),
    ):
        u = np.log(logs / low) / np.log(high / low)
        np.testing.assert_allclose(values, low + (high - low) * u)
