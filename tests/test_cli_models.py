"""The command line with models in files: run --save, predict, show; checkpoints; rows from a pipe."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from rich.console import Console

import onlineboost
from helpers import model_state
from onlineboost.cli.main import main
from onlineboost.data import files, read_blocks
from onlineboost.data.text_files import LiveLines
from onlineboost.storage.container import FORMAT
from test_resumable import kills

QUICK = ["--learners", "2", "--model", "adaboost-olm"]
COMMAND = [sys.executable, "-c", "from onlineboost.cli.main import main; main()"]


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def told(done):
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    return " ".join(done.stderr.split())


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    paths = kills.write_stream(folder, rows=500)
    names, *lines = paths["csv"].read_text().splitlines()
    names = names.split(",")
    with (folder / "events.ndjson").open("w") as file:
        for line in lines:
            row = dict(zip(names, line.split(","), strict=True))
            row |= {name: float(row[name]) if row[name] else None for name in ("length", "width")}
            file.write(json.dumps(row) + "\n")
    return {**paths, "ndjson": folder / "events.ndjson"}


@pytest.fixture(scope="module")
def saved(sources, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.olb"
    done = call("run", sources["csv"], *QUICK, "--save", path)
    assert done.exit_code == 0, done.output
    return path


# ----------------------------------------------------------------------------------------------------- save and predict


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "ndjson"])
def test_the_model_that_is_saved_has_learned_the_file(kind, sources, saved, tmp_path):
    if kind not in sources:
        pytest.skip("needs pyarrow")
    path = tmp_path / "model.olb"
    done = call("run", sources[kind], *QUICK, "--save", path, "--out", tmp_path / "said.csv", "--json")
    assert done.exit_code == 0, done.output
    model = onlineboost.load(path)
    assert model.n_samples_seen_ == 500
    assert model_state(model) == model_state(onlineboost.load(saved))
    said = [line.split(",") for line in (tmp_path / "said.csv").read_text().splitlines()]
    assert said[0] == ["label", "prediction"]
    assert len(said) == 501
    right = np.mean([label == prediction for label, prediction in said[1:]])
    assert right == pytest.approx(json.loads(done.stdout)["results"][0]["accuracy"])


@pytest.mark.parametrize("kind", ["csv", "ndjson"])
def test_predict(kind, sources, saved, tmp_path):
    model = onlineboost.load(saved)
    (block,) = read_blocks(sources["csv"])
    done = call("predict", saved, sources[kind])
    assert done.exit_code == 0, done.output
    said = model.predict(block.X)
    assert done.stdout.splitlines() == ["row,prediction", *(f"{b},{label}" for b, label in enumerate(said, 1))]
    done = call("predict", saved, sources[kind], "--proba", "--out", tmp_path / "said.csv")
    assert done.exit_code == 0, done.output
    header, *lines = (tmp_path / "said.csv").read_text().splitlines()
    assert header == "row,prediction," + ",".join(f"p({label})" for label in model.classes_)
    shares = np.array([line.split(",")[2:] for line in lines], float)
    assert done.stderr.splitlines() == [f"500 rows predicted. Wrote {tmp_path / 'said.csv'}."]
    np.testing.assert_array_equal(shares, model.predict_proba(block.X))


def test_why_names_columns_with_signs(sources, saved, tmp_path):
    (block, *_) = read_blocks(sources["csv"], "label")
    few = tmp_path / "few.csv"
    few.write_text("".join(sources["csv"].read_text().splitlines(keepends=True)[:4]))
    model = onlineboost.load(saved)
    label = str(model.classes_[1])
    done = call("predict", saved, few, "--why", "--label", label)
    rows = list(csv.reader(done.stdout.splitlines()))
    assert rows[0] == ["row", "prediction", "why"]
    for b, (_, _, why) in enumerate(rows[1:]):
        values = [column[b] for column in block.X.columns]
        known = model.explain(dict(zip(block.X.names, values, strict=True)), label=label, by="columns")
        assert why.startswith(f"{label} {known.probability:.3f}: ")
        name, margin = next(iter(known.margins.items()))
        assert f"{margin:+.2f} {name} = " in why
    assert "--label 'nonesuch' is not a label" in told(call("predict", saved, few, "--why", "--label", "nonesuch"))
    assert "it goes with --why" in told(call("predict", saved, few, "--label", label))


@pytest.mark.parametrize("kind", ["csv", "ndjson", "parquet"])
def test_predictions_can_be_joined_with_their_rows(kind, sources, saved, tmp_path):
    if kind not in sources:
        pytest.skip("needs pyarrow")
    (block,) = read_blocks(sources["csv"])
    keep = ["--keep", "label", "--keep", "colour", "--target", "label"]
    done = call("predict", saved, sources[kind], *keep, "--out", tmp_path / "said.csv")
    assert done.exit_code == 0, done.output
    header, *lines = (tmp_path / "said.csv").read_text().splitlines()
    assert header == "row,label,colour,prediction"
    said = onlineboost.load(saved).predict(block.X)
    rows = zip(range(1, 501), block.y, block.X.columns[block.X.names.index("colour")], said, strict=True)
    assert lines == [f"{b},{label},{colour or ''},{guess}" for b, label, colour, guess in rows]
    right = f"500 rows predicted, {np.mean(said == block.y):.4f} of them right."
    assert done.stderr.strip() == f"{right} Wrote {tmp_path / 'said.csv'}."
    assert call("predict", saved, sources[kind], "--target", "label").stderr.strip() == right
    others = (tmp_path / "others.csv", sources["csv"].read_text().splitlines())
    label = others[1][0].split(",").index("label")
    rows = [line.split(",") for line in others[1]]
    for row in rows[1:4]:
        row[label] = "new"
    others[0].write_text("\n".join(map(",".join, rows)) + "\n")
    said = call("predict", saved, others[0], "--target", "label").stderr
    assert "; 3 of them have a label that the model has never met ('new'), and count as wrong." in said
    assert "no column is named 'nonesuch'" in told(call("predict", saved, sources[kind], "--keep", "nonesuch"))


@pytest.mark.parametrize(("kept", "times"), [(1 << 24, 1), (100, 2)])
def test_a_file_is_read_once_or_if_it_is_large_its_labels_before(kept, times, sources, saved, tmp_path, monkeypatch):
    opened = []
    opens = files._open
    monkeypatch.setattr(files, "_open", lambda path: opened.append(path) or opens(path))
    monkeypatch.setattr("onlineboost.cli.sources.MAX_KEPT", kept)
    done = call("run", sources["csv"], *QUICK, "--save", tmp_path / "model.olb", "--json")
    assert done.exit_code == 0, done.output
    assert len(opened) == times
    assert (tmp_path / "model.olb").read_bytes() == saved.read_bytes()
    rows = json.loads(done.stdout)["results"]
    assert [(row["model"], row["examples"]) for row in rows] == [
        ("adaboost-olm", 500), ("majority", 500), ("last-class", 500)
    ]  # fmt: skip


def test_a_baseline_alone_can_be_run_on_a_pipe_and_its_predictions_kept(sources, tmp_path):
    out = tmp_path / "said.csv"
    assert call("run", sources["csv"], "--model", "majority", "--out", out).exit_code == 0
    done = pipe("run", "-", "--model", "majority", text=sources["csv"].read_text())
    assert done.returncode == 0, done.stderr
    assert done.stdout == out.read_text()


def test_a_model_is_saved_and_drawn_by_one_run(sources, saved, tmp_path):
    pytest.importorskip("matplotlib")
    page, path = tmp_path / "page.html", tmp_path / "model.olb"
    done = call("run", sources["csv"], *QUICK, "--save", path, "--report", page)
    assert done.exit_code == 0, done.output
    assert model_state(onlineboost.load(path)) == model_state(onlineboost.load(saved))
    assert "adaboost-olm" in page.read_text()
    assert "--report" in told(call("run", sources["csv"], *QUICK, "--save", page, "--report", page))
    refused = told(call("run", sources["csv"], *QUICK, "--checkpoint", tmp_path / "kept", "--report", page))
    assert "not with --checkpoint" in refused
    assert "run it twice" in refused
    assert "--report" in told(call("run", sources["csv"], *QUICK, "--out", page, "--report", page))


def test_a_run_that_is_drawn_keeps_the_same_predictions(sources, tmp_path):
    pytest.importorskip("matplotlib")
    page, kept, alone = tmp_path / "page.html", tmp_path / "kept.csv", tmp_path / "alone.csv"
    assert call("run", sources["csv"], *QUICK, "--out", alone).exit_code == 0
    done = call("run", sources["csv"], *QUICK, "--out", kept, "--report", page)
    assert done.exit_code == 0, done.output
    assert kept.read_text() == alone.read_text()
    assert "adaboost-olm" in page.read_text()


def test_a_page_that_cannot_be_written_leaves_the_old_one(sources, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    page.write_text("the old one")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(Path, "write_text", lambda path, *_, **__: path.open("w").close() or full())
    assert "No space" in told(call("run", sources["csv"], *QUICK, "--report", page))
    assert page.read_text() == "the old one"
    assert os.listdir(tmp_path) == ["page.html"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such pipes")
def test_predictions_go_to_a_named_pipe(sources, tmp_path):
    pipe, out = tmp_path / "pipe", tmp_path / "out.csv"
    os.mkfifo(pipe)
    assert call("run", sources["csv"], "--model", "majority", "--out", out).exit_code == 0
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        command = [*COMMAND, "run", sources["csv"], "--model", "majority", "--out", pipe]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        assert reader.stdout.read() == out.read_text()


def test_an_error_about_a_file_comes_before_anything_is_printed(saved, tmp_path):
    done = call("predict", saved, tmp_path / "nowhere.csv")
    assert "no such file" in told(done)
    assert done.stdout == ""


def test_predict_needs_no_labels_and_no_order(sources, saved, tmp_path):
    (block,) = read_blocks(sources["csv"])
    path = tmp_path / "rows.csv"
    rows = zip(*(block.X.columns[c] for c in (2, 1, 0)), strict=True)
    lines = [f"{'' if w != w else w},{colour},{l}" for w, colour, l in rows]
    path.write_text("width,colour,length\n" + "\n".join(lines) + "\n")
    assert call("predict", saved, path).stdout == call("predict", saved, sources["csv"]).stdout


def test_names_and_labels_with_blanks_around_them_are_those_of_the_file(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("size, hue, label\n" + "".join(f"{b}, {'red' if b % 2 else 'blue'}, l{b % 2}\n" for b in range(60)))
    frame = pd.read_csv(path)  # which keeps the blanks after the commas
    assert frame.columns.tolist() == ["size", " hue", " label"]
    onlineboost.HoeffdingTree().fit(frame[["size", " hue"]], frame[" label"]).save(tmp_path / "model.olb")
    done = call("predict", tmp_path / "model.olb", path, "--target", "label")
    assert done.exit_code == 0, done.output
    assert "60 rows predicted, 1.0000 of them right." in done.stderr


def test_show(saved):
    done = call("show", saved)
    assert done.exit_code == 0, done.output
    for text in ("AdaBoostOLM(n_learners=2)", "rows learned", "500", "colour (4 values)", "class 0, class 1", "hedge"):
        assert text in done.stdout, text
    answer = json.loads(call("show", saved, "--json").stdout)
    assert answer["rows learned"] == 500
    assert answer["format"] == FORMAT
    assert answer["bytes"] == saved.stat().st_size
    assert answer["settings"]["n_learners"] == 2
    assert answer["settings"]["combiner"] == "hedge"


def test_show_names_the_voices_by_how_much_they_count(sources, tmp_path):
    path = tmp_path / "model.olb"
    assert call("run", sources["csv"], "--learners", "5", "--save", path).exit_code == 0
    want = onlineboost.load(path).voices_
    shown = json.loads(call("show", path, "--json").stdout)["voices, coefficients"]
    assert shown == want
    assert list(shown) == sorted(want, key=lambda name: -abs(want[name]))
    first = next(iter(shown))
    assert f"voices, coefficients {first} {want[first]:+.3f}, " in " ".join(call("show", path).stdout.split())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_show_runs_no_pickle(tmp_path):
    from sklearn.naive_bayes import GaussianNB

    clf = onlineboost.AdaBoostOLM(2, learner=GaussianNB()).fit([[0.0], [1.0], [0.5]], ["a", "b", "a"])
    clf.save(tmp_path / "model.olb", pickled_learners=True)
    done = call("show", tmp_path / "model.olb")
    assert done.exit_code == 0, done.output
    assert "3: load it in Python with pickled_learners=True if you trust it" in done.stdout
    assert "pickled weak learners" in told(call("predict", tmp_path / "model.olb", "-"))


def test_a_model_of_several_labels_is_for_python(tmp_path, sources):
    onlineboost.MultiLabelBoost(2).partial_fit([[0.0], [1.0]], [{"a"}, {"b"}]).save(tmp_path / "model.olb")
    assert call("show", tmp_path / "model.olb").exit_code == 0
    words = "says a set of labels for each row, not one"
    assert words in told(call("predict", tmp_path / "model.olb", sources["csv"]))
    assert words in told(call("serve", tmp_path / "live", "--start-from", tmp_path / "model.olb"))
    assert not (tmp_path / "live").exists()


def test_an_unfitted_model_shows_and_does_not_predict(tmp_path, sources):
    onlineboost.OzaBoost(4).save(tmp_path / "model.olb")
    assert json.loads(call("show", tmp_path / "model.olb", "--json").stdout)["rows learned"] == 0
    assert "has learned nothing yet" in told(call("predict", tmp_path / "model.olb", sources["csv"]))


# ---------------------------------------------------------------------------------------------------------- checkpoints


def test_a_run_with_checkpoints_says_what_one_without_says(sources, tmp_path, saved):
    plain = call("run", sources["csv"], *QUICK, "--out", tmp_path / "plain.csv", "--json")
    options = [*QUICK, "--checkpoint", tmp_path / "kept", "--every", 120, "--json", "--out", tmp_path / "kept.csv"]
    done = call("run", sources["csv"], *options)
    again = call("run", sources["csv"], *options, "--resume", "--save", tmp_path / "model.olb")

    def figures(done):
        assert done.exit_code == 0, done.output
        rows = json.loads(done.stdout)["results"]
        return [{name: value for name, value in row.items() if "second" not in name} for row in rows]

    assert figures(plain) == figures(done) == figures(again)
    assert (tmp_path / "plain.csv").read_bytes() == (tmp_path / "kept.csv").read_bytes()
    assert (tmp_path / "model.olb").read_bytes() == saved.read_bytes()
    assert "go on with --resume" in told(call("run", sources["csv"], *options))
    assert "learners was" not in told(call("run", sources["csv"], *options))
    changed = told(call("run", sources["csv"], *options, "--resume", "--target", "colour"))
    assert "target was None and is 'colour'" in changed
    assert "n_learners was '2' and is '3'" in told(call("run", sources["csv"], *options, "--resume", "--learners", 3))


def test_a_file_that_has_changed_is_told(sources, tmp_path):
    path = tmp_path / "events.csv"
    path.write_bytes(sources["csv"].read_bytes())
    options = [*QUICK, "--checkpoint", tmp_path / "kept", "--every", 200]
    assert call("run", path, *options).exit_code == 0
    path.write_bytes(sources["csv"].read_bytes().replace(b"colour 1", b"colour 2"))
    assert "checksum of its beginning" in told(call("run", path, *options, "--resume"))


def test_what_cannot_be_kept_is_told_before_the_run(sources, tmp_path, monkeypatch):
    monkeypatch.setattr("onlineboost.cli.measure.run_models", None)  # would fail if it were called
    run = ["run", sources["csv"], *QUICK]
    assert "--save" in told(call(*run, "--save", tmp_path / "nowhere" / "model.olb"))
    assert "--out" in told(call(*run, "--out", tmp_path / "nowhere" / "said.csv"))
    assert "needs --checkpoint DIR" in told(call(*run, "--resume"))
    assert "it cannot be saved" in told(call(*run, "--model", "majority", "--save", tmp_path / "model.olb"))
    assert "30s, 5m or 1h" in told(call(*run, "--checkpoint", tmp_path / "kept", "--every", "often"))
    assert "a part of the path is a file" in told(call(*run, "--checkpoint", sources["csv"] / "kept")).lower()


# ---------------------------------------------------------------------------------------------------------------- pipes


def pipe(*arguments, text):
    return subprocess.run([*COMMAND, *map(str, arguments)], input=text, capture_output=True, text=True)


@pytest.fixture
def feed(monkeypatch):
    """Pipe a text in, without a process of its own."""

    def feed(text):
        read, write = os.pipe()
        Thread(target=lambda: (os.write(write, text.encode()), os.close(write))).start()
        monkeypatch.setattr(files, "standard_input", lambda: LiveLines(read))

    return feed


@pytest.mark.parametrize("kind", ["ndjson", pytest.param("csv", marks=pytest.mark.slow)])
def test_rows_from_a_pipe(kind, sources, tmp_path):
    """Labels are not known beforehand: the model is the one that is fed the blocks without `classes`."""
    done = pipe(
        "run", "-", "--target", "label", *QUICK, "--save", tmp_path / "model.olb", text=sources[kind].read_text()
    )
    assert done.returncode == 0, done.stderr
    want = onlineboost.AdaBoostOLM(2)
    said = [want.test_then_train(block.X, block.y) for block in read_blocks(sources[kind])]
    lines = [
        f"{label},{prediction or ''}"
        for label, prediction in zip(next(read_blocks(sources[kind])).y, said[0], strict=True)
    ]
    assert done.stdout.splitlines() == ["label,prediction", *lines]
    assert model_state(onlineboost.load(tmp_path / "model.olb")) == model_state(want)
    assert "500 examples, 4 classes" in " ".join(done.stderr.split())
    assert "majority" in done.stderr


def test_predictions_come_as_the_rows_do(sources):
    process = subprocess.Popen(
        [*COMMAND, "run", "-", *QUICK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    lines = sources["ndjson"].read_text().splitlines(keepends=True)
    assert process.stdin is not None
    assert process.stdout is not None
    header = None
    for line in lines[:5]:  # the answer is waited for before the next row is given
        process.stdin.write(line)
        process.stdin.flush()
        header = header or process.stdout.readline()
        assert process.stdout.readline().startswith(json.loads(line)["label"])
    process.communicate()
    assert process.returncode == 0


def test_predict_from_a_pipe(sources, saved, feed):
    feed(sources["ndjson"].read_text())
    done = call("predict", saved, "-")
    assert done.stdout == call("predict", saved, sources["csv"]).stdout


def test_a_slow_pipe_of_csv_settles_the_columns_by_its_first_rows(tmp_path):
    """The first rows have numbers alone, a later one has text: however slowly they come, the column is nominal."""
    process = subprocess.Popen(
        [*COMMAND, "run", "-", *QUICK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    for line in ["size,label\n", "1,a\n", "2,b\n", "large,a\n"]:
        process.stdin.write(line)
        process.stdin.flush()
        time.sleep(0.2)
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    assert len(out.splitlines()) == 4


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": 1, "label": "x"}\nnonsense\n', "line 2: this is not JSON"),
        ('{"a": 1, "label": "x"}\n[1]\n', "line 2: '[1]' is not an object"),
        ('{"a": 1, "label": "x"}\n{"b": 1, "label": "x"}\n', "the first row has no column 'b'"),
        ('{"a": 1, "label": "x"}\n{"a": "red", "label": "x"}\n', "'red' is not a number"),
        ('{"a": [1], "label": "x"}\n', "is neither a number nor text"),
        ('{"a": 1, "label": "x"}\n{"a": 2}\n', "every row needs one"),
        ('{"a": 1}\n', "there is one column"),
        ("", "the file is empty"),
    ],
)
def test_odd_rows_of_a_pipe(text, says, feed):
    feed(text)
    assert says in told(call("run", "-", *QUICK))


def test_a_pipe_is_not_compared():
    assert "a pipe can be read once" in told(call("compare", "-"))


def test_costs_of_labels_that_are_not_known_yet(feed):
    feed('{"a": 1, "label": "x"}\n{"a": 2, "label": "y"}\n' * 20)
    assert call("run", "-", *QUICK, "--class-weight", "x=3,y=1").exit_code == 0


# --------------------------------------------------------------------------------------------------------------- files


def test_files_of_another_kind(sources, tmp_path, saved):
    assert "is not a model file" in told(call("show", sources["csv"]))
    assert "is not a model file" in told(call("predict", sources["csv"], sources["csv"]))
    near = saved.with_name(f"my{saved.name}")
    served = ["serve", tmp_path / "new", "--start-from", near]
    for command in (["show", near], ["predict", near, sources["csv"]], served):
        done = call(*command)
        assert done.exit_code == 2
        assert f"no such file. Did you mean '{saved.name}'?" in told(done)
        assert "Usage" not in done.output
    assert "it is a folder: name a model file in it" in told(call("show", tmp_path))
    (tmp_path / "cut.olb").write_bytes(saved.read_bytes()[:-10])
    assert "the file is cut off" in told(call("show", tmp_path / "cut.olb"))
    (tmp_path / "rows.csv").write_text("size,label\n1,a\n")
    missing = told(call("predict", saved, tmp_path / "rows.csv"))
    assert "no column is named 'length'" in missing
    assert "add it, empty if its values are not known" in missing


@pytest.mark.skipif(sys.platform == "win32", reason="no limits")
def test_a_full_disk_leaves_the_model_that_was_there(sources, saved, tmp_path):
    path = tmp_path / "model.olb"
    path.write_bytes(saved.read_bytes())
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000)); "
    code += "from onlineboost.cli.main import main; main()"
    arguments = ["run", sources["csv"], *QUICK, "--save", path]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, env=os.environ
    )
    assert done.returncode == 2, done.stderr
    assert "model.olb" in " ".join(done.stderr.split())
    assert path.read_bytes() == saved.read_bytes()
    assert [other.name for other in tmp_path.iterdir()] == ["model.olb"]


def test_no_file_is_written_over_another(sources, saved, tmp_path):
    source, model = tmp_path / "events.csv", tmp_path / "model.olb"
    source.write_bytes(sources["csv"].read_bytes())
    model.write_bytes(saved.read_bytes())
    (tmp_path / "link.csv").symlink_to(source)
    before = source.read_bytes(), model.read_bytes()
    for arguments in (
        ["run", source, *QUICK, "--out", source],
        ["run", source, *QUICK, "--out", tmp_path / "link.csv"],
        ["run", source, *QUICK, "--save", source],
        ["run", source, *QUICK, "--save", tmp_path / "new.olb", "--out", tmp_path / "new.olb"],
        ["predict", model, source, "--out", source],
        ["predict", model, source, "--out", model],
    ):
        done = call(*arguments)
        assert done.exit_code == 2
        assert "written over" in told(done)
    assert (source.read_bytes(), model.read_bytes()) == before


def test_a_run_that_fails_leaves_the_predictions_that_were_there(sources, tmp_path):
    """With checkpoints, or rows from a pipe, they are written as they come: the old ones go with the first of them."""
    out = tmp_path / "said.csv"
    out.write_text("of yesterday")
    for options in ([], ["--checkpoint", tmp_path / "kept"]):
        wrong = call("run", sources["csv"], *QUICK, "--numeric", "colour", "--out", out, *options)
        assert "is not a number" in told(wrong)
        assert out.read_text() == "of yesterday"
    assert sorted(other.name for other in tmp_path.iterdir()) == ["kept", "said.csv"]
    assert call("run", sources["csv"], *QUICK, "--out", os.devnull).exit_code == 0  # no file, and not to be replaced


def test_labels_that_utf_8_does_not_know_are_written_as_json_writes_them(tmp_path):
    """Half of a pair of surrogates can be in NDJSON, and nowhere else."""
    source, out, model = tmp_path / "events.ndjson", tmp_path / "said.csv", tmp_path / "model.olb"
    source.write_text('{"a": 1, "label": "p"}\n{"a": 2, "label": "\\udc01"}\n' * 20)
    assert call("run", source, *QUICK, "--out", out, "--save", model).exit_code == 0
    assert out.read_text().splitlines()[-1] == "\\udc01,\\udc01"
    assert call("predict", model, source, "--out", out).exit_code == 0
    assert out.read_text().splitlines()[-1] == "40,\\udc01"


def test_a_column_that_comes_twice_is_not_predicted_from(saved, sources, tmp_path):
    header, *rows = sources["csv"].read_text().splitlines()[:3]
    path, name = tmp_path / "twice.csv", header.split(",")[0]
    path.write_text("\n".join([f"{header},{name}", *(f"{row},1" for row in rows)]) + "\n")
    assert f"column {name!r}: two columns have this name" in told(call("predict", saved, path))


@pytest.mark.parametrize("given", [["--out"], []])
def test_predictions_go_to_their_place_while_a_terminal_shows_how_far_it_is(sources, saved, tmp_path, given, capsys):
    """Of rich, a status puts a stdout of its own in the place of stdout, which would go to the terminal."""
    console, out = Console(file=io.StringIO(), force_terminal=True), tmp_path / "said.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("onlineboost.cli.saved_model.err", console)
        main(["predict", str(saved), str(sources["csv"]), *given, *[str(out)] * len(given)], standalone_mode=False)
    text = out.read_text() if given else capsys.readouterr().out
    assert text.startswith("row,prediction\n1,")
    assert text.count("\n") == 501
    assert "500 rows predicted" in console.file.getvalue()
    assert console.file.getvalue().rstrip().endswith("\x1b[2K")
    assert "row,prediction" not in console.file.getvalue()
