"""All commands and blocks of the README, as they stand there and in order, by a user who has nothing: make fresh

The user has a copy of the repository, Python, make and a package index; an empty home, no environment variables, no
data. Everything happens in a folder that is removed afterwards (--keep leaves it). Prints when each command ended, and
the time to the first result. tests/test_fresh.py does the same in short.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEFT = (".git", ".venv*", ".bench", "site", "dist", "results", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info")
MARK = "@@"
WRITTEN = ("events.csv", "model.olb", "said.csv", "comparison.html", "reproduction/report.html")  # what commands leave


def steps(page: Path) -> Iterator[tuple[str, str]]:
    """("sh", a command) and ("python", all blocks in a row, which are one session), in the order of the page."""
    session = ""
    for language, text in re.findall(r"^```(sh|python)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S):
        if language == "python":
            session += text
            continue
        if session:
            yield "python", session
            session = ""
        for line in text.splitlines():
            if command := re.sub(r"(^|\s+)#.*", "", line).strip():
                yield "sh", command
    if session:
        yield "python", session


def script(page: Path, without: tuple[str, ...] = ()) -> str:
    """The page as a script for bash, which stops at the first error and says what comes next."""
    lines = ["set -e"]
    for number, (language, text) in enumerate(steps(page)):
        if language == "python":
            lines += [f"echo '{MARK} python: {len(text.splitlines())} lines'", f"cat > block{number}.py <<'END'"]
            lines += [f"{text}END", f"python -W error block{number}.py"]
        elif not text.startswith(without):
            lines += [f"echo {MARK} {subprocess.list2cmdline([text])}", text]
    return "\n".join([*lines, f"echo {MARK} end"]) + "\n"


def bare_environment(home: Path) -> dict[str, str]:
    """Nothing but a home, the system's programs, this Python, and what it takes to reach a package index."""
    programs = [str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]
    index = {k: v for k, v in os.environ.items() if k.startswith("PIP_") or k.lower().endswith("_proxy")}
    certificates = {k: v for k, v in os.environ.items() if k in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")}
    files = [Path.home() / ".config/pip/pip.conf", Path.home() / ".pip/pip.conf"]
    settings = [str(file) for file in files if file.is_file()]
    index |= {"PIP_CONFIG_FILE": settings[0]} if settings else {}
    return {**index, **certificates, "HOME": str(home), "PATH": os.pathsep.join(programs), "LANG": "C.UTF-8"}


def follow(text: str, folder: Path, environment: dict[str, str]) -> tuple[int, list[tuple[float, str]], str]:
    """Run a script: its exit code, what ended when, and all that it printed."""
    begun = time.monotonic()
    ended: list[tuple[float, str]] = []
    printed, current = [], ""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "encoding": "utf-8"}
    with subprocess.Popen(["bash", "-c", text], cwd=folder, env=environment, **pipes) as process:
        for line in process.stdout:
            if line.startswith(MARK):
                if current:
                    ended.append((time.monotonic() - begun, current))
                    print(f"{ended[-1][0]:7.1f} s  {current}", flush=True)
                current = line.removeprefix(MARK).strip()
            else:
                printed.append(line)
    return process.returncode, ended, "".join(printed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave the folder")
    keep = parser.parse_args().keep
    folder = Path(tempfile.mkdtemp(prefix="fresh-"))
    (folder / "home").mkdir()
    shutil.copytree(ROOT, folder / "copy", ignore=shutil.ignore_patterns(*LEFT))
    environment = bare_environment(folder / "home")
    environment["PATH"] = os.pathsep.join([*python3(folder / "bin"), environment["PATH"]])
    code, ended, printed = follow(script(ROOT / "README.md"), folder / "copy", environment)
    if code:
        print(printed)
    missing = [name for name in WRITTEN if not (folder / "copy" / name).is_file()]
    if ended:
        print(f"time to first result: {ended[0][0]:.0f} s, installing and compiling included")
    print("all of it ran" if not code and not missing else f"FAILED: exit code {code}, missing: {missing}")
    if keep:
        print(folder)
    else:
        shutil.rmtree(folder)
    return int(code != 0 or bool(missing))


def python3(folder: Path) -> list[str]:
    """A folder for the PATH where python3 is the Python that runs this, free of any environment."""
    folder.mkdir()
    (folder / "python3").symlink_to(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}")
    return [str(folder)]


if __name__ == "__main__":
    sys.exit(main())
