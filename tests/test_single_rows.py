"""Single rows that go through without being a block: when they do, and that nobody can tell."""

from __future__ import annotations

import gc
import signal
import threading
import weakref

import numpy as np
import pytest

from contract.kinds import MEMBERS, every_estimator, every_kind, shortened
from helpers import mixed_stream, model_state, number_stream
from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineBoostClassifier, lookup
from onlineboost._compile.handle import compiled, hold
from onlineboost._compile.jit import entry_kernel
from onlineboost.chain.rows import PredictingRow
from onlineboost.contracts.rows import new_work
from onlineboost.estimators import classifier, single_rows
from onlineboost.trees.learner import ASKED, VOTE
from onlineboost.trees.shrink import pack_nodes
from onlineboost.trees.state import N_LOST
from soak.strikes import Struck, struck_after

every_class = pytest.mark.parametrize("kind", every_estimator(), ids=str)
NAMES = tuple(f"x{c}" for c in range(5))


def counted(clf):
    """Rows that have been learned alone."""
    desk = clf.__dict__.get("_desk_")
    return 0 if desk is None else desk.learned


@every_class
def test_plain_rows_go_alone(kind):
    if kind.name in MEMBERS:
        pytest.skip("its single rows go as blocks of one row")
    X, y = number_stream(60)
    clf = kind.make()
    clf.partial_fit(X[:20], y[:20])
    clf.learn_one(X[20].tolist(), y[20])
    alone = 0
    for b in range(21, 60):
        before = counted(clf)
        clf.learn_one(X[b].tolist(), y[b])
        alone += counted(clf) == before + 1
    assert alone > 30
    assert clf.n_samples_seen_ == 60


@pytest.mark.parametrize("kind", every_kind(), ids=str)
def test_rows_and_blocks_in_turns_are_the_same_as_blocks(kind):
    """With new classes, new values, restarts, and threads that cut the chain in between."""
    X, y, weight = mixed_stream(140, seed=4)
    with shortened():
        want = kind.make().partial_fit(X, y, sample_weight=weight)
        clf, b, rng = kind.make(), 0, np.random.default_rng(1)
        while b < len(y):
            n = min(int(rng.integers(1, 12)), len(y) - b)
            if rng.random() < 0.3:
                clf.partial_fit(X[b : b + n], y[b : b + n], sample_weight=weight[b : b + n])
                if rng.random() < 0.3:
                    clf._model.chain.cut(3)
            else:
                for at in range(b, b + n):
                    row = list(X[at]) if rng.random() < 0.5 else dict(zip(NAMES, X[at], strict=True))
                    before = clf.predict_one(row)
                    share = clf.predict_proba_one(row)
                    if at:
                        assert before == clf.predict(X[at : at + 1])[0]
                        assert list(share.values()) == clf.predict_proba(X[at : at + 1])[0].tolist()
                    clf.learn_one(row, y[at], float(weight[at]))
            b += n
    assert model_state(clf) == model_state(want)


REMEMBERED = {
    "olm": lambda **more: AdaBoostOLM(30, combiner="last", **more),
    "flagship": lambda **more: OnlineBoostClassifier(10, **more),
}


@pytest.mark.parametrize("make", REMEMBERED.values(), ids=REMEMBERED)
def test_what_trees_said_of_a_row_is_of_use_for_the_same_row_and_round_alone(make):
    """Predicted and learned; another one predicted in between; not predicted; predicted long before; with gaps."""
    X, y = number_stream(300)
    X[::7, 1] = np.nan
    rows = X.tolist()
    clf = make(restart="always").partial_fit(X[:80], y[:80])
    for b in range(80, 300):
        before = [[b], [b, b - 1], [], [b - 1], [b, b - 1, b]][b % 5]
        said = [clf.predict_one(rows[at]) for at in before]
        assert said == [clf.predict(X[at : at + 1])[0] for at in before]
        clf.learn_one(rows[b], y[b])
    assert counted(clf) > 150
    assert model_state(clf) == model_state(make(restart="always").partial_fit(X, y))


@pytest.mark.parametrize("make", REMEMBERED.values(), ids=REMEMBERED)
def test_a_row_that_was_predicted_is_learned_with_the_votes_of_then(make):
    """So that they are not made twice: a vote that is changed in between changes what is learned."""
    X, y = number_stream(120)
    rows, states = X.tolist(), []
    for learned, changed in ((100, False), (100, True), (101, True)):
        clf = make().partial_fit(X[:90], y[:90])
        clf.learn_one(rows[90], y[90])
        clf.predict_one(rows[100])
        for scratch in clf._desk_.row.scratch.values():
            assert scratch.state[ASKED] == len(scratch.leaves)
            scratch.said[:, VOTE] = (scratch.said[:, VOTE] + int(changed)) % 3
        clf.learn_one(rows[learned], y[learned])
        states.append(model_state(clf))
    want = [model_state(make().partial_fit(X[[*range(91), b]], y[[*range(91), b]])) for b in (100, 101)]
    assert states[0] == want[0]
    assert states[1] != want[0]  # it has the votes that were put there
    assert states[2] == want[1]  # it was another row


