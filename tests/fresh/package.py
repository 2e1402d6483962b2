"""Wheel and sdist in a folder: what is in them, and whether they work in an empty environment: make package

Installs each in an environment of its own, for every Python from 3.11 on that is on this machine, and learns a few rows
there, far from the sources. A Python that is not here is named and left out.
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


def main() -> None:
    dist = Path(sys.argv[1] if len(sys.argv) > 1 else "dist").absolute()
    wheel, sdist = next(dist.glob("*.whl")), next(dist.glob("*.tar.gz"))
    check_contents(wheel, sdist)
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
