"""Potentials as single numbers, for people: of one state, of one matrix of costs, and of a whole chain in theory."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from onlineboost.boosters.potentials.blocks import block_size
from onlineboost.boosters.potentials.dense import DENSE_LIMIT, dense_bytes, dense_tables
from onlineboost.boosters.potentials.draws import (
    NEGLIGIBLE,
    Floats,
    Ints,
    all_draws,
    check_gammas,
    check_int,
    draws_left,
    poisson,
    vote_distributions,
)
from onlineboost.boosters.potentials.fourier import fill_fourier, fourier_tables
from onlineboost.boosters.potentials.pairwise import check_loss, fill_pairwise, gap_losses, gap_table


def potential(
    votes: ArrayLike, label: int, remaining: int, gamma: float | ArrayLike, *, loss: str = "zero_one"
) -> float:
    """phi^r_m(s), eq. (potentialCond), for s = ``votes``, r = ``label`` and m = ``remaining``.

    ``gamma`` is the edge of the votes to come: a number, or one for each of them, in any order.

    Examples
    --------
    >>> potential([3, 1, 1], label=0, remaining=0, gamma=0.1)
    0.0
    >>> round(potential([3, 1, 1], label=0, remaining=10, gamma=0.1), 6)
    0.272546
    """
    s, gammas = _check_state(votes, remaining, gamma, loss)
    r = check_int("label", label, 0)
    if r >= s.size:
        raise ValueError(f"label must be below the number of classes {s.size}, got {label}")
    s[r] -= 1  # phi(s) is the cost C[r, r] of the state before
    _, own, tier = _block_of(s, gammas, loss, only=r)
    return float(own[tier[r]])


def cost_matrix(votes: ArrayLike, remaining: int, gamma: float | ArrayLike, *, loss: str = "zero_one") -> Floats:
    """C[r, l] = phi^r_m(s + e_l), eq. (costMatrix), for s = ``votes`` and m = ``remaining`` draws after this vote.

    ``gamma`` is the edge of these draws: a number, or one for each of them, in any order.

    Examples
    --------
    >>> cost_matrix([2, 1, 0], remaining=1, gamma=0.1).round(4)
    array([[0. , 0.6, 0.6],
           [1. , 0.6, 1. ],
           [1. , 1. , 1. ]])
    """
    s, gammas = _check_state(votes, remaining, gamma, loss)
    block, own, tier = _block_of(s, gammas, loss, only=-1)
    excess = block[2 + 3 * own.size :].reshape(own.size, own.size)
    C = (own[:, None] + excess)[np.ix_(tier, tier)]
    np.fill_diagonal(C, own[tier])
    return C


def _block_of(s: Ints, gammas: Floats, loss: str, only: int) -> tuple[Floats, Floats, Ints]:
    """The block and C[r, r] of one state, or the row of one label of it, and the tier of each label."""
    deficit, m = s.max() - s, len(gammas)
    if loss == "zero_one":
        deficit = np.minimum(deficit, m + 2)  # out of the race
    deficits, tier, sizes = np.unique(deficit, return_inverse=True, return_counts=True)
    block, own = np.zeros(block_size(deficits.size)), np.zeros(deficits.size)
    block[0] = deficits.size
    block[2 : 2 + 2 * deficits.size] = np.concatenate([deficits, sizes])
    if loss == "zero_one":
        fill_fourier(fourier_tables(s.size, gammas), block, -1 if only == -1 else tier[only], own)
    else:
        N = m + 1 + int(deficit.max())
        fill_pairwise(gap_table(gap_losses(loss, N), s.size, gammas), block, m, own)
    return block, own, tier


def _check_state(votes: ArrayLike, remaining: int, gamma: float | ArrayLike, loss: str) -> tuple[Ints, Floats]:
    """The votes, and the edges of the votes to come."""
    s = np.array(votes)
    if s.ndim != 1 or s.size < 2:
        raise ValueError(f"votes must hold one number for each of at least 2 classes, got shape {s.shape}")
    if (s < 0).any() or (s != np.floor(s)).any():
        raise ValueError(f"votes must be whole numbers, none negative, got {s[(s < 0) | (s != np.floor(s))][0]}")
    check_loss(loss)
    return s.astype(np.int64), check_gammas(gamma, check_int("remaining", remaining, 0), "draws")


def asymptotic_error(n_classes: int, n_learners: int, gamma: float | ArrayLike, *, ties: str = "lost") -> float:
    """phi_N(0), the error rate that OnlineMBBM tends to under the weak learning condition (Theorem mistakeOptimal).

    ``gamma`` is a number, or one for each learner, in any order. N may be large. For one gamma it is never above the
    bound (k - 1) exp(-gamma^2 N / 2) of Lemma asymptoticError, and often far below.

    The theorem counts a tie as a mistake (``ties="lost"``). With ``ties="shared"`` a tie is broken by a fair draw: the
    error of the majority of N independent votes, which no other use of these votes can beat.

    Examples
    --------
    >>> round(asymptotic_error(n_classes=5, n_learners=100, gamma=0.1), 4)
    0.2057
    >>> round(4 * math.exp(-0.1**2 * 100 / 2), 4)
    2.4261
    >>> round(asymptotic_error(n_classes=5, n_learners=100, gamma=[0.15, 0.05] * 50), 4)
    0.2048
    """
    k, N = check_int("n_classes", n_classes, 2), check_int("n_learners", n_learners, 1)
    if ties not in ("lost", "shared"):
        raise ValueError(f"ties must be 'lost' or 'shared', got {ties!r}")
    gammas = check_gammas(gamma, N)
    # As in `races`, with all other labels equal and mean = (k - 1) Lambda:
    #     P(win) = sum_x P(x) w^(x - N) E_{x-1}^(k-1) / (M Pois(N - x; mean)).
    # If a tie of j + 1 labels is won once in j + 1 times, E_{x-1}^(k-1) becomes, with a = E_x - E_{x-1},
    # sum_j binom(k-1, j) a^j E_{x-1}^(k-1-j) / (j + 1) = (E_x^k - E_{x-1}^k) / (k a), mean of E_x^i E_{x-1}^(k-1-i).
    own = all_draws(k, gammas)
    mean = max(0.25, (k - 1) * math.fsum(vote_distributions(k, gammas)[1]))
    total = poisson(mean, 2 * N + int(20.0 * math.sqrt(mean)) + 60)
    likely = np.flatnonzero(own > NEGLIGIBLE / 16.0)
    n, M = N - likely, 3
    while (own[likely] * (total[n + M] + np.where(n < M, 0.0, total[n - M])) > NEGLIGIBLE * total[n]).any():
        M += 2 + 2 * (M // 50)
    root = np.exp(2j * math.pi * np.arange(M) / M)
    j = np.arange((M + 1) // 2)
    weight, other = np.zeros(N + 1), poisson(mean / (k - 1), N + 1)
    weight[likely] = own[likely] / total[n]
    E = np.zeros(j.size, dtype=complex)
    sums = np.zeros(j.size)
    for x in np.flatnonzero((weight > 0.0) | (other > NEGLIGIBLE / (16.0 * k))):
        more = E + other[x] * root[j * x % M]
        if weight[x] > 0.0:
            wins = E ** (k - 1) if ties == "lost" else _mean_of_products(more, E, k)
            sums += weight[x] * (root[j * (x - N) % M] * wins).real
        E = more
    return float(np.clip(1.0 - (2.0 * sums.sum() - sums[0]) / M, 0.0, 1.0))


def _mean_of_products(a: np.ndarray, b: np.ndarray, k: int) -> np.ndarray:
    """The mean of a^i b^(k-1-i), i = 0..k-1, by Horner's rule."""
    total, power = np.ones_like(a), np.ones_like(a)
    for _ in range(k - 1):
        power = power * b
        total = total * a + power
    return total / k


