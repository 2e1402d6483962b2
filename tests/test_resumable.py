"""Runs that survive: killed, damaged, full disks; and what is told when a run is another one."""

from __future__ import annotations

import logging
import os
import random
import subprocess
import sys
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from helpers import mixed_stream, model_state, number_stream
from onlineboost import AdaBoostOLM, BestTree, HoeffdingTree
from onlineboost.data import Block, Table
from onlineboost.evaluation import Tally, cut, resumable
from onlineboost.evaluation.results import Counts
from onlineboost.evaluation.resumable import Checkpoints, how_often
from onlineboost.storage.container import PART

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import kills
import model_files

COLUMNS = ("colour", "length", "size", "width", "count")
NUMBERS = (1, 3, 4)


class Stopped(Exception):
    """The machine is switched off."""


def blocks(n=400, size=50, stop=None):
    """A stream of tables; it breaks off after `stop` rows."""
    X, y, _ = mixed_stream(n, seed=3)
    columns = [X[:, c].astype(float) if c in NUMBERS else X[:, c] for c in range(5)]
    table = Table(COLUMNS, tuple(columns))
    for a in range(0, n, size):
        if stop is not None and a >= stop:
            raise Stopped
        yield Block(table[a : a + size], y[a : a + size], a, (a + size) / n)


def tree():
    return HoeffdingTree(grace_period=20, tie_threshold=0.3)


def figures(tally):
    return len(tally), tally.accuracy, tally.tail_accuracy(0.2), [part.tolist() for part in tally.curve(7)]


def undisturbed(out, model=None):
    return resumable(model or tree(), blocks(), None, out=out)


# ---------------------------------------------------------------------------------------------------------- going on


@pytest.mark.parametrize("every", [1, 30, 100, 130, 10_000, "1h"])
@pytest.mark.parametrize("stop", [50, 200, 350])
def test_a_run_goes_on_as_if_nothing_had_happened(every, stop, tmp_path):
    want, tally = undisturbed(tmp_path / "want.csv")
    options = {"every": every, "out": tmp_path / "said.csv"}
    with pytest.raises(Stopped):
        resumable(tree(), blocks(stop=stop), tmp_path / "kept", **options)
    model, again = resumable(tree(), blocks(), tmp_path / "kept", **options)
    assert model_state(model) == model_state(want)
    assert figures(again) == figures(tally)
    assert (tmp_path / "said.csv").read_bytes() == (tmp_path / "want.csv").read_bytes()
    assert len(list((tmp_path / "kept").iterdir())) <= 2


def test_it_may_be_cut_into_other_blocks_and_have_other_threads(tmp_path):
    want, tally = resumable(AdaBoostOLM(4), blocks(), None)
    with pytest.raises(Stopped):
        resumable(AdaBoostOLM(4), blocks(stop=200), tmp_path, every=70)
    model, again = resumable(AdaBoostOLM(4, n_jobs=2), blocks(size=33), tmp_path, every=70)
    assert model.n_jobs == 2
    assert model_state(model) == model_state(want)
    assert figures(again) == figures(tally)


def test_a_run_that_is_over_is_not_run_again(tmp_path):
    first, tally = resumable(tree(), blocks(), tmp_path)
    called = []
    model, again = resumable(tree(), blocks(), tmp_path, progress=lambda rows, share: called.append(rows))
    assert not called
    assert model_state(model) == model_state(first)
    assert figures(again) == figures(tally)


def test_the_trees_of_a_best_tree_are_counted_on(tmp_path):
    _, tally = resumable(BestTree(3, learner=tree()), blocks(), None)
    with pytest.raises(Stopped):
        resumable(BestTree(3, learner=tree()), blocks(stop=200), tmp_path, every=100)
    _, again = resumable(BestTree(3, learner=tree()), blocks(), tmp_path, every=100)
    assert again.best_tree_accuracy(0.2) == tally.best_tree_accuracy(0.2)


