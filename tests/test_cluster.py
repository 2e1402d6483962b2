"""A chain in parts, each in a process of its own, is the chain of one process, bit for bit; whatever gets lost."""

from __future__ import annotations

import pickle
import shutil
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner

from contract.kinds import MEMBERS, TREE, every_estimator, every_kind, shortened
from helpers import in_blocks, mixed_stream, number_stream
from onlineboost import AdaBoostOLM, BestTree, HoeffdingTree, OnlineBoostClassifier, OnlineMBBM, OzaBoost
from onlineboost.boosters.adaptive import LADDER, first_steps
from onlineboost.chain import reviews
from onlineboost.chain.diary import RESTART
from onlineboost.cli.main import main
from onlineboost.cluster import Cluster, ClusterError, Here, each
from onlineboost.cluster import line as line_module
from onlineboost.cluster.ray_engine import check_address
from onlineboost.data import Table
from onlineboost.evaluation import cut, resumable, tune
from soak.strikes import Struck, struck_after

PANELS = [kind for kind in every_kind() if "panel=True" in str(kind)]


def saved(clf):
    return pickle.dumps(clf._model)


@pytest.fixture(autouse=True)
def small():
    with shortened():
        yield


@pytest.fixture(scope="module")
def stream():
    """New classes and new nominal values in mid-stream, missing values, weights."""
    return mixed_stream(260, 1)


@pytest.mark.parametrize("kind", [*(kind for kind in every_estimator() if kind.name not in MEMBERS), *PANELS], ids=str)
def test_parts_change_nothing(kind, stream):
    X, y, weight = stream
    one = kind.make()
    said = in_blocks(one, X, y, 130, weight)
    for parts, rows, block in ((3, 17, 100), (5, 1, 40)):
        n = 260 if rows > 1 else 40  # single rows are slow
        with Cluster(kind.make(), parts, rows=rows, engine=Here()) as run:
            assert in_blocks(run, X[:n], y[:n], block, weight[:n]) == said[:n]
            if n == len(y):
                assert saved(run.result()) == saved(one)


def test_a_cluster_goes_on_with_what_was_learned_and_what_it_learned_goes_on(stream):
    X, y, weight = stream
    one = AdaBoostOLM(6, learner=TREE).partial_fit(X, y, sample_weight=weight)
    first = AdaBoostOLM(6, learner=TREE).partial_fit(X[:100], y[:100], sample_weight=weight[:100])
    before = saved(first)
    with Cluster(first, 2, rows=50, engine=Here()) as run:
        run.partial_fit(X[100:200], y[100:200], sample_weight=weight[100:200])
        clf = run.result()
        after = saved(clf)
        assert run.predict(X).tolist() == clf.predict(X).tolist()
        assert np.array_equal(run.predict_proba(X), clf.predict_proba(X))
        run.partial_fit(X[200:], y[200:], sample_weight=weight[200:])
        assert saved(run.result()) == saved(one)
    assert saved(first) == before
    assert saved(clf) == after, "a result is a copy: the run goes on without it"
    assert saved(clf.partial_fit(X[200:], y[200:], sample_weight=weight[200:])) == saved(one)


@pytest.mark.parametrize(
    "make",
    [
        partial(AdaBoostOLM, calibrate=True),
        partial(AdaBoostOLM, combiner="best"),
        partial(AdaBoostOLM, combiner="weighted"),
        partial(AdaBoostOLM, combiner="last"),
        OzaBoost,
        BestTree,
        OnlineBoostClassifier,
    ],
)
def test_probabilities_are_those_of_one_process(make, stream):
    X, y, weight = stream
    want = make(6, learner=TREE).test_then_train(X, y, sample_weight=weight, proba=True)
    with Cluster(make(6, learner=TREE), 3, rows=40, engine=Here()) as run:
        said, p = run.test_then_train(X, y, sample_weight=weight, proba=True)
    assert said.tolist() == want[0].tolist()
    assert np.array_equal(p, want[1])