def weight_bounds(n_classes: int, n_learners: int, gamma: float | ArrayLike, *, exact: bool = False) -> Floats:
    """w^{i*} for i = 1..N: no example's weight at learner i exceeds it (0-1 loss).

    ``gamma`` is a number, or one for each learner. The excess loss of Theorem mistakeOptimal is S times their sum. With
    ``exact`` they are the largest weights over all states, for as many classes and learners as that is feasible.
    Otherwise they are the bound

        (k - 1) max_x b(x),   b(x) the probability of x right votes of the N - i to come,

    which is O(k^{3/2} / sqrt(N - i)), against the k^{5/2} of Lemma weightBound; theory/PROOFS.md has the proof.
    With two classes and gamma = 0 it is exact.

    Examples
    --------
    >>> weight_bounds(n_classes=3, n_learners=4, gamma=0.1).round(3)
    array([0.864, 0.96 , 1.2  , 2.   ])
    >>> weight_bounds(n_classes=3, n_learners=4, gamma=0.1, exact=True).round(3)
    array([0.72, 0.84, 1.  , 2.  ])
    """
    k, N = check_int("n_classes", n_classes, 2), check_int("n_learners", n_learners, 1)
    gammas = check_gammas(gamma, N)[::-1]  # by m = N - i
    if not exact:
        return (k - 1) * np.array([draws.max() for draws in draws_left(k, gammas)][::-1])
    if dense_bytes(k, N, DENSE_LIMIT) > DENSE_LIMIT:
        raise ValueError(f"too many states for exact weights: n_classes={k}, n_learners={N}; use exact=False")
    dense = dense_tables(k, gammas)
    weights = np.empty(N)
    for i in range(1, N + 1):
        phi = dense.phi[dense.level[N - i] :]
        own = phi[: dense.first[i]]  # others with up to i - 1 votes, and one more vote for r
        weights[i - 1] = (phi[dense.up[: own.size]].sum(axis=1) - (k - 1) * own).max()
    return weights
