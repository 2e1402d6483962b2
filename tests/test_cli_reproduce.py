"""onlineboost reproduce: what it runs, what it writes, and that a run that was killed goes on where it was."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from onlineboost._compile import jit
from onlineboost.chain import model
from onlineboost.cli.main import main
from onlineboost.estimators import memory
from onlineboost_paper import cells
from onlineboost_paper import tables as paper_tables
from onlineboost_paper.command import orders_of

TINY = ["--datasets", "balance", "--systems", "adaolm,dt,default", "--learners", "10"]


def test_orders_of():
    assert orders_of("27") == paper_tables.ORDERS
    assert orders_of("3")["movement"] == 3
    assert orders_of("3")["isolet"] == 1
    assert orders_of("30")["movement"] == 9
    assert orders_of("2,movement=4,isolet=5") | {"balance": 0} == {
        "balance": 0, "mice": 2, "car": 2, "mushroom": 2, "nursery": 2, "isolet": 5, "movement": 4,
    }  # fmt: skip
    for bad in ("0", "many", "27,iris=3"):
        with pytest.raises(ValueError, match="--orders"):
            orders_of(bad)


def test_reproduce_writes_tables_and_says_what_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("ONLINEBOOST_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    args = ["reproduce", *TINY, "--datasets", "balance,mice", "--orders", "2", "--limit", "100", "--jobs", "1"]
    done = CliRunner().invoke(main, [*args, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "Skipping mice" in done.output
    assert "Balance" in done.output
    found = json.loads((tmp_path / "out/results.json").read_text())
    assert [(row["system"], row["n"]) for row in found["results"]] == [("DT", 2), ("AdaOLM", 2), ("default", 2)]
    assert found["missing"] == ["mice"]
    again = CliRunner().invoke(main, [*args, "--out", str(tmp_path / "out")])
    assert "6 of 6 cells are there already" in again.output
    assert json.loads((tmp_path / "out/results.json").read_text()) == found


def test_as_printed_as_programmed_and_ours_stand_side_by_side(tmp_path):
    systems = "adaolm,adaolm as printed,adaolm as programmed"
    args = ["reproduce", *TINY, "--systems", systems, "--orders", "2", "--limit", "100", "--jobs", "1"]
    done = CliRunner().invoke(main, [*args, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "results.json").read_text())
    tails = {row["system"]: row["tail"] for row in found["results"]}
    forms = {"as printed": "AdaOLM as printed", "as programmed": "AdaOLM as programmed", "ours": "AdaOLM"}
    for form, system in forms.items():
        assert found["distances"][form] == {"AdaOLM": pytest.approx(abs(tails[system] - 0.754))}
        line = next(line for line in done.stdout.splitlines() if f"│ {form} " in line or f"│{form} " in line)
        assert f"{100 * abs(tails[system] - 0.754):.1f}" in line
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    section = page[page.index("As printed, as programmed, ours") :]
    for system in forms.values():
        assert f"{tails[system]:.3f}".lstrip("0") in section
    assert "AdaOLM as printed" not in page  # its own rows, not one more column of every table


@pytest.mark.filterwarnings("always:the model has reached")
def test_what_every_cell_warns_of_is_said_once(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(memory, "LOOK", 50)
    monkeypatch.setattr(memory, "limited_trees", lambda chain: 1)
    monkeypatch.setattr(model, "announce_compilation", jit._announce)  # as if nothing were compiled yet
    cells._warm_up_system.cache_clear()
    args = ["reproduce", *TINY, "--orders", "3", "--limit", "100", "--jobs", "1", "--out", str(tmp_path)]
    done = CliRunner().invoke(main, args)
    assert done.exit_code == 0, done.output
    assert done.output.count("has reached its memory_limit") == 1
    assert done.output.count("Compiling for this machine") == 1
    assert "15 to 40 s" not in done.output + capfd.readouterr().err
    assert "warnings" not in (tmp_path / "cells.jsonl").read_text()


def test_a_report_alone_has_all_that_was_run_whether_the_data_are_at_hand_or_not(tmp_path, monkeypatch):
    args = ["reproduce", *TINY, "--systems", "dt", "--orders", "1", "--limit", "100", "--jobs", "1"]
    args += ["--out", str(tmp_path / "out")]
    assert CliRunner().invoke(main, [*args, "--datasets", "balance"]).exit_code == 0
    cells = tmp_path / "out" / "cells.jsonl"  # as if mice had been run, too, with its file
    ran = cells.read_text()
    cells.write_text(ran + ran.replace('"balance"', '"mice"').replace('"key":"', '"key":"m'))
    monkeypatch.setenv("ONLINEBOOST_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = CliRunner().invoke(main, [*args, "--datasets", "balance,mice", "--report-only"])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "out/results.json").read_text())
    assert [row["dataset"] for row in found["results"]] == ["balance", "mice"]
    assert "Skipping" not in done.output


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--datasets", "iris"], "'iris' is not one of the paper's data sets"),
        (["--systems", "xgboost"], "'xgboost' is not a system"),
        (["--report-only", "--datasets", "balance"], "has no finished cells"),
    ],
)
def test_errors_are_friendly(tmp_path, args, message):
    done = CliRunner().invoke(main, ["reproduce", *args, "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert message in done.output


def _start(out, orders=30):
    code = "from onlineboost.cli.main import main; main()"
    args = [sys.executable, "-c", code, "reproduce", *TINY, "--orders", str(orders), "--jobs", "2", "--out", str(out)]
    return subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _table(out):
    """results.csv without the times, which are never the same twice."""
    with (out / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    return [{name: value for name, value in row.items() if "seconds" not in name} for row in rows]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_with_the_same_tables(tmp_path):
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    process = _start(killed)
    cells = killed / "cells.jsonl"
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and (not cells.exists() or cells.read_bytes().count(b"\n") < 10):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    workers = _children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    finished = cells.read_bytes()
    finished = finished[: finished.rfind(b"\n") + 1]
    assert 10 <= finished.count(b"\n") < 90
    for out in (killed, undisturbed):
        run = _start(out)
        _, error = run.communicate(timeout=300)
        assert run.returncode == 0, error
    after = cells.read_bytes()
    assert after.startswith(finished)  # nothing is repeated
    assert len({json.loads(line)["key"] for line in after.splitlines()}) == after.count(b"\n") == 90
    assert _table(killed) == _table(undisturbed)
    assert not [pid for pid in workers if os.path.exists(f"/proc/{pid}")]  # the dead one's workers have ended too


def _children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []
