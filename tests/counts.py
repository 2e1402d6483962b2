"""Figures of the house: how much there is of it, and how far one has to go in it.

    python tests/counts.py                   # of this checkout
    python tests/counts.py --calls           # with the functions that a call goes through: takes a minute
    PYTHONPATH=OTHER/src python tests/counts.py --src OTHER/src --calls

`isinstance` on kinds: tests on the classes of chains, stages, learners, boosters and estimators, outside of the facade
(`estimators`), where users' own objects come in. Whoever asks what kind a thing is has to be taught every new kind.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

SRC = Path(__file__).parent.parent / "src"
KINDS_IN = ("chain", "estimators", "boosters", "cluster")  # packages whose classes are kinds of things
FACADE = "estimators"
NO_KINDS = {"Interrupt", "Contract"}


def modules(src: Path) -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(src.rglob("*.py"))}


def kinds(trees: dict[Path, ast.Module], src: Path) -> set[str]:
    """Names of the classes that are kinds of things: those that others inherit from, or that inherit from them."""
    found, bases = set(), set()
    for path, tree in trees.items():
        if path.relative_to(src).parts[1] not in KINDS_IN:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                own = {base.id for base in node.bases if isinstance(base, ast.Name)}
                if own & {"NamedTuple", "IntEnum", "Exception", "Protocol", "ValueError", "RuntimeError"}:
                    continue
                found.add(node.name)
                bases |= own
    return found - NO_KINDS


def questions_of_kind(trees: dict[Path, ast.Module], src: Path) -> list[str]:
    """Where `isinstance` asks for one of the kinds: path:line."""
    names, found = kinds(trees, src), []
    for path, tree in trees.items():
        if path.parent == src / "onlineboost" / FACADE:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                asked = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
                if asked & names:
                    found.append(f"{path.relative_to(src)}:{node.lineno} {', '.join(sorted(asked & names))}")
    return found


def calls(src: Path) -> dict[str, tuple[int, int]]:
    """Functions of the package, and files, that calls of the flagship go through once all is compiled.

    Single rows are counted as they come in turns, predicted and then learned; and as the first one after a block, whose
    tables are made ready for single rows.
    """
    import numpy as np

    from onlineboost import OnlineBoostClassifier

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.integers(0, 3, 400)
    clf = OnlineBoostClassifier(10).partial_fit(X[:300], y[:300])
    met: set[tuple[str, str]] = set()

    def note(frame: object, event: str, argument: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        if event == "call" and "onlineboost" in code.co_filename and "<" not in code.co_name:
            met.add((code.co_filename, code.co_name))

    def in_turns() -> None:
        for row, label in zip(X[300:320].tolist(), y[300:320].tolist(), strict=True):
            clf.predict_one(row)
            clf.learn_one(row, label)

    def block() -> None:
        clf.partial_fit(X[320:], y[320:])

    def predict() -> None:
        clf.predict_one(X[0].tolist())

    def learn() -> None:
        clf.learn_one(X[0].tolist(), int(y[0]))

    done = {}
    for name, before, call in (
        ("partial_fit", in_turns, block),
        ("predict_one, rows in turns", in_turns, predict),
        ("learn_one, rows in turns", predict, learn),
        ("predict_one, first after a block", block, predict),
        ("learn_one, first after a block", block, learn),
    ):
        before()
        met.clear()
        sys.setprofile(note)
        call()
        sys.setprofile(None)
        done[name] = len(met), len({path for path, _ in met})
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--src", type=Path, default=SRC)
    parser.add_argument("--calls", action="store_true")
    given = parser.parse_args()
    trees = modules(given.src)
    packages: dict[str, list[int]] = {}
    for path in trees:  # the paper's experiments apart: the library does not import them
        packages.setdefault(path.relative_to(given.src).parts[0], []).append(len(path.read_text().splitlines()))
    asked = questions_of_kind(trees, given.src)
    for name, lengths in packages.items():
        small = sum(length < 100 for length in lengths)
        print(f"{name:<36} {sum(lengths):,} lines in {len(lengths)} files, {small} of them under 100 lines")
    print(f"isinstance on kinds, outside facade  {len(asked)}", *asked, sep="\n    ")
    if given.calls:
        from onlineboost import OnlineBoostClassifier

        kinds_of = OnlineBoostClassifier.__mro__
        mro = [kind.__name__ for kind in kinds_of if not kind.__module__.startswith("sklearn.utils")]
        print(f"classes of the flagship's MRO        {len(mro) - 1}: {', '.join(mro[:-1])}")
        for name, (functions, files) in calls(given.src).items():
            print(f"{name:<36} {functions} functions of the package in {files} files")


if __name__ == "__main__":
    main()
