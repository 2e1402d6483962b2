"""Importances, explanations, events, trees and summaries: for every estimator."""

from __future__ import annotations

import json
import math
import pickle
from itertools import permutations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import onlineboost
from contract.kinds import every_estimator, shortened
from helpers import by_code, in_blocks, mixed_stream
from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineBoostClassifier
from onlineboost.chain import reviews
from onlineboost.chain.diary import EVENTS, EVERY, ROWS, new_diary
from onlineboost.data.errors import DataError
from onlineboost.estimators.panel_members import PanelMember
from onlineboost.explain.shapley import shapley
from onlineboost.explain.views import bars, drawn
from onlineboost.trees.paths import moves

every_class = pytest.mark.parametrize("kind", every_estimator(), ids=str)
ROWS_LEARNED = 240


@pytest.fixture(autouse=True)
def small():
    with shortened():
        yield


@pytest.fixture(scope="module")
def models():
    """Every estimator, once, after a short and nasty stream."""
    X, y, weight = mixed_stream(ROWS_LEARNED, seed=3)
    with shortened():
        found = {}
        for kind in every_estimator():
            found[str(kind)] = kind.make()
            in_blocks(found[str(kind)], X, y, 60, weight)
        return X, found


def class_of(clf):
    """of_class, where trees are asked for with it."""
    return clf.classes_[0] if type(clf).__name__ in ("OneVsAll", "AdaBoostOVA") else None


@every_class
def test_importances_are_shares_of_the_columns(kind, models):
    clf = models[1][str(kind)]
    share = clf.feature_importances_
    assert share.shape == (clf.n_features_in_,)
    assert (share >= 0.0).all()
    assert share.sum() == pytest.approx(1.0)
    with pytest.raises(NotFittedError):
        kind.make().feature_importances_  # noqa: B018


@every_class
def test_contributions_add_up_to_the_score(kind, models):
    X, clf = models[0], models[1][str(kind)]
    model = clf._model
    chain, k = model.chain, model.k
    before = pickle.dumps(clf)
    for x in X[:6]:
        told = clf.explain(list(x))
        assert told.label == clf.predict_one(list(x))
        total = told.contributions.sum(axis=0) + sum(told.others.values())
        row = model.encoder.read_row(list(x), learning=False).X
        if chain.panel is not None:  # logits, up to a number that all classes share
            score, total = np.log(clf.predict_proba([x])[0]), total - total.mean()
            score = score - score.mean()
        else:
            combiner = clf._combiner()
            block = chain.ask(row, k, combiner, chain.end.walk(combiner, chain.t + 1))
            score = block.kept.margins[0] if chain.end.takes_turns else block.rows.s[0]
            score = model.labels.outward(score)
        np.testing.assert_allclose(total, score, atol=1e-9)
        np.testing.assert_allclose(sum(told.groups.values()), told.scores, atol=1e-9)
        frame = told.to_frame()
        assert frame["contribution"][:-1].sum() == pytest.approx(told.margin, abs=1e-9)
        assert json.dumps(told.as_dict(), default=str)
        assert str(told).startswith(str(told.label))
    assert pickle.dumps(clf) == before


@every_class
def test_columns_alone_add_up_for_any_label(kind, models):
    X, clf = models[0], models[1][str(kind)]
    before = pickle.dumps(clf)
    for x, label in zip(X[:3], [None, *clf.classes_], strict=False):
        told = clf.explain(list(x), label=label, by="columns")
        p = np.maximum(clf.predict_proba([x])[0], 1e-12)
        np.testing.assert_allclose(told.scores, np.log(p) - np.log(p).mean(), atol=1e-9)
        np.testing.assert_allclose(told.contributions.sum(axis=0) + sum(told.others.values()), told.scores, atol=1e-9)
        assert len(told.others) == 1
        assert told.predicted == clf.predict_one(list(x))
        assert told.label == (told.predicted if label is None else label)
        assert told.probability == pytest.approx(p[clf.classes_.tolist().index(told.label)])
        assert told.label != told.runner_up
        assert told.as_dict() == clf.explain(list(x), label=label, by="columns").as_dict()
        assert clf.explain(list(x), label=label).label == told.label
    near = str(clf.classes_[0]).upper()
    with pytest.raises(DataError, match=f"no row had the label '{near}' so far. Did you mean .*[?] Labels: "):
        clf.explain(list(X[0]), label=near)
    with pytest.raises(DataError, match="nonesuch"):
        clf.explain(list(X[0]), label="nonesuch")
    with pytest.raises(DataError, match="by must be one of 'parts', 'columns'"):
        clf.explain(list(X[0]), by="rows")
    assert pickle.dumps(clf) == before


def shapley_of_all_orders(ask, x, start):
    """Twin: the mean of what a column changes, over all orders."""
    found = np.zeros(len(x))
    for order in permutations(range(len(x))):
        row = start.copy()
        for column in order:
            then = row.copy()
            then[column] = x[column]
            found[column] += ask(then[None])[0, 0] - ask(row[None])[0, 0]
            row = then
    return found / math.factorial(len(x))


