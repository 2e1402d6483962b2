"""Labels that come late: a row waits for its label under a ticket, and is learned as if it had come with it."""

from __future__ import annotations

import contextlib
import datetime
import os
import pickle
from collections import deque
from copy import deepcopy
from functools import partial
from itertools import chain
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest

import mutations
from contract.kinds import every_estimator, with_costs
from helpers import frozen, mixed_stream, model_state, number_stream
from onlineboost import AdaBoostOLM, HoeffdingTree, load, prequential
from onlineboost.data import DataError
from onlineboost.data.frames import as_table
from onlineboost.evaluation import LastClass, MajorityClass, cut, observe
from soak.strikes import Struck, struck_after

every_class = pytest.mark.parametrize("kind", every_estimator(), ids=str)
every_class_and_costs = pytest.mark.parametrize("kind", [*every_estimator(), *with_costs()], ids=str)
NAMES = tuple(f"x{c}" for c in range(5))


def shuffled_arrivals(n, seed, most):
    """(what, row) in order: rows that come and labels that come some time after, in any order."""
    rng = np.random.default_rng(seed)
    late = np.arange(n) + rng.integers(0, most, n) + 0.5
    events = [(float(b), "row", b) for b in range(n)] + [(float(late[b]), "label", b) for b in range(n)]
    return [(what, b) for _, what, b in sorted(events)]


@every_class_and_costs
def test_a_row_is_learned_when_its_label_comes_as_if_it_had_come_then(kind):
    """The twin is a plain dictionary of rows around learn_one. New classes and nominal values come in any order."""
    X, y, weight = mixed_stream(300, seed=7)
    clf, twin = kind.make(), kind.make()
    tickets, rows = {}, {}
    for what, b in shuffled_arrivals(len(y), 1, 40):
        if what == "row":
            row = dict(zip(NAMES, X[b], strict=True)) if b % 2 else list(X[b])
            said = clf.predict_pending(row)
            assert said.label == twin.predict_one(row)
            tickets[b], rows[b] = said.ticket, row
        else:
            clf.learn_pending(tickets[b], y[b], float(weight[b]))
            twin.learn_one(rows.pop(b), y[b], float(weight[b]))
        if b % 60 == 59:
            clf = pickle.loads(pickle.dumps(clf))
    assert model_state(clf) == model_state(twin)
    assert clf.n_pending_ == clf.n_dropped_ == 0
    assert len(set(tickets.values())) == len(y)


@every_class
def test_rows_that_wait_change_nothing(kind):
    X, y, _ = mixed_stream(200, seed=7)
    clf, want = kind.make().partial_fit(X[:100], y[:100]), kind.make().partial_fit(X, y)
    before = model_state(clf)
    odd = [f"colour {b}" for b in range(50)]
    for colour in odd:
        clf.predict_pending([colour, 1.0, "huge", None, 2.0])
    assert model_state(clf) == before
    assert model_state(clf.partial_fit(X[100:], y[100:])) == model_state(want)


def test_tickets_are_good_once_and_errors_say_what_became_of_them():
    X, y = number_stream(50)
    clf = HoeffdingTree().partial_fit(X, y).limit_pending(3)
    tickets = [clf.predict_pending(row).ticket for row in X[:5].tolist()]
    assert (clf.n_pending_, clf.n_dropped_) == (3, 2)
    clf.learn_pending(tickets[3], 1)
    for ticket, told in (
        (tickets[3], f"ticket '{tickets[3]}' has been used"),
        (tickets[0], rf"ticket '{tickets[0]}' was dropped: too many rows were waiting \(at most 3"),
        (f"{tickets[0]}9", "is unknown: no row waits under it"),
        (99, "ticket 99 is unknown: no row waits under it"),
        ("2", "ticket '2' is unknown"),
        (2.0, "ticket must be text or a whole number, which a model file can hold, got a float"),
        (True, "ticket must be text or a whole number"),
        (None, "ticket must be text or a whole number"),
    ):
        before = pickle.dumps(clf)
        for use in (
            lambda ticket=ticket: clf.learn_pending(ticket, 1),
            lambda ticket=ticket: clf.forget_pending(ticket),
        ):
            with pytest.raises(DataError, match=told):
                use()
        assert pickle.dumps(clf) == before
    assert clf.n_samples_seen_ == 51
    clf.forget_pending(tickets[4])
    assert (clf.n_pending_, clf.n_dropped_) == (1, 3)
    with pytest.raises(ValueError, match="most must be a whole number >= 1"):
        clf.limit_pending(0)


