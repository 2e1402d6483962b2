"""What an index shows of the package: the README, as it can be read away from the repository.

Links and pictures of the README are relative, which an index cannot follow. Where the repository has a public address
(HOME), they are made absolute; as long as it has none, pictures are left out and links are plain text.
"""

from __future__ import annotations

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

HOME = ""  # such as https://example.org/onlineboost/blob/main, once there is one; [project.urls] wants it too

PICTURE = re.compile(r"^!\[[^\]]*\]\((?![a-z]+:)[^)]*\)\n+", re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:)([^)\s]+)\)")


def description(readme: str, home: str = HOME) -> str:
    """The README with absolute links, or without those that lead nowhere."""
    if home:
        return LINK.sub(rf"\1[\2]({home}/\3)", readme)
    return LINK.sub(r"\2", PICTURE.sub("", readme))


class IndexReadme(MetadataHookInterface):
    def update(self, metadata: dict) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": description(text)}