@every_class
def test_the_value_explained_is_that_of_the_row_however_many_the_column_has(kind):
    X = [[f"shop {b % 200}", float(b)] for b in range(400)]
    clf = kind.make(n_learners=2).partial_fit(X, ["a", "b"] * 200)
    for by in ("parts", "columns"):
        for shop in ("shop 3", "shop 190", "shop 1000", None):  # with a code, one of many, never met, missing
            assert clf.explain([shop, 7], by=by).values == [shop, 7.0]
    assert "x0 = shop 190" in str(clf.explain(["shop 190", 7.0], by="columns"))


def test_shares_of_columns_are_shapley_values():
    def ask(rows):
        a, b, c, d = rows.T
        return np.column_stack([a * b + np.sin(3.0 * c) + a * b * c, a + d])

    random = np.random.default_rng(0)
    x, starts = random.normal(size=4), random.normal(size=(3, 4))
    values, base = shapley(ask, x, np.repeat(starts[:1], 500, axis=0))
    np.testing.assert_allclose(values[:, 0], shapley_of_all_orders(ask, x, starts[0]), atol=0.1)
    values, base = shapley(ask, x, starts)
    np.testing.assert_allclose(values.sum(axis=0) + base, ask(x[None])[0], atol=1e-12)
    np.testing.assert_allclose(base, ask(starts).mean(axis=0))
    np.testing.assert_allclose(values[:, 1], [x[0] - starts[:, 0].mean(), 0, 0, x[3] - starts[:, 3].mean()], atol=1e-12)
    assert values[3, 0] == pytest.approx(0.0)  # a column that does nothing gets nothing


def test_signs_are_drawn():
    lines = drawn([("up", 2.0), ("down", -1.0), ("nothing", 0.0)], 7)
    assert [line.split()[1:] for line in lines] == [["+2.0000", "+" * 16], ["-1.0000", "-" * 8], ["+0.0000"]]
    html = bars([("up", 2.0), ("down", -1.0)])
    assert 'class="b" style="margin-left:3.00em;width:6.00em"' in html
    assert 'class="b m" style="margin-left:0.00em;width:3.00em"' in html


@every_class
def test_what_has_happened_survives_copies_and_files(kind, models, tmp_path):
    clf = models[1][str(kind)]
    happened = clf.events_
    assert [event.what[0] for event in happened if event.kind == "new class"] == clf._model.labels.names
    assert [event.row for event in happened] == sorted(event.row for event in happened)
    if getattr(clf, "restart", "never") != "never" and type(clf) is AdaBoostOLM:
        assert any(event.kind == "restart" for event in happened)
    clf.save(tmp_path / "model.olb")
    for other in (onlineboost.load(tmp_path / "model.olb"), pickle.loads(pickle.dumps(clf)), clf.snapshot()):
        assert other.events_ == happened
        assert other.feature_importances_.tolist() == clf.feature_importances_.tolist()


@every_class
def test_trees_and_summaries_have_names(kind, models):
    clf = models[1][str(kind)]
    if isinstance(clf, PanelMember):
        with pytest.raises(DataError, match="a member of the panel has no tree"):
            clf.tree(0)
    else:
        tree = clf.tree(0, of_class=class_of(clf))
        dot = tree.to_dot(max_depth=2)
        assert dot.startswith("digraph")
        assert dot.count("[shape") == 1
        text = tree.to_text()
        assert len(tree) == 1 or any(name in text for name in clf._model.encoder.names)
    told = clf.summary()
    assert "rows learned" in told
    assert str(ROWS_LEARNED) in told
    with pytest.raises(DataError, match="there is no learner 99"):
        clf.tree(99, of_class=class_of(clf))
    html = clf._repr_html_()
    assert "rows learned" in html
    assert type(clf).__name__ in repr(clf)
    assert clone(clf).get_params(deep=False).keys() == clf.get_params(deep=False).keys()
    assert make_pipeline(clf)._repr_html_()


def test_paths_end_in_what_the_kernels_say(models):
    """The distributions in NumPy, naive Bayes included, are those of the kernels; splits alone add up exactly."""
    X, clf = models[0], models[1]["hoeffding-tree"]
    model = clf._model
    rows = model.chain.new_rows(model.encoder.read(X, learning=False).X, model.k, None, None).X
    straight = np.tile(np.eye(model.k), (len(X), 1, 1))
    (segment,) = model.chain.whole()
    forest = segment.learners.forest
    np.testing.assert_allclose(moves(forest, 0, rows, straight).end, by_code(clf, clf.predict_proba(X)), atol=1e-9)
    plain = moves(forest._replace(leaf=0), 0, rows, straight)
    np.testing.assert_allclose(plain.start + plain.columns.sum(axis=1), plain.end, atol=1e-12)