@pytest.mark.parametrize("restart", ["auto", "always"])
def test_reviews_are_those_of_one_process(restart, stream):
    """However the rows are cut into calls and blocks: before, at and after the rounds of reviews and of their plans."""
    X, y, weight = stream
    one = AdaBoostOLM(6, learner=TREE, restart=restart).partial_fit(X, y, sample_weight=weight)
    assert (one._model.chain.diary.events[:, 1] == RESTART).any(), "the test is about learners that start again"
    for parts, rows, block in ((2, 64, 52), (3, 11, 260), (6, 7, 33)):
        with Cluster(AdaBoostOLM(6, learner=TREE, restart=restart), parts, rows=rows, engine=Here()) as run:
            for a in range(0, len(y), block):
                run.partial_fit(X[a : a + block], y[a : a + block], sample_weight=weight[a : a + block])
            assert saved(run.result()) == saved(one)


@pytest.mark.parametrize("announced", [True, False])
def test_adaptive_gammas_are_those_of_one_process(announced, stream):
    X, y, weight = stream
    classes = sorted(set(y)) if announced else None
    one = OnlineMBBM(6, learner=TREE, gamma="adaptive").partial_fit(X, y, classes=classes, sample_weight=weight)
    assert (one.gammas_ != LADDER[first_steps(6)]).sum() > 2, "the test is about gammas that change"
    for parts, rows, block in ((2, 64, 52), (3, 11, 260), (6, 7, 33)):
        with Cluster(OnlineMBBM(6, learner=TREE, gamma="adaptive"), parts, rows=rows, engine=Here()) as run:
            for a in range(0, len(y), block):
                part = slice(a, a + block)
                run.partial_fit(X[part], y[part], classes=classes, sample_weight=weight[part])
            assert saved(run.result()) == saved(one)


def test_new_columns_costs_and_a_memory_limit(stream, monkeypatch):
    """What changes the whole chain between two blocks, or is decided for all of it."""
    monkeypatch.setattr(reviews, "NOTICE", 64)
    X, y, weight = stream
    early = [{"a": row[1], "b": row[3]} for row in X[:150]]
    late = [{"a": row[1], "b": row[3], "c": row[4], "d": row[0]} for row in X[150:]]
    pd = pytest.importorskip("pandas")
    frames = [pd.DataFrame(early), pd.DataFrame(late)]
    settings = {"learner": TREE, "columns": "open", "memory_limit": 60_000, "class_weight": "balanced"}
    one = AdaBoostOLM(6, **settings)
    with Cluster(AdaBoostOLM(6, **settings), 3, rows=32, engine=Here()) as run:
        for clf in (one, run):
            for frame, rows in zip(frames, (slice(0, 150), slice(150, None)), strict=True):
                clf.partial_fit(frame, y[rows], sample_weight=weight[rows])
        both = run.result()
    assert one._model.chain.diary.limited, "the test is about a model at its limit"
    assert saved(both) == saved(one)


def test_a_result_has_all_that_was_noted_of_the_rows_on_their_way(stream, monkeypatch):
    monkeypatch.setattr(reviews, "NOTICE", 128)
    X, y, _ = stream
    settings = {"learner": TREE, "memory_limit": 60_000}
    one = AdaBoostOLM(6, **settings)
    with Cluster(AdaBoostOLM(6, **settings), 3, rows=32, engine=Here()) as run:
        for part in (slice(0, 120), slice(120, 160)):  # the user knows of the limit before it is noted
            for clf in (one, run):
                clf.partial_fit(X[part], y[part])
            found = run.result()
    assert one._model.chain.diary.limited
    assert found._model.chain.diary.events.tolist() == one._model.chain.diary.events.tolist()


def test_threads_within_a_part_change_nothing(stream):
    X, y, weight = stream
    want = saved(AdaBoostOLM(8, learner=TREE).partial_fit(X, y, sample_weight=weight))
    with Cluster(AdaBoostOLM(8, learner=TREE, n_jobs=2), 2, rows=64, engine=Here()) as run:
        assert saved(run.partial_fit(X, y, sample_weight=weight).result()) == want


# -------------------------------------------------------------------------------------------------- what gets lost


