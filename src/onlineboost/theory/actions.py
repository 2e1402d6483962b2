"""Learning from actions whose outcome alone comes to be known: what OnlineMBBM still promises.

Rows are learned with weight r / p, where r says whether the action was right and p is its probability. So what is lost
by weight is an unbiased estimate of what is lost, and Freedman's inequality says how far off it can be. PROOFS.md has
the proofs.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onlineboost.boosters.mbbm import ledger
from onlineboost.boosters.potentials import asymptotic_error
from onlineboost.boosters.potentials.draws import check_int
from onlineboost.chain.acting import GUESSED, MOST, RIGHT, ROUNDS, SKIPPED, VARIANCE
from onlineboost.estimators.online_mbbm import OnlineMBBM
from onlineboost.theory.checks import check_delta, check_excess_loss, check_number
from onlineboost.theory.upper_bounds import mbbm_error, weight_sum


# arguments: those of `mbbm_bound`, and how actions are drawn
def action_bound(
    n_classes: int,
    n_learners: int,
    gamma: float | ArrayLike,
    n_examples: int,
    exploration: float,
    excess_loss: float = 0.0,
    delta: float = 0.05,
) -> float:
    """Wrong actions of OnlineMBBM, at most, with probability 1 - delta: `mbbm_bound` with bandit feedback.

    phi_N(0) T as ever; the excess loss and the noise count k / exploration, and what is explored is added. It is about
    actions drawn by `act_one` with this exploration, learned with their probabilities, and the majority of all N votes
    (``combiner="last"``), if every learner satisfies the weak learning condition for (gamma, S) on the rows as they are
    weighted: its chance to fail comes on top.

    Examples
    --------
    >>> round(action_bound(n_classes=5, n_learners=400, gamma=0.1, n_examples=1_000_000, exploration=0.05))
    74144
    """
    k, T = check_int("n_classes", n_classes, 2), check_int("n_examples", n_examples, 0)
    check_delta(delta)
    check_excess_loss(excess_loss)
    rho = check_number("exploration", exploration, 1e-12, 1.0)
    phi, most, odds = mbbm_error(k, n_learners, gamma), k / rho, math.log(2.0 / delta)
    lost = phi * T + most * (excess_loss * weight_sum(k, n_learners, gamma) if excess_loss else 0.0)
    step = max(1.0 - phi, phi * (most - 1.0))
    lost += freedman(T * (most - 1.0) * max(phi, 1.0 - phi) ** 2, step, odds)
    return min(float(T), lost + rho * (1.0 - 1.0 / k) * T + math.sqrt(T * odds / 2.0))


def freedman(variance: float, step: float, odds: float) -> float:
    """A martingale of this variance whose steps are at most `step` ends above this with probability exp(-odds)."""
    return math.sqrt(2.0 * variance * odds) + step * odds / 3.0


class Told:
    """What is known of a run, for programs and in words: what the guarantees share."""

    def as_dict(self) -> dict[str, Any]:
        """What is known, in plain numbers; bounds of infinity, which JSON does not have, are left out."""
        known = {name: value for name, value in asdict(self).items() if value is not None}  # type: ignore[call-overload]
        return {name: value for name, value in known.items() if value != math.inf}

    def lines(self, verbose: bool = False) -> list[tuple[str, str]]:
        """What it says, in words: (heading, text)."""
        raise NotImplementedError

    def __str__(self) -> str:
        width = max(len(heading) for heading, _ in self.lines())
        return "\n".join(f"{heading:<{width}}  {text}" for heading, text in self.lines())


@dataclass(frozen=True)
class ActionGuarantee(Told):
    """What holds of a run of OnlineMBBM that has learned from actions and their probabilities, with 1 - delta.

    If the actions were drawn by `act_one`, with an exploration that was settled before.
    """

    model: str
    examples: int  # rounds
    learners: int
    delta: float
    mistakes: int  # as given
    wrong_actions: int
    gammas: tuple[float, float]
    potential: float  # phi_N(0)
    lost: float  # estimated: weight of the rows whose label is not strictly ahead in all N votes
    lost_promised: float  # the potential times the weight of all rows
    lost_bound: float  # on the number of such rows

    def lines(self, verbose: bool = False) -> list[tuple[str, str]]:
        """What it says, in words: (heading, text). Bounds above the number of rounds only if ``verbose``."""
        n, more = self.examples, self.lost - self.lost_promised
        low, high = self.gammas
        gamma = f"{low:.3f}" if low == high else f"{low:.3f} to {high:.3f}"
        why = "more, by edges below gamma" if more > 0.0 else "fewer, by edges above gamma"
        text = f"lost {self.lost:,.0f} as estimated: {self.lost_promised:,.0f} by phi_N(0), {abs(more):,.0f} {why}"
        out = [
            ("mistakes made", f"{self.mistakes:,} of {n:,}; wrong actions {self.wrong_actions:,}"),
            ("gamma in use", f"{gamma}; phi_N(0) = {self.potential:.4f}"),
            ("majority of all votes", text),
        ]
        if verbose or self.lost_bound <= n:
            out.append(("bound from actions", f"lost at most {self.lost_bound:,.0f}, if act_one drew the actions"))
        return out


def action_guarantee(clf: Any, mistakes: int, delta: float) -> ActionGuarantee | str:
    """Of a model that has learned from actions where labels stayed unknown; or why nothing is guaranteed."""
    if clf._fitted().acts[GUESSED]:
        return "labels were drawn where actions were wrong: the theorem asks for the probability= of every action"
    return _of_booster(clf, mistakes, delta)


@singledispatch
def _of_booster(clf: Any, mistakes: int, delta: float) -> ActionGuarantee | str:
    return "of learning from actions, the theorem is about OnlineMBBM without a panel"


@_of_booster.register
def _(clf: OnlineMBBM, mistakes: int, delta: float) -> ActionGuarantee | str:
    chain, acts = clf._fitted().chain, clf._fitted().acts
    assert acts is not None
    if chain.panel is not None:
        return "of learning from actions, the theorem is about OnlineMBBM without a panel"
    if acts[ROUNDS] != chain.t + acts[SKIPPED] or chain.mean_weight is not None:
        return "some rows were learned from labels, others from actions"
    made, found = chain.booster.tables, ledger([segment.booster for segment in chain.segments])
    if found is None or made.loss != 0:
        return "of learning from actions, the theorem is about exact potentials of the zero-one loss"
    if mistakes > acts[ROUNDS]:
        raise ValueError(f"mistakes is {mistakes:,}, but the model has learned from {int(acts[ROUNDS]):,} actions")
    gammas, lost = clf.gammas_, found.promised + found.excess
    known = acts[VARIANCE] < MOST  # no action was taken for sure
    return ActionGuarantee(
        model=type(clf).__name__,
        examples=int(acts[ROUNDS]),
        learners=chain.n_learners,
        delta=delta,
        mistakes=mistakes,
        wrong_actions=int(acts[ROUNDS] - acts[RIGHT]),
        gammas=(float(np.min(gammas)), float(np.max(gammas))),
        potential=asymptotic_error(clf._fitted().k, chain.n_learners, gammas),
        lost=lost,
        lost_promised=found.promised,
        lost_bound=lost + freedman(float(acts[VARIANCE]), 1.0, math.log(1.0 / delta)) if known else math.inf,
    )
