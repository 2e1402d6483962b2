"""How sure a mean over a stream is. Neighbouring rows are alike, so the stream is cut into stretches, not into rows."""

from __future__ import annotations

import math

import numpy as np

STRETCHES = 30


def interval(means: np.ndarray, rows: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """An interval for the mean over the stream, from the means of its stretches, in order, and their rows.

    What stretches differ by is taken from neighbours (von Neumann 1941): a model that gets better as it learns makes
    the interval no wider. NaN: there are fewer than 3 stretches.

    Examples
    --------
    >>> low, high = interval(np.array([0.6, 0.8, 0.7, 0.9]), np.full(4, 100.0))
    >>> round(low, 2), round(high, 2)
    (0.56, 0.94)
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie in (0, 1), got {level!r}")
    if len(means) < 3:
        return math.nan, math.nan
    from scipy.stats import t  # loaded when it is needed: it takes a while

    n = len(means)
    mean = float(means @ rows / rows.sum())
    variance = float(np.square(np.diff(means)).sum() / (2 * (n - 1)))
    wide = float(t.ppf(0.5 + level / 2.0, n - 1)) * math.sqrt(variance / n)
    return mean - wide, mean + wide