def test_arrays_are_never_cut(tmp_path):
    """The first block settles which columns are nominal: a part of it might settle otherwise."""
    X, y, _ = mixed_stream(200)
    seen = []
    resumable(tree(), cut(X, y, pieces=2), tmp_path, every=30, progress=lambda rows, share: seen.append(rows))
    assert seen == [100, 200]


def test_progress_counts_from_the_first_row(tmp_path):
    with pytest.raises(Stopped):
        resumable(tree(), blocks(stop=200), tmp_path, every=100)
    seen = []
    resumable(tree(), blocks(), tmp_path, every=100, progress=lambda rows, share: seen.append(rows))
    assert seen[0] > 100
    assert seen[-1] == 400


def test_a_tally_comes_back_whatever_its_length(monkeypatch):
    monkeypatch.setattr("onlineboost.evaluation.results.MAX_STRETCHES", 64)
    rng = np.random.default_rng(0)
    right = rng.random(1000) < 0.7
    whole, parts = Tally(), Tally()
    for a in range(0, 1000, 37):
        whole.add(right[a : a + 37], 0.1)
        parts.add(right[a : a + 37], 0.1)
        parts = Tally.of_values(parts.as_values())
    assert figures(parts) == figures(whole)
    assert Counts.of_values(Counts(3).as_values()).rows == 0


# ------------------------------------------------------------------------------------------------------ what goes wrong


def interrupted(folder, **options):
    with pytest.raises(Stopped):
        resumable(tree(), blocks(stop=300), folder, every=100, **options)
    return sorted(folder.glob("*.olb"))


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-100], lambda data: data[:500] + b"!" + data[501:], lambda _: b""]
)
def test_a_damaged_checkpoint_falls_back_to_the_one_before(damage, tmp_path, caplog):
    want, tally = undisturbed(tmp_path / "want.csv")
    newest = interrupted(tmp_path / "kept", out=tmp_path / "said.csv")[-1]
    newest.write_bytes(damage(newest.read_bytes()))
    with caplog.at_level(logging.WARNING, "onlineboost"):
        model, again = resumable(tree(), blocks(), tmp_path / "kept", every=100, out=tmp_path / "said.csv")
    assert "The checkpoint before it is tried" in caplog.text
    assert model_state(model) == model_state(want)
    assert figures(again) == figures(tally)
    assert (tmp_path / "said.csv").read_bytes() == (tmp_path / "want.csv").read_bytes()


def test_no_checkpoint_that_can_be_read_is_an_error(tmp_path):
    for path in interrupted(tmp_path):
        path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"no checkpoint in .* can be read"):
        resumable(tree(), blocks(), tmp_path)


def test_half_a_file_of_a_run_that_was_killed_is_cleared_away(tmp_path):
    interrupted(tmp_path)
    (tmp_path / PART.replace("*", "0123")).write_bytes(b"half")
    resumable(tree(), blocks(), tmp_path)
    assert not list(tmp_path.glob(PART))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model": AdaBoostOLM(2)}, "model was 'HoeffdingTree' and is 'AdaBoostOLM'"),
        ({"model": HoeffdingTree(grace_period=7)}, "grace_period was '20' and is '7'"),
        ({"about": {"file": "b.csv"}}, "file was 'a.csv' and is 'b.csv'"),
    ],
)
def test_another_run_is_told_from_this_one(change, says, tmp_path):
    interrupted(tmp_path, about={"file": "a.csv"})
    options = {"model": tree(), "about": {"file": "a.csv"}} | change
    with pytest.raises(ValueError, match=rf"is another one: .*{says}.*Start it as it was started"):
        resumable(options["model"], blocks(), tmp_path, about=options["about"])


def test_another_version_is_told(tmp_path, monkeypatch):
    interrupted(tmp_path)
    monkeypatch.setattr("onlineboost.__version__", "9.9")
    with pytest.raises(ValueError, match=r"version was '.*' and is '9\.9'"):
        resumable(tree(), blocks(), tmp_path)


def test_a_shorter_stream_is_told(tmp_path):
    interrupted(tmp_path)
    with pytest.raises(ValueError, match=r"had learned \d+ rows, and the stream has 150"):
        resumable(tree(), blocks(n=150), tmp_path)