def restarts(clf, folder):
    """The same model in other processes, as far as it can tell: loaded, unpickled, copied."""
    clf.save(folder / "model.olb")
    return load(folder / "model.olb"), pickle.loads(pickle.dumps(clf)), deepcopy(clf), clf.snapshot()


@every_class
def test_a_ticket_never_stands_for_two_rows_after_a_restart_from_an_older_file(kind, tmp_path):
    """Saved, more tickets given out, killed; then other rows come to what was saved."""
    X, y = number_stream(60)
    rows = X.tolist()
    clf = kind.make().partial_fit(X[:50], y[:50])
    waiting = clf.predict_pending(rows[50]).ticket
    again = restarts(clf, tmp_path)
    late = [clf.predict_pending(row).ticket for row in rows[51:54]]
    assert all(type(ticket) is str and len(ticket) < 40 for ticket in [waiting, *late])
    given = [[each.predict_pending(row).ticket for row in rows[54:58]] for each in again]
    assert len({waiting, *late, *chain(*given)}) == 1 + 3 + 4 * len(again)
    for each in again:
        before = frozen(each), each.n_pending_
        for ticket in late:
            with pytest.raises(DataError, match=r"is unknown.*comes from a file, that does not have the row"):
                each.learn_pending(ticket, y[51])
        assert (frozen(each), each.n_pending_) == before
        assert each.learn_pending(waiting, y[50]).n_samples_seen_ == 51


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_processes_that_were_forked_give_tickets_of_their_own():
    clf = HoeffdingTree().learn_one([1.0], "a")
    clf.predict_pending([1.0])
    with get_context("fork").Pool(2) as pool:
        there = pool.map(partial(_one_ticket, clf), range(2), chunksize=1)
    assert clf.predict_pending([1.0]).ticket not in there


def _one_ticket(clf, _):
    return clf.predict_pending([1.0]).ticket


@every_class
def test_rows_wait_under_ids_of_your_own(kind, tmp_path):
    ids = [(f"event {b}", b, np.int64(-b))[b % 3] for b in range(80)]
    X, y, _ = mixed_stream(80, seed=3)
    clf, want = kind.make().partial_fit(X[:40], y[:40]), kind.make().partial_fit(X[:40], y[:40])
    for b in range(40, 80):
        said = clf.predict_pending(list(X[b]), id=ids[b])
        assert (said.ticket, said.label) == (ids[b], want.predict_one(list(X[b])))
    twin = restarts(clf, tmp_path)[0]
    for each in (clf, twin):
        for b in reversed(range(40, 80)):
            each.learn_pending(ids[b], y[b])
    for b in reversed(range(40, 80)):
        want.learn_one(list(X[b]), y[b])
    assert model_state(clf) == model_state(twin) == model_state(want)
    for each in (clf, twin):
        each.save(tmp_path / f"{each is clf}.olb")
    assert (tmp_path / "True.olb").read_bytes() == (tmp_path / "False.olb").read_bytes()


def test_an_id_that_waits_already_is_refused_and_free_again_once_it_was_learned():
    clf = HoeffdingTree().learn_one([1.0], "a")
    clf.predict_pending([1.0], id=7)
    before = pickle.dumps(clf)
    for again in ([1.0], [2.0]):
        with pytest.raises(DataError, match=r"id 7 is already waiting for its label.*forget_pending"):
            clf.predict_pending(again, id=7)
    for bad in (1.5, True, b"7", (1, 2)):
        with pytest.raises(DataError, match="id must be text or a whole number, which a model file can hold"):
            clf.predict_pending([1.0], id=bad)
    assert pickle.dumps(clf) == before
    clf.predict_pending([1.0], id="7")  # text is another id
    assert clf.learn_pending(7, "a").n_pending_ == 1
    clf.predict_pending([3.0], id=7)
    clf.forget_pending(7).predict_pending([3.0], id=7)
    assert clf.learn_pending(7, "a").learn_pending("7", "a").n_pending_ == 0


