"""Weights of examples: relative to the mean of the weights so far, and times what their class is worth.

*Relative weights*.  A weight counts relative to the mean of the weights so far.

    mean_n = mean_{n-1} + (w_n - mean_{n-1}) / n          the row of round n is learned with w_n / mean_n

So equal weights are exactly 1 whatever their size, and a common factor of all weights makes no difference: trees grow,
and alphas move, as fast as they do without weights. No row weighs more than n, or less than LEAST.

*Class weights*.  What a class is worth, as a factor of its examples' weights that the past decides.

With n_r the weight of the examples of class r so far, the one at hand included, and g_r what a class is worth, the
example of class y is multiplied by

    g_y / (sum_r n_r g_r / n)        n = sum_r n_r

so that the factors are 1 on the average: trees grow, and alphas move, as fast as they do without them. Balanced classes
are worth 1 / (n_r + DOUBT) each, times what their mistakes cost. All sums are taken again for every row, in the same
order: how a stream is cut into blocks makes no difference.
"""

from __future__ import annotations

import numpy as np

from onlineboost._compile.jit import entry_kernel, kernel, small_kernel

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


DOUBT = 10.0  # weight of examples that a balanced class is taken to have had before its first


@kernel
def weigh_classes(counts, y, worth, balanced, weight):
    """Count these rows to `counts` (classes,), then multiply `weight` (rows,) by the factors above."""
    for b in range(y.size):
        counts[y[b]] += weight[b]
        n, total, own = 0.0, 0.0, 0.0
        for r in range(worth.size):
            g = worth[r] / (counts[r] + DOUBT) if balanced else worth[r]
            n += counts[r]
            total += counts[r] * g
            own = g if r == y[b] else own
        weight[b] *= own * n / total
