"""What is made while the package is built: the README for an index, and machine code for one kind of machine.

Links and pictures of the README are relative, which an index cannot follow. Where the repository has a public address
(HOME), they are made absolute; as long as it has none, pictures are left out and links are plain text.

With ONLINEBOOST_MACHINE_CODE=1 the wheel has the machine code of all kernels in it, made by the Numba at hand: for this
Python, this system, and processors with AVX2 or of 64-bit ARM. It is then built without isolation, which takes minutes:
`make package`. Where anything is otherwise, the package compiles as ever.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
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


class MachineCode(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fill a store as a user's is filled, far from here so that no path of this machine is in it."""
        if os.environ.get("ONLINEBOOST_MACHINE_CODE") != "1" or self.target_name != "wheel" or version != "standard":
            return
        self.temporary = tempfile.TemporaryDirectory(prefix="onlineboost-")  # until the wheel is written
        folder = Path(self.temporary.name)
        shutil.copytree(Path(self.root) / "src", folder, dirs_exist_ok=True)
        numba = find_spec("numba")
        if numba is None or numba.origin is None:
            raise RuntimeError(
                "there is no Numba to compile with: build without isolation where onlineboost is installed"
            )
        (folder / "numba").symlink_to(Path(numba.origin).parent, target_is_directory=True)
        store = folder / "store"
        own = {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(store), "ONLINEBOOST_PREBUILT": "0"}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")} | own
        subprocess.run([sys.executable, "-m", "onlineboost", "warm"], check=True, cwd=folder, env=environment)
        for file in store.glob("*/*.nbc"):
            build_data["force_include"][str(file)] = f"onlineboost/_machine_code/{file.parent.name}/{file.name}"
        build_data["pure_python"] = False
        about = distribution("numba").read_text("WHEEL") or ""  # machine code asks for no more than Numba itself does
        build_data["tag"] = re.findall(r"^Tag: (.*)$", about, re.MULTILINE)[0]

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "temporary"):
            self.temporary.cleanup()
