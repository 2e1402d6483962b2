"""What prediction sets promise on any stream: how far the share of covered rows can be from what was asked for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onlineboost.chain.sets import FREE, LEVELS, MOST, STEP
from onlineboost.theory.checks import check_number


def coverage_bounds(coverage: float, weight: float, heaviest: float = 1.0) -> tuple[float, float]:
    """The least and the largest share of rows that prediction sets can have covered, whatever the stream.

    It is about a model that has learned with ``sets=True`` from its first row on, predicts each row when all rows
    before are learned, and knows the classes (the first row of a class that was not announced is not counted). Between
    two of the levels that a model tracks it is about the expected share. theory/PROOFS.md has the proof.

    Parameters
    ----------
    coverage : float in (0, 1)
        What was asked for.
    weight : float
        Of all rows: their number, if they have no weights.
    heaviest : float
        The largest weight of a row, relative to the mean; a row counts 10 times at most.

    Examples
    --------
    >>> least, most = coverage_bounds(0.9, 10_000)
    >>> round(least, 5), round(most, 5)
    (0.8996, 0.90085)
    """
    check_number("coverage", coverage, 0.0, 1.0), check_number("weight", weight)
    W = min(check_number("heaviest", heaviest), MOST)
    grid = np.concatenate([[0.0], LEVELS, [1.0]])
    ends = np.array([(0.0, 0.0), *(_ends(1.0 - level, weight, W) for level in LEVELS.tolist()), (1.0, 1.0)])
    least, most = (float(np.interp(coverage, grid, end)) for end in ends.T)
    return least, most


def _ends(a: float, weight: float, W: float) -> tuple[float, float]:
    """The same for a level that misses a share of `a`."""
    eta = STEP * min(a, 1.0 - a)
    more, fewer = _excess_at(a / eta) + (1.0 - a) * W, _excess_at((1.0 - a) / eta) + a * W
    weight = max(weight, 1e-300)
    return max(0.0, 1.0 - a - more / weight), min(1.0, 1.0 - a + fewer / weight)


def _excess_at(moved: float) -> float:
    """The excess E at which E (1 + (E / FREE)^2) is this: the root of a cubic."""
    return 2.0 * FREE / math.sqrt(3.0) * math.sinh(math.asinh(1.5 * math.sqrt(3.0) * moved / FREE) / 3.0)


SHOWN = (0.8, 0.9, 0.95, 0.99)  # levels


def covered(sets: Any) -> dict[str, tuple[float, float, float]] | None:
    """Of some levels: the share of rows that was covered so far, and what it could have been at least and at most."""
    if sets is None or not sets.weight[0]:
        return None
    weight, heaviest = float(sets.weight[0]), float(sets.heaviest[0])
    shares = dict(zip(LEVELS.tolist(), (LEVELS - sets.excess[0] / weight).tolist(), strict=True))
    return {f"{level:g}": (shares[level], *coverage_bounds(level, weight, heaviest)) for level in SHOWN}


def coverage_lines(covered: dict[str, tuple[float, float, float]] | None, verbose: bool) -> list[tuple[str, str]]:
    """The same in words: (heading, text)."""
    shown = (covered or {}).items()
    return [
        (f"sets of {level}", f"cover {share:.4f} of the rows; {least:.4f} to {most:.4f} whatever the stream")
        for level, (share, least, most) in shown
        if verbose or level == "0.9"
    ]
