"""What `theory.guarantee` prints holds for the run at hand, or the line is not there."""

import math
import warnings

import numpy as np
import pytest

import onlineboost
from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineBoostClassifier, OnlineMBBM
from onlineboost.theory import guarantee, hedge_bound, mixture_bound
from soak import guarantees
from test_cli_models import pipe

FALLING = 0.995 ** np.arange(1500)  # the last one weighs 1/1800 of the first
HEAVY = np.where(np.random.default_rng(1).random(1500) < 0.05, 100.0, 1.0)


def _noisy(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, ((X[:, 0] + 0.9 * rng.normal(size=n)) > 0).astype(int)


def _growing(seed=0):
    """Two classes for 600 rows, then ten."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([rng.integers(0, 2, size=600), rng.integers(0, 10, size=600)])
    X = rng.normal(size=(1200, 4))
    X[:, 0] += y
    return X, y


@pytest.mark.parametrize("weight", [FALLING, HEAVY, np.full(1500, 0.02)], ids=["falling", "1 and 100", "all 0.02"])
@pytest.mark.parametrize("kind", [OnlineBoostClassifier, AdaBoostOLM])
def test_bounds_count_weights(kind, weight):
    X, y = _noisy()
    clf = kind(10)
    wrong = clf.test_then_train(X, y, classes=[0, 1], sample_weight=weight) != y
    found = guarantee(clf, int(wrong.sum()))
    assert found.weighted == (len(set(weight.tolist())) > 1)
    assert wrong.sum() <= (found.mistake_bound if kind is OnlineBoostClassifier else found.vote_bound)
    if kind is OnlineBoostClassifier:
        assert found.lost <= found.loss_bound
        assert ("by its weight" in dict(found.lines())["log loss"]) == found.weighted
    elif found.weighted:
        assert found.edge_bound is None
        assert "by weight" in dict(found.lines())["best expert"]


@pytest.mark.parametrize("combiner", ["hedge", "weighted", "best", "last"])
@pytest.mark.parametrize("kind", [OnlineMBBM, AdaBoostOLM])
def test_bounds_count_classes_that_come_late(kind, combiner):
    X, y = _growing()
    clf = kind(5, combiner=combiner)
    wrong = clf.test_then_train(X, y) != y
    found = guarantee(clf, int(wrong.sum()))
    assert found.late == 10
    assert wrong.sum() <= found.vote_bound
    assert "10: " in dict(found.lines(verbose=True))["classes not met before"]
    if kind is OnlineMBBM:  # potentials and edges of 2 and of 10 classes cannot be added up
        assert found.lost is found.potential is found.edges is found.sure is None
    assert found.edge_bound is None


def test_the_log_loss_of_classes_that_come_late_says_how_they_count():
    X, y = _growing()
    clf = OnlineBoostClassifier(5)
    said, p = clf.test_then_train(X, y, proba=True)
    found = guarantee(clf, int((said != y).sum()))
    first = np.unique(y, return_index=True)[1]
    known = np.setdiff1d(np.arange(len(y)), first)
    lost = -np.log(p[known, y[known]]).sum()
    assert lost <= found.lost <= found.loss_bound
    assert found.lost - lost < 10 * math.log(100)
    assert found.late == 10
    assert (said != y).sum() <= found.mistake_bound


def test_the_command_line_says_so_of_a_pipe():
    X, y = _growing()
    rows = "\n".join(["a,b,class", *(f"{a:.3f},{b:.3f},c{label}" for (a, b), label in zip(X[:, :2], y, strict=True))])
    done = pipe("run", "-", "--target", "class", "--learners", 5, text=rows + "\n")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.replace("│", " ").split())
    assert "10: the first row of each counts as if it were known" in said
    assert "but for 10 first rows of classes" in said or "bound on mistakes" not in said


@pytest.mark.parametrize("combiner", ["hedge", "weighted"])
def test_labels_that_answer_what_is_predicted(combiner):
    """Hedge cannot be safe from one who sees its draw, and says so; the weighted majority is."""
    clf, rng, wrong = AdaBoostOLM(10, combiner=combiner), np.random.default_rng(0), 0
    clf.partial_fit(np.empty((0, 1)), [], classes=[0, 1])
    for x in rng.normal(size=(1000, 1)):
        y = 1 - int(clf.predict(x[None])[0])
        clf.learn_one(x.tolist(), y)
        wrong += 1
    found = guarantee(clf, wrong)
    said = dict(found.lines(verbose=True))["bound from experts"]
    assert ("unless labels depend on the predictions" in said) == (combiner == "hedge")
    assert combiner == "hedge" or wrong <= found.vote_bound


def test_all_lines_of_a_table_hold_at_once():
    """It has two events that can fail, each with half of delta."""
    X, y = _noisy(400)
    clf = AdaBoostOLM(5, restart="never")
    found = guarantee(clf, int((clf.test_then_train(X, y, classes=[0, 1]) != y).sum()), delta=0.1)
    assert found.vote_bound == hedge_bound(found.best_expert_mistakes, 5, 400, 0.05)


@pytest.mark.parametrize("calibrate", [False, True])
def test_the_log_loss_is_that_of_what_is_predicted_or_says_of_what(calibrate):
    X, y = _noisy(300)
    clf = AdaBoostOLM(5, panel=True, calibrate=calibrate)
    said, p = clf.test_then_train(X, y, classes=[0, 1], proba=True)
    found = guarantee(clf, int((said != y).sum()))
    lost = -np.log(p[np.arange(300), y]).sum()
    assert (found.lost == pytest.approx(lost)) == (not calibrate)
    assert ("before calibration" in dict(found.lines())["log loss"]) == calibrate


def test_combiners_that_changed_have_no_bound():
    X, y = _noisy(200)
    clf = AdaBoostOLM(5, combiner="last").partial_fit(X[:100], y[:100], classes=[0, 1])
    assert guarantee(clf, 0).combiner == "last"
    clf.set_params(combiner="hedge").partial_fit(X[100:], y[100:])
    found = guarantee(clf, 0)
    assert found.combiner is found.vote_bound is found.edge_bound is None
    assert "bound from experts" not in dict(found.lines(verbose=True))


@pytest.mark.parametrize("combiner", ["weighted", "best", "last"])
def test_mistakes_of_another_combiner_have_no_guarantee(combiner):
    """Rows are predicted in one way and learned in another: the bound is about the way in which they were learned."""
    X, y = _noisy(300)
    y = (X[:, 0] > 0).astype(int)
    clf = AdaBoostOLM(5, combiner=combiner)
    wrong = int((clf.test_then_train(X, y, classes=[0, 1]) != y).sum())
    found = guarantee(clf, wrong)
    assert wrong <= found.vote_bound < 250
    assert not guarantee(clf, 250)
    assert f"which has made {math.floor(found.vote_bound)} at most" in str(guarantee(clf, 250))
    assert "the same combiner" in str(guarantee(OnlineBoostClassifier(3).partial_fit(X, y), 299))


def test_labels_that_came_late_have_no_guarantee():
    X, y = _noisy(100)
    for learn_late in (lambda clf, row, label: clf.learn_pending(clf.predict_pending(row).ticket, label),):
        clf = AdaBoostOLM(5).fit(X, y)
        clf.learn_one(X[0].tolist(), 0)
        assert guarantee(clf, 3)
        learn_late(clf, X[0].tolist(), 1)
        assert "waited for their labels" in str(guarantee(clf, 3))


@pytest.mark.parametrize(
    ("clf", "why"),
    [
        (HoeffdingTree(), "no theorem is about HoeffdingTree"),
        (AdaBoostOLM(2, class_weight="balanced"), "class_weight or cost_matrix"),
    ],
    ids=str,
)
def test_where_nothing_is_guaranteed_the_reason_is_said(clf, why):
    found = guarantee(clf.fit(*_noisy(20)), 3)
    assert not found
    assert why in str(found)
    assert "no row has been learned" in str(guarantee(AdaBoostOLM(2).partial_fit(np.zeros((0, 1)), [], [*"ab"]), 0))


def test_a_file_knows_what_its_run_was_like(tmp_path):
    X, y = _noisy(200)
    clf = AdaBoostOLM(5).partial_fit(X, y, classes=[0, 1], sample_weight=np.linspace(0.5, 2.0, 200))
    clf.save(tmp_path / "model.olb")
    assert guarantee(onlineboost.load(tmp_path / "model.olb"), 50) == guarantee(clf, 50)
    clf._model.chain.conduct = None  # as in a file of an older version
    clf.save(tmp_path / "model.olb")
    assert guarantee(onlineboost.load(tmp_path / "model.olb"), 50).why.startswith(
        "the model is from a file of an older version"
    )


def test_single_rows_are_remembered_as_blocks_are():
    X, y = _noisy(60)
    weight = np.random.default_rng(2).uniform(0.1, 3.0, 60)
    block = AdaBoostOLM(3).partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    single = AdaBoostOLM(3).partial_fit(np.empty((0, 4)), [], classes=[0, 1])
    for x, label, w in zip(X.tolist(), y.tolist(), weight.tolist(), strict=True):
        single.learn_one(x, label, w)
    chains = [clf._model.chain for clf in (block, single)]
    assert chains[0].lightest == chains[1].lightest < 1.0 < chains[0].heaviest == chains[1].heaviest
    assert [chain.conduct for chain in chains] == [1, 1]


@pytest.mark.parametrize("kind", [OnlineBoostClassifier, AdaBoostOLM, OnlineMBBM])
def test_printed_it_is_in_words_and_mistakes_of_another_run_are_refused(kind):
    X, y = _noisy(60)
    clf = kind(3).partial_fit(X, y, classes=[0, 1])
    text = str(guarantee(clf, 20))
    assert text.splitlines()[0].split("  ")[0] in ("mistakes made", "edges shown")
    assert "mistakes made" in text
    assert "20 of 60" in text
    with pytest.raises(ValueError, match="61, but the model has learned 60 rows"):
        guarantee(clf, 61)


def test_the_mixture_keeps_its_bound_on_every_stretch():
    """From any round on: log M + log t2, whatever came before."""
    rng, T, M = np.random.default_rng(0), 200, 4
    share, losses, own = np.full(M, 1.0 / M), [], []
    for t in range(1, T + 1):
        p = np.where(rng.random(M) < 0.5, 0.95, 0.05) if t % 50 > 5 else np.array([0.9, 0.1, 0.1, 0.1])
        w = rng.choice([1.0, 0.3])
        losses.append(-w * np.log(p)), own.append(-w * math.log(share @ p))
        share = share * p**w / (share @ p**w) * t / (t + 1) + 1.0 / (M * (t + 1))
    losses, own = np.vstack([np.zeros(M), np.cumsum(losses, axis=0)]), np.concatenate([[0.0], np.cumsum(own)])
    closest = math.inf
    for a in range(T):
        for b in range(a + 1, T + 1):
            spare = mixture_bound(losses[b] - losses[a], b) - (own[b] - own[a])
            assert spare >= 0.0
            closest = min(closest, spare)
    assert closest < 1.5  # it is not much larger than need be


def test_random_runs_do_not_exceed_what_is_printed():
    """Ten thousand: python tests/soak/guarantees.py."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        printed, false, errors = guarantees.runs(200, seed=100_000)
    assert not errors
    assert {"bound from experts (1 - delta)", "bound on log loss", "majority of all votes"} <= set(printed)
    for line, times in printed.items():
        assert false[line] <= guarantees.DELTA * times
