"""The benchmark: what it counts, what it compares with what, and what it says when something is missing."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from onlineboost import AdaBoostOLM, load_dataset, prequential

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import accuracy_cells
import accuracy_page
import bench
import bench_page
import flagship
import guard
import learners
import memory
import peers
import profile_parts
import rare_learners
import references
import scaling
import voices


def a_run(rows=1000, learners=10, marks=((500, 1.0, 1.0), (1000, 3.0, 3.0)), **changes):
    right = np.arange(rows) % 2 == 0
    right[-rows // 5 :] = True
    kept = {"rows": rows, "learners": learners, "marks": marks, "right": right, "peak_megabytes": 100.0}
    return kept | {"version": "1", "predicted_sha256": "a"} | changes


def test_figures_are_of_the_rows_that_were_done():
    row = bench.figures(a_run(), 10, None)
    assert row["accuracy"] == 0.6
    assert row["tail"] == 1.0
    assert row["examples_per_second"] == pytest.approx(1000 / 3)
    assert row["us"] == pytest.approx(1e6 * 3.0 / 1000 / 10)


def test_ours_is_compared_on_the_rows_of_the_other():
    """The other did 250 rows: ours took half a second for these, and was right on every second one."""
    other = a_run(rows=250, marks=((250, 5.0, 5.0),))
    ours = bench.figures(other, 20, a_run())["ours"]
    assert ours["accuracy"] == 0.5
    assert ours["us"] == pytest.approx(1e6 * 0.5 / 250 / 10)
    assert ours["times_per_example"] == pytest.approx(10.0)
    assert ours["times_per_learner"] == pytest.approx(5.0)  # the other has twice as many learners


def test_a_stream_is_the_data_set_in_numbers():
    data = load_dataset("car")
    stream = bench.as_stream(data, 50)
    shuffled = data.shuffled(0)
    assert stream.nominal == {0: 4, 1: 4, 2: 4, 3: 3, 4: 3, 5: 3}
    assert [data.classes[code] for code in stream.y] == list(shuffled.y[:50])
    values = list(data.X.categories["safety"])
    assert [values[int(code)] for code in stream.X[:, 5]] == list(shuffled.X.columns[5][:50])


@pytest.mark.slow
def test_a_process_of_its_own_gives_the_same_predictions(tmp_path):
    stream = scaling.make_stream(200)
    stream.save(tmp_path / "stream.npz")
    seen = []
    result = bench.run_child(Path(sys.executable), "ours-olm", tmp_path / "stream.npz", seen.append, learners=3)
    expected = prequential(AdaBoostOLM(3), stream.X, stream.y).predictions == stream.y
    np.testing.assert_array_equal(result["right"], expected)
    assert seen == [200]
    assert result["peak_megabytes"] > 20


def test_a_failing_process_says_why(tmp_path):
    scaling.make_stream(20).save(tmp_path / "stream.npz")
    with pytest.raises(bench.ChildError, match="KeyError: 'nonesuch'"):
        bench.run_child(Path(sys.executable), "ours-nonesuch", tmp_path / "stream.npz", print)


def test_a_slow_peer_stops_when_its_time_is_over():
    stream = scaling.make_stream(1000)
    peer = (lambda X, y: y, lambda label: label)
    assert peers.run_rows(peer, stream, 1e-9, lambda seen: None).marks[-1][0] == 100  # what it did in one go
    whole = peers.run_rows(peer, stream, 60.0, lambda seen: None)
    np.testing.assert_array_equal(np.concatenate(whole.predicted), stream.y)
    assert whole.marks[-1][0] == 1000


def test_what_is_not_installed_is_left_out_with_a_note(tmp_path):
    environments = bench.ENVIRONMENTS | {"capymoa": tmp_path / "python", "vw": tmp_path / "python"}
    runner = bench.Bench(Console(quiet=True), tmp_path, environments, 10)
    assert bench.choose_models(runner, "ours-olm,capymoa") == ["ours-olm"]
    assert runner.left_out == [{"what": "capymoa", "why": "not installed; make bench installs it where it can"}]
    with pytest.raises(Exception, match="'riber' is not a model or package"):
        bench.choose_models(runner, "riber")


def test_exponents_of_powers_are_found():
    points = [
        {"axis": "classes", "model": "AdaBoostOLM", "size": k, "us": 3.0 * k**1.5, "peak_megabytes": 1.0}
        for k in (2, 5, 20)
    ]
    (fit,) = scaling.fits(points)
    assert fit["all"] == pytest.approx(1.5)
    assert fit["end"] == pytest.approx(1.5)


def test_a_long_run_is_cut_into_spans_that_double():
    marks = [(100 * i, float(i), 1e-6 * (100 * i) ** 2) for i in range(1, 9)]
    assert [at for at, _ in scaling.spans(marks)] == [100, 200, 400, 800]
    for at, us in scaling.spans(marks)[1:]:
        assert us == pytest.approx(at + at / 2)  # (at^2 - (at/2)^2) / (at/2)


def test_the_guard_lets_25_percent_pass_and_no_more():
    verdicts = [
        row[-1] for row in guard.judge({"a": 1.24, "b": 1.26, "c": 0.5, "d": 1.0}, {"a": 1.0, "b": 1.0, "c": 1.0})
    ]
    assert verdicts == ["+24 %", "slower: +26 %", "-50 %", "not stored yet"]


def test_the_guard_has_a_stored_ratio_for_every_case():
    assert json.loads(guard.STORED.read_text())["ratios"].keys() == guard.cases().keys()


def results_of(*runs):
    systems = []
    for model, changes in runs:
        row = bench.figures(a_run(**changes), 10, a_run())
        systems.append({"stream": "balance", "model": model, "label": bench.MODELS[model], **row})
    return {
        "settings": {"quick": False, "learners": 10, "seconds": 15.0, "warm": 8.0},
        "machine": {"processor": "a processor"},
        "streams": [{"name": "balance", "rows": 1000, "columns": 4, "classes": 3}],
        "systems": systems,
        "scaling": [],
        "left_out": [{"what": "capymoa", "why": "no Java"}],
    }


def test_the_page_holds_the_figures_and_what_is_left_out():
    text = bench_page.page_text(results_of(("river-ada", {"marks": ((1000, 30.0, 30.0),)})), with_pictures=False)
    assert "| river AdaBoost | 10 | 1,000 | 0.6000 | 1.0000 | 1.0000 | 33 | 3,000 | 10.0 × | 100 |" in text
    assert "| river AdaBoost | 10.0 to 10.0 |" in text
    assert "* capymoa: no Java" in text
    assert "busy" not in text


def test_the_page_warns_of_a_busy_machine_and_of_threads_that_differ():
    busy = results_of(("ours-olm", {"marks": ((1000, 3.0, 1.5),)}), ("ours-olm:2", {"predicted_sha256": "b"}))
    first, second = bench_page.warnings_of(busy)
    assert "50 % of a core" in first
    assert second == "BUG: ours-olm:2 predicted differently from one thread on balance."
    assert "| balance | AdaBoostOLM, n_jobs=2 | 1.00 × | **no** |" in bench_page.page_text(busy)


def test_pictures_are_drawn(tmp_path):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    results = results_of(("ours-olm", {}), ("river-ada", {}))
    results["scaling"] = [
        {"axis": "learners", "model": "AdaBoostOLM", "size": n, "us": 2.0 * n, "peak_megabytes": 9.0} for n in (10, 100)
    ]
    written = bench_page.write(results, tmp_path / "benchmarks.md")
    assert [path.name for path in written if path.suffix == ".svg"] == [
        "benchmark_systems.svg",
        "benchmark_scaling.svg",
    ]
    assert (tmp_path / "pictures" / "benchmark_systems.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_parts_of_the_cost_add_up():
    """Grown trees, sent the same rows by kernels that do one thing more each: times add up to that of learning."""
    parts = profile_parts.parts("nursery", 3, Console(quiet=True))
    names = list(parts)[: list(parts).index("all")]
    assert parts["all"] == pytest.approx(sum(parts[name] for name in names))
    assert parts["all"] > 0.0
    assert parts["leaves per tree"] >= 1


def test_growth_with_learners_is_told_step_by_step_and_beside_olm():
    costs = {"AdaBoostOLM": (10.0, 20.0, 40.0), "OnlineMBBM": (10.0, 20.0, 80.0)}
    points = [
        {"model": model, "learners": n, "us": us, "new": None}
        for model, row in costs.items()
        for n, us in zip((10, 20, 40), row, strict=True)
    ]
    rows = [row for row in learners.growth(points) if row["model"] == "OnlineMBBM"]
    assert [row["step"] for row in rows[1:]] == pytest.approx([1.0, 2.0])
    assert rows[-1]["overall"] == pytest.approx(1.5)
    assert [row["ratio"] for row in rows] == [1.0, 1.0, 2.0]


def test_growth_with_learners_counts_the_pairs_that_were_new():
    points = learners.measure("car", [2], 50, Console(quiet=True))
    assert [point["new"] is None for point in points] == [True, False, False, False]
    assert all(0.0 < point["new"] < 1.0 for point in points[1:3])


# --------------------------------------------------------------------------------------------------------- memory


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured on Linux")
def test_memory_is_measured_at_a_limit():
    free = memory.run("synthetic", 1500, None, "adaboost-olm", 5)
    bound = memory.run("synthetic", 1500, "100KB", "adaboost-olm", 5)
    assert free["full"] == free["leaves"] == 0 < bound["full"] + bound["leaves"]
    assert bound["model"] <= 0.1 < free["model"]
    assert 0.2 < bound["accuracy"] <= 1.0
    assert len(memory.cells(bound)) == len(memory.COLUMNS)


def test_the_stream_of_text_has_many_values():
    X, y, classes = memory.text_stream(300)
    assert (len(X), len(y), classes) == (300, 300, [0, 1, 2])
    assert all(len(set(column)) > 100 for column in X.columns)


def test_a_voice_is_left_out_by_a_change_of_the_sources():
    """Each variant finds the lines that it changes, and what it makes of them is Python."""
    folder = Path(voices.onlineboost.__file__).parent / "panel"
    sources = {path.name: path.read_text() for path in folder.glob("*.py")}
    assert voices.changed(voices.WHOLE, sources) == {}
    for variant in voices.VARIANTS[1:]:
        for name, text in voices.changed(variant, sources).items():
            assert text != sources[name]
            compile(text, name, "exec")
    fewer = voices.changed("least squares", sources)["state.py"]
    assert "MEMBERS = (BAYES, ADDITIVE, NEIGHBOURS, REFITS, EAGER,)\n" in fewer
    with pytest.raises(ValueError, match="0 times"):
        voices.replaced("a = 1", "^b", "")


def test_what_a_voice_is_worth_is_the_difference_to_all_voices_order_by_order():
    def line(variant, name, order, accuracy, us):
        own = {"all": accuracy, "last": accuracy, "log_loss": 1.0 - accuracy, "us": us}
        return {"variant": variant, "set": name, "order": order, **own}

    runs = [line(voices.WHOLE, name, order, 0.9, 100.0 * (1 + order)) for name in "ab" for order in range(3)]
    runs += [line("trees", "a", order, 0.8 - 0.001 * order, 100.0 * (1 + order) - 10.0) for order in range(3)]
    found = voices.summary([*runs, line("trees", "b", 0, 0.92, 80.0)])
    assert found[voices.WHOLE]["all change"] == 0.0
    without = found["trees"]
    assert without["all change"] == pytest.approx((-0.101 + 0.02) / 2)
    assert without["us change"] == pytest.approx((-10.0 - 20.0) / 2)
    assert (without["worse"], without["better"], without["sets"]) == (1, 1, 2)
    assert without["error"] == pytest.approx(0.001 / 3**0.5 / 2)


def test_the_flagship_is_compared_by_set_and_model_over_the_orders():
    base = {"set": "car", "rows": 10, "mb": 1.0, "last": 0.9}
    runs = [base | {"order": o, "model": "a", "all": 0.8 + 0.1 * o, "us": us} for o, us in enumerate((5.0, 6.0, 100.0))]
    runs.append(base | {"order": 0, "model": "b", "all": 0.5, "us": 1.0})
    found = flagship.summary(runs)
    assert found["car", "a"]["all"] == pytest.approx(0.9)
    assert found["car", "a"]["us"] == 6.0  # a run that was disturbed does not count
    assert found["car", "a"]["error"] == pytest.approx(0.1 / np.sqrt(3))
    assert found["car", "b"]["orders"] == 1
    assert len({flagship.key(run) for run in runs}) == 4


def a_line(model, order=10, done=1000, wrong=(1, 0), **changes):
    """A run over a stream of 1,000 rows, so of 200 steps of 5 rows; it is wrong `wrong` times in each, by turns."""
    mistakes = ([wrong[0]] * 100 + [wrong[1]] * 100)[: done // 5]
    last = 1 - sum(mistakes[-len(mistakes) // 5 :]) / (done / 5)
    line = {"stream": "car", "order": order, "model": model, "learners": 100, "rows": 1000, "done": done}
    line |= {"all": 1 - sum(mistakes) / done, "last": last, "mistakes": mistakes, "version": "1", "commit": None}
    line["cpu_seconds"] = 7.0
    return line | changes


def test_a_run_that_was_cut_stands_beside_the_same_rows_of_ours(monkeypatch):
    few = a_line("river-amf", done=250, wrong=(0, 0))
    assert accuracy_cells.cells_of([a_line("ours-boost"), few])[1].ours is None  # too few rows to compare
    monkeypatch.setattr(accuracy_cells, "ENOUGH", 250)
    cells = accuracy_cells.cells_of([a_line("ours-boost"), few])
    ours, other = cells
    assert ours.all == pytest.approx(0.9)
    assert other.ours == pytest.approx((0.8, 0.8))  # ours is wrong once in five rows there, and never later
    assert other.lead("all") == pytest.approx(0.2)
    text = accuracy_page.page_text([a_line("ours-boost"), few], False)
    assert "first on 0 of 1 streams over all rows, and at most .200 behind the best (car, river AMF)" in text
    assert "| car | river AMF | 100 | 7 s | 250 | 1,000 | 1.000 | .800 | 1.000 | .800 |" in text


def test_systems_are_ranked_on_the_orders_that_both_have_run():
    """The other has run the second order alone, in which ours is better than in the first."""
    first, second = a_line("ours-boost", 10, wrong=(5, 5)), a_line("ours-boost", 11, wrong=(0, 0))
    cells = accuracy_cells.cells_of([first, second, a_line("river-amf", 11, wrong=(1, 1))])
    assert cells[0].all == pytest.approx(0.5)
    assert cells[0].errors[0] == pytest.approx(0.5)
    assert cells[1].lead("all") == pytest.approx(-0.2)
    assert accuracy_cells.mean_ranks(cells, "all") == {"ours-boost": 1.0, "river-amf": 2.0}


def test_simple_guesses_look_at_labels_that_were_before():
    stream = peers.Stream(np.zeros((5, 1)), np.array([1, 1, 0, 0, 0]), {}, 2)
    assert references.no_change(stream, 0).tolist() == [-1, 1, 1, 0, 0]
    assert references.majority(stream, 0).tolist() == [0, 1, 1, 1, 0]


def test_a_refitted_learner_sees_the_rows_before_those_it_predicts_and_no_others(monkeypatch):
    fitted = []

    class Stub:
        classes_ = np.array([3, 7])

        def __init__(self, **settings):
            pass

        def fit(self, X, y, categorical_feature):
            fitted.append((X[0, 0], X[-1, 0], len(y)))
            self.last = X[-1, 0]

        def predict_proba(self, X):
            assert X[0, 0] == self.last + 1
            return np.tile([0.2, 0.8], (len(X), 1))

    monkeypatch.setitem(sys.modules, "lightgbm", SimpleNamespace(LGBMClassifier=Stub))
    monkeypatch.setattr(rare_learners, "MEMORY", 30)
    y = np.tile([0, 0, 1, 1], 26)
    y[:4] = 0
    said = references.MODELS["lightgbm-refitted"](peers.Stream(np.arange(104.0)[:, None], y, {}, 2), 0)
    assert (said[:8] == 0).all()  # the label that has come most often
    assert (said[8:] == 7).all()
    assert fitted[-1] == (72.0, 101.0, 30)


def test_the_page_says_where_refitted_batch_learners_are_ahead_and_what_they_cost():
    refitted = a_line("catboost-refitted", learners=0, wrong=(2, 0), cpu_seconds=0.5)
    text = accuracy_page.page_text([a_line("ours-boost", learners=0, cpu_seconds=0.1), refitted], False)
    told = "CatBoost is ahead on 0 of 1 streams over all rows and on 0 over the last 20 %, at 500 us a row."
    assert told in " ".join(text.split())
    assert "| car | 1,000 | .900 |  | .800 | 1.000 |  | 1.000 | 100 |  | 500 |" in text
