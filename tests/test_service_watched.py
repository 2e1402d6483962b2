"""What the live service tells people and asks them: notices, log lines, prediction sets, labels that would help."""

from __future__ import annotations

import json
import logging
import random
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

pytest.importorskip("fcntl")  # not on Windows
pytest.importorskip("msgspec")
pytest.importorskip("uvicorn")

from onlineboost import AdaBoostOLM, HoeffdingTree
from onlineboost.cli.main import main
from onlineboost.service.follower import Learnable
from onlineboost.service.messages import encode
from onlineboost.service.monitor import Monitor
from onlineboost.service.query import Query
from onlineboost.service.watch import JsonLines, Watch
from test_service import Process, example, row, serving

pytestmark = pytest.mark.compiled
DEPLOY = Path(__file__).parents[1] / "docs" / "deploy"


def test_prediction_sets_on_request(tmp_path):
    with serving(tmp_path / "live", AdaBoostOLM(3, sets=True)) as client:
        assert client.ask("/predict", {"row": row(1), "sets": 0.9})[1]["set"] == []  # nothing has been learned
        client.ask("/learn", [example(at) for at in range(300)])
        client.learned(300)
        clf = client.service.answering.clf
        for coverage in (0.5, 0.99):
            asked = [{"row": row(at), "sets": coverage} for at in range(30)]
            said = client.ask("/predict", asked)[1]
            assert [each["set"] for each in said] == [clf.predict_set_one(row(at), coverage) for at in range(30)]
        assert "set" not in client.ask("/predict", {"row": row(1)})[1]
        assert set(client.ask("/events", {"row": row(1), "sets": 0.99})[1]["set"]) <= {"ok", "fraud"}
        assert client.ask("/predict", {"row": row(1), "sets": 1.0})[0] == 422
    with serving(tmp_path / "without", HoeffdingTree()) as client:
        client.ask("/learn", example(1))
        client.learned(1)
        status, problem = client.ask("/predict", {"row": row(1), "sets": 0.9})
        assert status == 422
        assert "Serve a new folder with --sets" in problem["error"]


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_labels_are_asked_for_where_they_help_and_not_more_often_than_set(share):
    draw, query = random.Random(1), Query(share)
    asked, margins = [], []
    for _ in range(20_000):
        p = draw.betavariate(5.0, 1.0)
        margins.append(abs(2.0 * p - 1.0))
        asked.append(query.wants({"a": p, "b": 1.0 - p}, {"x": draw.gauss(0.0, 1.0), "w": "word"}))
    late = slice(10_000, None)
    assert abs(sum(asked[late]) / 10_000 - share) < 0.15 * share + 0.003
    mean_asked = sum(m for m, a in zip(margins[late], asked[late], strict=True) if a) / sum(asked[late])
    assert mean_asked < sum(margins[late]) / 10_000 - 0.1
    assert Query(0.5).wants({}, []) in (True, False)