def test_predictions_that_are_gone_are_told(tmp_path):
    interrupted(tmp_path / "kept", out=tmp_path / "said.csv")
    (tmp_path / "said.csv").write_text("label,prediction\n")
    with pytest.raises(ValueError, match="bytes of predictions here, and 17 are left"):
        resumable(tree(), blocks(), tmp_path / "kept", out=tmp_path / "said.csv")


def test_a_model_file_is_no_checkpoint(tmp_path):
    X, y = number_stream(20)
    tree().fit(X, y).save(tmp_path / "checkpoint-000000000020.olb")
    with pytest.raises(ValueError, match="is a model, but no checkpoint"):
        resumable(tree(), blocks(), tmp_path)


@pytest.mark.parametrize("every", [0, -1, "often", "1.5s", "s", ""])
def test_how_often_is_a_number_of_rows_or_a_time(every):
    with pytest.raises(ValueError, match="10000, 30s, 5m or 1h"):
        how_often(every)


def test_a_slow_disk_puts_a_checkpoint_off_once(tmp_path, monkeypatch):
    release = Event()
    replace = os.replace
    monkeypatch.setattr("onlineboost.storage.container.os.replace", lambda *paths: (release.wait(), replace(*paths)))
    checkpoints = Checkpoints(tmp_path, 100, {})
    X, y = number_stream(20)
    checkpoints.write(tree().fit(X, y), 100, Tally(), None)
    assert not checkpoints.due(199)
    assert not checkpoints.due(200)  # the one before is still being written
    assert checkpoints.due(300)
    release.set()
    checkpoints.wait()
    assert checkpoints.due(200)


def test_an_error_while_a_checkpoint_is_written_is_raised(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "onlineboost.storage.container.os.replace", lambda *paths: (_ for _ in ()).throw(OSError(28, "full"))
    )
    with pytest.raises(OSError, match="full"):
        resumable(tree(), blocks(), tmp_path / "kept", every=100)
    assert Checkpoints(tmp_path / "kept", 1, {}).paths() == []


@pytest.mark.skipif(sys.platform == "win32", reason="no limits")
def test_a_full_disk_leaves_the_checkpoint_before(tmp_path):
    """A limit on the size of files stands for the disk: the model outgrows it after some checkpoints."""
    code = f"""
import resource, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_resumable import blocks, resumable, tree
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    resumable(tree(), blocks(2000), {str(tmp_path)!r}, every=50)
except OSError as error:
    print(error)
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert "File too large" in done.stdout, done.stderr
    assert not list(tmp_path.glob(PART))
    want, tally = resumable(tree(), blocks(2000), None)
    model, again = resumable(tree(), blocks(2000), tmp_path, every=50)
    assert model_state(model) == model_state(want)
    assert figures(again) == figures(tally)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "csv" else pytest.mark.slow) for kind in kills.FORMATS]
)
def test_kill_9(kind, tmp_path, monkeypatch):
    """A few of those of benchmarks/kills.py."""
    monkeypatch.setattr(kills, "EVERY", 200)
    sources = kills.write_stream(tmp_path, rows=3000)
    if kind not in sources:
        pytest.skip("needs pyarrow")
    (tmp_path / "warm").mkdir()
    kills.run(kills.command("hoeffding-tree", sources[kind], tmp_path / "warm"), tmp_path / "warm" / "printed.json")
    same, done = kills.survives("hoeffding-tree", sources[kind], tmp_path / "run", 2, random.Random(5))
    assert same
    assert done == 2


def test_the_benchmark_compares_the_same_model(tmp_path):
    """Every way of saving gives back a model of as many rows; a model file is no larger than a pickle."""
    X, y = number_stream(300)
    found = model_files.compare(AdaBoostOLM(3).fit(X, y), tmp_path, turns=1)
    assert set(found) == set(model_files.WAYS)
    sizes = {name: size for name, (_, _, size) in found.items()}
    assert sizes["model file, checked"] < 1.2 * sizes["pickle"]
    assert list(tmp_path.iterdir()) == []
