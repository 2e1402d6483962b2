"""What pages and docstrings say is true: Python in them runs; links, files, names and commands exist.

A page's blocks run in order and in one namespace, as if pasted. The first line of a block may say more than ``python``:
``python no-run`` leaves it out (for what cannot run anywhere; at most two in all); ``python title="..."`` is a file of
the package, which tests/contract/test_new_booster.py builds and tests.
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from onlineboost.cli.main import COMMANDS, main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]  # all but the changelog
PAGES += [page for folder in ("docs", "src", "benchmarks") for page in sorted((ROOT / folder).rglob("*.md"))]
EXAMPLES = [  # modules whose docstrings have some
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "src").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_LEFT_OUT = 2

OLD_NAMES = {
    r"""vote=["']?(hedge|weighted|best|last)\b""": "combiner",
    r"\bballot": "vote",
    r"restart=(True|False)": 'restart="always" or "never"',
    r"\b(TreeBag|tree-bag|tree_bag)\b": "BestTree, best-tree",
    r"\bleaf=": "leaf_prediction",
    r"\bn_seen_": "n_samples_seen_",
    r"--vote\b": "--combiner",
    r"--no-restart\b": "--restart never",
}

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
of_what_is_there = pytest.mark.parametrize(  # that one has names and files that are yet to be written
    "page", [page for page in PAGES if page.name != "extend.md"], ids=lambda page: page.name
)


def blocks(page, language):
    """(what follows the language in the block's first line, number of that line, text) of a page's blocks."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        first, _, more = found[1].partition(" ")
        if first == language:
            yield more, text.count("\n", 0, found.start()) + 1, found[2]


def prose(page):
    """The page without its blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def run(block, name, line, namespace):
    if ">>>" in block:
        test = doctest.DocTestParser().get_doctest(block, namespace, name, name, line)
        doctest.DebugRunner().run(test, clear_globs=False)
        namespace.update(test.globs)
    else:
        exec(compile("\n" * line + block, name, "exec"), namespace)


# ----------------------------------------------------------------------------------------------------------- blocks