def test_labels_of_events_unlike_others_are_asked_for_though_the_model_is_sure():
    """A word that is new, and a number far from those before; a column in which every value is new says nothing."""
    draw, query = random.Random(1), Query(0.05)
    asked = {"usual": 0, "word": 0, "far": 0}
    for at in range(20_000):
        kind = "usual" if at % 50 else ("word", "far")[at // 50 % 2]
        row = {"id": f"number {at}", "x": draw.gauss(500.0 if kind == "far" else 0.0, 1.0), "flag": None}
        row["w"] = f"new {at}" if kind == "word" else draw.choice("abc")
        sure = draw.betavariate(1.0, 30.0) if kind == "usual" else 0.0
        wanted = query.wants({"a": 1.0 - sure, "b": sure}, row)
        asked[kind] += wanted and at >= 10_000
    assert min(asked["word"], asked["far"]) > 50  # of 100 each
    assert sum(asked.values()) < 10_000 * 0.06


def test_events_whose_labels_would_help_say_so(tmp_path):
    with serving(tmp_path / "live", HoeffdingTree(), ask=0.2) as client:
        client.ask("/learn", [example(at) for at in range(100)])
        client.learned(100)
        said = [client.ask("/events", {"row": row(at)})[1] for at in range(200)]
        assert 10 <= sum(each.get("wanted", False) for each in said) <= 41  # a share of .2, and one to begin with
        assert "wanted" in client.ask("/model")[1]["recent"][0]


def feed(monitor, right, first):
    for place, good in enumerate(right, first):
        monitor.add(Learnable(place, b"{}", b'"ok"', 1.0, None), "ok", {"ok": 1.0} if good else {"fraud": 1.0})
    monitor.count(first + len(right))


def test_accuracy_that_falls_is_told_once_and_chance_is_not():
    draw, monitor = random.Random(0), Monitor()
    feed(monitor, [draw.random() < 0.9 for _ in range(1500)], 1)
    assert monitor.fell() is None  # too few to compare
    feed(monitor, [draw.random() < 0.9 for _ in range(3000)], 1501)
    assert monitor.fell() is None
    feed(monitor, [draw.random() < 0.6 for _ in range(1000)], 4501)
    now, before = monitor.fell()
    assert now < 0.65 < 0.85 < before
    feed(monitor, [draw.random() < 0.92 for _ in range(2000)], 5501)
    assert monitor.fell(True) is None


def test_an_audit_names_the_rows_whose_probabilities_are_wrong():
    draw, monitor = random.Random(0), Monitor()
    assert monitor.audit() == {"events": 0, "groups": 0, "gaps": []}
    for place in range(1, 4001):
        row = {"country": draw.choice(("NL", "DE")), "amount": None if place % 9 == 0 else place % 100, "flag": True}
        label = "fraud" if draw.random() < (0.6 if row["country"] == "NL" else 0.2) else "ok"
        monitor.add(Learnable(place, encode(row), b"", 1.0, None), label, {"ok": 0.8, "fraud": 0.2})
    monitor.count(4000)
    found = monitor.audit()
    assert found["events"] == 2000
    assert (found["gaps"][0]["column"], found["gaps"][0]["group"]) == ("country", "is NL")
    assert abs(found["gaps"][0]["said"] - 0.2) < 1e-9 < 0.3 < found["gaps"][0]["seen"]
    assert not [gap for gap in found["gaps"] if gap["group"] == "is DE"]


class Hook(BaseHTTPRequestHandler):
    """A webhook that refuses what comes first."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.tries += 1
        good = self.server.tries > 1
        if good:
            self.server.got.append(body)
        self.send_response(200 if good else 503)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_webhook_is_told_in_order_and_again_if_it_did_not_answer(tmp_path, caplog):
    hook = HTTPServer(("127.0.0.1", 0), Hook)
    hook.tries, hook.got = 0, []
    thread = threading.Thread(target=hook.serve_forever)
    thread.start()
    try:
        with serving(tmp_path / "live", HoeffdingTree()) as client:
            watch = Watch(client.service, f"http://127.0.0.1:{hook.server_port}/")
            watch.look()
            assert not watch.unsent
            monitor, draw = client.service.answering.monitor, random.Random(0)
            feed(monitor, [draw.random() < 0.9 for _ in range(3000)], 1)
            feed(monitor, [draw.random() < 0.5 for _ in range(1000)], 3001)
            client.service.source_errors["kafka events"] = "nobody answers"
            for _ in range(2):  # the second time there is nothing new
                watch.look()
            watch.send()
            assert hook.got == []  # it answered 503
            client.service.source_errors.clear()
            watch.look()
            watch.send()
    finally:
        hook.shutdown()
        thread.join()
        hook.server_close()
    assert [notice["kind"] for notice in hook.got] == ["problem", "accuracy fell", "solved"]
    assert hook.got[1]["model"] == "main"
    assert "right on 48" in hook.got[1]["text"]
    assert caplog.text.count("the webhook cannot be told") == 1


def test_a_change_of_the_stream_is_told_once(tmp_path):
    class Changed:
        n_learners = 10

        def __init__(self):
            self._model, self.events_ = None, []

    with serving(tmp_path / "live", HoeffdingTree()) as client:
        from onlineboost.explain.views import Event

        watch, each = Watch(client.service, "http://127.0.0.1:9/"), client.service.answering
        clf, each.clf = each.clf, Changed()
        each.clf.events_ = [
            Event(5, "new class", ("ok",)),
            Event(700, "restart", (9,)),
            Event(800, "restart", (3, 4, 7)),
        ]
        watch.look()
        watch.look()
        each.clf = clf
    assert [(notice["kind"], notice["model"]) for notice in watch.unsent] == [("change", "main")]
    assert "learners 3, 4, 7 restarted" in watch.unsent[0]["text"]
    assert "row 700" not in watch.unsent[0]["text"]  # the last one alone
    assert "class" not in watch.unsent[0]["text"]


def test_log_lines_are_json():
    lines = JsonLines()
    record = logging.LogRecord("onlineboost.service", logging.WARNING, "", 1, "%d problems\nhere", (2,), None)
    record.data = {"kind": "problem"}
    found = json.loads(lines.format(record))
    assert (found["level"], found["message"], found["kind"]) == ("warning", "2 problems\nhere", "problem")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found["time"])
    assert "\n" not in lines.format(record)


def test_a_webhook_has_to_be_an_address(tmp_path):
    done = CliRunner().invoke(main, ["serve", str(tmp_path / "live"), "--webhook", "file:///etc/passwd"])
    assert done.exit_code == 2
    assert "is not an address of the web" in " ".join(done.output.split())


# ---------------------------------------------------------------------------------------------------------- Prometheus


def told(tmp_path):
    with serving(tmp_path / "live", HoeffdingTree()) as client:
        client.ask("/learn", [example(at) for at in range(20)])
        client.learned(20)
        client.ask("/metrics")
        return client.ask("/metrics")[1].decode()


def queries():
    dashboard = json.loads((DEPLOY / "grafana.json").read_text())
    found = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    return found + re.findall(r"expr: (.*)", (DEPLOY / "alerts.yml").read_text())


def test_the_dashboard_and_the_alerts_ask_for_metrics_that_there_are(tmp_path):
    names = set(re.findall(r"^# TYPE (\w+)", told(tmp_path), re.MULTILINE))
    names |= {f"onlineboost_request_seconds_{part}" for part in ("bucket", "sum", "count")}
    asked = {name for query in queries() for name in re.findall(r"onlineboost_\w+", query)}
    assert asked
    assert asked <= names


def test_promtool_accepts_metrics_alerts_and_queries(tmp_path):
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("there is no promtool here")
    done = subprocess.run([promtool, "check", "metrics"], input=told(tmp_path), text=True, capture_output=True)
    assert done.returncode in (0, 3), done.stdout + done.stderr  # 3: it would choose other names
    done = subprocess.run([promtool, "check", "rules", str(DEPLOY / "alerts.yml")], text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    rules = [{"record": f"asked:number{at}", "expr": query} for at, query in enumerate(queries())]
    file = tmp_path / "queries.yml"
    file.write_text(json.dumps({"groups": [{"name": "asked", "rules": rules}]}))
    done = subprocess.run([promtool, "check", "rules", str(file)], text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_prometheus_answers_all_queries(tmp_path):
    """It scrapes a service on which a stream runs; each query of the dashboard finds something."""
    prometheus = shutil.which("prometheus")
    if prometheus is None:
        pytest.skip("there is no prometheus here")
    served = Process(tmp_path / "live", "--model", "hoeffding-tree", "--demo")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    scrape = {"job_name": "live", "static_configs": [{"targets": [f"127.0.0.1:{served.port}"]}]}
    rules = [str(DEPLOY / "alerts.yml")]
    config = {"global": {"scrape_interval": "1s"}, "rule_files": rules, "scrape_configs": [scrape]}
    (tmp_path / "prometheus.yml").write_text(json.dumps(config))
    options = f"--config.file={tmp_path}/prometheus.yml --storage.tsdb.path={tmp_path}/tsdb"
    options += f" --web.listen-address=127.0.0.1:{port}"
    process = subprocess.Popen([prometheus, *options.split()], stderr=subprocess.DEVNULL)
    try:
        dashboard = json.loads((DEPLOY / "grafana.json").read_text())
        left = {target["expr"] for panel in dashboard["panels"] for target in panel["targets"]}
        until = time.monotonic() + 60.0
        while left:
            assert time.monotonic() < until, left
            served.ask("/predict", {"row": []})  # one that is refused
            served.ask("/predict", {"row": {"x1": 1.0}})
            time.sleep(1.0)
            with suppress(OSError):
                for query in sorted(left):
                    url = f"http://127.0.0.1:{port}/api/v1/query?{urlencode({'query': query})}"
                    with urllib.request.urlopen(url, timeout=10) as answer:
                        said = json.load(answer)
                    assert said["status"] == "success"
                    left -= {query} if said["data"]["result"] else set()
    finally:
        process.terminate()
        process.wait()
        served.end()