@pytest.mark.parametrize("kind", [kind for kind in every_estimator() if "adaboost" in str(kind)], ids=str)
def test_whatever_is_lost_is_done_exactly_once(kind, stream, monkeypatch):
    """Processes die before every 31st call: of blocks, changes and checkpoints; and in the middle of recoveries."""
    monkeypatch.setattr(line_module, "SOONEST", 0.0)
    monkeypatch.setattr(line_module, "SHARE", 1e9)  # a checkpoint after every message
    monkeypatch.setattr(line_module.time, "sleep", lambda seconds: None)
    X, y, weight = stream
    one = kind.make()
    want = in_blocks(one, X, y, 130, weight)
    calls, deaths = 0, []

    def fault(method, index):
        nonlocal calls
        calls += 1
        dies = calls % 31 == 0 or (method == "of_state" and calls % 5 == 0)
        deaths.extend([method] * dies)
        return dies

    with Cluster(kind.make(), 3, rows=20, engine=Here(fault)) as run:
        assert in_blocks(run, X, y, 65, weight) == want
        assert saved(run.result()) == saved(one)
        assert len(run.figures.recoveries) > 5
        assert run.figures.checkpoints > 5
    assert {"learn", "change", "checkpoint", "of_state"} <= set(deaths)


def test_a_line_that_breaks_again_and_again_is_given_up(stream, monkeypatch):
    monkeypatch.setattr(line_module.time, "sleep", lambda seconds: None)
    X, y, _ = stream
    with (
        Cluster(AdaBoostOLM(6, learner=TREE), 2, engine=Here(lambda method, index: method == "learn")) as run,
        pytest.raises(ClusterError, match="10 times in a row"),
    ):
        run.partial_fit(X, y).result()


def test_messages_out_of_order_and_twice():
    """A part does every number once, and none of a line that was put together anew since."""
    from onlineboost.cluster.parts import Change, Lost, Part

    part = Part(None, None, 0, [], 1)
    part.limited_trees = lambda: 7
    look = Change("limited_trees", ())
    assert part.change(0, 1, look) == 7
    assert part.change(0, 1, look) is None, "it was done before"
    for epoch, number in ((0, 3), (1, 2)):
        with pytest.raises(Lost):
            part.change(epoch, number, look)
    assert part.change(0, 2, look) == 7


@pytest.mark.parametrize("in_files", [False, True])
def test_messages_since_a_checkpoint_are_dropped_after_it(stream, in_files, tmp_path):
    X, y, _ = stream
    folder = tmp_path if in_files else None
    with Cluster(AdaBoostOLM(6, learner=TREE), 2, rows=10, folder=folder, engine=Here()) as run:
        run.partial_fit(X[:100], y[:100])
        assert len(run._line._log) > 5
        run._line.checkpoint()
        assert run._line._log == []
        assert len(list(tmp_path.glob("*/*"))) == (2 if in_files else 0)
        want = saved(run.result())
        run._line._workers[0]["part"] = None
        assert saved(run.result()) == want
    assert list(tmp_path.iterdir()) == []


