"""What a benchmark ran on: processor, memory, versions. No names of hosts, users or folders."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe(environments: dict[str, Path]) -> dict[str, str]:
    """Name and value of everything worth knowing."""
    described = {
        "processor": _processor(),
        "cores used": str(cores()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }
    for package in ("onlineboost", "numpy", "numba", "river"):
        described[package] = _version(package)
    for name, package in (("capymoa", "capymoa"), ("vw", "vowpalwabbit")):
        described[package] = _version_in(environments[name], package)
    described["Java"] = _java()
    return {name: value for name, value in described.items() if value}


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return _first_line(["sysctl", "-n", "machdep.cpu.brand_string"]) or platform.processor() or platform.machine()


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB"
    except (AttributeError, ValueError, OSError):
        return ""


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _version_in(python: Path, package: str) -> str:
    code = f"import importlib.metadata as m; print(m.version('{package}'))"
    return _first_line([str(python), "-c", code])


def _java() -> str:
    return _first_line(["java", "-version"]).replace('"', "")


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0] if done.returncode == 0 and lines else ""