def test_rows_keep_their_order_in_files_whatever_their_ids_are(tmp_path):
    """The oldest is dropped first."""
    clf = HoeffdingTree()
    for name in ("z", 5, 2**70, "a", -1, "\udc80"):
        clf.predict_pending({"a": 1.0, "b": "red"}, id=name)
    clf.learn_pending(5, "yes")
    for name in (9, "m", 1):
        clf.predict_pending({"a": 1.0, "b": "red"}, id=name)
    with pytest.warns(UserWarning, match="none of this model's columns"):
        clf.predict_pending({"new": 1.0}, id="k")
    clf.predict_pending({"a": 1.0}, id=0)
    clf.limit_pending(8).save(tmp_path / "model.olb")
    loaded = load(tmp_path / "model.olb")
    assert list(loaded._pending.rows) == list(clf._pending.rows) == ["a", -1, "\udc80", 9, "m", 1, "k", 0]
    assert list(loaded._pending.lost) == ["z", 2**70]
    loaded.save(tmp_path / "again.olb")
    assert (tmp_path / "again.olb").read_bytes() == (tmp_path / "model.olb").read_bytes()


def test_tickets_of_older_files_are_numbers_and_still_good(tmp_path):
    """As they were given and saved before there were ids: 0, 1, 2, ..., rows as they came in pairs."""
    clf = HoeffdingTree()
    clf.predict_pending([1.0, 2.0], id=0)
    clf.predict_pending([2.0, 3.0], id=1)
    clf.learn_pending(0, "a").predict_pending([3.0, 4.0], id=2)
    clf._pending.given = 3
    clf.save(tmp_path / "new.olb")
    header, arrays = mutations.parts((tmp_path / "new.olb").read_bytes())
    pending = header["content"]["estimator"]["pending"]
    assert [other[2] for other in pending["others"]] == [0]
    pending["others"] = [other[:2] for other in pending["others"]]
    (tmp_path / "old.olb").write_bytes(mutations.joined(header, arrays))
    old = load(tmp_path / "old.olb")
    assert list(old._pending.rows) == [1, 2]
    assert old.predict_pending([1.0, 1.0]).ticket not in (0, 1, 2, 3)
    assert old.learn_pending(2, "b").learn_pending(np.int64(1), "a").n_samples_seen_ == 3
    with pytest.raises(DataError, match=r"ticket 1 is unknown: no row waits under it. Its label was given before"):
        old.learn_pending(1, "a")


def test_a_label_that_is_refused_leaves_the_row_waiting():
    X, y = number_stream(50)
    clf = AdaBoostOLM(3).partial_fit(X, y, classes=[0, 1, 2])
    ticket = clf.predict_pending(X[0].tolist()).ticket
    for label, weight in ((7, 1.0), (None, 1.0), (1, -1.0)):
        with pytest.raises(DataError):
            clf.learn_pending(ticket, label, weight)
    clf.learn_pending(ticket, 1)
    with pytest.raises(DataError, match="has been used"):
        clf.learn_pending(ticket, 1)
    clf.learn_pending(clf.predict_pending(X[1].tolist()).ticket, 1, 0.0)  # weight 0: as if absent, but used
    assert (clf.n_pending_, clf.n_samples_seen_) == (0, 51)


def test_rows_may_come_before_anything_is_learned():
    X, y, _ = mixed_stream(60, seed=2)
    clf, want = AdaBoostOLM(3), AdaBoostOLM(3)
    said = [clf.predict_pending(list(row)) for row in X[:5]]
    assert [each.label for each in said] == [None] * 5
    clf = pickle.loads(pickle.dumps(clf))
    for b in range(5):
        clf.learn_pending(said[b].ticket, y[b])
        want.learn_one(list(X[b]), y[b])
    assert model_state(clf) == model_state(want)
    with pytest.raises(TypeError, match="must be a string or a number"):
        AdaBoostOLM(3).predict_pending([object(), 3])


def test_a_file_tells_how_many_rows_of_the_stream_it_knows(tmp_path):
    """Learned, waiting, or dropped: docs/production.md says to continue after these."""
    rng, waiting, clf = np.random.default_rng(0), [], AdaBoostOLM(1).limit_pending(20)
    for b in range(150):
        waiting.append(clf.predict_pending({"x": float(b)}).ticket)
        if rng.random() < 0.6:
            ticket = waiting.pop(rng.integers(len(waiting)))
            with contextlib.suppress(DataError):  # it was dropped
                clf.forget_pending(ticket) if b % 7 == 0 else clf.learn_pending(ticket, "ab"[b % 2])
        if b % 50 == 49:
            clf.save(tmp_path / "model.olb")
            kept = load(tmp_path / "model.olb")
            assert kept.n_samples_seen_ + kept.n_pending_ + kept.n_dropped_ == b + 1
    assert kept.n_dropped_ > 0


