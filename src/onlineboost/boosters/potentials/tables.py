"""All that costs depend on besides the votes: tables made once per (k, N, gammas), and rows of costs made from them.

A row of a block depends on the tables, m and the tiers alone, bit for bit. `Method` lists the four ways to fill one.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onlineboost._compile.jit import kernel
from onlineboost._compile.random import MONTE_CARLO, uniform
from onlineboost.boosters.potentials.blocks import finish_rows
from onlineboost.boosters.potentials.dense import (
    DENSE_LIMIT,
    NO_DENSE,
    Dense,
    dense_bytes,
    dense_tables,
    fill_dense,
    retuned,
)
from onlineboost.boosters.potentials.draws import Floats, Ints, check_gammas, check_int, race_reach, vote_distributions
from onlineboost.boosters.potentials.pairwise import LOSSES, check_loss, fill_pairwise, gap_losses, gap_table
from onlineboost.boosters.potentials.race_costs import fill_race
from onlineboost.boosters.potentials.races import NO_RACES, Races, race_tables
from onlineboost.boosters.potentials.values import asymptotic_error

MEMORY_LIMIT = 2e9  # bytes of tables: more learners than that are refused at once, before memory runs out


class Method(IntEnum):
    """How the numbers of a block are computed."""

    DENSE = 0  # the recursion (potentialCond), run once over all states; for few classes or few learners
    FOURIER = 1  # the sum (potentialCompute) for one state, by a short Fourier transform; for all others
    PAIRWISE = 2  # a table over (m, difference of two votes), for losses that are a sum over pairs of labels
    MONTE_CARLO = 3  # the authors' estimate of (potentialCompute) from 100 draws


BYTES = {Method.FOURIER: 100.0, Method.PAIRWISE: 16.0}  # of tables, times the square of N, about


class Tables(NamedTuple):
    """All that costs depend on besides the votes. Read-only, so threads may share it."""

    method: int  # of a Method: Numba takes .3 ms to see, at every call, what type a tuple with an enum member has
    n_classes: int
    n_learners: int
    gamma: Floats  # (N,) [m]: the edge of the learner with m draws left after it; in its costs are those of gamma[:m]
    p: Floats  # (N,) [m]: the probability that u_gamma of this edge gives to the right label, and
    q: Floats  # (N,) [m]: to each other one
    reach: Ints  # (N,) [m]: a label this far behind is out of the race, and how far behind no longer matters
    key: Ints  # (N,) [m]: a random number that stands for these tables and m
    gap: Floats  # (N + 1, 2N + 1) [m, d + N]: G_m(d), the potential of one pair of labels (PAIRWISE)
    dense: Dense
    races: Races  # (FOURIER)
    n_draws: int  # of MONTE_CARLO
    seed: int
    loss: int  # its number among LOSSES: with the rest, all that the tables follow from (`recipe`)
    start: float  # phi_N(0), where potentials are exact


def recipe(tables: Tables) -> dict[str, Any]:
    """What `build_tables` makes these tables of.

    Examples
    --------
    >>> made = build_tables(n_classes=3, n_learners=2, gamma=[0.2, 0.1], loss="hinge")
    >>> recipe(made)["loss"], recipe(made)["gamma"].tolist(), recipe(made)["potential"]
    ('hinge', [0.2, 0.1], 'exact')
    """
    return {
        "n_classes": tables.n_classes,
        "gamma": np.ascontiguousarray(tables.gamma[::-1]),
        "loss": LOSSES[tables.loss],
        "potential": "monte_carlo" if tables.method == Method.MONTE_CARLO else "exact",
        "n_draws": tables.n_draws,
        "seed": tables.seed,
    }


def build_tables(
    n_classes: int,
    n_learners: int,
    gamma: float | ArrayLike,
    *,
    loss: str = "zero_one",
    potential: str = "exact",
    n_draws: int = 100,
    seed: int = 0,
    like: Tables | None = None,
) -> Tables:
    """Prepare the costs of a chain.

    Parameters
    ----------
    n_classes, n_learners : int
        k >= 2 and N >= 1.
    gamma : float, or one for each learner
        The edge, 0 <= gamma < 1. With several, potentials are composite: from the last learner back to the first,
        phi_{i-1}(s) = E phi_i(s + e_l) with l drawn from u_gamma of learner i's gamma. So learner i's costs are those
        of votes to come that are drawn with the gammas of the learners that cast them, and Theorem 1 holds.
    loss : {"zero_one", "pairwise", "logistic", "exponential", "hinge", "squared_hinge"}
        The loss L^r that the final votes suffer.
    potential : {"exact", "monte_carlo"}
        ``"monte_carlo"`` estimates each potential of the 0-1 loss from ``n_draws`` draws, as the authors do.
    n_draws, seed : int
        For ``"monte_carlo"``.
    like : Tables
        Those of other gammas, and all else the same: what does not depend on gammas is taken from them.

    Examples
    --------
    >>> tables = build_tables(n_classes=5, n_learners=20, gamma=0.1)
    >>> tables.reach[:5]  # 2 votes behind with no draw left: a label can neither win nor keep others from it
    array([2, 3, 4, 5, 6])
    """
    k, N = check_int("n_classes", n_classes, 2), check_int("n_learners", n_learners, 1)
    gammas = np.ascontiguousarray(check_gammas(gamma, N)[::-1])  # by m = N - i
    n_draws, seed = check_int("n_draws", n_draws, 1), check_int("seed", seed, 0)
    method = _method(k, N, check_loss(loss), potential)
    _check_memory(method, N)
    exact = method in (Method.DENSE, Method.FOURIER)
    p, q = vote_distributions(k, gammas)
    dense, gap, start = NO_DENSE, np.zeros((1, 1)), 0.0
    if method == Method.DENSE:
        dense = dense_tables(k, gammas) if like is None else retuned(like.dense, k, like.gamma, gammas)
        start = dense.phi[-1]
    elif method == Method.FOURIER:
        start = asymptotic_error(k, N, gammas)
    elif method == Method.PAIRWISE:
        gap = gap_table(gap_losses(loss, N), k, gammas)
        start = (k - 1) * gap[N, N]
    return Tables(
        method=method.value,
        n_classes=k,
        n_learners=N,
        gamma=gammas,
        p=p,
        q=q,
        reach=race_reach(k, gammas) if exact else np.full(N, N),
        key=_keys(gammas, k, N, loss, potential, n_draws, seed),
        gap=gap,
        dense=dense,
        races=race_tables(k, gammas) if method == Method.FOURIER else NO_RACES,
        n_draws=n_draws,
        seed=seed,
        loss=LOSSES.index(loss),
        start=float(start),
    )


def _method(k: int, N: int, loss: str, potential: str) -> Method:
    if potential not in ("exact", "monte_carlo"):
        raise ValueError(f"potential must be 'exact' or 'monte_carlo', got {potential!r}")
    if loss != "zero_one":
        if potential == "monte_carlo":
            raise ValueError(f"potential='monte_carlo' is for loss='zero_one'; loss={loss!r} is exact anyway")
        return Method.PAIRWISE
    if potential == "monte_carlo":
        return Method.MONTE_CARLO
    return Method.DENSE if dense_bytes(k, N, DENSE_LIMIT) <= DENSE_LIMIT else Method.FOURIER


def _check_memory(method: Method, N: int) -> None:
    """Refuse tables that are too large, and say what to do instead."""
    per_square = BYTES.get(method, 0.0)
    if per_square * N**2 > MEMORY_LIMIT:
        most = int((MEMORY_LIMIT / per_square) ** 0.5) // 100 * 100
        raise ValueError(
            f"n_learners={N} is too many for exact potentials: their tables would take about "
            f"{per_square * N**2 / 1e9:.0f} GB; use at most {most} learners, potential='monte_carlo' (0-1 loss only), "
            "or AdaBoostOLM, which needs no tables"
        )


def _keys(gammas: Floats, *meaning: object) -> Ints:
    """[m]: a random number that stands for what is given, and for the edges gammas[:m] that costs depend on."""
    digest = hashlib.blake2b(repr(meaning).encode(), digest_size=8)
    keys = []
    for m, gamma in enumerate(gammas.tolist()):
        keys.append(int.from_bytes(digest.digest(), "little") >> 4)
        digest.update(f"{m} {gamma!r}".encode())
    return np.array(keys)


@kernel
def fill_block(tables, block, m, wanted):
    """Fill the rows of a block that are wanted; all of them, where they are cheap together."""
    D = int(block[0])
    if tables.method == Method.FOURIER:
        fill_race(tables.races, block, m, wanted)
    elif tables.method == Method.DENSE:
        fill_dense(tables.dense, block, m, tables.reach[m], wanted)
    else:
        wanted[:D] = True
        if tables.method == Method.PAIRWISE:
            fill_pairwise(tables.gap, block, m, np.empty(D))
        else:
            fill_monte_carlo(tables.p, tables.q, tables.seed, tables.n_draws, block, m)
    finish_rows(block, wanted)


# ------------------------------------------------------------- the authors' estimate, from 100 draws; for comparison


@kernel
def fill_monte_carlo(p, q, seed, n_draws, block, m):
    """Estimate every potential of the block from draws of its own, as the authors do.

    Draw i is for the right label with probability p[i], for each other label with q[i].
    """
    D = int(block[0])
    for a in range(D):
        own = _estimate(p, q, seed, n_draws, block, m, a, -1)
        for b in range(D):
            excess = 0.0
            if a != b or block[2 + D + b] > 1:
                excess = _estimate(p, q, seed, n_draws, block, m, a, b) - own
            block[2 + 3 * D + a * D + b] = excess


@kernel
def _estimate(p, q, seed, n_draws, block, m, a, b):
    """Share of draws that r (of tier a) loses from s + e_l with l of tier b, or from s + e_r if b = -1.

    The random numbers are a function of the seed and of the state alone: the authors keep the first estimate of a
    state for good, and this is what makes it the same in whatever order the states come.
    """
    D = int(block[0])
    n = 0
    for tier in range(D):
        n += int(block[2 + D + tier])
    drawn = np.empty(n - 1, dtype=np.int64)
    ahead = np.empty(n - 1, dtype=np.int64)  # r's votes minus those of each other label, in increasing order
    n = 0
    state = m
    for tier in range(D):
        for i in range(int(block[2 + D + tier]) - (tier == a)):
            ahead[n] = int(block[2 + tier] - block[2 + a]) + (b == -1) - (tier == b and i == 0)
            state = (state * 48271 + ahead[n] + 4096) % 2147483647
            n += 1
    losses = 0
    for sample in range(n_draws):
        drawn[:n] = 0
        own = 0
        for i in range(m):
            u = uniform(seed, MONTE_CARLO, state, sample * m + i)
            if u < p[i]:
                own += 1
            else:
                drawn[min(int((u - p[i]) / q[i]), n - 1)] += 1
        for v in range(n):
            if drawn[v] >= own + ahead[v]:
                losses += 1
                break
    return losses / n_draws