def test_leaves_are_found_again_where_nodes_have_been_moved():
    X, y = number_stream(1500)
    clf = AdaBoostOLM(30, restart="always", learner=HoeffdingTree(grace_period=5)).partial_fit(X[:1400], y[:1400])
    clf.learn_one(X[1400].tolist(), y[1400])
    (segment,) = clf._model.chain.segments
    forest = segment.learners.forest
    lost = forest.used[N_LOST]
    clf.predict_one(X[1401].tolist())
    pack_nodes(forest)
    assert lost > 0
    assert forest.used[N_LOST] == 0
    clf.learn_one(X[1401].tolist(), y[1401])
    assert counted(clf) >= 1
    want = AdaBoostOLM(30, restart="always", learner=HoeffdingTree(grace_period=5)).partial_fit(X[:1402], y[:1402])
    assert model_state(clf) == model_state(want)


@every_class
def test_a_struck_row_is_learned_or_not_begun(kind):
    """A handler that raises, at every moment of learning a row."""
    X, y = number_stream(400)
    clf = kind.make()
    clf.partial_fit(X[:30], y[:30])
    clf.learn_one(X[30].tolist(), y[30])
    b, struck = 31, 0
    for moment in range(1, 70):
        try:
            struck_after(moment, lambda b=b: clf.learn_one(X[b].tolist(), y[b]))
        except Struck:
            struck += 1
        b = clf.n_samples_seen_
    assert struck
    assert model_state(clf) == model_state(kind.make().partial_fit(X[:b], y[:b]))


@every_class
def test_timeouts_at_any_moment_of_single_rows_do_no_harm(kind):
    X, y, weight = mixed_stream(300, seed=5)
    clf = kind.make().partial_fit(X[:40], y[:40], sample_weight=weight[:40])
    rng, n = np.random.default_rng(0), 40

    def ring(signum, frame):
        raise Struck

    before = signal.signal(signal.SIGALRM, ring)
    try:
        while n < len(y):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 3e-4))
                for b in range(n, len(y)):
                    clf.learn_one(list(X[b]), y[b], float(weight[b]))
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            except Struck:
                pass
            n = clf.n_samples_seen_
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert model_state(clf) == model_state(kind.make().partial_fit(X, y, sample_weight=weight))


@every_class
def test_threads_that_ask_for_single_rows_agree_while_another_learns(kind):
    X, y = number_stream(400)
    clf = kind.make().partial_fit(X[:100], y[:100])
    rows, errors, stop = X.tolist(), [], threading.Event()

    def ask():
        try:
            while not stop.is_set():
                for row in rows[:20]:
                    assert clf.predict_one(row) in (0, 1, 2)
                    assert abs(sum(clf.predict_proba_one(row).values()) - 1.0) < 1e-9
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for b in range(100, 400):
        clf.learn_one(rows[b], y[b])
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
    assert model_state(clf) == model_state(kind.make().partial_fit(X, y))


def test_a_handler_cannot_use_the_model_that_learns_a_single_row():
    X, y = number_stream(200)
    rows = X.tolist()
    clf = AdaBoostOLM(3).partial_fit(X[:100], y[:100]).learn_one(rows[100], y[100])
    told = []

    def ask():
        for use in (lambda: clf.predict_one(rows[0]), lambda: clf.learn_one(rows[0], 0)):
            try:
                use()
                told.append("")
            except RuntimeError as error:
                told.append(str(error))

    for moment in range(1, 25):
        n = clf.n_samples_seen_
        before = len(told)
        struck_after(moment, lambda: clf.learn_one(rows[101], y[101]), ask)
        assert clf.n_samples_seen_ == n + 1 + (told[before + 1 :] == [""])
    assert any("this model is learning" in text for text in told)


def test_a_setting_that_changes_has_its_effect_on_the_next_row():
    X, y = number_stream(200)
    rows = X.tolist()
    clf = AdaBoostOLM(5).partial_fit(X[:100], y[:100]).learn_one(rows[100], y[100])
    twin = AdaBoostOLM(5).partial_fit(X[:101], y[:101])
    for words in ({"combiner": "last"}, {"combiner": "weighted"}, {"class_weight": "balanced"}, {"class_weight": None}):
        for each in (clf, twin):
            each.set_params(**words)
        n = clf.n_samples_seen_
        assert [clf.predict_one(row) for row in rows[:50]] == twin.predict(X[:50]).tolist()
        clf.learn_one(rows[n], y[n])
        twin.partial_fit(X[n : n + 1], y[n : n + 1])
        assert model_state(clf) == model_state(twin)
    clf.combiner = "nobody"
    for use in (lambda: clf.learn_one(rows[0], 0), lambda: clf.predict_one(rows[0])):
        with pytest.raises(ValueError, match="combiner must be one of"):
            use()


