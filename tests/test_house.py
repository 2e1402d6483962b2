"""The rules of the house: who may import whom, how long a file or a function may get, what is public."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import counts
import onlineboost
from onlineboost._compile.cache import WITH_KERNELS
from onlineboost._compile.numba_internals import SUPPORTED
from onlineboost.registry import ALL

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "onlineboost"
MODULES = sorted((ROOT / "src").rglob("*.py"))
SCRIPTS = sorted((ROOT / "benchmarks").glob("*.py"))

MOST_LINES, MOST_BODY, MOST_ARGUMENTS = 400, 60, 10

PUBLIC = ("cluster", "contracts", "data", "datasets", "estimators", "evaluation", "report", "storage", "theory")
PRIVATE = ("_compile", "boosters", "chain", "cli", "explain", "files", "panel", "service", "trees")


def name_of(path):
    return str(path.relative_to(ROOT))


def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


# --------------------------------------------------------------------------------------------------------- imports


def lint_imports(source):
    """Import Linter's verdict on the package in this folder, by the contract in pyproject.toml."""
    code = f"import sys; sys.path.insert(0, {str(source)!r}); from importlinter.cli import lint_imports_command; "
    code += "lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache", "--config", str(ROOT / "pyproject.toml")],
        capture_output=True,
        text=True,
        cwd=source,
    )


def test_imports_go_one_way():
    done = lint_imports(ROOT / "src")
    assert "Imports go one way KEPT" in done.stdout, done.stdout + done.stderr
    assert "knows nothing of the paper's experiments KEPT" in done.stdout
    assert done.returncode == 0


PLANTED = {
    "trees/state.py": "from onlineboost.chain.chain import Chain",
    "trees/split.py": "from onlineboost.boosters.losses import LOSSES",
    "boosters/olm.py": "from onlineboost.trees.state import Forest",
    "panel/combiner.py": "from onlineboost.boosters.losses import LOSSES",
    "chain/loops.py": "def lazily():\n    from onlineboost.estimators.classifier import Model",
    "report/charts.py": "from onlineboost_paper.tables import TAIL",
}


def test_an_upward_or_sideways_import_breaks_the_contract(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for module, line in PLANTED.items():
        path = tmp_path / "src" / "onlineboost" / module
        path.write_text(path.read_text() + f"\n\n{line}\n")
    done = lint_imports(tmp_path / "src")
    assert "Imports go one way BROKEN" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 1
    told = " ".join(done.stdout.split())
    for module, line in PLANTED.items():
        importer, imported = module[:-3].replace("/", "."), re.search(r"from (\S+)", line)[1]
        assert f"onlineboost.{importer} -> {imported} (l." in told, module


def test_no_modules_import_each_other():
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("onlineboost", "onlineboost_paper", cache_dir=None, exclude_type_checking_imports=True)
    order = TopologicalSorter({module: graph.find_modules_directly_imported_by(module) for module in graph.modules})
    order.prepare()  # raises CycleError


def test_private_names_stay_at_home():
    """`from onlineboost.x import _y` only for a package or module that is private as a whole (`_compile`)."""
    taken = [
        f"{name_of(path)}:{node.lineno}: {alias.name} of {node.module}"
        for path in MODULES + SCRIPTS
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("onlineboost")
        for alias in node.names
        if alias.name.startswith("_") and alias.name != "_compile" and not alias.name.startswith("__")
    ]
    assert not taken


# ------------------------------------------------------------------------------------------------------------ sizes


def test_no_module_is_too_long():
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES + SCRIPTS}
    assert {name: n for name, n in lines.items() if n > MOST_LINES} == {}


