"""tests/errors.md tells the truth: what stands in the last column of its tables provokes what stands in the first."""

from __future__ import annotations

import json
import pickle
import re
import shlex
from copy import deepcopy
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_matrix
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

import mutations
from onlineboost import (
    AdaBoostOLM,
    BestTree,
    EagerTrees,
    HoeffdingTree,
    NearestNeighbours,
    OnlineMBBM,
    OzaBoost,
    evaluation,
    load,
    load_dataset,
    prequential,
)
from onlineboost.cli.main import main
from onlineboost.data import Table, read_blocks
from onlineboost.evaluation import resumable, tune
from onlineboost.storage.container import MAGIC, PREAMBLE

PAGE = Path(__file__).with_name("errors.md")


def rows(heading):
    """(message, example) of the first table below a heading."""
    text = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if line.startswith("| `"):
            found.append((cells[0].strip("` "), cells[-1].strip("` ")))
    return found


def pattern(message):
    return ".*".join(re.escape(part.strip()) for part in message.split("..."))


def bad_files(folder, X, y):
    """Files that are not good model files, by what is wrong with them."""
    good = folder / "good.olb"
    OzaBoost(2).fit(X, y).save(good)
    data = good.read_bytes()
    header, arrays = mutations.parts(data)
    first = data.rindex(bytes(max(arrays, key=len)))
    forged = json.loads(json.dumps(header))
    forged["content"]["estimator"]["model"]["model"]["chain"]["chain"]["n_numeric"] = 7
    foreign = json.loads(json.dumps(header))
    foreign["content"]["estimator"]["settings"]["learner"] = {"pickle": 0}

    def with_preamble(version, length):
        head = PREAMBLE.pack(MAGIC, version, length, len(data), 0, 0)[:-4]
        return head + crc32(head).to_bytes(4, "little") + data[32:]

    files = {
        "text": b"size,label\n1,a\n" * 9,
        "pickle": pickle.dumps(HoeffdingTree()),
        "cut": data[:-5],
        "damaged": data[:first] + bytes([data[first] ^ 1]) + data[first + 1 :],
        "newer": with_preamble(9, 100),
        "large": with_preamble(1, 1 << 31),
        "forged": mutations.joined(forged, arrays),
        "foreign": mutations.joined(foreign, arrays),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in files}


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the examples in Python know."""
    X, y = np.array([[0.0, 1.0], [1.0, 0.0]] * 10), np.array(["a", "b"] * 10)
    known = {kind.__name__: kind for kind in (AdaBoostOLM, BestTree, HoeffdingTree, OzaBoost)}
    known |= {kind.__name__: kind for kind in (OnlineMBBM, GaussianNB, Ridge, EagerTrees, NearestNeighbours)}
    clf, fixed = AdaBoostOLM(2).fit(X, y), AdaBoostOLM(2).partial_fit(X, y, classes=["a", "b"])
    clf = AdaBoostOLM(2).partial_fit(X, y)
    known |= {
        "evaluation": evaluation,
        "csr_matrix": csr_matrix,
        "load": load,
        "resumable": resumable,
        "tune": tune,
        "forked": deepcopy(clf),
    }
    lock = known["forked"]._lock()
    lock._writer = -1  # another thread
    lock._after_fork()
    known["files"] = bad_files(tmp_path_factory.mktemp("files"), X, y)
    return {**known, "np": np, "pd": pd, "X": X, "y": y, "clf": clf, "fixed": fixed} | {
        "prequential": prequential,
        "load_dataset": load_dataset,
        "Table": Table,
    }


def test_the_tables_are_found():
    """Those with an example, and no line is left out."""
    found = [len(rows(heading)) for heading in ("In Python", "In a file", "In the command line")]
    assert sum(found) == len(re.findall(r"^\| `.*`.* \| `.*` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert all(n > 10 for n in found)


@pytest.mark.parametrize(("message", "code"), rows("In Python"))
def test_in_python(message, code, names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError, RuntimeError), match=f"(?s){pattern(message)}"):
        eval(code, names)


@pytest.mark.parametrize(("message", "text"), rows("In a file"))
def test_in_a_file(message, text, tmp_path):
    path = tmp_path / "events.csv"
    content = text.replace("\\n", "\n").replace("\\0", "\0").replace("LONG", "1" * (1 << 24))
    content = content.replace("WIDE", "".join(f"c{i}," for i in range(20_001))).replace("BLANK", "\n" * 1_000_001)
    path.write_text(content)
    target = "label" if "no column is named" in message else None
    numeric = ["size"] if "is not a number" in message else []
    with pytest.raises(ValueError, match=f"(?s)events.csv.*{pattern(message)}"):
        list(read_blocks(path, target, numeric=numeric))


@pytest.mark.parametrize(("message", "command"), rows("In the command line"))
def test_in_the_command_line(message, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, shlex.split(command))
    assert done.exit_code == 2, done.output
    told = " ".join(done.stderr.split())
    assert re.search(pattern(message), told), told
    assert "Traceback" not in told