@pytest.mark.parametrize("moment", ["making", "changing"])
@pytest.mark.parametrize("words", [{"combiner": "last"}, {"class_weight": "balanced"}], ids=str)
def test_a_setting_that_changes_while_another_thread_prepares_single_rows(monkeypatch, words, moment):
    X, y = number_stream(100)
    clf = AdaBoostOLM(5, combiner="best").partial_fit(X, y)
    make, note = single_rows.Desk.__init__, classifier.note_change

    def change():
        thread = threading.Thread(target=clf.set_params, kwargs=words)
        thread.start(), thread.join()

    def made(desk, clf):
        monkeypatch.undo()
        make(desk, clf)
        change()

    def noted(*args):
        monkeypatch.undo()
        clf.predict_one(X[0])
        note(*args)

    if moment == "making":
        monkeypatch.setattr(single_rows.Desk, "__init__", made)
        clf.predict_one(X[0])
    else:
        monkeypatch.setattr(classifier, "note_change", noted)
        change()
    desk = clf.__dict__.get("_desk_")
    assert desk is None or (desk.combiner == clf._combiner() and desk.weighs == (clf.class_weight is not None))


def test_costs_that_change_in_place_are_noticed():
    """What mistakes cost was checked before, but not like this."""
    X, y = number_stream(200)
    costs = 1.0 - np.eye(3)
    clf, twin = (AdaBoostOLM(5, cost_matrix=costs) for _ in range(2))
    for each in (clf, twin):
        each.partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    for b in range(100, 150):
        if b == 120:
            costs[0, 1] = 7.0
        clf.learn_one(X[b].tolist(), y[b])
        twin.partial_fit(X[b : b + 1], y[b : b + 1])
    assert model_state(clf) == model_state(twin)
    costs[0, 1] = -1.0
    with pytest.raises(ValueError, match="a mistake must cost"):
        clf.learn_one(X[0].tolist(), 0)


def test_many_single_rows_join_what_threads_have_cut(monkeypatch):
    monkeypatch.setattr(single_rows, "ENOUGH", 20)
    X, y = number_stream(200)
    with shortened():
        clf = AdaBoostOLM(6, n_jobs=2).partial_fit(X[:100], y[:100])
        assert len(clf._model.chain.segments) > 1
        for b in range(100, 200):
            clf.learn_one(X[b].tolist(), y[b])
        assert len(clf._model.chain.segments) == 1
        assert model_state(clf) == model_state(AdaBoostOLM(6).partial_fit(X, y))


@pytest.mark.parametrize("name", lookup.names())
def test_a_desk_is_no_part_of_copies(name):
    X, y = number_stream(60)
    clf = lookup.make(name, n_learners=3).partial_fit(X, y).learn_one(X[0].tolist(), y[0])
    assert "_desk_" not in clf.__getstate__()
    copy = clf.snapshot().learn_one(X[1].tolist(), y[1])
    assert clf.n_samples_seen_ == 61
    assert model_state(copy) == model_state(clf.learn_one(X[1].tolist(), y[1]))


@entry_kernel
def add_up(handle, times):
    work = handle.parts
    total = 0.0
    for i in range(work.p.size):
        work.p[i] *= times
        total += work.p[i]
    return total


def test_a_handle_sees_the_arrays_it_was_made_of():
    work = new_work(3)
    work.p[:] = 1.0
    handle = hold(work)
    assert compiled(add_up, handle, 0)(handle, 2) == 12.0
    work.p[0] = 5.0
    assert compiled(add_up, handle, 0)(handle, 1) == 15.0
    assert work.p.tolist() == [5.0, 2.0, 2.0, 2.0, 2.0, 2.0]


def test_what_single_rows_need_is_gone_with_the_model():
    """No cycle keeps it, and its caches, until the garbage collector comes."""
    X, y = number_stream(60)
    gc.collect()
    gc.disable()
    try:
        for name in ("adaboost-olm", "online-mbbm", "one-vs-all", "best-tree"):
            clf = lookup.make(name, n_learners=3).partial_fit(X[:40], y[:40])
            row = PredictingRow(clf._model.chain, X.shape[1], clf._model.k)
            kept = weakref.ref(row)
            del row
            assert kept() is None, name
            clf.predict_one(X[0].tolist()), clf.learn_one(X[0].tolist(), y[0]), clf.predict_one(X[1].tolist())
            kept = weakref.ref(clf._model)
            del clf
            assert kept() is None, name
    finally:
        gc.enable()
