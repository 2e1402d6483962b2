"""Whatever goes wrong in the command line is a sentence on stderr that says what to do: exit code 2, no traceback."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console
from rich.progress import TextColumn

from onlineboost.cli.main import main, progress_bar

COMMAND = [sys.executable, "-c", "from onlineboost.cli.main import main; main()"]
MAJORITY = ["--model", "majority"]  # needs nothing compiled
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the devices of Linux")


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def assert_told(done, *words):
    told = " ".join(done.stderr.split())
    code = done.exit_code if hasattr(done, "exit_code") else done.returncode
    assert code == 2, (code, told)
    assert "Traceback" not in told
    assert "Error" in told
    for word in words:
        assert word in told, told


def start(*arguments, **options):
    env = {**os.environ, **options.pop("env", {})}
    options = {"stderr": subprocess.PIPE, "text": True, "errors": "replace", **options}
    return subprocess.run([*COMMAND, *map(str, arguments)], env=env, **options)


@pytest.fixture
def events(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("size,label\n" + "1.0,a\n2.0,b\n" * 40)
    return path


# ------------------------------------------------------------------------------------------------------------ files


@linux
def test_a_file_that_cannot_be_read(tmp_path):
    path = tmp_path / "broken.csv"
    path.symlink_to("/proc/self/mem")
    assert_told(call("run", path, *MAJORITY), "broken.csv", "cannot be read", "Copy it to another place")


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may read everything")
def test_a_file_that_is_not_ours(events):
    events.chmod(0)
    assert_told(call("run", events, *MAJORITY), "events.csv", "Permission denied", "Change who may use it")


@pytest.mark.parametrize("where", ["nowhere/page.html", "events.csv/page.html", "."])
def test_a_page_that_cannot_be_written_is_told_before_the_run(events, where, monkeypatch):
    monkeypatch.setattr("onlineboost.cli.measure.run_models", None)  # would fail if it were called
    monkeypatch.chdir(events.parent)
    assert_told(call("compare", events, "--models", "majority", "--report", where), "--report")


def test_a_page_that_can_be_written_is_not_made_before_the_run(events, tmp_path):
    assert_told(
        call("compare", events, "--target", "nonesuch", "--models", "majority", "--report", tmp_path / "page.html")
    )
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("command", [["bounds", "--classes", "3", "--gamma", ".3", "--error", ".1"], ["potential"]])
def test_a_picture_that_cannot_be_written_is_told_before_it_is_drawn(command, tmp_path):
    assert_told(call(*command, "--out", tmp_path / "nowhere" / "picture"), "--out", "Check the path")


def test_a_folder_below_a_file(events):
    done = call("reproduce", "--datasets", "balance", "--systems", "dt", "--out", events / "below")
    assert_told(done, "below", "name a folder")


@linux
@pytest.mark.parametrize("command", [["datasets"], ["datasets", "--json"], ["run", "EVENTS", *MAJORITY]])
def test_a_full_disk(command, events):
    with open("/dev/full", "w") as full:
        done = start(*[str(events) if word == "EVENTS" else word for word in command], stdout=full)
    assert_told(done, "cannot write the output: No space left on device. Make room")
    assert "Exception ignored" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes of this kind")
def test_a_reader_that_has_had_enough():
    read, write = os.pipe()
    os.close(read)
    done = start("datasets", "--json", stdout=write)
    os.close(write)
    assert done.returncode == 1
    assert done.stderr == ""


# -------------------------------------------------------------------------------------------------------- terminals


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("latin-1", marks=pytest.mark.slow)])
@pytest.mark.parametrize("command", [["datasets"], ["bounds", "--classes", "3", "--gamma", ".3", "--error", ".1"]])
def test_a_terminal_with_few_characters(encoding, command):
    env = {"PYTHONIOENCODING": encoding, "LANG": "C", "LC_ALL": "C"}
    done = start(*command, env=env, stdout=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 10


def test_escape_codes_of_a_file_do_not_reach_the_terminal(tmp_path):
    path = tmp_path / "red\x1b[31m.csv"
    path.write_text("si\x1b[2Jze,\u202elabel\n1.0,a\n2.0,b\n")
    for done in (call("run", path, *MAJORITY), call("run", path, *MAJORITY, "--target", "nonesuch")):
        assert "\x1b[2J" not in done.output
        assert "\x1b[31m" not in done.output
        assert "\u202e" not in done.output
        assert "\\x1b[31m" in "".join(done.output.split())  # a title may be cut into lines


# ---------------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize("seed", ["-1", str(2**63), str(2**200), "1.5"])
def test_seeds(seed, events):
    assert_told(call("run", events, *MAJORITY, "--seed", seed), "--seed")


@pytest.mark.parametrize("seed", [0, 2**63 - 1])
def test_the_largest_seed(seed):
    assert call("run", "balance", *MAJORITY, "--limit", 50, "--seed", seed).exit_code == 0


@pytest.mark.parametrize("option", ["--gamma", "--error", "--excess", "--delta"])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1", "two"])
def test_numbers_that_are_none(option, value):
    given = {"--classes": "3", "--gamma": "0.3", "--error": "0.1", option: value}
    assert_told(call("bounds", *(word for pair in given.items() for word in pair)), option.strip("-"))


@pytest.mark.parametrize(
    ("name", "near"), [("Balance", "balance"), ("electrcity", "electricity"), ("nurserie", "nursery")]
)
def test_did_you_mean(name, near):
    assert_told(call("run", name), f"Did you mean '{near}'")


@pytest.mark.parametrize(("name", "near"), [("rum", "run"), ("Comprae", "compare"), ("data-sets", "datasets")])
def test_a_command_that_is_nearly_one(name, near):
    assert_told(call(name, "balance"), f"there is no command '{name}'. Did you mean '{near}'?")
    assert_told(call("xyzzy"), "No such command 'xyzzy'")


# ------------------------------------------------------------------------------------------------------------- limits


def test_too_many_columns(tmp_path, monkeypatch):
    path = tmp_path / "wide.csv.gz"
    names = ",".join(f"c{i}" for i in range(30_000))
    path.write_bytes(gzip.compress(f"{names},label\n{'0,' * 30_000}a\n".encode()))
    assert_told(call("run", path, *MAJORITY), "30,001 columns", "at most 20,000", "ONLINEBOOST_MOST_COLUMNS")
    monkeypatch.setenv("ONLINEBOOST_MOST_COLUMNS", "40000")
    assert call("run", path, *MAJORITY).exit_code == 0


def test_blank_lines_without_end(tmp_path, monkeypatch):
    path = tmp_path / "blank.csv.gz"
    for head in ("", "size,label\n1.0,a\n"):
        path.write_bytes(gzip.compress(head.encode() + b"\n" * 1_100_000))
        assert_told(call("run", path, *MAJORITY), "1,000,000 blank lines", "ONLINEBOOST_MOST_BLANK_LINES")
    monkeypatch.setenv("ONLINEBOOST_MOST_BLANK_LINES", "2000000")
    assert call("run", path, *MAJORITY).exit_code == 0


def test_a_line_without_end(tmp_path, monkeypatch):
    path = tmp_path / "long.csv"
    path.write_text("size,label\n" + "1" * 3000 + ",a\n")
    monkeypatch.setenv("ONLINEBOOST_LONGEST_LINE", "2000")
    assert_told(call("run", path, *MAJORITY), "line 2", "ONLINEBOOST_LONGEST_LINE")


def test_a_wide_file_is_read_few_rows_at_a_time(tmp_path, monkeypatch):
    from onlineboost.data import read_blocks, table

    monkeypatch.setattr(table, "MAX_CELLS", 100)
    path = tmp_path / "wide.csv"
    path.write_text(",".join("abcdefghij") + "\n" + ",".join("1234567890") * 1 + "\n" + ("0," * 9 + "0\n") * 24)
    assert [len(block) for block in read_blocks(path)] == [10, 10, 5]


# ------------------------------------------------------------------------------------------------------------- pages


def test_a_file_name_cannot_break_a_page(tmp_path):
    pytest.importorskip("matplotlib")
    name = "<!--<script>.csv"
    path = tmp_path / name
    path.write_text("size,label\n" + "1.0,a\n2.0,b\n" * 40)
    done = call("compare", path, "--models", "majority,last-class", "--report", tmp_path / "page.html")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<!--" not in page
    assert "<script" not in page


def test_a_last_line_cut_off_stays_with_report_only(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "cells.jsonl").write_bytes(b'{"key": "half')
    done = call("reproduce", "--report-only", "--datasets", "balance", "--systems", "dt", "--out", out)
    assert_told(done, "has no finished cells")
    assert (out / "cells.jsonl").read_bytes() == b'{"key": "half'
    assert [path.name for path in Path(out).iterdir()] == ["cells.jsonl"]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_bar_goes_in_the_end_and_after_an_error_and_is_for_terminals(monkeypatch, terminal):
    """It would stand half done above the message."""
    console = Console(file=io.StringIO(), force_terminal=terminal, width=60)
    monkeypatch.setattr("onlineboost.cli.main.err", console)
    for fails in (False, True):
        console.file.seek(console.file.truncate(0))
        with contextlib.suppress(ValueError), progress_bar(TextColumn("a bar")) as bar:
            bar.add_task("", total=None)
            bar.refresh()
            if fails:
                raise ValueError
        shown = console.file.getvalue()
        assert ("a bar" in shown) is terminal
        assert shown == "" or shown.rstrip().endswith("\x1b[2K")  # the line is wiped


@pytest.mark.filterwarnings("default:column 'id' has whole numbers")
def test_a_warning_is_a_sentence_told_once(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("id,label\n" + "".join(f"{2**60 + b},{'ab'[b % 2]}\n" for b in range(40)))
    done = CliRunner().invoke(main, ["run", str(path), "--model", "hoeffding-tree"])
    assert done.exit_code == 0, done.output
    told = " ".join(done.stderr.split())
    assert told.count("Warning: column 'id' has whole numbers beyond 2**53") == 1
    assert ".py" not in told


def test_a_setting_that_is_given_twice_is_named(events):
    assert_told(call("tune", events, "--set", "n_learners=2", "--set", "n_learners=3"), "n_learners", "twice")
    assert_told(call("run", events, "--class-weight", "a=1,a=2"), "a=1,a=2", "twice")


def test_a_file_of_costs_of_endless_brackets(events, tmp_path):
    (tmp_path / "costs.json").write_text("[" * 100_000)
    assert_told(call("run", events, "--cost-matrix", tmp_path / "costs.json"), "costs.json", "is not JSON")


def test_exploration_without_actions_is_named(events):
    assert_told(call("run", events, *MAJORITY, "--exploration", ".1"), "--exploration", "--feedback bandit")


@linux
def test_streams_that_are_closed(events):
    """As in a daemon's child: sys.stdin and sys.stdout are None then."""
    run = [*COMMAND, "run", str(events), *MAJORITY]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *run], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    piped = ["sh", "-c", 'exec "$@" <&-', "sh", *COMMAND, "run", "-", *MAJORITY]
    assert_told(subprocess.run(piped, capture_output=True, text=True), "the file is empty")


