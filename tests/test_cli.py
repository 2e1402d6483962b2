"""The command line says what it measured, in a table or in JSON, and what is wrong, in a sentence and exit code 2."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from helpers import number_stream
from onlineboost import AdaBoostOLM, MultiLabelBoost, load, load_dataset, lookup, prequential
from onlineboost.cli.main import COMMANDS, COMPARED, main, make_model
from onlineboost.datasets.catalogue import dataset_names
from onlineboost.evaluation import prequential_labels

QUICK = ["--learners", "3", "--limit", "120"]
OLM = ["--model", "adaboost-olm"]


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def events(tmp_path):
    """A file of 150 rows with a numeric and a nominal column and the label in the middle."""
    X, y = number_stream(150, d=2)
    lines = ["size,label,colour"]
    lines += [
        f"{size:.3f},class {label},{'red' if hue > 0.5 else 'blue'}" for (size, hue), label in zip(X, y, strict=True)
    ]
    path = tmp_path / "events.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


# ------------------------------------------------------------------------------------------------------ what it does


def test_run_prints_a_table_of_the_model_and_the_baselines():
    result = call("run", "balance", *QUICK)
    assert result.exit_code == 0, result.output
    assert "balance: 120 examples, 3 classes, shuffled with seed 0" in " ".join(result.stdout.split())
    for name in ("online-boost", "majority", "last-class"):
        assert name in result.stdout
    assert "hoeffding-tree" not in result.stdout


def test_the_json_of_run_holds_what_prequential_finds():
    result = call("run", "balance", *QUICK, *OLM, "--seed", "4", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    data = load_dataset("balance").shuffled(4)
    want = prequential(AdaBoostOLM(3, random_state=4), data.X[:120], data.y[:120], classes=list(data.classes))
    first = answer["results"][0]
    assert first["model"] == "adaboost-olm"
    assert (first["examples"], first["accuracy"]) == (120, want.accuracy)
    assert first["tail_accuracy"] == want.tail_accuracy(0.2)
    assert first["seconds"] > 0.0
    assert {name: answer[name] for name in ("source", "learners", "seed")} == {
        "source": "balance",
        "learners": 3,
        "seed": 4,
    }
    assert "loss" not in answer  # it was not given: the model's own
    assert answer["classes"] == list(data.classes)


def test_compare_runs_the_models_it_is_given_in_that_order(events):
    result = call("compare", events, "--target", "label", *QUICK, "--models", "last-class, hoeffding-tree", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert [row["model"] for row in answer["results"]] == ["last-class", "hoeffding-tree"]
    assert answer["classes"] == ["class 0", "class 1", "class 2"]
    everything = call("compare", events, "--target", "label", *QUICK, "--json")
    assert [row["model"] for row in json.loads(everything.stdout)["results"]] == list(COMPARED)


def test_settings_reach_the_model(events):
    answers = [
        json.loads(call("run", events, "--target", "label", *QUICK, *OLM, *more, "--json").stdout)["results"][0][
            "accuracy"
        ]
        for more in ([], ["--loss", "squared_hinge"], ["--combiner", "last"], ["--seed", "9"])
    ]
    assert len(set(answers)) > 1


def test_a_setting_that_is_not_given_is_the_models_own():
    for name in lookup.names():
        made = make_model(name, learners=3, seed=0, jobs=1).get_params(deep=False)
        assert repr(made) == repr(lookup.make(name, n_learners=3).get_params(deep=False))


def test_settings_reach_the_models_that_have_them():
    given = {"loss": "exponential", "combiner": "best", "restart": "always", "gamma": 0.2, "vote": "cost"}
    given["alpha_steps"] = "decaying"
    for name in lookup.names():
        made = make_model(name, learners=3, seed=5, jobs=2, **given).get_params()
        own = lookup.settings_of(name)
        assert {option for option, value in given.items() if made.get(option) == value} == given.keys() & set(own)
        assert made["random_state"] == 5
        assert made.get("n_learners", 3) == 3
        assert made.get("n_jobs", 2) == 2
    for more in (
        ["--restart", "always"],
        ["--combiner", "best"],
        ["--loss", "exponential"],
        ["--weight-scale", "5,200"],
    ):
        assert call("run", "balance", *QUICK, *OLM, *more).exit_code == 0
    answer = json.loads(
        call("run", "balance", *QUICK, *OLM, "--weight-scale", "5,200", "--vote", "cost", "--json").stdout
    )
    assert (answer["weight_scale"], answer["vote"]) == ([5.0, 200.0], "cost")
    assert call("run", "balance", *QUICK, "--weight-scale", "heavy").exit_code == 2


def test_costs_reach_the_models(tmp_path):
    costs = tmp_path / "costs.json"
    costs.write_text('{"B": {"L": 7}, "L": {"R": 0.5}}')
    data = load_dataset("balance").shuffled(0)
    for option, given, meant in (
        ("--class-weight", "balanced", {"class_weight": "balanced"}),
        ("--class-weight", "B=7, R=0.5", {"class_weight": {"B": 7.0, "R": 0.5}}),
        ("--cost-matrix", costs, {"cost_matrix": {"B": {"L": 7.0}, "L": {"R": 0.5}}}),
    ):
        result = call("run", "balance", "--learners", 3, *OLM, option, given, "--json")
        assert result.exit_code == 0, result.output
        answer = json.loads(result.stdout)
        want = prequential(AdaBoostOLM(3, **meant), data.X, data.y)
        assert answer["results"][0]["accuracy"] == want.accuracy
        assert {name: answer[name] for name in meant} == meant
        assert "guarantee" not in answer["results"][0]
        assert call("compare", "balance", *QUICK, "--models", "online-mbbm,majority", option, given).exit_code == 0


def test_costs_of_no_label_are_named(tmp_path):
    costs = tmp_path / "costs.json"
    for option, given, says in (
        ("--class-weight", "heavy", "--class-weight takes balanced or LABEL=WEIGHT"),
        ("--class-weight", "B=much", "--class-weight takes balanced or LABEL=WEIGHT.*'much'"),
        ("--class-weight", "X=2", "--class-weight has 'X', which is not a label; labels: B, L, R"),
        ("--class-weight", "B=-2", "class_weight of 'B' must be a number above 0"),
        ("--cost-matrix", "{", "is not JSON"),
        ("--cost-matrix", "[[0, 1], [1, 0]]", "must hold"),
        ("--cost-matrix", '{"B": {"X": 1}}', "--cost-matrix has 'X', which is not a label"),
        ("--cost-matrix", '{"B": {"L": "7"}}', r"cost_matrix\['B'\]\['L'\] is '7'"),
    ):
        if option == "--cost-matrix":
            costs.write_text(given)
        result = call("run", "balance", *QUICK, option, costs if option == "--cost-matrix" else given)
        assert result.exit_code == 2
        assert re.search(says, result.output.replace("\n", "")), result.output
    missing = call("run", "balance", "--cost-matrix", tmp_path / "nowhere.json")
    assert missing.exit_code == 2
    assert "does not exist" in missing.output


def test_a_file_is_read_to_its_end_without_a_limit(events):
    answer = json.loads(call("run", events, "--target", "label", "--learners", 2, "--json").stdout)
    assert {row["examples"] for row in answer["results"]} == {150}
    at_most = json.loads(call("run", events, "--target", "label", "--learners", 2, "--limit", 999, "--json").stdout)
    assert {row["examples"] for row in at_most["results"]} == {150}


def test_the_kind_of_a_column_can_be_forced(tmp_path):
    path = tmp_path / "codes.csv"
    rng = np.random.default_rng(0)
    codes = rng.integers(8, size=600)
    path.write_text("code,label\n" + "".join(f"{code},{'odd' if code % 2 else 'even'}\n" for code in codes))
    right = [
        json.loads(call("run", path, "--learners", 3, *more, "--json").stdout)["results"][0]["tail_accuracy"]
        for more in (["--nominal", "code"], ["--numeric", "code"])
    ]
    assert right[0] == 1.0
    assert right[0] >= right[1]


def test_a_column_of_dates_is_refused_and_can_be_left_out(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("size,when,label\n" + "1,2024-05-01,a\n2,2024-05-02,b\n" * 20)
    assert_told(call("run", path, "--learners", 2), "'when'", "--drop when")
    answer = json.loads(call("run", path, "--learners", 2, "--drop", "when", "--json").stdout)
    assert answer["results"][0]["examples"] == 40


@pytest.mark.parametrize("more", [(), ("--limit", 40), ("--json",)], ids=str)
def test_the_column_with_the_labels_is_named_if_nobody_has_named_it(events, more):
    for command in ("run", "compare"):
        models = () if command == "run" else ("--models", "majority,last-class")
        done = call(command, events, "--learners", 2, *models, *map(str, more))
        assert done.exit_code == 0, done.output
        told = " ".join(done.stderr.split())
        assert told.count("Labels: column 'colour', the last one. --target names another.") == 1
        if "--json" in more:
            assert json.loads(done.stdout)["target"] == "colour"
    assert "--target" not in call("run", events, "--target", "label", "--learners", 2).stderr
    assert "--target" not in call("run", "balance", *QUICK).stderr


def test_the_column_with_the_labels_of_a_pipe_is_named(events):
    code = "from onlineboost.cli.main import main; main()"
    command = [sys.executable, "-c", code, "run", "-", "--learners", "2"]
    done = subprocess.run(command, input=events.read_text(), capture_output=True, text=True, check=True)
    assert "Labels: column 'colour', the last one. --target names another." in done.stderr


def test_datasets_lists_all_names():
    table, listed = call("datasets"), call("datasets", "--json")
    assert table.exit_code == listed.exit_code == 0
    rows = json.loads(listed.stdout)
    assert [row["name"] for row in rows] == list(dataset_names())
    for row in rows:
        assert row["name"] in table.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command):
    result = call(command, "--help")
    assert result.exit_code == 0
    assert f"Usage: main {command} [OPTIONS]" in result.stdout
    assert command in call("--help").stdout


def test_the_list_of_commands_says_what_their_help_says():
    assert list(COMMANDS) == sorted(COMMANDS)
    for name, (_, text) in COMMANDS.items():
        command = main.get_command(None, name)
        assert command.name == name
        assert command.get_short_help_str(limit=1000) in (text, text.removesuffix("."))


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=" ".join)
def test_help_loads_nothing_heavy(command):
    """NumPy, Numba and scikit-learn take a second or two to import: nobody should wait for them to read a help text."""
    code = f"import sys; from onlineboost.cli.main import main; main({[*command, '--help']}, standalone_mode=False); "
    code += "print({'numpy', 'numba', 'scipy', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Usage:" in done.stdout
    assert done.stdout.splitlines()[-1] == "set()"


# ------------------------------------------------------------------------------------------------------ what is wrong


def assert_told(result, *words):
    """Exit code 2, no traceback, and a message with these words on stderr."""
    told = " ".join(result.stderr.split())
    assert result.exit_code == 2, (result.exit_code, result.exception, told)
    assert "Traceback" not in told
    for word in words:
        assert word in told, told


def test_a_file_that_is_not_there(tmp_path):
    assert_told(call("run", tmp_path / "nowhere.csv"), "nowhere.csv")


def test_a_name_that_is_no_data_set():
    assert_told(call("run", "balanse"), "'balanse'", "balance")
    assert_told(call("compare", "balanse"), "'balanse'", "balance")


def test_a_data_set_whose_file_is_not_here(monkeypatch, tmp_path):
    monkeypatch.setenv("ONLINEBOOST_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert_told(call("run", "isolet", *QUICK), "isolet", "ONLINEBOOST_DATA")


def test_a_target_that_is_no_column(events):
    assert_told(call("run", events, "--target", "labels"), "labels", "label")


def test_a_file_that_is_cut_off(events, tmp_path):
    whole = gzip.compress(events.read_bytes())
    path = tmp_path / "half.csv.gz"
    path.write_bytes(whole[: len(whole) // 2])
    assert_told(call("run", path, "--target", "label", *QUICK), "half.csv.gz")


def test_a_row_that_is_cut_off(events):
    events.write_text(events.read_text()[:-8])
    assert_told(call("run", events, "--target", "label", *QUICK), "events.csv")


def test_text_in_a_numeric_column(events):
    assert_told(call("run", events, "--target", "label", "--numeric", "colour"), "colour", "events.csv")


@pytest.mark.parametrize("value", ["[/red]", "[bold]", "[1, 2]"])
def test_a_value_in_brackets_is_shown_as_it_is(tmp_path, value):
    path = tmp_path / "brackets.csv"
    path.write_text(f'size,label\n1.0,a\n2.0,b\n"{value}",a\n')
    assert_told(call("run", path, "--numeric", "size", "--learners", 2), value)


@pytest.mark.parametrize("ending", ["txt", "xlsx"])
def test_a_file_of_a_kind_that_is_not_read(tmp_path, ending):
    path = tmp_path / f"events.{ending}"
    path.write_text("a,b\n1,2\n")
    assert_told(call("run", path), f"events.{ending}", ".csv")


def test_an_empty_file(tmp_path):
    path = tmp_path / "empty.csv"
    for content in ("", "a,label\n"):
        path.write_text(content)
        assert_told(call("run", path), "empty.csv")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["run", "balance", "--model", "forest"], "forest"),
        (["compare", "balance", "--models", "majority,forest"], "forest"),
        (["compare", "balance", "--models", ","], "--models"),
        (["run", "balance", "--learners", "0"], "--learners"),
        (["run", "balance", "--learners", "many"], "--learners"),
        (["run", "balance", "--limit", "0"], "--limit"),
        (["compare", "balance", "--report", "/nonexistent/page.html"], "/nonexistent"),
        (["run", "balance", "--loss", "hinge"], "loss"),
        (["run", "balance", "--combiner", "nobody"], "--combiner"),
        (["run"], "SOURCE"),
        (["runn", "balance"], "runn"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_an_option_that_makes_no_sense(arguments, word):
    assert_told(call(*arguments), word)


def test_the_papers_figure_is_drawn(tmp_path):
    """phi_20(0) rises with k for a small edge; for a larger one it turns."""
    pytest.importorskip("matplotlib")
    done = call("potential", "--most-classes", "5", "--out", str(tmp_path / "phi"))
    assert done.exit_code == 0, done.output
    assert (tmp_path / "phi.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "phi.html").read_text()
    assert page.count("<svg") == 2
    assert 'src="http' not in page  # works without a network
    assert_told(call("potential", "--gamma", "1.5"), "gamma")


def test_labels_that_come_late(events):
    at_once, late = (
        json.loads(call("run", events, *QUICK, *OLM, "--json", *delay).stdout)["results"][0]
        for delay in ((), ("--delay", 25))
    )
    assert late["examples"] == at_once["examples"]
    assert late["accuracy"] < at_once["accuracy"]
    assert "guarantee" in at_once
    assert "guarantee" not in late
    refused = call("run", events, "--delay", 7, "--save", events.parent / "model.olb")
    assert refused.exit_code == 2
    assert "not with --save" in refused.output


# ------------------------------------------------------------------------------------------------- several labels a row


def test_labels_learns_a_file_with_a_column_for_each_label(tmp_path):
    X, _ = number_stream(200, d=2)
    films, model = tmp_path / "films.csv", tmp_path / "films.olb"
    rows = [f"{a:.4f},{int(a > 0)},{b:.4f},{int(b > 0)},red" for a, b in X]
    films.write_text("\n".join(["size,long,weight,heavy,colour", *rows]) + "\n")
    done = call("labels", films, "--target", "long,heavy", "--learners", 3, "--json", "--save", model)
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["rows"] == 200
    assert answer["tail"]["micro_f1"] > 0.9
    clf = load(model)
    assert clf.classes_.tolist() == ["heavy", "long"]
    assert clf.feature_names_in_.tolist() == ["size", "weight", "colour"]
    run = prequential_labels(MultiLabelBoost(3, random_state=0), *columns_of(films))
    assert run.metrics.as_dict() == answer["metrics"]
    assert "last 20 %: rank_loss" in call("labels", films, "--target", "long,heavy", "--learners", 3).stdout
    for target, words in (
        ("long,colour", "got 'red' for 'colour'"),
        ("long,none", "no column 'none'"),
        ("long", "two"),
    ):
        bad = call("labels", films, "--target", target)
        assert bad.exit_code == 2
        assert words in bad.output


def columns_of(path):
    table = pd.read_csv(path)
    return table[["size", "weight", "colour"]], table[["long", "heavy"]]


def test_every_command_that_learns_a_file_can_leave_out_a_column_as_its_error_says(tmp_path):
    path = tmp_path / "events.csv"
    rows = (f"{b % 7},2026-11-{1 + b % 28},T{b},{b % 2},{b // 2 % 2}" for b in range(80))
    path.write_text("size,day,key,big,label\n" + "\n".join(rows) + "\n")
    small = {"run": ["--learners", 2], "tune": ["--set", "n_learners=2,3"], "labels": ["--target", "big,label"],
             "compare": ["--models", "hoeffding-tree"]}  # fmt: skip
    for command, more in small.items():
        refused = call(command, path, *more)
        assert refused.exit_code == 2
        assert "--drop day" in refused.stderr
        for drop in (
            ["--drop", "day", "--drop", "key"],
            ["--drop", "day,key"],
            ["--drop", "day, key", "--nominal", "size"],
        ):
            done = call(command, path, *more, *drop)
            assert done.exit_code == 0, done.output


@pytest.mark.filterwarnings("default:column 'id' has whole numbers")
def test_labels_and_tune_tell_of_digits_that_are_lost(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("id,big,label\n" + "".join(f"{2**60 + b},{b % 2},{b // 2 % 2}\n" for b in range(80)))
    for command in (["tune", path, "--set", "n_learners=2,3"], ["labels", path, "--target", "big,label"]):
        done = call(*command)
        assert done.exit_code == 0, done.output
        assert " ".join(done.stderr.split()).count("Warning: column 'id' has whole numbers beyond 2**53") == 1
