"""What a newcomer does: the wheel in an environment of its own, then the README from top to bottom.

`make fresh` does it in full, with `make run`, `pip install` and all that has to be compiled. Here dependencies and
machine code are those of this session.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from fresh.package import check_contents
from fresh.readme import WRITTEN, bare_environment, follow, script, steps
from onlineboost._compile import cache

ROOT = Path(__file__).parents[1]
SHIM = "#!{python}\nfrom onlineboost.cli.main import main\nmain()\n"
INSTALLING = ("make ", "source ", "pip ")
SLOW = ("onlineboost reproduce",)  # ten systems and more, each compiled for itself; `make fresh` has it


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Wheel and sdist."""
    pytest.importorskip("hatchling", reason="hatchling is not installed: pip install -e '.[dev]'")
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return folder


def test_wheel_and_sdist_have_what_they_should(dist):
    wheel, sdist = next(dist.glob("*.whl")), next(dist.glob("*.tar.gz"))
    check_contents(wheel, sdist)
    with zipfile.ZipFile(wheel) as archive:
        about = next(archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA"))
    for line in ("License-Expression: BSD-3-Clause", "Requires-Python: >=3.11", "Classifier: Typing :: Typed"):
        assert line in about
    assert "](docs/" not in about  # an index could not follow it
    assert "# onlineboost" in about


def test_links_are_absolute_where_there_is_a_home():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    pytest.importorskip("hatchling")
    spec.loader.exec_module(module)
    text = "See [data](docs/data.md) and [river](https://riverml.xyz).\n\n![Curves](docs/a.png)\n\nEnd\n"
    assert module.description(text) == "See data and [river](https://riverml.xyz).\n\nEnd\n"
    there = module.description(text, "https://example.org/x")
    assert "[data](https://example.org/x/docs/data.md)" in there
    assert "![Curves](https://example.org/x/docs/a.png)" in there


def test_the_readme_starts_with_installing_and_ends_with_commands():
    commands = [text for language, text in steps(ROOT / "README.md") if language == "sh"]
    assert commands[:3] == ["make run", "source .venv/bin/activate", "pip install -e '.[frames,report]'"]
    assert sum(command.startswith("onlineboost ") for command in commands) >= 7
    assert [language for language, _ in steps(ROOT / "README.md")].count("python") == 1  # one session


@pytest.mark.slow
def test_the_readme_from_top_to_bottom(dist, tmp_path):
    environment = empty_environment(next(dist.glob("*.whl")), tmp_path)
    (tmp_path / "here").mkdir()
    code, ended, printed = follow(script(ROOT / "README.md", INSTALLING + SLOW), tmp_path / "here", environment)
    assert code == 0, printed[-3000:]
    assert len(ended) >= 7
    for name in WRITTEN[:-1]:  # the last is of `reproduce`
        assert (tmp_path / "here" / name).is_file(), name
    assert str(ROOT) not in printed


def empty_environment(wheel, folder):
    """An environment with the wheel, the packages of this session beside it, and nothing of the user who runs this."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    packages = folder / "env" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (packages / "beside.pth").write_text("\n".join({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}))
    command = folder / "env" / "bin" / "onlineboost"
    command.write_text(SHIM.format(python=folder / "env" / "bin" / "python"))
    command.chmod(0o755)
    (folder / "home").mkdir()
    environment = bare_environment(folder / "home")
    environment["PATH"] = f"{folder / 'env' / 'bin'}:{environment['PATH']}"
    if cache.USABLE:
        environment["NUMBA_CACHE_DIR"] = str(cache.CACHE_DIR.parent)
    return environment