@pytest.mark.filterwarnings("default")
def test_options_of_files_are_not_left_out_of_a_data_set_in_silence():
    for option in ("--target", "--drop", "--nominal"):
        done = call("run", "balance", *MAJORITY, option, "left-weight")
        assert done.exit_code == 0
        assert "balance is a data set: --target, --nominal" in " ".join(done.stderr.split())
    assert "is a data set" not in call("run", "balance", *MAJORITY).stderr


def test_measurements_in_place_of_labels_are_told_before_anything_is_made(tmp_path):
    """Thousands of different amounts would be as many classes."""
    path = tmp_path / "payments.csv"
    path.write_text("a,amount\n" + "".join(f"{i},{i}.25\n" for i in range(100)))
    assert_told(
        call("run", path, *MAJORITY), "'amount', has 100 different values such as '0.25'", "--target names another"
    )
    path.write_text("a,version\n" + "".join(f"{i},{i % 5}.5\n" for i in range(100)))
    assert call("run", path, *MAJORITY).exit_code == 0


def test_advice_names_columns_as_a_shell_takes_them(tmp_path):
    path = tmp_path / "payments.csv"
    path.write_text("booked at,label\n1,a\nsoon,b\n")
    assert_told(call("run", path, *MAJORITY, "--numeric", "booked at"), "--nominal 'booked at'")