def test_names_mean_themselves_in_html():
    bad = "<script>alert(1)</script>"
    clf = HoeffdingTree(grace_period=5)
    for x in range(80):
        clf.learn_one({bad: float(x % 2), "</td>": "<b>" if x % 2 else "&"}, "<i>one" if x % 2 else '"><i>')
    for html in (clf._repr_html_(), clf.explain({bad: 1.0, "</td>": "<b>"})._repr_html_()):
        assert "<script>alert" not in html
        assert "<i>" not in html.replace("<i>onlineboost", "")


def test_importances_follow_the_stream():
    """One column decides, then another one; one that is text counts as well as one that is a number."""
    rng = np.random.default_rng(0)
    n = 3000
    numbers, words = rng.normal(size=(2 * n, 6)), rng.choice(["yes", "no"], size=2 * n)
    y = np.where(np.arange(2 * n) < n, numbers[:, 2] > 0.0, words == "yes")
    clf = AdaBoostOLM(12, learner=HoeffdingTree(max_features=0.6), restart="always")
    rows = [{**{f"x{c}": v for c, v in enumerate(row)}, "word": word} for row, word in zip(numbers, words, strict=True)]
    import pandas as pd

    frame = pd.DataFrame(rows)
    for half, column in ((slice(0, n), "x2"), (slice(n, 2 * n), "word")):
        clf.partial_fit(frame[half], y[half])
        share = dict(zip(clf.feature_names_in_, clf.feature_importances_, strict=True))
        assert max(share, key=share.get) == column
        assert share[column] > 0.6


def test_columns_that_turn_up_are_events_and_have_importances():
    clf = HoeffdingTree(grace_period=5, columns="open")
    for x in range(100):
        late = {"late": float(x % 2)} if x >= 40 else {}
        clf.learn_one({"first": float(x % 3), **late}, "odd" if x % 2 else "even")
    assert [(event.row, event.what) for event in clf.events_ if event.kind == "new column"] == [(41, ("late",))]
    assert clf.feature_importances_.argmax() == 1


def test_memory_given_up_is_an_event_of_the_same_row_however_blocks_are_cut(monkeypatch):
    monkeypatch.setattr(reviews, "NOTICE", 256)
    X, y, weight = mixed_stream(400, seed=0)
    seen = []
    for block in (37, 400):
        clf = HoeffdingTree(grace_period=15, tie_threshold=0.4, memory_limit=9_000)
        with pytest.warns(UserWarning, match="memory_limit"):
            in_blocks(clf, X, y, block, weight)
        seen.append([event for event in clf.events_ if event.kind == "memory"])
    assert seen[0] == seen[1]
    assert len(seen[0]) == 1


def test_learners_of_another_make_say_that_they_cannot_tell():
    clf = AdaBoostOLM(2, learner=GaussianNB()).fit([[0.0], [1.0]] * 20, ["low", "high"] * 20)
    with pytest.raises(DataError, match="do not tell which columns"):
        clf.feature_importances_  # noqa: B018
    with pytest.raises(DataError, match="do not tell which columns"):
        clf.tree(0)
    assert list(clf.explain([0.0]).others) == ["learners of other libraries"]
    assert "do not tell" in clf.summary()


def test_the_diary_is_bounded():
    diary = new_diary(2, None)
    rows = 3 * EVERY * ROWS
    diary.keep(np.arange(2.0 * rows).reshape(rows, 2), np.arange(rows), 0)
    _, y = diary.kept()
    assert sorted(y.tolist()) == list(range(rows - EVERY * ROWS + EVERY - 1, rows, EVERY))
    for row in range(5 * EVENTS):
        diary.note(row, 0, [row])
    assert diary.events[:, 0].tolist() == list(range(4 * EVENTS, 5 * EVENTS))
    assert new_diary(100, 100_000).nbytes < 0.1 * 100_000


def test_a_notebook_shows_models_that_cannot_tell():
    X, y = np.array([[0.0], [1.0]] * 20), np.array(["low\n\x1b[2J", "high"] * 20)
    clf = AdaBoostOLM(2, learner=GaussianNB()).partial_fit(X, y, classes=sorted(set(y)))
    assert not hasattr(clf, "feature_importances_")
    assert "onlineboost" in clf._repr_html_()
    assert "\x1b" not in clf.summary()
    assert "low\\n" in str(AdaBoostOLM(2).partial_fit(X, y).explain(X[0]))


def test_pictures_of_trees(models):
    pytest.importorskip("matplotlib").use("Agg")
    ax = models[1]["hoeffding-tree"].tree(0).plot(max_depth=2)
    assert ax.texts
    import matplotlib.pyplot as plt

    plt.close(ax.figure)


def test_the_flagship_says_what_panel_and_chain_do(models):
    told = models[1]["online-boost"].explain(list(models[0][0]))
    assert {"panel", "last labels", "chain 1"} <= set(told.groups)
    assert any(name.startswith("panel: nearest") for name in told.others)
    assert isinstance(models[1]["online-boost"], OnlineBoostClassifier)
