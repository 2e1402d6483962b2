"""What mkdocs does beside its own: README, CHANGELOG and CONTRIBUTING are pages of the site too.

They stay where people look for them, at the top of the repository, and their links are made to fit.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}


def moved(text: str) -> str:
    """The text of a page at the top, with its links as seen from the folder docs."""
    text = re.sub(r"(\]\()docs/", r"\1", text)
    for old, new in PAGES.items():
        text = re.sub(rf"(\]\(){re.escape(old)}", rf"\1{new}", text)
    return text


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for old, new in PAGES.items():
        text = moved((ROOT / old).read_text(encoding="utf-8"))
        files.append(File.generated(config, new, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Links of a page in docs that go to the top; and bars of code in tables, which need no backslash here."""
    markdown = re.sub(r"`[^`\n]*`", lambda m: m[0].replace("\\|", "|"), markdown)
    return re.sub(r"\]\(\.\./(README|CHANGELOG|CONTRIBUTING)\.md", lambda m: f"]({PAGES[m[1] + '.md']}", markdown)
