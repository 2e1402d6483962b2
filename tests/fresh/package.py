"""Wheel and sdist in a folder: what is in them, and whether they work in an empty environment: make package

Installs each in an environment of its own, for every Python from 3.11 on that is on this machine, and learns a few rows
there, far from the sources. A Python that is not here is named and left out. The wheel with machine code is tried with
every estimator, by the Python that has built it, where nothing can be kept: nothing may be compiled.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from fresh.readme import bare_environment

VERSIONS = ("3.11", "3.12", "3.13")
SMOKE = """
import numpy, onlineboost
clf = onlineboost.AdaBoostOLM(5).fit([[0.0], [1.0]] * 20, ["low", "high"] * 20)
assert clf.predict([[0.1], [0.9]]).tolist() == ["low", "high"]
print("onlineboost", onlineboost.__version__, "with NumPy", numpy.__version__, "works")
"""
ALL = """
import resource
from numba.core import event
compiled = event.RecordingListener()
event.register("numba:compile", compiled)
import onlineboost
from onlineboost import lookup
rows = [{"size": 0.1 * i, "colour": "rgb"[i % 3], "late": None if i % 5 else 1.0} for i in range(60)]
labels = ["low" if i % 4 else "high" for i in range(60)]
for name in lookup.names():
    clf = lookup.make(name, n_learners=2)
    for row, label in zip(rows, labels):
        clf.predict_one(row), clf.predict_proba_one(row), clf.learn_one(row, label)
    X = [list(row.values()) for row in rows]
    clf = lookup.make(name, n_learners=2, n_jobs=2).fit(X, labels)
    clf.predict(X), clf.predict_proba(X), clf.test_then_train(X, labels)
    clf.learn_pending(clf.predict_pending(X[0]).ticket, "low")
    clf.snapshot().predict(X)
    clf.save("model.olb")
    onlineboost.load("model.olb").partial_fit(X, labels)
    clf = lookup.make(name, n_learners=2, sets=True, cost_matrix={"low": {"high": 3.0}}).fit(X, labels)
    clf.predict_set(X), clf.explain(X[0])
clf = onlineboost.MultiLabelBoost(2).fit(X, [[label] for label in labels])
clf.learn_one(X[0], {"low", "high"}), clf.predict(X)
done = sorted({each.data["dispatcher"].py_func.__qualname__ for _, each in compiled.buffer})
assert not done, done
spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime
print(f"{len(lookup.names()) + 1} estimators, nothing compiled, {spent:.1f} s of CPU")
"""
IN_WHEEL = ("onlineboost/py.typed", "onlineboost/__main__.py", "/licenses/LICENSE", "/entry_points.txt")
IN_SDIST = ("/README.md", "/CHANGELOG.md", "/CITATION.cff", "/LICENSE", "/pyproject.toml", "/hatch_build.py")


def check_contents(wheel: Path, sdist: Path) -> None:
    """The files that must be there are, and the wheel has nothing but the package."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for name in IN_WHEEL:
        assert any(found.endswith(name) for found in names), f"{name} is not in {wheel.name}"
    odd = [name for name in names if not name.startswith("onlineboost")]
    assert not odd, f"{wheel.name} has {odd}"
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    for name in IN_SDIST:
        assert any(found.endswith(name) for found in names), f"{name} is not in {sdist.name}"


def smoke(python: str, package: Path, folder: Path) -> str:
    """Install the package in a new environment and use it; what it said."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    environment = bare_environment(home)

    def call(*words: str | Path) -> str:
        done = subprocess.run([str(w) for w in words], cwd=home, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{words} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    call(python, "-m", "venv", folder / "env")
    call(folder / "env/bin/python", "-m", "pip", "install", "-q", package)
    call(folder / "env/bin/onlineboost", "--version")
    call(folder / "env/bin/onlineboost", "run", "balance", "--model", "hoeffding-tree", "--limit", "200")
    return call(folder / "env/bin/python", "-W", "error", "-c", SMOKE).strip()


def try_machine_code(wheel: Path, folder: Path) -> str:
    """Install the wheel that has machine code, beside the packages that it was built with, and use all of it."""
    import numba

    with zipfile.ZipFile(wheel) as archive:
        kernels = [name for name in archive.namelist() if name.endswith(".nbc")]
        assert kernels, f"there is no machine code in {wheel.name}"
        for name in kernels:
            for path in (sys.prefix, str(Path.home()), str(Path.cwd())):
                assert path == "/" or path.encode() not in archive.read(name), f"{path} is in {name}"
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = folder / "env/bin/python"
    install = [python, "-m", "pip", "install", "-q", wheel, f"numba=={numba.__version__}"]
    environment = bare_environment(folder) | {"NUMBA_CACHE_DIR": "/dev/null/nowhere"}
    subprocess.run(install, check=True, cwd=folder, env=environment)
    done = subprocess.run(
        [python, "-c", ALL], check=True, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.strip()


def main() -> None:
    dist = Path(sys.argv[1] if len(sys.argv) > 1 else "dist").absolute()
    wheel, sdist = next(dist.glob("*-none-any.whl")), next(dist.glob("*.tar.gz"))
    check_contents(wheel, sdist)
    for native in set(dist.glob("*.whl")) - {wheel}:
        check_contents(native, sdist)
        with tempfile.TemporaryDirectory() as folder:
            print(f"{native.name}: {try_machine_code(native, Path(folder))}", flush=True)
    for version in VERSIONS:
        python = shutil.which(f"python{version}")
        if python is None or subprocess.run([python, "--version"], capture_output=True).returncode:
            print(f"Python {version}: not on this machine, not tried")
            continue
        for package in (wheel, sdist) if version == VERSIONS[0] else (wheel,):
            with tempfile.TemporaryDirectory() as folder:
                print(f"Python {version}, {package.name}: {smoke(python, package, Path(folder))}", flush=True)


if __name__ == "__main__":
    main()
