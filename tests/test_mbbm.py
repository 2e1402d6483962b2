"""OnlineMBBM: Algorithm 1 on the same chain."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

import reference
from helpers import in_blocks, mixed_stream, number_stream
from onlineboost import OnlineMBBM
from onlineboost.boosters.potentials import asymptotic_error
from onlineboost.estimators.online_mbbm import PaperMBBM
from test_estimators import outside

LOSSES = ["zero_one", "pairwise", "logistic", "exponential", "hinge"]


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("vote", ["cost", "tempered", "argmax", "normalized"])
@pytest.mark.parametrize("learner", [SGDClassifier(loss="log_loss"), GaussianNB()], ids=lambda a: type(a).__name__)
def test_a_run_is_algorithm_1(learner, vote, numbers):
    X, y = numbers
    X, y, scale = X[:60], y[:60], [1.0, 2.0, 0.5, 1.0]
    clf = PaperMBBM(4, gamma=0.1, learner=learner, weight_scale=scale, vote=vote, combiner="last", random_state=9)
    said = clf.test_then_train(X, y, classes=[0, 1, 2]).tolist()
    twin = reference.OnlineMBBM(outside(learner, scale, 9), Fraction(1, 10), scale, 9, vote)
    assert said == [twin.round(x, label, 3) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    np.testing.assert_allclose(clf.edges_, twin.edges(3), atol=1e-9)


@pytest.mark.parametrize("gamma", [0.1, "auto"])
@pytest.mark.parametrize("loss", LOSSES)
def test_block_sizes_change_nothing(loss, gamma):
    """Even where tuning gamma falls into the middle of a block, and classes appear one by one."""
    X, y, _ = mixed_stream(300, seed=1)
    runs = []
    for block in (1, 7, 1000):
        clf = OnlineMBBM(6, loss=loss, gamma=gamma, random_state=2)
        runs.append((in_blocks(clf, X, y, block), clf.edges_.tobytes(), clf.gammas_.tobytes()))
    assert runs[0] == runs[1] == runs[2]


def test_shares_of_the_votes_are_the_probabilities():
    X, y = number_stream(200, d=4, n_classes=3, seed=3)
    clf = OnlineMBBM(10, combiner="last").fit(X, y)
    p = clf.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p * 10, np.round(p * 10), atol=1e-9)
    assert (clf.classes_[p.argmax(axis=1)] == clf.predict(X)).all()


def test_auto_takes_every_gamma_in_turn():
    """Any stretch of the chain has about as many learners of each gamma, since Hedge may follow a short prefix."""
    X, y = number_stream(50, d=4, n_classes=3, seed=3)
    gammas = OnlineMBBM(100).fit(X, y).gammas_
    assert gammas.shape == (100,)
    for start in range(92):
        values, counts = np.unique(gammas[start : start + 8], return_counts=True)
        assert values.tolist() == [0.01, 0.03, 0.1, 0.3]
        assert counts.max() <= 3
    one_each = OnlineMBBM(3, gamma=[0.3, 0.1, 0.2]).fit(X, y)
    assert one_each.gammas_.tolist() == [0.3, 0.1, 0.2]
    assert OnlineMBBM(3, gamma=0.25).fit(X, y).gammas_.tolist() == [0.25] * 3
    assert OnlineMBBM(3, gamma=0.25).fit(X, np.zeros(50)).gammas_.tolist() == [0.25] * 3


class Votes:
    """A weak learner with a prescribed edge: it is told which label to vote for."""

    def __init__(self, i=0):
        self.i = i

    def get_params(self, deep=True):
        return {"i": self.i}

    def set_params(self, **params):
        self.i = params["i"]
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.k = len(classes)

    def predict_proba(self, X):
        return np.eye(self.k)[[int(X[0, self.i])]]


def test_learners_with_an_edge_make_the_error_that_the_potential_says():
    """The theorem is tight where the learners' votes are independent draws from u_gamma."""
    k, n, gamma, T = 3, 15, 0.3, 1500
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=T)
    right = rng.random((T, n)) < gamma
    votes = np.where(right, y[:, None], rng.integers(k, size=(T, n)))
    clf = OnlineMBBM(n, gamma=gamma, learner=Votes(), weight_scale=1.0, vote="argmax", combiner="last")
    clf.partial_fit(votes[:1].astype(float), y[:1], classes=range(k))
    for i, learner in enumerate(clf._model.chain.segments[0].learners.learners):
        learner.i = i
    wrong = (clf.test_then_train(votes[1:].astype(float), y[1:]) != y[1:]).mean()
    expected = asymptotic_error(k, n, gamma)  # a tie is a loss there; here some ties are won
    assert 0.5 * expected < wrong < expected + 3 * np.sqrt(expected / T)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"gamma": 1.0}, "gamma.*1.0"),
        ({"gamma": -0.1}, "gamma.*-0.1"),
        ({"gamma": "big"}, "gamma.*'big'"),
        ({"gamma": [0.1, 0.2]}, "gamma.*100 learners.*2"),
        ({"n_learners": 2, "gamma": [0.1, 1.5]}, "gamma.*1.5"),
        ({"n_learners": 0}, "n_learners.*0"),
        ({"loss": "absolute"}, "loss.*'absolute'"),
        ({"potential": "guess"}, "potential.*'guess'"),
        ({"potential": "monte_carlo", "loss": "hinge"}, "monte_carlo"),
        ({"combiner": "nobody"}, "combiner.*'nobody'"),
        ({"vote": "none"}, "vote.*'none'"),
    ],
)
def test_a_bad_setting_is_named(settings, says):
    with pytest.raises(ValueError, match=says):
        PaperMBBM(**settings).fit([[0.0], [1.0]], [0, 1])
