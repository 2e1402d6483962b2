"""Every script of benchmarks/ runs, on a small input, and says what it should."""

import importlib.util
import json
import os
import platform
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from onlineboost import AdaBoostOLM, OnlineBoostClassifier, load_dataset, prequential, theory

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import bench
import combiner
import drift
import guard
import imbalance
import importances
import machine
import memory
import moa_streams
import noise
import probabilities
import rare_events
import rare_learners
import scaling
import threads
import turns
import whole_streams

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "benchmarks"


def run(script, *arguments, code=0):
    """What the command of a script prints."""
    command = importlib.import_module(script).main
    done = CliRunner().invoke(command, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.stdout


def rows_of(output):
    """The cells of the rows of all tables, by what the first cell says."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if line.startswith("│")]
    return {row[0]: row[1:] for row in rows}


def first_rows(name, n, order=0):
    data = load_dataset(name).shuffled(order)
    return data.X[:n], data.y[:n]


def test_every_script_is_tested_here():
    """Those that are run, not those that are only imported."""
    here = Path(__file__).read_text()
    for path in sorted(SCRIPTS.glob("*.py")):
        if '__name__ == "__main__"' in path.read_text():
            assert f"def test_{path.stem}_" in here, path.name


@pytest.mark.slow
def test_beginnings_times_new_processes_files_and_single_rows():
    rows = rows_of(run("beginnings", "--quick"))
    assert float(rows["import"][1]) > 0.0
    assert int(rows["OnlineBoostClassifier"][2].replace(",", "")) < 5_000


@pytest.mark.slow
def test_cluster_compares_parts_with_one_process_and_counts_bytes():
    small = ("--streams", "balance", "--rows", 120, "--learners", 4, "--models", "adaboost-olm", "--few", 30)
    assert run("cluster", "exact", "--here", *small, "--parts", "1,3", "--blocks", "1,50").endswith(
        "4 of 4 runs are the same as one process\n"
    )
    few, many = run("cluster", "travel", "--stream", "balance", "--rows", 200, "--learners", "4,20").splitlines()
    assert few.partition(":")[2] == many.partition(":")[2]


def test_accuracy_is_the_mean_over_the_orders(tmp_path):
    asked = ("--datasets", "balance", "--orders", 2, "--learners", 3, "--jobs", 1, "--json", tmp_path / "out.json")
    (model, orders, tail, error, *_) = rows_of(run("accuracy", *asked))["balance"]
    expected = []
    for order in range(2):
        X, y = first_rows("balance", None, order)
        expected.append(prequential(AdaBoostOLM(3, random_state=order), X, y).tail_accuracy())
    assert (model, orders) == ("adaboost-olm", "2")
    assert float(tail) == pytest.approx(np.mean(expected), abs=6e-5)
    assert float(error) == pytest.approx(abs(expected[0] - expected[1]) / 2, abs=6e-5)
    kept = json.loads((tmp_path / "out.json").read_text())["results"]["balance adaboost-olm"]
    assert [row["tail"] for row in kept] == expected


@pytest.mark.slow
def test_flagship_can_be_stopped_and_goes_on(tmp_path):
    asked = ("--datasets", "balance:200", "--model", "online-boost:2", "--model", "adaboost-olm:2")
    out = tmp_path / "runs.jsonl"
    first = rows_of(run("flagship", *asked, "--orders", 1, "--out", out))
    lines = out.read_text().splitlines()
    X, y = first_rows("balance", 200)
    assert json.loads(lines[1])["all"] == prequential(AdaBoostOLM(2), X, y).accuracy
    run("flagship", *asked, "--orders", 2, "--out", out)
    assert out.read_text().splitlines()[:2] == lines  # not done again
    assert len(out.read_text().splitlines()) == 4
    assert "balance" in first


@pytest.mark.slow
def test_profile_panel_measures_parts():
    asked = ("--datasets", "balance", "--rows", 100, "--times", 3, "--parts", "combiner,fitted")
    rows = rows_of(run("profile_panel", *asked))
    assert all(float(cells[0]) >= 0.0 for cells in rows.values())
    assert len(rows) == 3


@pytest.mark.slow
def test_bench_measures_and_writes_a_page(tmp_path):
    asked = ("--quick", "--streams", "car", "--models", "ours-olm", "--learners", 3, "--rows", 150)
    output = run("bench", *asked, "--axes", "learners", "--out", tmp_path)
    results = json.loads((tmp_path / "bench.json").read_text())
    assert "car: 150 rows, 6 columns, 4 classes" in output
    (row,) = results["systems"]
    stream = bench.as_stream(load_dataset("car"), 150)
    clf = AdaBoostOLM(3, categorical_features=list(range(6)))
    assert row["accuracy"] == prequential(clf, stream.X, stream.y, classes=np.arange(4)).accuracy
    assert (row["model"], row["rows"], row["learners"]) == ("ours-olm", 150, 3)
    assert [(point["axis"], point["size"]) for point in results["scaling"]] == [("learners", 25), ("learners", 200)]
    output = run("bench", "--page", tmp_path / "page.md", "--out", tmp_path)
    assert (tmp_path / "page.md").read_text() == (tmp_path / "benchmarks.md").read_text()
    assert f"| AdaBoostOLM | 3 | 150 | {row['accuracy']:.4f} |" in (tmp_path / "page.md").read_text()


@pytest.mark.slow
def test_drift_compares_the_ways_to_restart():
    rows = rows_of(run("drift", "--streams", "swap-1000,nursery, 20 % noise", "--rows", 1500, "--learners", 3))
    assert {"swap-1000", "nursery, 20 % noise"} < rows.keys()
    never, always, auto, times = rows["swap-1000"]
    X, y = (part[:1500] for part in drift.swap(8000, 1000, 0))
    right = AdaBoostOLM(3, restart="never").test_then_train(X, y, classes=np.unique(y)) == y
    assert never == f"{right[1200:].mean():.4f} | {right.mean():.4f}"
    assert times.endswith(" x")
    assert never != always or never != auto


def test_drift_names_the_streams_there_are():
    output = CliRunner().invoke(drift.main, ["--streams", "sea,see"]).output
    assert "'see' is not a stream" in output


@pytest.mark.slow
def test_imbalance_counts_what_mistakes_cost():
    rows = rows_of(run("imbalance", "--quick", "--rows", 600, "--learners", 3))
    assert len(rows) == len(imbalance.MODELS) * len(imbalance.SETTINGS)
    X, y = (part[:600] for part in imbalance.STREAMS["generated, 3 %"](0))
    said = AdaBoostOLM(3, class_weight="balanced").test_then_train(X, y, classes=["other", "rare"])[120:]
    y = y[120:]
    missed, false = ((y == "rare") & (said != y)).sum(), ((y == "other") & (said != y)).sum()
    cost, recall, _, _, accuracy = rows["AdaBoostOLM, balanced"]
    assert cost == f"{1000 * (20 * missed + false) / 480:.1f}"
    assert recall == f"{1 - missed / (y == 'rare').sum():.3f}"
    assert accuracy == f"{(said == y).mean():.3f}"
    table = rows_of(run("imbalance", "--matrices", "--streams", "car", "--rows", 500, "--learners", 2, "--orders", 1))
    assert re.fullmatch(r"[\d.]+ \| [\d.]+", table["car"][0])
    assert "no stream begins" in CliRunner().invoke(imbalance.main, ["--streams", "fraud"]).output


@pytest.mark.slow
def test_noise_says_what_wrong_labels_cost():
    models = ("--models", "hoeffding-tree,adaboost-olm-last", "--kinds", "uniform,near", "--rows", 300)
    lines = run("noise", "--streams", "balance", *models, "--rates", "0,.3", "--orders", 1).splitlines()
    trees = [line.split("│")[2:4] for line in lines if "hoeffding-tree" in line]
    assert len(trees) == 2
    assert trees[0][0] == trees[1][0]  # without wrong labels there are no kinds of them
    for clean, noisy in trees:
        lost = float(noisy.split("(")[1].split(")")[0])
        assert float(noisy.split("(")[0]) == pytest.approx(float(clean) + lost, abs=1e-4)
        assert lost < 0.0


def test_wrong_labels_are_as_many_as_asked_for():
    data = load_dataset("car").shuffled(0)
    codes = np.unique(data.y, return_inverse=True)[1]
    for kind in noise.KINDS:
        wrong = noise.wrong_labels(kind, 0.2, data.X, codes, 4, 0)
        assert abs((wrong != codes).mean() - 0.2) < 0.03
    assert (noise.wrong_labels("class", 1.0, data.X, codes, 4, 0) == (codes + 1) % 4).all()


def test_glitches_compares_with_the_stream_as_it_is():
    rows = rows_of(run("glitches", "--quick", "--streams", "balance", "--learners", 3))
    (base, absent, whole, one, stuck, unit) = rows["balance"]
    X, y = first_rows("balance", None)
    right = AdaBoostOLM(3).test_then_train(X, y, classes=np.unique(y)) == y
    assert base == f"{right[500:].mean():.4f}"
    columns = [np.where(np.arange(625) == 50, 1e6, np.asarray(column, float)) for column in X.columns]
    spoilt = AdaBoostOLM(3).test_then_train(np.column_stack(columns), y, classes=np.unique(y)) == y
    assert float(whole) == pytest.approx(spoilt[500:].mean() - right[500:].mean(), abs=1e-4)
    assert all(cell[0] in "+-" for cell in (absent, one, stuck, unit))


@pytest.mark.slow
def test_latency_gives_percentiles_of_every_request(tmp_path):
    asked = ("--models", "AdaBoostOLM", "--rows", 400, "--learners", 3, "--seconds", 0.03)
    output = run("latency", *asked, "--json", tmp_path / "out.json")
    figures = json.loads((tmp_path / "out.json").read_text())
    requests = {figure["request"] for figure in figures}
    assert requests == {"predict_one", "learn_one", *(f"predict, {n} rows" for n in (10, 100, 1000)), "predict, 1 row"}
    assert requests <= rows_of(output).keys()
    for figure in figures:
        wall, cpu = figure["us"][:3], figure["us"][3:]
        assert 0.0 < wall[0] <= wall[1] <= wall[2]
        assert cpu == sorted(cpu)


@pytest.mark.slow
def test_latency_beside_learning(tmp_path):
    asked = ("--models", "AdaBoostOLM", "--rows", 400, "--learners", 3, "--seconds", 0.1, "--beside-learning")
    output = run("latency", *asked, "--json", tmp_path / "out.json")
    figures = {figure["request"]: figure for figure in json.loads((tmp_path / "out.json").read_text())}
    assert figures.keys() == {
        "learning 1,000 rows",
        "learning 1,000 rows, CPU",
        "predict, 1 row",
        "predict_one",
        "snapshot",
    }
    assert figures.keys() <= rows_of(output).keys()
    assert all(figure["number"] and figure["ms"] == sorted(figure["ms"]) for figure in figures.values())


def test_machine_names_no_host_and_no_folder():
    described = machine.describe({"capymoa": Path("nowhere"), "vw": Path("nowhere")})
    assert {"processor", "cores used", "Python", "numba"} <= described.keys()
    for private in (platform.node(), str(Path.home()), str(ROOT)):
        assert not [value for value in described.values() if private in value]


# -------------------------------------------------------------------------------------------------------- the guard


@pytest.mark.slow
def test_guard_judges_by_the_stored_ratios():
    done = CliRunner().invoke(guard.main, ["--repeats", "1", "--only", "nominal"], catch_exceptions=False)
    ((name, (ratio, stored, verdict)),) = rows_of(done.stdout).items()
    assert name == "AdaBoostOLM, nominal columns"
    assert float(stored) == pytest.approx(json.loads(guard.STORED.read_text())["ratios"][name], abs=6e-4)
    slower = float(ratio) > guard.ALLOWED * float(stored)
    assert done.exit_code == int(slower)
    assert verdict.startswith("slower") == slower


def test_guard_stores_all_cases_or_none():
    done = CliRunner().invoke(guard.main, ["--update", "--only", "nominal"])
    assert done.exit_code == 2
    assert "leave --against and --only out" in done.output


@pytest.mark.slow
def test_guard_runs_against_another_checkout():
    """Here against itself, in two processes."""
    done = CliRunner().invoke(guard.main, ["--against", str(ROOT), "--repeats", "2", "--only", "nominal"])
    ((name, (there, here, least, median)),) = rows_of(done.stdout).items()
    assert name == "AdaBoostOLM, nominal columns"
    assert there.endswith(" ms")
    assert here.endswith(" ms")
    assert 0.2 < float(least) < 5.0
    assert 0.2 < float(median) < 5.0


def test_turns_take_cases_and_sources_from_each_checkout(tmp_path, monkeypatch):
    """Two fake versions: each counts the turns of its own, and says which sources it was given."""
    for name, seconds, cases in (("old", 2.0, "abc"), ("new", 3.0, "bcd")):
        for folder in ("benchmarks", "src"):
            (tmp_path / name / folder).mkdir(parents=True)
        (tmp_path / name / "src" / "version_here.py").write_text(f"seconds = {seconds}")
        (tmp_path / name / "benchmarks" / "guard.py").write_text(
            f"import version_here\ncases = lambda: dict.fromkeys({cases!r}, lambda: None)\n"
            "cpu_seconds = lambda case: version_here.seconds\n"
        )
    monkeypatch.setattr(turns, "ROOT", tmp_path / "new")
    seen = []
    results, unshared = turns.compare(tmp_path / "old", 3, "", seen.append)
    assert seen == [0, 1, 2]
    assert results == [turns.Comparison(case, [2.0] * 3, [3.0] * 3) for case in "bc"]
    assert [(result.least, result.median) for result in results] == [(1.5, 1.5)] * 2
    assert unshared == ["d", "a"]
    (tmp_path / "old" / "benchmarks" / "guard.py").write_text("raise ValueError('no such data')")
    with pytest.raises(RuntimeError, match="old stopped: ValueError: no such data"):
        turns.compare(tmp_path / "old", 3, "", seen.append)


# ---------------------------------------------------------------------------------------------------------- others


@pytest.mark.slow
def test_paper_effects_compares_order_by_order(tmp_path):
    """All wrong boosters, without the compiler: each process would compile them anew."""
    asked = ["--datasets", "balance", "--models", "AdaBoostOLM,OnlineMBBM 0.1", "--orders", "2", "--learners", "3"]
    asked += ["--rows", "100", "--json", str(tmp_path / "out.json")]
    done = subprocess.run(
        [sys.executable, SCRIPTS / "paper_effects.py", *asked],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "out.json").read_text())["results"]
    assert list(results) == ["balance, AdaBoostOLM", "balance, OnlineMBBM 0.1"]
    base, printed = (np.array(results["balance, AdaBoostOLM"][name]) for name in ("corrected", "gradient as printed"))
    assert f"balance, AdaBoostOLM, 2 orders: {base.mean():.3f}" in done.stdout
    (change,) = re.findall(r"gradient as printed .* ([-+][\d.]+) ±.* points, 2 orders", done.stdout)
    assert float(change) == pytest.approx(100 * (printed - base).mean(), abs=0.051)
    for order in range(2):
        X, y = first_rows("balance", 100, order)
        settings = importlib.import_module("onlineboost_paper.tables").make_model("adaboost-olm", "paper", 3, order)
        assert base[order] == prequential(settings.set_params(vote="cost"), X, y).tail_accuracy()


@pytest.mark.slow
def test_learners_tells_how_the_cost_grows(tmp_path):
    said = run("learners", "--streams", "car", "--rows", 60, "--learners", "2,4")
    assert "OnlineMBBM" in said
    assert "AdaBoostOLM" in said


def test_importances_finds_the_columns_that_matter():
    X, y, columns = importances.known_truth(60, 0)
    assert X.shape == (120, importances.COLUMNS)
    assert len(set(y.tolist())) == importances.CLASSES
    assert importances.precision(np.isin(np.arange(50), columns[0]).astype(float), columns[0]) == 1.0


@pytest.mark.slow
def test_peers_runs_one_model(tmp_path):
    stream = scaling.make_stream(120)
    stream.save(tmp_path / "stream.npz")
    command = [sys.executable, SCRIPTS / "peers.py", "ours-plain", tmp_path / "stream.npz", tmp_path / "out.json"]
    done = subprocess.run([*command, "--rows", "100", "--learners", "2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out.json").read_text())
    expected = prequential(AdaBoostOLM(2, restart="never"), stream.X[:100], stream.y[:100]).right
    right = np.unpackbits(np.frombuffer(bytes.fromhex(result["right"]), np.uint8))[:100]
    np.testing.assert_array_equal(right, expected)
    assert done.stdout.split() == ["100"]


def test_optimality_compares_the_bounds():
    output = run("optimality", "--classes", "2,5", "--gammas", 0.2, "--error", 0.1)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in output.splitlines() if line.startswith("| ")]
    learners, examples = rows[1:3], rows[4:6]
    for k, row in zip((2, 5), learners, strict=True):
        assert row[:3] == [str(k), "0.2", str(theory.mbbm_learners(k, 0.2, 0.1))]
        ratios = [float(cell.split("(")[1].rstrip(")")) for cell in row if "(" in cell]
        assert ratios == sorted(ratios, reverse=True)  # before, more and more S, in the long run
        assert ratios[-1] >= 1.0
    assert all(float(row[-1].split("= ")[1]) >= 1.0 for row in examples)


@pytest.mark.slow
def test_profile_parts_shows_the_parts_of_every_stream():
    rows = rows_of(run("profile_parts", "--streams", "nursery", "--learners", 2, "--repeats", 1))
    parts = [float(rows[name][0]) for name in list(rows)[:5]]
    assert list(rows)[5:] == ["all", "leaves per tree", "bytes per leaf"]
    assert sum(parts) == pytest.approx(float(rows["all"][0]), abs=0.003)


@pytest.mark.slow
def test_adaptive_plays_games_within_the_bound():
    assert "games in which the bound is exceeded: 0" in run("adaptive", "--games", 5)


@pytest.mark.slow
def test_voices_are_left_out_one_at_a_time(tmp_path):
    out = tmp_path / "voices.jsonl"
    said = run("voices", "--sets", "balance", "--without", "trees", "--orders", 1, "--out", out)
    assert len(out.read_text().splitlines()) == 2
    assert "trees" in said


@pytest.mark.slow
def test_adaptive_shows_accuracy_beside_other_gammas(tmp_path):
    small = "--sets", "balance,car", "--rows", 700, "--learners", 3, "--orders", "20,21"
    shown = run("adaptive", "--data", *small, "--json", tmp_path / "runs.json")
    runs = json.loads((tmp_path / "runs.json").read_text())["runs"]
    assert len(runs) == 6 * 2 * 2
    for key, part in zip(("all", "last"), shown.split("Accuracy over ")[1:], strict=True):
        own = [one[key] for one in runs if one["set"] == "balance" and one["model"] == "adaptive"]
        error = abs(own[0] - own[1]) / 2
        assert f"| balance, 625 | {np.mean(own):.3f} ± {error:.3f} |" in part


@pytest.mark.slow
def test_combiner_replays_what_the_classifier_predicts():
    votes, y = combiner.recorded("balance", 300, 10)
    clf = OnlineBoostClassifier(10)
    data = load_dataset("balance").shuffled(0)
    clf.partial_fit(data.X[:300], data.y[:300], classes=np.unique(data.y))
    lost, least = combiner.replayed(votes, y)
    want = dict(zip(("combiner", "slow combiner"), clf._model.chain.end.mixture.lost, strict=False))
    want["mixture"] = clf._model.chain.end.mixture.lost[-1]
    assert {name: lost[name] for name in want} == pytest.approx(want, rel=1e-6)
    assert least < min(lost["combiner"], lost["with a theorem"])
    output = run("combiner", "--sets", "balance", "--rows", 200, "--learners", 5, "--longest", 10_000)
    assert len(rows_of(output)["balance"]) == 7


@pytest.mark.slow
def test_the_regret_of_newton_steps_grows_like_a_power_and_no_bound_is_claimed():
    """Though nothing fades: where the voice is wrong by more than a factor."""
    found = {name: regrets for name, fade, regrets in combiner.simulated(100_000) if fade == 1.0}
    power = {name: np.log10(late / early) for name, (early, late) in found.items()}
    assert power["1 row in 10: 8 times too sure"] > 0.5
    assert power["twice the true logit"] < 0.2
    for page in ("src/onlineboost/theory/PROOFS.md", "docs/theory.md"):
        assert "bound on its regret is claimed" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.slow
def test_theory_checks_every_bound():
    output = run("theory", "--examples", 300, "--classes", "2,3", "--learners", 10, "--longest", 2000)
    assert "Mistakes in 300 examples, learners of edge 0.2" in output
    assert "All bounds hold." in output
    shares = re.findall(r"(?:logistic|exponential|squared_hinge) │.* (-?[\d.]+) │", output)
    assert len(shares) == 12
    assert max(map(float, shares)) <= 1.0


@pytest.mark.slow
def test_threads_are_timed_and_compared(tmp_path):
    asked = ("--streams", "nursery", "--rows", 600, "--learners", 8, "--repeats", 1, "--jobs", 2)
    output = run("threads", *asked, "--json", tmp_path / "out.json")
    figures = json.loads((tmp_path / "out.json").read_text())
    assert [figure["model"] for figure in figures] == list(threads.MODELS)
    for figure in figures:
        assert figure["same"]
        assert figure["examples"] == 600
        assert figure["runs"]["1"][0]["cpu"] > 0.0
    assert "NO" not in output


def test_threads_that_are_alone_finish_when_the_last_task_does():
    """Two blocks through two segments: of four tasks of 1 s, the two in the middle run side by side."""
    assert threads.schedule(np.ones((2, 2)), 2) == 3.0
    assert threads.schedule(np.ones((2, 2)), 1) == 4.0
    assert threads.schedule(np.array([[1.0, 5.0], [1.0, 5.0]]), 2) == 11.0
    assert threads.schedule(np.ones((2, 2)), 2, np.array([0, 1])) == 4.0


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured on Linux")
@pytest.mark.slow
def test_memory_stays_within_the_limit(capfd):
    """Not what the model says of itself, but what its process takes, while tables grow and get wider."""
    output = run("memory", "--rows", 16_000, "--learners", 50, "--limit", "12MB", "text")
    cells = rows_of(output)["text"]
    assert cells[1] == "12MB"
    beside = 2.0  # what Python itself may take meanwhile, more where kernels have just been loaded
    assert 6.0 < float(cells[memory.COLUMNS.index("MB at most") - 1]) <= 12.0 + beside


@pytest.mark.slow
def test_single_row_splits_what_a_row_takes(tmp_path):
    output = run("single_row", "--rows", 200, "--json", tmp_path / "out.json")
    figures = json.loads((tmp_path / "out.json").read_text())
    names = {"HoeffdingTree", *(f"AdaBoostOLM, {n} tree{'s' * (n > 1)}" for n in (1, 10, 100))}
    assert names <= figures["models"].keys() & rows_of(output).keys()
    fixed = figures["fixed"]["mapping"][2]
    for name, n in (("HoeffdingTree", 1), ("AdaBoostOLM, 10 trees", 10)):
        assert figures["per tree"][name] * n + fixed == pytest.approx(figures["models"][name][2])
    if importlib.util.find_spec("river") is None:
        assert "river is not installed" in output


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
@pytest.mark.slow
def test_kills_leave_no_trace():
    assert "5 of 5 kills left no trace" in run("kills", "--kills", 1, "--models", "hoeffding-tree")


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
@pytest.mark.slow
def test_serve_measures_requests_of_all_kinds():
    pytest.importorskip("uvicorn")
    output = run("serve", "--models", "adaboost-olm:3", "--seconds", 1, "--rate", 50)
    for load in ("hello", "predict 100", "learn 1000", "fdatasync"):
        assert load in output


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
@pytest.mark.slow
def test_serve_kills_lose_nothing():
    pytest.importorskip("uvicorn")
    assert "all is as it should be" in run("serve_kills", "--kills", 2, "--full", 1)


@pytest.mark.slow
def test_model_files_are_timed_beside_pickles():
    output = run("model_files", "--megabytes", 1, "--rows", 0, "--turns", 1)
    for name in ("model file", "mapped", "pickle", "joblib"):
        assert name in output


@pytest.mark.slow
def test_probabilities_of_all_makes_are_measured_alike(tmp_path):
    out = tmp_path / "runs.jsonl"
    models = "hoeffding-tree,hoeffding-tree calibrated,GaussianNB,SGDClassifier"
    arguments = ["--datasets", "balance", "--rows", "200", "--models", models, "--out", str(out)]
    done = CliRunner().invoke(probabilities.main, [*arguments, "--picture", str(tmp_path / "picture.png")])
    assert done.exit_code == 0, done.output
    records = [json.loads(line) for line in out.read_text().splitlines()]
    plain, calibrated = records[:2]
    assert plain["accuracy"] == calibrated["accuracy"]
    assert calibrated["log_loss"] < plain["log_loss"]
    assert all(0.0 < record["brier"] < 2.0 for record in records)
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    CliRunner().invoke(probabilities.main, arguments)
    assert len(out.read_text().splitlines()) == len(records)  # nothing is run twice


def test_moa_streams_change_from_each_concept_to_the_next():
    words = moa_streams.changing(["A -f 1", "A -f 2", "A -f 3"], 10)
    inner = "ConceptDriftStream -s (A -f 2) -d (A -f 3) -p 10 -w 50"
    assert words == f"ConceptDriftStream -s (A -f 1) -d ({inner}) -p 10 -w 50"


@pytest.mark.parametrize(("name", "concepts"), [("agrawal", 10), ("led", 7)])
def test_concepts_of_moa_streams_have_seeds_of_their_own(name, concepts):
    """With the same seed they have the same rows: a learner that keeps them knows the answers."""
    seeds = re.findall(r"\((?:generators\.)\w+[^()]* -i (\d+)\)", moa_streams.STREAMS[name])
    assert len(set(seeds)) == len(seeds) == concepts


def test_whole_streams_are_run_once_and_make_a_page(tmp_path):
    out, page = tmp_path / "runs.jsonl", tmp_path / "page.md"
    asked = ("--streams", "balance", "--systems", "simple-nochange", "--out", out, "--folder", tmp_path)
    run("whole_streams", *asked, "--orders", 1)
    run("whole_streams", *asked, "--orders", 2)
    runs = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(line["order"], line["done"]) for line in runs] == [(10, 625), (11, 625)]
    y = load_dataset("balance").shuffled(11).y
    assert runs[1]["all"] == pytest.approx(np.mean(y[1:] == y[:-1]) * 624 / 625, abs=1e-6)
    run("whole_streams", "--out", out, "--tidy", "--page", page)
    assert len(out.read_text().splitlines()) == 2
    assert "label before" in page.read_text()


def test_whole_streams_that_were_cut_are_run_again_with_more_time():
    job = whole_streams.Job("car", 10, "river-amf", 100)
    right = np.arange(100) % 10 > 0  # every tenth is wrong
    result = {"rows": 100, "right": right, "marks": [(100, 1.0, 2.0)], "peak_megabytes": 9.0, "version": "1"}
    line = whole_streams.line_of(job, 1728, result, 60.0)
    assert (line["done"], line["mistakes"], line["us"]) == (
        80,
        [1, 1, 1, 1, 0] * 2,
        20000.0,
    )  # steps of 8 rows, by fives
    assert whole_streams.is_done(line, 60.0)
    assert not whole_streams.is_done(line, 61.0)
    assert not whole_streams.is_done(None, 1.0)


def test_rare_learners_know_no_row_before_it_was_predicted(monkeypatch, tmp_path):
    stream = rare_events.make_stream("car:good", 0)
    assert (stream.y.sum(), len(stream.nominal)) == (69, 6)
    stream = rare_learners.Stream(stream.X[:400], stream.y[:400], stream.nominal)
    stream.save(tmp_path / "stream.npz")
    words = ["rare_learners.py", "ours-adaboost-olm", str(tmp_path / "stream.npz"), str(tmp_path / "out.npz")]
    monkeypatch.setattr(sys, "argv", words)
    rare_learners.main()
    with np.load(tmp_path / "out.npz") as out:
        assert out["p"].shape == (400,)
        assert str(out["version"]).startswith("onlineboost ")
        assert out["size"] > 1000
        assert rare_events.figures(stream.y, out["p"])["auc"] > 0.6
    seen = []

    def fit(stream, memory, seed):
        seen.append((memory.start, memory.stop))
        return rare_learners.Fitted(lambda X: np.full((len(X), 2), float(memory.stop)), np.arange(2), lambda: 1)

    monkeypatch.setitem(rare_learners.BATCH, "stub", fit)
    p, _, size = rare_learners.run("stub", stream, 0)
    first = seen[0][1]
    assert seen == [(0, stop) for stop in range(first, 400, 16)]
    assert size == 1
    assert p[first:].tolist() == [float(i // 16 * 16) for i in range(first, 400)]
    assert (p[:first] <= 0.5).all()


def test_rare_events_are_compared_seed_by_seed(tmp_path):
    line = {"stream": "payments:200", "us": 90.0, "bytes": 5_000}
    line |= {"auc": 0.8, "ap": 0.2, "log_loss": 0.1, "last_auc": 0.8, "last_ap": 0.3}
    lines = [{**line, "seed": seed, "model": "ours-online-boost"} for seed in (0, 1)]
    lines += [{**line, "seed": seed, "model": "lightgbm", "auc": 0.7 + 0.2 * seed} for seed in (0, 1, 2)]
    lines.append({"stream": "payments:200", "seed": 1, "model": "catboost", "error": "no room"})
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = run("rare_events", "--table", "--out", path).splitlines()
    assert len(told) == 4
    cells = [cell.strip() for cell in told[3].split("|")[1:-1]]
    assert cells[:4] == ["payments:200", "LightGBM, defaults", "2", ".800 ± .141"]
    assert cells[4:] == [".200 ± .000", ".100 ± .000", ".800, .300", "90", "5", "1, 2"]


def test_sets_stay_within_their_bounds_against_adversaries():
    told = run("sets", "--games", 1)
    assert "exceeded 0 times" in told, told


def test_multilabel_reads_files_of_mulan_and_measures_after_the_train_file(tmp_path):
    (tmp_path / "emotions").mkdir()
    rng = np.random.default_rng(0)
    for part, rows in (("train", 60), ("test", 40)):
        x, noise = rng.random((rows, 1)), rng.random((rows, 6))
        Y = np.column_stack([x > 0.3, x > 0.7, noise[:, 2:] > 0.8]).astype(int)
        head = "\n".join(f"@attribute a{j} numeric" for j in range(7))
        lines = [",".join(map(str, [own[0], *labels])) for own, labels in zip(x.tolist(), Y.tolist(), strict=True)]
        (tmp_path / "emotions" / f"emotions-{part}.arff").write_text("\n".join([head, "@data", *lines]))
    asked = ("--mulan", tmp_path, "--streams", "emotions", "--seeds", 1, "--systems", "adaptive,base")
    rows = [line.split() for line in run("multilabel", *asked).splitlines() if line.startswith("emotions 0")]
    assert [row[2] for row in rows] == ["adaptive", "base"]
    learned, rates = (float(row[-7]) for row in rows)
    assert 0.0 < learned < rates < 0.5


def test_bandit_vw_shows_it_only_whether_its_action_was_right(tmp_path, monkeypatch, capsys):
    learned = []
    vw = SimpleNamespace(predict=lambda row: [0.2, 0.7, 0.1], learn=learned.append)
    fake = SimpleNamespace(pyvw=SimpleNamespace(Workspace=lambda options: vw))
    monkeypatch.setitem(sys.modules, "vowpalwabbit", fake)
    (tmp_path / "rows").write_text("1\ta:1\n0\ta:2\n" * 20)
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path / "rows"), "3", "0.1", "0", "0"])
    importlib.import_module("bandit_vw").main()
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [likeliest for likeliest, _ in said] == ["1", "0"] * 20
    for row, (_, right), label in zip(learned, said, [1, 0] * 20, strict=True):
        action, cost, p = row.split(" |x ")[0].split(":")
        assert (int(action) - 1 == label) == (cost == "0") == (right == "1")
        assert float(p) == [0.2, 0.7, 0.1][int(action) - 1]


def test_bandit_compares_actions_with_labels(tmp_path):
    out = tmp_path / "out.jsonl"
    told = run("bandit", "--streams", "balance", "--models", "olm", "--rows", 100, "--out", out).splitlines()
    assert [line.split()[3:5] for line in told[1:]] == [["olm", way] for way in ("full", "bandit", "unbiased", "auto")]
    assert all(0.0 <= json.loads(line)["actions"] <= 1.0 for line in out.read_text().splitlines())
    own = run("bandit", "--streams", "balance", "--models", "", "--boost", "--rows", 60).splitlines()[1:]
    ways = run("bandit", "--ways", "--streams", "balance", "--rows", 40, "--orders", "5,6").splitlines()[1:]
    assert [line[29:47].strip() for line in (*own, *ways)] == ["BanditBoost", *importlib.import_module("bandit").WAYS]


def test_ask_asks_for_about_the_share_that_it_is_given(monkeypatch):
    ask = importlib.import_module("ask")
    for name in ("AT_RANDOM", "NOVEL"):  # which the script sets
        monkeypatch.setattr(ask.query, name, getattr(ask.query, name))
    rows, y = ask.clusters(0)
    for way in ask.WAYS:
        right, asked = ask.accuracy(rows[:900], y[:900], "hoeffding-tree", way, 0.2)
        assert 0.5 < right <= 1.0
        assert 0.05 < asked < 0.4