def is_excused(lines, node, word):
    """Whether the comment right above the function gives a reason: `# long: ...` or `# arguments: ...`."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 2
    while first >= 0 and lines[first].strip().startswith("#"):
        if re.match(rf"\s*# {word}: \S", lines[first]):
            return True
        first -= 1
    return False


def too_long_or_too_much(path):
    """The functions of a module that are too long or take too much, and give no reason; docstrings do not count."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for node in ast.walk(tree_of(path)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        end = node.end_lineno or node.lineno
        docstring = node.body[0] if ast.get_docstring(node) else None
        length = end - node.lineno + 1 - ((docstring.end_lineno - docstring.lineno + 1) if docstring else 0)
        arguments = [arg.arg for arg in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
        taken = len([name for name in arguments if name not in ("self", "cls")])
        if length > MOST_BODY and not is_excused(lines, node, "long"):
            yield f"{name_of(path)}: {node.name} has {length} lines"
        if taken > MOST_ARGUMENTS and not is_excused(lines, node, "arguments"):
            yield f"{name_of(path)}: {node.name} takes {taken} arguments"


def test_no_function_is_too_long_or_takes_too_much_without_a_reason():
    assert [found for path in MODULES + SCRIPTS for found in too_long_or_too_much(path)] == []


# ---------------------------------------------------------------------------------------------------------- kernels


def test_every_package_with_kernels_counts_for_the_cache():
    """A kernel in a package that the hash of the sources leaves out would go on running as it was before an edit."""
    kernels = re.compile(r"^\s*@\w*kernel$", re.MULTILINE)
    with_kernels = {
        path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py") if kernels.search(path.read_text())
    }
    assert with_kernels <= set(WITH_KERNELS)


def private_of_numba(path):
    """Where a module takes what Numba does not promise to keep: all of `numba.core` and llvmlite, names with `_`."""
    for node in ast.walk(tree_of(path)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name}" for name in names]
        for name in names:
            first, *rest = name.split(".")
            if first == "llvmlite" or (first == "numba" and (rest[:1] == ["core"] or any(r[0] == "_" for r in rest))):
                yield f"{name_of(path)}:{node.lineno}: {name}"


def test_what_is_private_of_numba_is_used_in_one_module():
    """There, what is missing from another version of Numba is an error that names the versions which work."""
    home = SOURCE / "_compile" / "numba_internals.py"
    assert [found for path in MODULES + SCRIPTS if path != home for found in private_of_numba(path)] == []
    assert len(list(private_of_numba(home))) > 9
    assert f'"{SUPPORTED}"' in (ROOT / "pyproject.toml").read_text()


# ------------------------------------------------------------------------------------------------- what is public


def test_what_the_package_exports():
    estimators = {entry.class_name for entry in ALL}
    assert set(onlineboost.__all__) == estimators | {"load", "load_dataset", "prequential", "tune"}
    assert onlineboost.__all__ == sorted(onlineboost.__all__)
    for name in onlineboost.__all__:
        assert getattr(onlineboost, name).__doc__


def test_every_package_is_public_or_private():
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages == set(PUBLIC) | set(PRIVATE)


def test_a_public_package_lists_its_names():
    for name in PUBLIC:
        package = importlib.import_module(f"onlineboost.{name}")
        assert len(package.__all__) == len(set(package.__all__)) > 0  # Ruff sees to it that they are sorted
        for public in package.__all__:
            assert getattr(package, public) is not None, f"{name}.{public}"
            assert not public.startswith("_"), f"{name}.{public}"


def test_every_package_says_what_is_in_it_and_who_may_import_it():
    for path in sorted((ROOT / "src").rglob("__init__.py")):
        about = ast.get_docstring(tree_of(path)) or ""
        assert len(about.split()) >= 12, name_of(path)
        assert path.parent == SOURCE or "import" in about.lower(), name_of(path)


def test_types_are_shipped():
    assert all((package / "py.typed").exists() for package in (SOURCE, ROOT / "src" / "onlineboost_paper"))


def test_nothing_asks_what_kind_a_thing_is():
    """But the facade, where users' own objects come in: every new kind would have to be taught to whoever asks."""
    assert counts.questions_of_kind(counts.modules(ROOT / "src"), ROOT / "src") == []
