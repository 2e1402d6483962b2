"""A weight counts relative to the mean of the weights so far.

    mean_n = mean_{n-1} + (w_n - mean_{n-1}) / n          the row of round n is learned with w_n / mean_n

So equal weights are exactly 1 whatever their size, and a common factor of all weights makes no difference: trees grow,
and alphas move, as fast as they do without weights. No row weighs more than n, or less than LEAST.
"""

from __future__ import annotations

import numpy as np

from onlineboost._compile.jit import entry_kernel, small_kernel

LEAST = 1e-9
MOST_WEIGHT = 1e12  # from about 1e20 on rounding spoils the sums of OzaBoost, from 1e300 on they overflow


def mean_after(mean: float, weight: float, n: int) -> float:
    """The mean of n weights, of which this one is the last; `mean` is that of the others."""
    return mean + (weight - mean) / n


def counted(weight: float, mean: float) -> float:
    """A weight as it counts, where this is the mean."""
    return max(weight / mean, LEAST)


_mean_after, _counted = small_kernel(mean_after), small_kernel(counted)


@entry_kernel
def relate(weight, mean, t, means, out):
    """The mean after each row, and the weights relative to it."""
    for b in range(weight.size):
        mean = _mean_after(mean, weight[b], t + b + 1)
        means[b] = mean
        out[b] = _counted(weight[b], mean)


def relative(weight: np.ndarray, mean: float | None, t: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights as they count after t rows of this mean, and the mean after each; a mean of None: as they are."""
    if mean is None or not len(weight):
        return weight, weight
    if (weight == (mean if t else weight[0])).all():
        return weight if weight[0] == 1.0 else np.ones(len(weight)), weight
    out, means = np.empty(len(weight)), np.empty(len(weight))
    relate(weight, mean, t, means, out)
    return out, means