def test_fit_forgets_rows_that_wait_but_never_gives_a_ticket_twice():
    X, y = number_stream(50)
    clf = HoeffdingTree().fit(X, y)
    old = clf.predict_pending(X[0].tolist()).ticket
    clf.fit(X, y)
    assert clf.predict_pending(X[0].tolist()).ticket != old
    with pytest.raises(DataError, match="was dropped"):
        clf.learn_pending(old, 1)


@every_class
def test_a_struck_label_is_learned_with_its_ticket_or_waits(kind):
    X, y = number_stream(300)
    rows = X.tolist()
    clf = kind.make().partial_fit(X[:50], y[:50]).learn_one(rows[50], y[50])
    learned = []
    for moment in range(1, 60):
        b = 51 + moment
        ticket = clf.predict_pending(rows[b]).ticket
        n = clf.n_samples_seen_
        with contextlib.suppress(Struck):
            struck_after(moment, lambda ticket=ticket, b=b: clf.learn_pending(ticket, y[b]))
        assert (clf.n_samples_seen_ == n + 1) == (clf.n_pending_ == 0)
        if clf.n_pending_:
            clf.forget_pending(ticket)
        else:
            learned.append(b)
    want = kind.make().partial_fit(X[:51], y[:51]).partial_fit(X[learned], y[learned])
    assert model_state(clf) == model_state(want)


# ------------------------------------------------------------------------------------------------------- evaluation


def plain_queue(clf, X, y, delay, classes):
    """Predictions with labels that come so many rows late, by a queue around predict and partial_fit."""
    queue, out = deque(), []
    for b in range(len(y)):
        out.append(clf.predict(X[b : b + 1])[0] if hasattr(clf, "_model") else None)
        queue.append(b)
        if len(queue) > delay:
            due = queue.popleft()
            clf.partial_fit(X[due : due + 1], y[due : due + 1], classes=classes)
    for due in queue:
        clf.partial_fit(X[due : due + 1], y[due : due + 1], classes=classes)
    return out


@every_class
@pytest.mark.parametrize("delay", [0, 1, 30])
def test_prequential_with_a_delay_is_a_queue(kind, delay):
    X, y, _ = mixed_stream(90, seed=3)
    clf, twin, classes = kind.make(), kind.make(), sorted(set(y))
    result = prequential(clf, X, y, delay=delay)
    assert result.predictions.tolist() == plain_queue(twin, X, y, delay, classes)
    assert model_state(clf) == model_state(twin)
    if delay == 0:
        assert result.predictions[1:].tolist() == prequential(kind.make(), X, y).predictions[1:].tolist()


def test_a_delay_by_time_is_the_order_of_arrivals():
    X, y = number_stream(200)
    rng = np.random.default_rng(0)
    days = np.datetime64("2024-01-01") + np.cumsum(rng.integers(0, 3, len(y))).astype("timedelta64[D]")
    result = prequential(HoeffdingTree(), X, y, delay=np.timedelta64(5, "D"), times=days)
    twin, learned, out = HoeffdingTree(), 0, []
    for b in range(len(y)):
        while learned < b and days[learned] + np.timedelta64(5, "D") <= days[b]:
            twin.partial_fit(X[learned : learned + 1], y[learned : learned + 1], classes=[0, 1, 2])
            learned += 1
        out.append(twin.predict(X[b : b + 1])[0] if learned else None)
    assert result.predictions.tolist() == out


def test_each_row_may_have_a_delay_of_its_own():
    X, y = number_stream(100)
    late = np.random.default_rng(0).integers(0, 20, len(y))
    result = prequential(HoeffdingTree(), X, y, delay=late)
    twin, out = HoeffdingTree(), []
    for b in range(len(y)):
        out.append(twin.predict(X[b : b + 1])[0] if hasattr(twin, "_model") else None)
        for due in range(b + 1):
            if due + late[due] == b:
                twin.partial_fit(X[due : due + 1], y[due : due + 1], classes=[0, 1, 2])
    assert result.predictions.tolist() == out


