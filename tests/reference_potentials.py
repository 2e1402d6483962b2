"""The potentials of the paper in exact arithmetic: slow, obvious, and without a rounding error.

Two independent ways: the definition (potentialCond) as a recursion, for any loss, and the sum (potentialCompute) over
the counts of the draws, for the 0-1 loss. Give gamma as a ``Fraction``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import comb


def zero_one(own: int, others: Sequence[int]) -> int:
    """L^r(s), eq. (zeroOne): r must win strictly."""
    return int(max(others) >= own)


def recursion(votes: Sequence[int], r: int, m: int, gamma: Fraction, loss: Callable = zero_one):
    """phi^r_m(s) by its definition, eq. (potentialCond). The others are kept sorted, so that states repeat."""
    k = len(votes)
    q = (1 - gamma) / k
    p = q + gamma

    @cache
    def phi(m: int, own: int, others: tuple[int, ...]):
        if m == 0:
            return loss(own, others)
        value = p * phi(m - 1, own + 1, others)
        for l in range(k - 1):
            one_more = sorted([*others[:l], others[l] + 1, *others[l + 1 :]])
            value += q * phi(m - 1, own, tuple(one_more))
        return value

    return phi(m, votes[r], tuple(sorted([*votes[:r], *votes[r + 1 :]])))


def counting(votes: Sequence[int], r: int, m: int, gamma: Fraction) -> Fraction:
    """phi^r_m(s) by counting draws, eq. (potentialCompute), without ever leaving the integers.

    Of the sequences of m draws, x of them for r, count those that give no other label v more than r's total less one.
    """
    k = len(votes)
    q = (1 - gamma) / k
    p = q + gamma
    others = [*votes[:r], *votes[r + 1 :]]
    win = Fraction(0)
    for x in range(m + 1):
        limits = [votes[r] + x - 1 - v for v in others]
        if min(limits) < 0:
            continue
        n = m - x
        binding = sorted(c for c in limits if c < n)
        unbound = len(limits) - len(binding)
        ways = [unbound**i for i in range(n + 1)]  # sequences of i draws among the labels without a limit
        for c in binding:
            ways = [sum(comb(i, t) * ways[i - t] for t in range(min(c, i) + 1)) for i in range(n + 1)]
        win += comb(m, x) * p**x * q**n * ways[n]
    return 1 - win


def cost_row(votes: Sequence[int], r: int, m: int, gamma: Fraction, phi: Callable = counting) -> list:
    """C[r, l] = phi^r_m(s + e_l), eq. (costMatrix)."""
    return [phi([v + (j == l) for j, v in enumerate(votes)], r, m, gamma) for l in range(len(votes))]