def test_runs_that_share_a_folder_have_files_of_their_own(stream, tmp_path, monkeypatch):
    """And no file stays there that a process has left behind: one dies while it tells what it has learned."""
    monkeypatch.setattr(line_module.time, "sleep", lambda seconds: None)
    X, y, _ = stream
    calls = []

    def fault(method, index):
        calls.extend([method] * (method == "learned"))
        return method == "learned" and len(calls) == 2

    makes = [partial(AdaBoostOLM, 6, learner=TREE, random_state=seed) for seed in (0, 1)]
    runs = [Cluster(make(), 2, rows=20, folder=tmp_path, engine=Here(fault)) for make in makes]
    with runs[0], runs[1]:
        for part in (slice(0, 130), slice(130, None)):
            for run in runs:
                run.partial_fit(X[part], y[part])
                run._line.checkpoint()
            for run in runs:
                run._line._workers[0]["part"] = None
        for run, make in zip(runs, makes, strict=True):
            assert saved(run.result()) == saved(make().partial_fit(X, y))
            run.partial_fit(X[:20], y[:20])
            run._line.checkpoint()
        assert len(list(tmp_path.glob("*/*"))) == 4
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_lost(stream, tmp_path, monkeypatch):
    """What cannot be written there travels. A checkpoint that was there cannot be had again, and that is told."""
    monkeypatch.setattr(line_module.time, "sleep", lambda seconds: None)
    X, y, _ = stream
    folder = tmp_path / "new"
    with Cluster(AdaBoostOLM(6, learner=TREE), 2, rows=20, folder=folder, engine=Here()) as run:
        run.partial_fit(X[:100], y[:100])
        shutil.rmtree(folder)
        folder.write_text("a file in its place")
        run.partial_fit(X[100:], y[100:])._line.checkpoint()
        run._line._workers[0]["part"] = None
        assert saved(run.result()) == saved(AdaBoostOLM(6, learner=TREE).partial_fit(X, y))
    folder.unlink()
    with Cluster(AdaBoostOLM(6, learner=TREE), 2, rows=20, folder=folder, engine=Here()) as run:
        run.partial_fit(X, y)._line.checkpoint()
        shutil.rmtree(folder)
        run._line._workers[0]["part"] = None
        with pytest.raises(ClusterError, match="No such file"):
            run.result()


def test_an_interrupt_while_a_result_is_fetched_does_no_harm(stream, monkeypatch):
    """A part is lost, so that all is sent again meanwhile."""
    monkeypatch.setattr(line_module.time, "sleep", lambda seconds: None)
    X, y, _ = stream
    want = saved(AdaBoostOLM(6, learner=TREE).partial_fit(X[:90], y[:90]))
    for moment in (300, 900, 1_500, 2_100):
        with Cluster(AdaBoostOLM(6, learner=TREE), 2, rows=20, engine=Here()) as run:
            run.partial_fit(X[:90], y[:90])
            run._line._workers[0]["part"] = None
            with pytest.raises(Struck):
                struck_after(moment, run.result)
            assert saved(run.result()) == want


def test_a_checkpoint_while_one_is_being_made(stream):
    X, y, _ = stream
    with Cluster(AdaBoostOLM(6, learner=TREE), 2, engine=Here()) as run:
        run.partial_fit(X, y)
        run._line._save()
        run._line.checkpoint()
        assert run._line._log == []


def test_a_driver_that_died_goes_on_from_a_checkpoint_on_a_cluster_or_without(stream, tmp_path):
    X, y, _ = stream
    table = Table(("a", "b"), (np.array(X[:, 1], float), np.array(X[:, 3], float)))

    def run(folder, n=260, **settings):
        blocks = cut(table[:n], y[:n], pieces=4)
        return resumable(AdaBoostOLM(6, learner=TREE), blocks, folder, every=50, **settings)

    on_a_cluster = {"cluster": partial(Cluster, segments=2, rows=20, engine=Here())}
    want, tally = run(tmp_path / "whole")
    run(tmp_path / "part", 150, **on_a_cluster)
    shutil.copytree(tmp_path / "part", tmp_path / "other")
    want.save(tmp_path / "want")
    for folder, settings in (("part", on_a_cluster), ("other", {})):
        clf, again = run(tmp_path / folder, **settings)
        clf.save(tmp_path / "found")
        assert (tmp_path / "found").read_bytes() == (tmp_path / "want").read_bytes()
        assert again.metrics.as_dict() == tally.metrics.as_dict()


# ------------------------------------------------------------------------------------------------------ what travels


@pytest.mark.parametrize("combiner", ["hedge", "best"])
def test_what_travels_does_not_depend_on_how_many_learners_there_are(combiner):
    """The row, its label, the votes, and the expert that is ahead: its value and its label."""
    X, y = number_stream(512, d=6, n_classes=3)
    for n_learners in (8, 40):
        engine = Here()
        with Cluster(AdaBoostOLM(n_learners, combiner=combiner, restart="never"), 2, rows=256, engine=engine) as run:
            run.partial_fit(X, y, classes=[0, 1, 2]).result()
        per_row = engine.bytes_by_hop[0] / 512
        assert per_row <= 6 * 8 + 1 + 3 * 8 + 8 + 1 + 4  # and the frame of a block, some hundred bytes


