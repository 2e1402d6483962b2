"""A quick part of the tests with the oldest and the newest versions of all that the package needs: make matrix

The oldest Python of pyproject.toml gets the lowest versions that it allows, exactly; every newer Python gets what pip
takes by itself. Each environment is new, with this tree's wheel, a home and machine code of its own, in a folder that
is removed afterwards (--keep leaves it). A Python is looked for as `python3.X`, or named: --python /path/to/python3.13.
One that is not on this machine is named and left out. Prints a table at the end; fails if any environment does.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from fresh.readme import bare_environment

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOOLS = ("pytest>=8", "hypothesis>=6.100")
TESTS = (
    "tests/test_golden.py",
    "tests/test_model_files.py::test_files_of_all_versions_are_loaded_and_go_on",
    "tests/contract/test_contract.py::test_rows_one_by_one_are_the_same_as_a_block",
    "tests/contract/test_contract.py::test_learners_of_another_make_keep_the_promises_too",
    "tests/test_estimators.py::test_scikit_learn_checks",
    "tests/contract/test_contract.py::test_all_kinds_of_frames_learn_the_same",
    "tests/test_fastmath.py",
    "tests/test_dispatch.py",
    "tests/test_cache.py",
    "tests/test_jit.py::test_in_a_second_process_nothing_is_compiled",
    "tests/test_cli.py::test_run_prints_a_table_of_the_model_and_the_baselines",
    "tests/test_cli.py::test_the_json_of_run_holds_what_prequential_finds",
    "tests/test_cli.py::test_help",
)
CHOSEN = "not test_estimators or AdaBoostOLM"  # one estimator stands for all where there are hundreds of tests
ASK = """
import json, platform
from importlib.metadata import version
names = ("numpy", "numba", "llvmlite", "scikit-learn")
print(json.dumps([platform.python_version(), *map(version, names)]))
"""
HEAD = ("versions", "Python", "NumPy", "Numba", "llvmlite", "scikit-learn", "passed", "failed", "skipped", "seconds")


def pythons() -> list[str]:
    """The versions of Python that the package says it runs on, oldest first."""
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each) for each in PROJECT["classifiers"]]
    return [match[1] for match in found if match]


def lowest(requirements: list[str]) -> list[str]:
    """numpy>=2.0,<3 as numpy==2.0."""
    return [re.sub(r"^([\w.-]+)>=([\d.]+).*", r"\1==\2", each) for each in requirements]


def version_of(python: str) -> str:
    """3.11 or the like; "" if it does not run, as a name does that pyenv knows and does not lead anywhere."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return done.stdout.strip() if not done.returncode else ""


def find(version: str, named: list[str]) -> str | None:
    """A Python of this version."""
    candidates = [*named, shutil.which(f"python{version}")]
    return next((each for each in candidates if each and version_of(each) == version), None)


def call(*words: str | Path, cwd: Path, environment: dict[str, str]) -> str:
    """Standard output of a command that must not fail."""
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def try_out(python: str, packages: list[str], wheel: Path, folder: Path) -> tuple[list[str], dict[str, int]]:
    """The versions in a new environment, and how many of the tests passed, failed and were skipped there."""
    home, copy = folder / "home", folder / "copy"  # tests without the sources beside them: the wheel is tested
    home.mkdir(parents=True)
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)  # how pytest is set up
    environment = bare_environment(home)
    call(python, "-m", "venv", folder / "env", cwd=home, environment=environment)
    inside = folder / "env" / "bin" / "python"
    pip = (inside, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    call(*pip, wheel, *packages, cwd=home, environment=environment)
    versions = json.loads(call(inside, "-c", ASK, cwd=home, environment=environment))
    print("  " + ", ".join(f"{name} {version}" for name, version in zip(HEAD[1:], versions, strict=False)), flush=True)
    command = [inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=3", "--junitxml=result.xml"]
    command += ["-k", CHOSEN, *TESTS]
    code = subprocess.run([str(word) for word in command], cwd=copy, env=environment).returncode
    suite = ElementTree.parse(copy / "result.xml").getroot()[0]
    total, skipped, *bad = (int(suite.get(key, "0")) for key in ("tests", "skipped", "failures", "errors"))
    failed = max(sum(bad), code != 0)
    return versions, {"passed": total - skipped - sum(bad), "failed": int(failed), "skipped": skipped}


def rows(named: list[str], chosen: list[str], folder: Path) -> Iterator[tuple[str, ...]]:
    """A row of the table for each environment."""
    wheels = folder / "wheel"
    command = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--disable-pip-version-check")
    (folder / "home").mkdir()
    call(*command, "-w", wheels, ROOT, cwd=folder, environment=bare_environment(folder / "home"))
    (wheel,) = wheels.glob("*.whl")
    known = pythons()
    for version in known:
        which = "oldest" if version == known[0] else "newest"
        if chosen and version not in chosen:
            continue
        python = find(version, named)
        if python is None:
            print(f"Python {version} is not on this machine: not tried. --python names one", flush=True)
            yield (which, version, *"----", "not on this machine", *"---")
            continue
        print(f"{wheel.name} with Python {version} and the {which} versions:", flush=True)
        begun = time.monotonic()
        needed = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["frames"]]
        packages = [*(lowest(needed) if which == "oldest" else needed), *TOOLS]  # tools are not what is tried
        try:
            versions, counts = try_out(python, packages, wheel, folder / version)
        except RuntimeError as error:  # it could not be installed
            print(error)
            versions, counts = [version, *"----"], {"passed": 0, "failed": 1, "skipped": 0}
        numbers = [counts["passed"], counts["failed"], counts["skipped"], round(time.monotonic() - begun)]
        yield (which, *versions, *map(str, numbers))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", default=[], help="a Python to use for its version")
    parser.add_argument("--only", action="append", default=[], metavar="3.X", help="this version of Python alone")
    parser.add_argument("--keep", action="store_true", help="leave the folder")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="matrix-"))
    try:
        table = list(rows(options.python, options.only, folder))
    finally:
        if options.keep:
            print(folder)
        else:
            shutil.rmtree(folder)
    widths = [max(map(len, column)) for column in zip(HEAD, *table, strict=True)]
    print()
    for row in (HEAD, *table):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    tried = [row for row in table if row[7] != "-"]
    return int(not tried or any(row[7] != "0" for row in tried))


if __name__ == "__main__":
    sys.exit(main())