@every_page
def test_the_python_of_a_page_runs_when_pasted(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {"__name__": "__main__"}
    if page.name == "start.md":
        return  # see below
    for more, line, block in blocks(page, "python"):
        if not more:
            run(block, page.name, line, namespace)


def test_the_first_page_runs_as_it_stands(tmp_path, monkeypatch):
    """Its commands, too, between the blocks of Python that they need."""
    monkeypatch.chdir(tmp_path)
    page, namespace = ROOT / "docs" / "start.md", {"__name__": "__main__"}
    commands = [block for block in blocks(page, "sh") if block[2].startswith("onlineboost ")]
    both = [*blocks(page, "python"), *commands]
    assert len(commands) == 2
    for _, line, block in sorted(both, key=lambda found: found[1]):
        if not block.startswith("onlineboost "):
            run(block, page.name, line, namespace)
        else:
            for command in block.splitlines():
                done = CliRunner().invoke(main, shlex.split(command)[1:])
                assert done.exit_code == 0, done.output
    assert {path.name for path in tmp_path.iterdir()} == {"events.csv", "model.olb", "predictions.csv"}


@pytest.mark.parametrize("module", EXAMPLES)
def test_the_examples_of_a_module_are_true(module):
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


def test_few_blocks_are_left_out():
    infos = [more for page in PAGES for more, _, _ in blocks(page, "python")]
    assert all(more in ("", "no-run") or re.fullmatch(r'title="\S+\.py"', more) for more in infos)
    assert infos.count("no-run") <= MOST_LEFT_OUT
    assert len(infos) > 10


@every_page
def test_the_commands_of_a_page_exist(page):
    for _, _, block in blocks(page, "sh"):
        for command, rest in re.findall(r"^onlineboost (\w+)([^#\n]*)", block, re.MULTILINE):
            assert command in COMMANDS
            known = {option for param in main.get_command(None, command).params for option in param.opts}
            assert set(re.findall(r"--[\w-]+", rest)) <= known
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(re.findall(r"^make ([\w-]+)", block, re.MULTILINE)) <= set(targets)


# -------------------------------------------------------------------------------------------------- links and names


def anchors(page):
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    documented = re.findall(r"^::: (\S+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings} | set(documented)


@every_page
def test_links_and_pictures_exist(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        assert there.is_file(), target
        assert not anchor or anchor in anchors(there), target


@every_page
def test_no_page_has_an_old_name(page):
    if page.name == "command-line.md":
        return  # it is made of the code; --vote is an option there, of another meaning than the old one
    text = page.read_text(encoding="utf-8")
    found = [f"{match[0]}: now {new}" for old, new in OLD_NAMES.items() for match in re.finditer(old, text)]
    assert not found


@of_what_is_there
def test_dotted_names_can_be_imported(page):
    for name in set(re.findall(r"\bonlineboost(?:\.[A-Za-z_]\w*)+", page.read_text(encoding="utf-8"))):
        parent, _, last = name.rpartition(".")
        assert hasattr(import_module(parent), last) or import_module(name), name


@of_what_is_there
def test_files_and_tests_named_in_a_page_exist(page):
    text = page.read_text(encoding="utf-8")
    folders = ("src", "tests", "benchmarks", "docs")
    files = [path.as_posix() for folder in folders for path in (ROOT / folder).rglob("*.py")]
    files += [path.as_posix() for path in ROOT.glob("*.py")]
    for name in set(re.findall(r"`(?:python )?([\w/]+\.py)\b", text)):
        assert any(file.endswith(f"/{name}") for file in files), name
    tests = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py")))
    for name in set(re.findall(r"(?:`|::)(test_\w+)`", text)):
        assert f"def {name}(" in tests, name


def test_every_promise_names_a_test_that_is_where_it_says():
    """And every row has one."""
    text = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    files = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", text)
    assert len(named) > 70
    for file, name in named:
        assert f"def {name}(" in files[file], f"{file}::{name}"
    rows = [line for line in text.splitlines() if re.match(r"\| (?!\*\*|promise|what went|where|---)", line)]
    for row in rows:
        assert re.search(r"`(test_|tests/|make |benchmarks/)", row.split(" | ", 1)[1]), row


def test_a_promise_that_make_test_does_not_try_says_so():
    """The tests that a row names are run by `make test`, or the row names `make soak`."""
    slow = re.compile(r"@pytest\.mark\.slow\n(?:@.*\n)*def (test_\w+)\(")
    names = {name for path in (ROOT / "tests").rglob("test_*.py") for name in slow.findall(path.read_text("utf-8"))}
    assert len(names) > 10
    for row in (ROOT / "docs" / "promises.md").read_text(encoding="utf-8").splitlines():
        if names & set(re.findall(r"(?:`|::)(test_\w+)`", row)):
            assert "`make soak`" in row, row


def test_the_picture_and_the_table_show_every_package():
    picture = (ROOT / "docs" / "pictures" / "packages.svg").read_text()
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\n## The packages\n")[2]
    for path in (ROOT / "src" / "onlineboost").glob("*/__init__.py"):
        assert f">{path.parent.name}</text>" in picture
        assert f"`{path.parent.name}`" in table.partition("\n## ")[0]


# ------------------------------------------------------------------------------------------------------------ English

NOT_ENGLISH = r"of another make|\banew\b|\bso many\b|\bis no model that\b|\bof no good\b"


NOT_PLAIN = r"\bmere\b|\bat hand\b|\bin the place of\b|\bof (?:no )?use\b|^\| (?:So|Nor) (?:do|does|is|are)\b"


@every_page
def test_pages_use_the_words_of_the_field(page):
    """Not translated idioms: write "again", "of other libraries", the number itself, what a thing is.

    Nor rows of a table that only the row before explains.
    """
    assert not re.findall(rf"(?im)[^\n]*(?:{NOT_ENGLISH}|{NOT_PLAIN})[^\n]*", page.read_text(encoding="utf-8"))


@every_page
def test_no_line_of_a_paragraph_looks_like_a_list(page):
    """A formula that was wrapped before its minus, or a sentence before a number at its end."""
    item = r" {0,3}(?:[-+*]|\d+[.)]) "
    for paragraph in re.split(r"\n\s*\n", prose(page)):
        first, *others = paragraph.strip("\n").split("\n")
        if not re.match(rf"{item}| {{4}}|\||#", first) and not first.endswith(":"):
            assert not [line for line in others if re.match(item, line)], paragraph


def test_words_are_spelt_right():
    pytest.importorskip("codespell_lib", reason="codespell is not installed: pip install -e '.[dev]'")
    done = subprocess.run([sys.executable, "-m", "codespell_lib"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_pages_that_the_code_names_exist():
    """`docs/data.md`, `storage/FORMAT.md` and their like in docstrings, comments and messages."""
    homes = (ROOT, ROOT / "src" / "onlineboost")
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]:
        for name in re.findall(r"\b[\w-]+(?:/[\w-]+)*/[\w-]+\.md\b", path.read_text(encoding="utf-8")):
            assert name.startswith("results/") or any((home / name).is_file() for home in homes), f"{path.name}: {name}"


def test_the_pages_stay_short():
    """At most 22 pages and 32,000 words in docs; the README at most 900."""
    pages = list((ROOT / "docs").glob("*.md"))
    assert len(pages) <= 22
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= 32_000
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900


def test_docstrings_and_messages_use_the_words_of_the_field():
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        if path.parent.name not in ("panel", "_compile")  # yet
        for line in re.findall(rf"(?i)[^\n]*(?:{NOT_ENGLISH})[^\n]*", path.read_text(encoding="utf-8"))
    ]
    assert found == []
