"""docs/extend.md adds a booster in three files, and the whole contract holds for it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8").partition("\n## A member of the panel\n")[0]
FILES = dict(re.findall(r'^```python title="([^"]+)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL))
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
if any((ROOT / name).exists() for name in FILES if "registry" not in name):
    pytest.skip("the booster of docs/extend.md is in the package already", allow_module_level=True)
REGISTRY = "src/onlineboost/registry.py"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the project with the page's booster in it."""
    root = tmp_path_factory.mktemp("house")
    for part in ("src", "tests", "benchmarks"):
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    for name, text in FILES.items():
        if name != REGISTRY:
            assert not (root / name).exists()
            (root / name).write_text(text)
    above, *lines = FILES[REGISTRY].splitlines()
    (entry,) = (line for line in lines if line.startswith("    Entry("))
    registry = (root / REGISTRY).read_text()
    registry = registry.replace("if TYPE_CHECKING:", f"if TYPE_CHECKING:\n    {above.strip()}", 1)
    (root / REGISTRY).write_text(registry.replace("ENTRIES = (", f"ENTRIES = (\n{entry}", 1))
    return root


def call(house, *command, **more):
    env = {**os.environ, "PYTHONPATH": str(house / "src"), **more}
    return subprocess.run([sys.executable, *command], cwd=house, env=env, capture_output=True, text=True)


def test_three_files_are_all_it_takes(house):
    changed = [
        str(path.relative_to(house))
        for path in sorted(house.rglob("*.py"))
        if not (ROOT / path.relative_to(house)).exists()
        or path.read_bytes() != (ROOT / path.relative_to(house)).read_bytes()
    ]
    assert changed == [
        "src/onlineboost/boosters/smooth.py",
        "src/onlineboost/estimators/smooth_boost.py",
        "src/onlineboost/registry.py",
    ]


TRIED = """
import sys, warnings
sys.path.insert(0, "tests")
warnings.simplefilter("ignore")
from contract.kinds import every_kind
X, y = [[0.0, "u"], [1.0, "v"]] * 4, ["a", "b"] * 4
own = [kind for kind in every_kind() if str(kind).startswith("smooth-boost")]
for kind in own:
    kind.make().partial_fit(X, y, classes=["a", "b", "c", "d"])
print(*own, sep="\\n")
"""


def test_it_takes_all_settings_that_the_contract_tries(house):
    """As plain Python, on a few rows: what needs compiled kernels is left to the slow test below."""
    done = call(house, "-c", TRIED, NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stderr[-3000:]
    tried = done.stdout.splitlines()
    assert any("gamma=0.2" in name for name in tried)
    assert not any("gamma=adaptive" in name for name in tried)


@pytest.mark.slow
def test_every_program_knows_it_and_the_whole_contract_holds_for_it(house):
    """In one test: what is compiled for one is there for the other."""
    done = call(house, "-m", "onlineboost.cli.main", "run", "balance", "--model", "smooth-boost", "--learners", "10")
    assert done.returncode == 0, done.stderr
    assert "smooth-boost" in done.stdout
    done = call(house, "-c", "from onlineboost import SmoothBoost; print(SmoothBoost(3))")
    assert done.stdout == "SmoothBoost(n_learners=3)\n"
    done = call(house, *PYTEST, "tests/contract/test_contract.py", "-k", "smooth-boost")
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 50
    done = call(house, *PYTEST, "tests/contract/test_saving.py", "-k", "smooth-boost and not is_listed")
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 10


@pytest.mark.slow
def test_it_keeps_to_the_rules_of_the_house(house):
    done = call(house, *PYTEST, "tests/test_house.py", "-k", "not breaks_the_contract")
    assert done.returncode == 0, done.stdout[-3000:]
