"""Several labels: what rank loss to expect of OnlineBMR and Ada.OLMR (Jung and Tewari 2018), with all constants."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from onlineboost.boosters.olmr import pair_draws, pair_losses
from onlineboost.boosters.potentials.pairwise import walk_table
from onlineboost.theory.checks import check_number, check_one_gamma
from onlineboost.theory.upper_bounds import edge_gain, hedge_bound


def bmr_error(n_learners: int, gamma: float, n_labels: int, relevant: int, loss: str = "hinge") -> float:
    """phi(0): the loss of a row that learners with exactly the edge gamma leave, of OnlineBMR's N votes.

    The rank loss of T rows is at most the sum of their "hinge" values, and of what learners were worse than u^Y: sum_i
    sum_t (c . h - c . u^Y). "rank" is what learners that say single labels, drawn from u^Y, lose exactly.

    Parameters
    ----------
    n_learners : int
    gamma : float in [0, 1)
        By how much a relevant label is likelier than another under u^Y; above 1 / `relevant` it counts as that.
    n_labels, relevant : int
        Labels, and how many of them are relevant, which may not be none or all.
    loss : {"hinge", "rank"}

    Examples
    --------
    >>> round(bmr_error(200, 0.1, n_labels=10, relevant=3), 4)
    0.0047
    >>> round(201 * math.exp(-0.1**2 * 200 / 2), 1)  # the closed form (N + 1) exp(-gamma^2 N / 2)
    73.9
    """
    if not 0 < relevant < n_labels:
        raise ValueError(f"relevant must be between 1 and n_labels - 1 = {n_labels - 1}, got {relevant!r}")
    if loss not in ("hinge", "rank"):
        raise ValueError(f"loss must be 'hinge' or 'rank', got {loss!r}")
    draws = pair_draws(n_labels, relevant, check_one_gamma(gamma))
    table = walk_table(pair_losses(n_learners, loss == "hinge"), [draws] * n_learners)
    return float(table[n_learners, n_learners])


def olmr_bound(edges: ArrayLike, n_examples: int, delta: float = 0.05, *, start: float | None = None) -> float:
    """The sum of the rank losses of Ada.OLMR, at most, with probability 1 - delta, whatever the stream.

    By the edges of `MultiLabelBoost.edges_`, for examples without weights. With W_i the sum over rounds of the costs of
    the relevant labels at learner i, alpha_i takes gain(gamma_i) W_i off the logistic loss, but for its regret, and W_i
    is at least half the rank loss of the expert before it. The logistic loss starts at T log 2 and stays above 0, so
    the best expert loses at most 2 (T log 2 + N regret) / sum_i gain(gamma_i); `hedge_bound` adds what Hedge costs.
    Behind panels the loss starts elsewhere: at `start`, the sum of the logistic rank losses of what they say.

    Examples
    --------
    >>> round(olmr_bound([0.5] * 100, 1_000_000))
    298652
    """
    gains = float(edge_gain(edges).sum())
    T = check_number("n_examples", n_examples)
    regret = 4.0 * math.sqrt(2.0) * math.sqrt(T)  # steps 2 sqrt 2 / sqrt t, slopes of at most 1, alpha in [-2, 2]
    n = len(np.atleast_1d(np.asarray(edges)))
    first = T * math.log(2.0) if start is None else check_number("start", start)
    best = 2.0 * (first + n * regret) / gains if gains else math.inf
    return hedge_bound(min(best, T), n, n_examples, delta)
