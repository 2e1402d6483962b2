"""docs/extend.md adds a member to the panel in one file and one list, and makes a weak learner of it.

Files from before it load and go on.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8").partition("\n## A member of the panel\n")[2]
BLOCKS = re.findall(r'^```python title="src/onlineboost/([^"]+)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)
(MEMBER, KERNELS), (_, IN_MEMBERS), (STATE, IN_ALONE), (CLASSES, CLASS), (REGISTRY, ENTRY) = BLOCKS
if (ROOT / "src" / "onlineboost" / MEMBER).exists():
    pytest.skip("the member of docs/extend.md is in the package already", allow_module_level=True)

PROGRAM = """
import hashlib, json, sys
sys.path.insert(0, "tests")
import numpy as np
import onlineboost
from make_golden_files import FOLDER, HALF, go_on, golden_stream
from onlineboost.contracts.state import bits

clf = onlineboost.load(FOLDER / "format-1" / "online-boost, half.olb")
X, y, _ = golden_stream()
out = {"before": clf.predict_proba(X[HALF : HALF + 3]).tolist()}
go_on(clf, HALF, HALF + 6)
state = clf._model.chain.panel.state
out["voices"] = clf.voices_
out["learned"] = {name: repr(value) for name, value in bits(state).items()}
out["others"] = sorted(clf.explain(X[0]).others)
clf.save(sys.argv[1])
out["same"] = bits(onlineboost.load(sys.argv[1])._model.chain.panel.state).keys() == bits(state).keys()
again = onlineboost.load(sys.argv[1]).predict_proba(X[HALF : HALF + 2])
out["again"] = bool(np.array_equal(again, clf.predict_proba(X[HALF : HALF + 2])))
new = onlineboost.OnlineBoostClassifier(1).partial_fit(X[:8, [1, 3]], y[:8])
out["new"] = list(new.voices_)
if hasattr(onlineboost, "Centroids"):
    numbers, low_or_high = [[0.0, 1.0], [1.0, 1.5]] * 10, ["low", "high"] * 10
    for name, learner in {
        "alone": onlineboost.Centroids(), "boosted": onlineboost.AdaBoostOLM(2, learner=onlineboost.Centroids())
    }.items():
        learner.partial_fit(numbers, low_or_high).save(sys.argv[1])
        out[name] = onlineboost.load(sys.argv[1]).predict(numbers[:2]).tolist()
print(json.dumps(out))
"""


def insert(path, line, text, *, before=False):
    """Insert a line after, or before, the one that begins so."""
    lines = path.read_text().splitlines()
    (at,) = [i for i, own in enumerate(lines) if own.startswith(line)]
    lines.insert(at if before else at + 1, text)
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the project with the page's member in it."""
    root = tmp_path_factory.mktemp("house")
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    package = root / "src" / "onlineboost"
    above, _, members = IN_MEMBERS.strip().splitlines()
    state = (package / STATE).read_text()
    (old,) = re.findall(r"^MEMBERS = .*$", state, re.MULTILINE)
    assert members.startswith(old.rstrip(")")), "the page has another list than the package"
    (package / MEMBER).write_text(KERNELS)
    insert(package / STATE, "from onlineboost.panel.columns import", above, before=True)
    insert(package / STATE, old, members)
    insert(package / STATE, "ALONE: dict[str, Any] = {", IN_ALONE.splitlines()[1])
    (package / CLASSES).write_text((package / CLASSES).read_text() + "\n\n" + CLASS)
    insert(package / REGISTRY, "ENTRIES = (", ENTRY.splitlines()[3])
    return root


COMBINERS = ("newton.", "slow.", "trust")  # they hear the new voice


def told(root, folder):
    """What the program says in this copy; without the JIT, which would take a minute for each."""
    env = {**os.environ, "PYTHONPATH": str(root / "src"), "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", PROGRAM, str(folder / "model.olb")]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_one_file_and_its_name_in_the_list_are_all_it_takes_and_older_files_go_on(house, tmp_path):
    """It predicts as before, what the other members learn is the same, and the new voice is learned and saved.

    By itself and in a booster it learns and is saved, too.
    """
    old, new = told(ROOT, tmp_path), told(house, tmp_path)
    assert new["before"] == old["before"]
    theirs = {name: value for name, value in old["learned"].items() if not name.startswith(COMBINERS)}
    assert {name: new["learned"][name] for name in theirs} == theirs
    assert new["learned"].keys() - old["learned"].keys() == {"centroids.mass", "centroids.mean"}
    assert new["voices"].keys() - old["voices"].keys() == {"centroids"} == set(new["new"]) - set(old["new"])
    assert new["voices"]["centroids"] != 0.0
    assert set(new["others"]) - set(old["others"]) == {"panel: centroids"}
    assert new["same"]
    assert new["again"]
    assert new["alone"] == new["boosted"] == ["low", "high"]


@pytest.mark.slow
def test_the_contract_of_all_estimators_holds_with_it(house):
    env = {**os.environ, "PYTHONPATH": str(house / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "online-boost"]
    tests = ["tests/contract/test_contract.py", "tests/contract/test_saving.py"]
    done = subprocess.run([*command, *tests], cwd=house, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
