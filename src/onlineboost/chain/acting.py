"""Bandit feedback: of a row, only whether the action taken was right comes to be known, not its label.

The action is drawn from p = (1 - rho) 1[predicted] + rho / k, and its outcome becomes an ordinary row: a label and a
weight. Where no rho is given, k > 2, and no theorem asks for it, p goes by the probabilities q that the model says, so
that what is explored is what it doubts:

    p_l = (1 - rho / 4) q_l^3 / sum_j q_j^3 + rho / 4k

    right                            the action, with weight 1, or 1 / p where p is given
    wrong, two classes               the other class, with weight 1: nothing is hidden
    wrong, p given                   nothing: the weight is 0
    wrong, otherwise                 one of the other k - 1 classes, drawn, with weight 1 / (k - 1)

With p given, these are unbiased estimates (Zhang, Jung and Tewari 2019): whatever f is, the mean of weight * f(label)
over the actions is f(y). So costs, steps of alpha, what trees learn and what OnlineMBBM counts are right on the
average, at the price of weights up to k / rho. Without p they are not, but vary far less: docs/bandit.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost._compile.random import ACTION, OTHER, uniform
from onlineboost.chain.sets import bits_of, drawn

FALL = 0.1  # of the exploration that falls: FALL (k / t)^(1/3) in round t
POWER, EVENLY = 3.0, 0.25  # of probabilities that actions are drawn by; what of rho is then left for all alike
ROUNDS, RIGHT, SKIPPED, GUESSED, VARIANCE = range(5)  # of `Model.acts`; the last: sum_t 1 / min_l p_l - 1
MOST = 1e300


def new_acts() -> np.ndarray:
    return np.zeros(5)


def round_of(t: int, acts: np.ndarray | None) -> int:
    """The coming round, after t rows learned: rounds that nothing was learned from count, too."""
    return t + 1 + (0 if acts is None else int(acts[SKIPPED]))


def rho_of(exploration: float | str, k: int, t: int) -> float:
    """How much of round t is exploration."""
    return min(1.0, FALL * (k / t) ** (1.0 / 3.0)) if isinstance(exploration, str) else exploration


def predicted_shares(code: int, k: int) -> np.ndarray:
    """The predicted class alone; code = -1: all are as likely."""
    return np.full(k, 1.0 / k) if code < 0 else np.eye(k)[code]


def likely_shares(q: np.ndarray) -> np.ndarray:
    """By the probabilities of the classes."""
    powers: np.ndarray = (q / q.max()) ** POWER
    return powers / powers.sum()


def draw_action(shares: np.ndarray, rho: float, seed: int, x: np.ndarray, t: int) -> tuple[int, np.ndarray]:
    """The action for a row (1, columns) in round t, and the probabilities of all, from their `shares` without rho."""
    p = (1.0 - rho) * shares + rho / len(shares)
    u = drawn(seed, ACTION, x[0], bits_of(x)[0], t)
    return min(int(np.searchsorted(np.cumsum(p), u, side="right")), int(np.flatnonzero(p)[-1])), p


class Outcomes(NamedTuple):
    """Actions taken on rows, and what came of them."""

    codes: np.ndarray  # int64 (rows,)
    right: np.ndarray  # bool (rows,)
    p: np.ndarray | None  # float64 (rows,) probabilities of the actions, if they are given

    def as_rows(self, k: int, seed: int, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Labels and weights to learn; the first row is that of round t."""
        y, weight = self.codes.copy(), np.ones(len(self.codes))
        wrong = np.flatnonzero(~self.right)
        if k == 2:
            y[wrong] = 1 - y[wrong]
        elif self.p is not None:
            weight = np.where(self.right, 1.0 / self.p, 0.0)
        else:
            weight[wrong] = 1.0 / (k - 1.0)
            for b in wrong.tolist():
                other = int((k - 1) * uniform(seed, OTHER, 0, t + b))
                y[b] = other + (other >= y[b])
        return y, weight

    def after(self, acts: np.ndarray | None, n: int, k: int) -> np.ndarray:
        """`Model.acts` after the first n of these rows."""
        out = new_acts() if acts is None else acts.copy()
        right, p = self.right[:n], None if self.p is None else self.p[:n]
        out[ROUNDS] += n
        out[RIGHT] += right.sum()
        if k > 2 and p is not None:
            out[SKIPPED] += n - right.sum()
            with np.errstate(divide="ignore"):  # all of a greedy distribution, from one of its probabilities
                spread = 1.0 / np.minimum(p, (1.0 - p) / (k - 1.0)) - 1.0
            for one in np.minimum(spread, MOST).tolist():  # row by row: cuts make no difference
                out[VARIANCE] = min(out[VARIANCE] + one, MOST)
        return out


def guesses(model: Any) -> bool:
    """Whether some of the labels that it has learned were drawn."""
    return model is not None and model.acts is not None and bool(model.acts[GUESSED])
