"""The potentials of the paper in exact arithmetic: slow, obvious, and without a rounding error.

Two independent ways: the definition (potentialCond) as a recursion, for any loss, and the sum (potentialCompute) over
the counts of the draws, for the 0-1 loss. Give gamma as a ``Fraction``, or as a list of one for each draw to come, in
the order in which they come: the composite potential of a chain whose learners have different gammas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import comb


def zero_one(own: int, others: Sequence[int]) -> int:
    """L^r(s), eq. (zeroOne): r must win strictly."""
    return int(max(others) >= own)


Gamma = Fraction | Sequence[Fraction]


def edges(gamma: Gamma, m: int) -> list[Fraction]:
    """That of each of the m draws."""
    each = list(gamma) if isinstance(gamma, Sequence) else [gamma] * m
    assert len(each) == m
    return each


def recursion(votes: Sequence[int], r: int, m: int, gamma: Gamma, loss: Callable = zero_one):
    """phi^r_m(s) by its definition, eq. (potentialCond). The others are kept sorted, so that states repeat."""
    k = len(votes)
    each = edges(gamma, m)

    @cache
    def phi(m: int, own: int, others: tuple[int, ...]):
        if m == 0:
            return loss(own, others)
        edge = each[len(each) - m]  # of the next of the m draws that are left
        q = (1 - edge) / k
        value = (q + edge) * phi(m - 1, own + 1, others)
        for l in range(k - 1):
            one_more = sorted([*others[:l], others[l] + 1, *others[l + 1 :]])
            value += q * phi(m - 1, own, tuple(one_more))
        return value

    return phi(m, votes[r], tuple(sorted([*votes[:r], *votes[r + 1 :]])))


def own_draws(k: int, m: int, gamma: Gamma) -> list[Fraction]:
    """The probabilities of x draws of the right label among m."""
    if not isinstance(gamma, Sequence):
        p = (1 - gamma) / k + gamma
        return [comb(m, x) * p**x * (1 - p) ** (m - x) for x in range(m + 1)]
    law = [Fraction(1)]
    for edge in edges(gamma, m):
        p = (1 - edge) / k + edge
        law = [(1 - p) * a + p * b for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    return law


def counting(votes: Sequence[int], r: int, m: int, gamma: Gamma) -> Fraction:
    """phi^r_m(s) by counting draws, eq. (potentialCompute), without ever leaving the integers.

    Of the (k - 1)^n sequences of n = m - x draws for other labels, all equally likely, count those that give no label v
    more than r's total less one.
    """
    k = len(votes)
    law = own_draws(k, m, gamma)
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
        win += law[x] * Fraction(ways[n], (k - 1) ** n)
    return 1 - win


def cost_row(votes: Sequence[int], r: int, m: int, gamma: Gamma, phi: Callable = counting) -> list:
    """C[r, l] = phi^r_m(s + e_l), eq. (costMatrix)."""
    return [phi([v + (j == l) for j, v in enumerate(votes)], r, m, gamma) for l in range(len(votes))]