# ----------------------------------------------------------------------------------------------------- what is said


def test_what_a_cluster_cannot_do_is_told():
    from sklearn.naive_bayes import GaussianNB

    X, y = number_stream(20)
    with pytest.raises(RuntimeError, match="with statement"):
        Cluster(BestTree(3)).partial_fit(X, y)
    with Cluster(AdaBoostOLM(3, learner=GaussianNB()), engine=Here()) as run, pytest.raises(ValueError, match="trees"):
        run.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="segments"):
        Cluster(BestTree(3), 0)
    for no_model in (BestTree, GaussianNB()):
        with pytest.raises(ValueError, match="of this package"):
            Cluster(no_model)
    with pytest.raises(ValueError, match=r"Here\(\)"):
        Cluster(BestTree(3), engine=Here)
    with Cluster(BestTree(3), engine=Here()) as run:
        run.partial_fit(X, y)
    with pytest.raises(RuntimeError, match="not open"):
        run.result()
    with pytest.raises(RuntimeError, match="was closed"), run:
        pass


@pytest.mark.parametrize("command", [["run", "balance"], ["tune", "balance"], ["reproduce"]])
def test_without_ray_the_command_line_says_how_to_get_it(command, monkeypatch):
    monkeypatch.setattr("onlineboost.cli.main.find_spec", lambda name: None)
    said = CliRunner().invoke(main, [*command, "--ray"])
    assert said.exit_code == 2
    assert "pip install 'onlineboost[ray]'" in said.output


@pytest.mark.parametrize(
    ("address", "told"),
    [("127.0.0.1:1", "no Ray cluster answers"), ("nowhere", "HOST:PORT"), ("127.0.0.1:99999", "no Ray")],
)
def test_an_address_where_nobody_answers_is_told_at_once(address, told):
    with pytest.raises(ClusterError, match=told):
        check_address(address)


def test_the_command_line_tells_what_is_wrong_with_a_cluster(monkeypatch):
    def fail(*_, **__):
        raise ClusterError("no Ray cluster answers")

    monkeypatch.setattr("onlineboost.cli.main.find_spec", lambda name: True)
    monkeypatch.setattr(Cluster, "__enter__", fail)
    said = CliRunner().invoke(main, ["run", "balance", "--learners", "2", "--limit", "9", "--ray", "10.0.0.1:6379"])
    assert said.exit_code == 2
    assert "no Ray cluster answers" in said.output


def test_a_bad_block_leaves_the_run_as_it_was(stream):
    X, y, _ = stream
    with Cluster(AdaBoostOLM(6, learner=TREE), 2, engine=Here()) as run:
        want = saved(run.partial_fit(X[:100], y[:100]).result())
        with pytest.raises(ValueError, match="rows"):
            run.partial_fit(X, y[:100])
        assert saved(run.result()) == want


# -------------------------------------------------------------------------------------------------------------- Ray


@pytest.mark.slow
def test_a_ray_cluster_with_a_killed_actor(stream):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'onlineboost[ray]'")
    X, y, weight = stream
    one = AdaBoostOLM(6, learner=TREE, restart="never")  # other processes have reviews as they really are: not so often
    want = in_blocks(one, X, y, 130, weight)
    with Cluster(AdaBoostOLM(6, learner=TREE, restart="never"), 2, rows=32) as run:
        assert in_blocks(run, X[:130], y[:130], 65, weight[:130]) == want[:130]
        ray.kill(run._line._workers[1])
        assert in_blocks(run, X[130:], y[130:], 65, weight[130:]) == want[130:]
        assert len(run.figures.recoveries) == 1
        assert saved(run.result()) == saved(one)
        assert each(partial(pow, 2), range(9)) == [2**i for i in range(9)]
        with pytest.raises(ZeroDivisionError):
            each(partial(divmod, 1), [1, 0])
        grid = {"grace_period": [10, 50, 400]}
        here, there = (tune(HoeffdingTree(), grid, X, y, **how) for how in ({}, {"spread": each}))
        assert saved(here.model) == saved(there.model)
        assert here.rounds == there.rounds
