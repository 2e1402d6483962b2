"""What mkdocs does beside its own: pages that stay where people look for them are pages of the site, too.

README, CHANGELOG and their like stay at the top of the repository, the file format and the proofs beside their code,
and studies beside the scripts that made them. Their links are made to fit. Notebooks become pages, with the outputs that
are kept in them.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PAGES = {  # path in the repository: page of the site
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "src/onlineboost/storage/FORMAT.md": "model-format.md",
    "src/onlineboost/theory/PROOFS.md": "proofs.md",
    "src/onlineboost/boosters/potentials/README.md": "potentials.md",
}
STUDIES = [*ROOT.glob("benchmarks/results/*.md"), *ROOT.glob("benchmarks/results/pictures/*")]
PAGES |= {path.relative_to(ROOT).as_posix(): path.relative_to(ROOT / "benchmarks").as_posix() for path in STUDIES}
NOTEBOOKS = {
    path.relative_to(ROOT).as_posix(): f"notebooks/{path.stem}.md" for path in ROOT.glob("docs/notebooks/*.ipynb")
}
PAGES |= NOTEBOOKS
SHIM = "https://unpkg.com/iframe-worker/shim"  # which the plugin `offline` would fetch; the same is in pictures
HOMES = {page: path for path, page in PAGES.items()}


def moved(text: str, page: str) -> str:
    """The text of a page of the site, with its links as seen from there; those in the repository fit its home."""
    home = HOMES.get(page, f"docs/{page}")

    def link(found: re.Match[str]) -> str:
        target, hash_, anchor = found[1].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        there = posixpath.normpath(posixpath.join(posixpath.dirname(home), target))
        there = PAGES.get(there, there.removeprefix("docs/"))
        return f"]({posixpath.relpath(there, posixpath.dirname(page) or '.')}{hash_}{anchor})"

    return re.sub(r"\]\(([^)\s]+)\)", link, text)


def notebook(path: Path) -> str:
    """A notebook as Markdown: text, code, and below it what was printed, drawn or shown as HTML."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        printed = ""
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            printed += "".join(output.get("text", []))
            if "image/png" in data:
                picture = "".join(data["image/png"]).strip()
                parts.append(f'<img alt="What the code above draws" src="data:image/png;base64,{picture}">')
            elif "text/html" in data:
                parts.append("".join(data["text/html"]))
            else:
                printed += "".join(data.get("text/plain", []))
        parts += [f"```text\n{printed.rstrip()}\n```"] if printed else []
    return "\n\n".join(parts)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, page in PAGES.items():
        if path in NOTEBOOKS:
            files.append(File.generated(config, page, content=notebook(ROOT / path)))
        else:
            files.append(File.generated(config, page, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Links that fit the site; and bars of code in tables, which need no backslash here."""
    markdown = re.sub(r"`[^`\n]*`", lambda m: m[0].replace("\\|", "|"), markdown)
    return moved(markdown, page.file.src_uri)


def on_page_content(html: str, **_: object) -> str:
    """A figure stays on one line with its error, and so does a short name or option."""
    html = re.sub(r"(\d) ± (\.?\d)", "\\1&nbsp;±&nbsp;\\2", html)
    return re.sub(r"<code>([^<\s]{1,24})</code>", r'<code class="short">\1</code>', html)


def on_post_page(output: str, *, page: Page, **_: object) -> str:
    return output.replace(SHIM, posixpath.relpath("pictures/iframe-worker.js", posixpath.dirname(page.url) or "."))


def on_post_template(output: str, **_: object) -> str:
    return output.replace(SHIM, "pictures/iframe-worker.js")
