"""What a class is worth, as a factor of its examples' weights that the past decides.

With n_r the weight of the examples of class r so far, the one at hand included, and g_r what a class is worth, the
example of class y is multiplied by

    g_y / (sum_r n_r g_r / n)        n = sum_r n_r

so that the factors are 1 on the average: trees grow, and alphas move, as fast as they do without them. Balanced classes
are worth 1 / (n_r + DOUBT) each, times what their mistakes cost. All sums are taken anew for every row, in the same
order: how a stream is cut into blocks makes no difference.
"""

from __future__ import annotations

from onlineboost._compile.jit import kernel

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
