"""The documentation site: every page is in it, every public name in the reference, and it builds without a warning."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import onlineboost
from test_house import PUBLIC

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def test_every_page_is_in_the_menu_once():
    menu = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2], re.MULTILINE)
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    pages |= {f"notebooks/{path.stem}.md" for path in (DOCS / "notebooks").glob("*.ipynb")}
    elsewhere = re.findall(r': "([\w-]+\.md)"', (DOCS / "site.py").read_text())  # README, proofs and others
    assert sorted(menu) == sorted(pages | set(elsewhere) - {"security.md"})


def test_every_public_name_is_in_the_reference():
    shown = re.findall(r"^::: (\S+)$", "".join(page.read_text() for page in (DOCS / "api").glob("*.md")), re.MULTILINE)
    homes = {f"{getattr(onlineboost, name).__module__}.{name}" for name in onlineboost.__all__}
    public = {"onlineboost.estimators." + name for name in import_module("onlineboost.estimators").__all__}
    public |= {f"onlineboost.{name}" for name in PUBLIC if name != "estimators"}  # whole packages, by their __all__
    public |= {home for home in homes if not home.startswith(("onlineboost.datasets.", "onlineboost.evaluation."))}
    assert public == set(shown)


def test_the_page_of_the_command_line_is_up_to_date():
    """In a process of its own: Click remembers the help option of a command as it was first asked for."""
    code = "import command_line; print(command_line.PAGE.read_text(encoding='utf-8') == command_line.page())"
    done = subprocess.run([sys.executable, "-c", code], cwd=DOCS, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n", "run: python docs/command_line.py"


@pytest.mark.skipif(not (find_spec("mkdocs") and find_spec("mkdocstrings")), reason="mkdocs is not installed")
def test_the_site_builds_without_a_warning_and_asks_no_other_host(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|iframe)[^>]* src="(?:https?:)?//[^"]*"', text), page.name
        assert not re.findall(r'<link[^>]* href="(?:https?:)?//[^"]*"[^>]*>', text), page.name
    assert not [path for path in (tmp_path / "site").rglob("*") if "__pycache__" in path.parts or path.suffix == ".py"]
    styles = "".join(path.read_text() for path in (tmp_path / "site").rglob("*.css"))
    assert not re.findall(r"url\(['\"]?(?:https?:)?//", styles)