def test_blocks_tables_and_other_models_may_be_late_too():
    X, y = number_stream(100)
    want = prequential(HoeffdingTree(), X, y, delay=7).predictions.tolist()
    for rows in (X, as_table(X)):
        assert (
            prequential(HoeffdingTree(), cut(rows, y, pieces=5), classes=[0, 1, 2], delay=7).predictions.tolist()
            == want
        )

    class Last:
        def partial_fit(self, X, y, classes=None):
            self.last = y[-1]

        def predict(self, X):
            return np.array([self.last])

    for model in (Last(), LastClass()):
        assert prequential(model, X, y, delay=3).predictions.tolist() == [None] * 4 + y[:-4].tolist()
    tally, _ = observe(MajorityClass(), cut(as_table(X), y), [0, 1, 2], delay=3)
    assert tally.accuracy == prequential(MajorityClass(), X, y, delay=3).accuracy


def test_a_delay_that_is_none_is_refused():
    X, y = number_stream(20)
    for delay in (-1, "soon", True):
        with pytest.raises(ValueError, match="delay must be a number of rows"):
            prequential(HoeffdingTree(), X, y, delay=delay)
    with pytest.raises(DataError, match="row 3: its time is before that of the row above"):
        prequential(HoeffdingTree(), X, y, delay=1, times=[0, 1, 2, 1, *range(4, 20)])
    with pytest.raises(DataError, match="times has 3 entries and the stream has 20 rows"):
        prequential(HoeffdingTree(), X, y, delay=1, times=[0, 1, 2])
    with pytest.raises(DataError, match="the stream is empty"):
        prequential(HoeffdingTree(), [], delay=1)


@every_class
def test_rows_that_wait_are_saved_and_loaded(kind, tmp_path):
    X, y, _ = mixed_stream(120, seed=2)
    clf = kind.make().partial_fit(X[:60], y[:60])
    tickets = [clf.predict_pending(list(x)).ticket for x in X[60:]]
    clf.learn_pending(tickets[5], y[65])
    clf.save(tmp_path / "model.olb")
    loaded = load(tmp_path / "model.olb")
    assert loaded.n_pending_ == clf.n_pending_ == 59
    for each in (clf, loaded):
        for at in reversed(range(60)):
            if at != 5:
                each.learn_pending(tickets[at], y[60 + at])
    assert model_state(loaded) == model_state(clf)
    with pytest.raises(ValueError, match=r"is unknown: no row waits under it. Its label was given before"):
        loaded.learn_pending(tickets[5], "a")


def test_rows_that_wait_before_anything_is_learned_are_saved_too(tmp_path):
    clf = HoeffdingTree()
    ticket = clf.predict_pending({"a": 1.0, "b": "red"}).ticket
    clf.save(tmp_path / "model.olb")
    loaded = load(tmp_path / "model.olb").learn_pending(ticket, "yes")
    assert loaded.predict_one({"a": 1.0}) == "yes"


def test_an_id_that_looks_like_a_coming_ticket_takes_nobodys_place():
    clf = HoeffdingTree().fit([[0.0], [1.0]], [0, 1])
    prefix, _, number = clf.predict_pending([0.0]).ticket.rpartition("-")
    clf.predict_pending([1.0], id=f"{prefix}-{int(number) + 1}")
    clf.predict_pending([2.0])
    assert clf.n_pending_ == 3
    with pytest.raises(DataError, match="id must be text or a whole number"):
        clf.predict_pending([2.0], id=10**5000)


def test_a_delay_may_be_an_amount_of_time_of_python_or_pandas():
    X, y = number_stream(20)
    days = pd.Series(pd.date_range("2026-01-01", periods=20))
    runs = [
        prequential(HoeffdingTree(), X, y, delay=delay, times=days)
        for delay in (np.timedelta64(3, "D"), datetime.timedelta(days=3), pd.Timedelta("3D"))
    ]
    assert len({tuple(run.predictions) for run in runs}) == 1


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ([0, 1, np.nan, *range(3, 20)], "row 2: its time is missing"),
        (np.array(["2026-01-01", "NaT"] * 10, "M8[D]"), "row 1: its time is missing"),
        (list("a" * 20), "times must be numbers or dates"),
        (5, "times must be numbers or dates"),
        (np.zeros((20, 2)), "times must be numbers or dates"),
    ],
    ids=["nan", "NaT", "text", "one", "table"],
)
def test_times_that_are_none_are_named(times, says):
    X, y = number_stream(20)
    with pytest.raises(DataError, match=says):
        prequential(HoeffdingTree(), X, y, delay=1, times=times)
