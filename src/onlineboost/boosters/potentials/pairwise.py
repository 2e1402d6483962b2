"""Potentials of losses that are a sum over pairs of labels, L^r(s) = sum_{l != r} g(s_l - s_r).

A table over (m, difference of two votes) is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from onlineboost._compile.jit import kernel
from onlineboost.boosters.potentials.draws import Floats, vote_distribution

#: g, as a function of d = s_l - s_r: by how much a wrong label l is ahead of the right label r.
PAIR_LOSSES: dict[str, Callable[[Floats], Floats]] = {
    "logistic": lambda d: np.logaddexp(0.0, d),
    "exponential": lambda d: np.exp(d),
    "hinge": lambda d: np.maximum(0.0, d + 1.0),
    "squared_hinge": lambda d: 0.5 * np.maximum(0.0, d + 1.0) ** 2,
    "pairwise": lambda d: np.where(d >= 0.0, 1.0, 0.0),  # how many wrong labels are not behind: the 0-1 loss or more
}
LOSSES = ("zero_one", *PAIR_LOSSES)
MOST_BEHIND = 600.0  # votes: exp of more overflows, so the exponential loss does not grow beyond


def check_loss(loss: str) -> str:
    """The name of a loss that votes can suffer."""
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}; got {loss!r}")
    return loss


def gap_losses(loss: str, n_learners: int) -> Floats:
    """g(d), the loss of one pair of labels, for d = s_r - s_l = -N..N."""
    behind = np.arange(n_learners, -n_learners - 1, -1.0)
    return PAIR_LOSSES[loss](np.minimum(behind, MOST_BEHIND) if loss == "exponential" else behind)


def gap_table(losses: Floats, n_classes: int, gamma: Floats) -> Floats:
    """G_m(d) for |d| <= N - m at [m, N + d]: the expected g(d) after m draws. phi^r_m(s) is the sum of G_m(s_r - s_l).

    ``losses`` is G_0 = g for d = -N..N. A draw moves d up with probability p, down with q, or leaves it alone; p and q
    are those of gamma[m], from row m to row m + 1.
    """
    return walk_table(losses, [vote_distribution(n_classes, edge) for edge in gamma.tolist()])


def walk_table(losses: Floats, steps: Sequence[tuple[float, float]]) -> Floats:
    """`gap_table` of draws that move d up with probability p and down with q; (p, q) of row m to row m + 1."""
    N = losses.size // 2
    table = np.zeros((len(steps) + 1, 2 * N + 1))
    table[0] = losses
    for m, (p, q) in enumerate(steps, start=1):
        before = table[m - 1, m - 1 : 2 * N + 2 - m]
        table[m, m : 2 * N + 1 - m] = p * before[2:] + q * before[:-2] + (1.0 - p - q) * before[1:-1]
    return table


@kernel
def fill_pairwise(gap, block, m, own):
    """own[a] = C[r, r], and C[r, l] - C[r, r] = sum_{l' != r} (G(d') - G(d' + 1)) + G(d - 1) - G(d), d = s_r - s_l."""
    D = int(block[0])
    N = gap.shape[1] // 2
    for a in range(D):
        own[a] = 0.0
        gain = 0.0
        for b in range(D):
            d = N + int(block[2 + b] - block[2 + a])
            size = block[2 + D + b] - (a == b)
            own[a] += size * gap[m, d + 1]
            gain += size * (gap[m, d] - gap[m, d + 1])
        for b in range(D):
            d = N + int(block[2 + b] - block[2 + a])
            block[2 + 3 * D + a * D + b] = gain + gap[m, d - 1] - gap[m, d]
