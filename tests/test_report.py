"""Reports: pages that need nothing from outside, and run nothing; and the displays for notebooks."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from onlineboost import AdaBoostOLM, HoeffdingTree, OneVsAll, load_dataset, prequential, report
from onlineboost.cli.main import COMPARED, main
from onlineboost.evaluation.metrics import critical_difference, mean_ranks
from onlineboost.report import (
    CurveDisplay,
    ExpertsDisplay,
    LearnersDisplay,
    SpeedDisplay,
    charts,
    comparison_page,
)
from onlineboost.report.charts import Look, learning_curves
from onlineboost.report.page import colour
from onlineboost_paper.cells import Cell
from onlineboost_paper.report_page import ranking, reproduction_page
from onlineboost_paper.tables import summarise

mpl.use("Agg")
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=30000",
    "--dump-dom",
]
SYSTEMS = ("DT", "OLB", "AdaOLM", "MB .1", "OvA", "AdaOVA", "MB auto", "default")


@pytest.fixture(scope="module")
def reproduction():
    cells = [
        Cell(name, system, order, n_learners=5, limit=120)
        for name in ("balance", "car") for system in SYSTEMS for order in (0, 1)
    ]  # fmt: skip
    records = [cell.run() for cell in cells]
    about = {"version": "1", "date": "today", "learners": 5, "limit": 120, "cells": len(cells), "missing": ["mice"],
             "cells_planned": len(cells), "cpu_seconds": 1.0}  # fmt: skip
    summary = summarise(records, cells)
    return records, summary, about, reproduction_page(records, summary, about)


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "page.html"
    args = ["compare", "car", "--limit", "200", "--learners", "5", "--report", str(path)]
    done = CliRunner().invoke(main, args)
    assert done.exit_code == 0, done.output
    return path.read_text(encoding="utf-8")


def tips(page):
    """What is told where the mouse rests on a mark."""
    return re.findall(r"<g><title>(.*?)</title>", page)


def test_pages_load_nothing_and_run_nothing(reproduction, comparison):
    for page in (reproduction[-1], comparison):
        assert "default-src 'none'" in page
        assert "http" not in page.replace("http-equiv", "")
        assert "<script" not in page
        assert not re.search(r"<(img|image|iframe|link|use)[^>]*\b(src|href)=[\"'](?!#)", page)
        assert len(page) < 600_000


def read_page(page):
    """What a reader sees of a page: its text."""
    return re.sub(r"<style\b.*?</style>", "", page, flags=re.S)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    for args in (
        ["potential", "--most-classes", "6", "--learners", "4"],
        ["bounds", "--classes", "3", "--gamma", ".3", "--error", ".1"],
    ):
        done = CliRunner().invoke(main, [*args, "--out", str(folder / args[0])])
        assert done.exit_code == 0, done.output
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.html"))]


def test_every_page_has_a_title_fits_a_phone_and_has_no_raw_names(reproduction, comparison, pictures):
    assert len(pictures) == 2
    for page in (reproduction[-1], comparison, *pictures):
        title = re.search(r"<title>(.+?)</title>", page).group(1)
        assert f"<h1>{title}</h1>" in page
        assert '<html lang="en">' in page
        assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
        assert "default-src 'none'" in page
        own = read_page(page)
        assert "_" not in re.sub(r"<[^>]*>", "", own)
        assert own.count("<table") == own.count('<div class="scroll" tabindex="0"><table')


def test_the_words_of_a_page_are_explained_on_it(reproduction, comparison):
    for page in (reproduction[-1], comparison):
        explained = set(re.findall(r"<dt>(.*?)</dt>", page))
        assert {"test, then train", "edge", "expert", "Hedge", "last 20 %"} <= explained
    assert {"balanced accuracy", "kappa", "macro F1", "log loss", "ECE", "interval"} <= explained
    assert set(re.findall(r"<th>(balanced accuracy|kappa|macro F1|log loss|ECE)</th>", comparison)) <= explained


def test_the_edges_of_many_learners_are_drawn_as_quartiles(reproduction):
    records, _, _, page = reproduction
    edges = np.mean([r["edges"] for r in records if (r["dataset"], r["system"]) == ("balance", "AdaOLM")], 0)
    least, low, _, high, greatest = np.quantile(edges, [0, 0.25, 0.5, 0.75, 1])
    told = f"AdaOLM: {least:.3f} to {greatest:.3f}, half of them from {low:.3f} to {high:.3f}"
    assert told in tips(page)


def test_systems_are_ranked_over_the_data_sets(reproduction):
    assert critical_difference(5, 30) == pytest.approx(1.11, abs=0.01)  # 2.728 (5 * 6 / 180)^.5, Demšar 2006
    clear = {str(i): {"good": 0.9, "bad": 0.1, "tied": 0.1} for i in range(20)}
    assert mean_ranks(clear) == ({"good": 1.0, "bad": 2.5, "tied": 2.5}, 20)
    assert ranking(clear).count("<td>yes</td>") == 2
    assert ranking({"a": clear["0"]}) == ""
    assert "Ranking over the data sets" in reproduction[-1]


def test_models_are_ranked_over_several_streams():
    args = ["compare", "car", "balance", "--limit", "60", "--models", "majority,last-class"]
    done = CliRunner().invoke(main, args)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "critical difference" in said
    assert "over 2 streams" in said
    assert "one SOURCE at a time" in CliRunner().invoke(main, [*args, "--json"]).output


def test_a_run_has_a_page_too(tmp_path):
    path = tmp_path / "page.html"
    args = ["run", "car", "--limit", "150", "--learners", "5", "--model", "adaboost-olm", "--report", str(path)]
    done = CliRunner().invoke(main, args)
    assert done.exit_code == 0, done.output
    assert re.findall(r'<th class="row">(.*?)</th>', path.read_text(encoding="utf-8"))[0] == "adaboost-olm"


def test_the_tables_show_ours_and_the_papers(reproduction):
    _, summary, _, page = reproduction
    row = next(row for row in summary if (row["dataset"], row["system"]) == ("balance", "AdaOLM"))
    ours = f"{row['tail']:.3f}".lstrip("0")
    assert f"<b>{ours}</b>" in page
    assert f".754 {100 * row['tail_difference']:+.1f}" in page
    assert "Not at hand, so left out: Mice." in page
    for heading in (
        "Table 1",
        "last 20 %",
        "all rows",
        "Run time",
        "Learning curves",
        "against time",
        "Edges",
        "Hedge",
    ):
        assert heading in page


def test_cells_far_below_the_paper_are_marked(reproduction):
    records, summary, about, _ = reproduction
    for error, marks in ((1e-9, True), (10.0, False)):
        rows = [{**row, "tail_error": error, "full_error": error, "tail_difference": -0.2, "full_difference": -0.2}
                for row in summary]  # fmt: skip
        assert ("<sup>▼</sup>" in reproduction_page(records, rows, about)) is marks


def test_the_curves_are_means_over_the_orders(reproduction, monkeypatch):
    records, drawn = reproduction[0], []
    monkeypatch.setattr(charts, "_svg", lambda draw, size: drawn.append(axes()) or draw(drawn[-1]) or "")
    learning_curves(records, Look(["balance"], ["DT", "AdaOLM"], {"DT": "red", "AdaOLM": "blue"}, {}))
    right = np.mean([r["curve"]["right"] for r in records if (r["dataset"], r["system"]) == ("balance", "AdaOLM")], 0)
    found = drawn[0].lines[1].get_ydata()
    assert found[0] == pytest.approx((2 * right[0] + right[1]) / 3)
    assert found[5] == pytest.approx(right[4:7].mean())


def test_what_a_mark_stands_for_is_told(reproduction, comparison):
    row = next(row for row in reproduction[1] if (row["dataset"], row["system"]) == ("car", "MB .1"))
    assert f"MB .1, here: {row['tail']:.3f} in {row['seconds']:.3g} s" in tips(reproduction[-1])
    assert "MB .1, the paper: 0.885 in 105 s" in tips(reproduction[-1])
    assert {"adaboost-olm", "majority"} <= set(tips(comparison))


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium to open the page in")
@pytest.mark.parametrize("which", ["reproduction", "comparison"])
@pytest.mark.slow
def test_a_browser_reads_all_charts(which, request, tmp_path):
    page = request.getfixturevalue(which)
    page = page if isinstance(page, str) else page[-1]
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    args = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", f"file://{tmp_path}/page.html"]
    dom = subprocess.run(args, capture_output=True, text=True, timeout=200, check=True).stdout
    assert dom.count("<svg") == page.count("<svg") >= 6
    for mark in ("<path", "<text", "<use", "<figcaption"):
        assert dom.count(mark) == page.count(mark)


def test_comparison_has_every_model_once(comparison):
    rows = re.findall(r'<th class="row">(.*?)</th>', comparison.split("Which classes are confused")[0])
    assert len(rows) == len(set(rows)) == len(COMPARED)
    assert {"adaboost-olm", "best-tree", "majority"} <= set(rows)


def test_names_from_outside_are_escaped():
    record = {"dataset": "x", "system": "</script><b>", "tail": 0.5, "full": 0.5, "seconds": 1.0, "rows": 10,
              "curve": {"examples": [5, 10], "right": [0.5, 0.5]}}  # fmt: skip
    page = comparison_page([record], "<i>", "")
    assert "<i>" not in page
    assert "</script><b>" not in page


def test_colours_keep_black_text_readable_and_tell_above_from_below():
    def luminance(text):
        parts = [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    assert colour(0.0) == "#ffffff"
    for share in (-1.0, -0.3, 0.0, 0.3, 1.0):
        assert 1.05 / (luminance(colour(share, dark=True)) + 0.05) > 6.0  # white text on dark paper
    for share in (-5.0, -1.0, -0.3, 0.3, 1.0, 5.0):
        assert (luminance(colour(share)) + 0.05) / 0.05 > 7.0
        red, blue = int(colour(share)[1:3], 16), int(colour(share)[5:], 16)
        assert (blue > red) == (share > 0)


# --------------------------------------------------------------------------------------------------------- displays


@pytest.fixture(scope="module")
def run():
    data = load_dataset("car").shuffled(0)
    clf = AdaBoostOLM(6)
    return clf, data, prequential(clf, data.X[:300], data.y[:300])


def axes():
    return Figure().add_subplot()


def test_displays_draw_into_the_axes_given(run):
    clf, data, result = run
    for display in (
        CurveDisplay.from_results({"olm": result}),
        CurveDisplay.from_results(result),
        SpeedDisplay.from_results({"olm": result}),
        LearnersDisplay.from_estimator(clf),
        ExpertsDisplay.from_estimator(clf, data.X[:100], data.y[:100]),
    ):
        ax = axes()
        assert display.plot(ax) is display
        assert display.ax_ is ax
        assert display.figure_ is ax.figure
        assert ax.get_xlabel()
        assert ax.get_ylabel()


def test_displays_make_a_figure_of_their_own(run):
    import matplotlib.pyplot as plt

    display = CurveDisplay.from_results(run[2]).plot()
    assert display.figure_.number in plt.get_fignums()
    plt.close(display.figure_)


def test_displays_show_what_the_model_says(run):
    clf, data, result = run
    ax = LearnersDisplay.from_estimator(clf, what="alphas").plot(axes()).ax_
    np.testing.assert_allclose(ax.lines[0].get_ydata(), clf.alphas_, atol=1e-5)
    assert SpeedDisplay.from_results({"olm": result}).points == {"olm": (result.seconds, result.tail_accuracy())}
    experts = ExpertsDisplay.from_estimator(clf, data.X[:300], data.y[:300])
    assert experts.examples[-1] == 300
    np.testing.assert_allclose(experts.weights[-1], clf.expert_weights_, atol=1e-5)
    ova = OneVsAll(4).fit(data.X[:50], data.y[:50])
    np.testing.assert_allclose(
        LearnersDisplay.from_estimator({"ova": ova}).values["ova"], ova.edges_.mean(axis=0), atol=1e-5
    )


def test_displays_say_what_is_missing(run):
    tree = HoeffdingTree().fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ValueError, match="HoeffdingTree has no edges"):
        LearnersDisplay.from_estimator(tree)
    with pytest.raises(ValueError, match="what must be one of edges, alphas, expert_weights, got 'edge'"):
        LearnersDisplay.from_estimator(run[0], what="edge")
    with pytest.raises(ValueError, match="HoeffdingTree has no experts"):
        ExpertsDisplay.from_estimator(tree, np.zeros((2, 1)), ["a", "b"])


# ---------------------------------------------------------------------------------------------------- public names


def test_the_package_has_what_it_says_and_loads_it_when_asked():
    assert report.__all__ == sorted(report.__all__)
    for name in report.__all__:
        assert getattr(report, name).__name__ == name
        assert name in dir(report)
    with pytest.raises(AttributeError, match="has no attribute 'Display'"):
        _ = report.Display
    code = "import sys, onlineboost.report; print({'altair', 'matplotlib', 'numpy', 'numba'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_page_tells_which_of_few_classes_are_confused_a_rare_one_first(tmp_path, monkeypatch):
    path, data = tmp_path / "page.html", load_dataset("nursery").shuffled(0)
    args = ["run", "nursery", "--limit", "1500", "--learners", "5", "--model", "adaboost-olm", "--report", str(path)]
    assert CliRunner().invoke(main, args).exit_code == 0
    X, y = data.X[:1500], data.y[:1500]
    metrics = prequential(AdaBoostOLM(5, random_state=0), X, y, classes=list(data.classes)).metrics
    rare = metrics.rare
    order = [rare, *(label for label in metrics.labels if label != rare)]
    at, by_label = [metrics.labels.index(label) for label in order], {one["label"]: one for one in metrics.per_class()}
    shown = path.read_text(encoding="utf-8").split("Which classes are confused")[1].split("</section>")[0]
    assert "likeliest" in shown
    lines = re.findall(r'<tr><th class="row">(.*?)</th>(.*?)</tr>', shown)
    assert [label for label, _ in lines] == order
    for c, (label, line) in zip(at, lines, strict=True):
        one, cells = by_label[label], re.findall(r"<td[^>]*>(.*?)</td>", line)
        want = [f"{one['rows']:,.0f}", *(f"{one[rate]:.3f}" for rate in ("recall", "precision", "f1"))]
        assert cells == want + [f"{metrics.confusion[c, said]:,.0f}" for said in at]
    monkeypatch.setattr("onlineboost.cli.measure.MOST_CONFUSED", 3)
    assert CliRunner().invoke(main, args).exit_code == 0
    assert "are confused" not in path.read_text(encoding="utf-8")
