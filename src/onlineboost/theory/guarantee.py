"""What the theorems say of a run that was made: the edges shown, the bounds they imply, the mistakes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import singledispatch
from typing import Any, cast

import numpy as np

from onlineboost.boosters.mbbm import ledger
from onlineboost.boosters.potentials import asymptotic_error
from onlineboost.chain.stacking import Stacking
from onlineboost.estimators.adaboost_olm import AdaBoostOLM
from onlineboost.estimators.online_boost import OnlineBoostClassifier
from onlineboost.estimators.online_mbbm import OnlineMBBM
from onlineboost.panel.combiner import FORECAST_NAMES
from onlineboost.theory.planning import first_where
from onlineboost.theory.upper_bounds import HEDGE_RATE, best_expert_bound, hedge_bound, olm_bound
from onlineboost.theory.weak_learning import sure_edges


def mixture_bound(losses: Sequence[float], T: int, switches: int = 0) -> float:
    """The most that the mixture of forecasts behind a panel can lose in T rounds, in log loss.

    Parameters
    ----------
    losses
        What each forecast has lost, in log loss: the sum of -log of the probabilities of what came true.
    T
        Number of rounds.
    switches
        With any number of them, losses[0] is what is lost by following one forecast, then another, and so on.

    Examples
    --------
    >>> mixture_bound([700.0, 650.0, 800.0], 10_000) - 650.0 < 11.0
    True
    """
    best = losses[0] if switches else min(losses)
    n = len(FORECAST_NAMES)
    return best + math.log(n) + math.log(max(T, 1)) + switches * math.log(n * max(T, 1))


@dataclass(frozen=True)
class LossGuarantee:
    """Bounds on log loss and mistakes of one run. Nothing is drawn, so they hold always."""

    model: str
    examples: int
    learners: int
    mistakes: int  # made, as given
    losses: dict[str, float]  # in log loss, of each forecast
    lost: float  # in log loss, of what was predicted
    loss_bound: float  # on that, given the losses of the forecasts
    mistake_bound: float  # a mistake costs log 2 at least
    delta: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self, verbose: bool = False) -> list[tuple[str, str]]:
        """What it says, in words: (heading, text)."""
        n, best = self.examples, min(self.losses, key=lambda name: self.losses[name])
        out = [
            ("mistakes made", f"{self.mistakes:,} of {n:,}"),
            ("log loss", f"{self.lost:,.1f} in all, {self.lost / max(n, 1):.4f} per example"),
            ("best forecast", f"{best}: {self.losses[best]:,.1f}"),
            ("bound on log loss", f"at most {self.loss_bound:,.1f}: that, log {len(self.losses)} and log {n:,}"),
        ]
        if verbose:
            out[3:3] = [("other forecast", f"{m}: {loss:,.1f}") for m, loss in self.losses.items() if m != best]
        if verbose or self.mistake_bound <= n:
            out.append(("bound on mistakes", f"at most {self.mistake_bound:,.0f}: each has cost log 2 or more"))
        return out


def loss_guarantee(clf: Any, mistakes: int) -> LossGuarantee:
    """What is promised for a run; see `theory.guarantee`."""
    chain = clf._fitted().chain
    *losses, lost = cast(Stacking, chain.end).mixture.lost.tolist()
    bound = mixture_bound(losses, chain.t)
    known = dict(zip(FORECAST_NAMES, losses, strict=True))
    bounds = bound, bound / math.log(2.0)
    return LossGuarantee(type(clf).__name__, chain.t, chain.n_learners, int(mistakes), known, lost, *bounds)


@dataclass(frozen=True)
class Guarantee:
    """Bounds on the mistakes of one run. They hold with probability 1 - delta where a draw is involved."""

    model: str
    examples: int
    learners: int
    delta: float
    mistakes: int  # made, as given
    edges: tuple[float, float, float]  # shown: least, median, largest
    best_expert: int  # how many learners the expert with the fewest mistakes has
    best_expert_mistakes: int
    vote_bound: float  # on the mistakes, given those of the experts
    sure: int | None = None  # learners whose expected edge is above 0, all of them with probability 1 - delta
    expert_bound: float | None = None  # Adaboost.OLM: on the mistakes of the best expert, given the edges and weights
    edge_bound: float | None = None  # on the mistakes, given the same
    edge_bound_from: float | None = None  # the number of examples from which on edges like these bound the mistakes
    gammas: tuple[float, float] | None = None  # OnlineMBBM: the least and the largest of its learners' gammas
    potential: float | None = None  # the chain's potential at the start, the error rate promised for learners of these
    lost: float | None = (
        None  # labels not strictly ahead in all N votes: that times T, + sum_i (gamma_i - edge_i) W_i/k
    )
    lost_promised: float | None = None  # that times T
    adaptive_bound: float | None = None  # on `lost`, if gammas are adaptive: docs/adaptive.md

    def as_dict(self) -> dict[str, Any]:
        """What is known, in plain numbers; bounds of infinity are left out."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return {name: value for name, value in known.items() if value != math.inf}

    def lines(self, verbose: bool = False) -> list[tuple[str, str]]:
        """What it says, in words: (heading, text). Bounds above the number of examples only if ``verbose``."""
        low, middle, high = self.edges
        n = self.examples
        first = f"the first {self.best_expert} learners" if self.best_expert > 1 else "the first learner"
        out = [
            ("edges shown", f"{low:.3f} to {high:.3f}, median {middle:.3f} (0: guessing, 1: never wrong)"),
            ("mistakes made", f"{self.mistakes:,} of {n:,}"),
            ("best expert", f"{self.best_expert_mistakes:,} mistakes: {first}"),
        ]
        if self.sure is not None:
            out.insert(1, ("surely above 0", f"the edges of {self.sure} of {self.learners} learners"))
        if verbose or self.vote_bound <= n:
            out.append(("bound from experts", _says(self.vote_bound, n)))
        if self.expert_bound is not None and self.edge_bound is not None and (verbose or self.edge_bound <= n):
            text = f"{_says(self.edge_bound, n)}; best expert {_says(self.expert_bound, n)}"
            if self.edge_bound > n and self.edge_bound_from is not None and math.isfinite(self.edge_bound_from):
                text += f"; with such edges it takes {self.edge_bound_from:,.0f} examples"
            out.append(("bound from edges", text))
        if self.gammas is not None:
            least, most = self.gammas
            text = f"{least:.3f}" if least == most else f"{least:.3f} to {most:.3f}"
            text += f"; phi_N(0) = {self.potential:.4f}" if self.potential is not None else ""
            out.append(("gamma in use", text))
        if self.lost is not None and self.lost_promised is not None:
            more = self.lost - self.lost_promised
            why = "more, by edges below gamma" if more > 0.0 else "fewer, by edges above gamma"
            text = f"lost {self.lost:,.0f}: {self.lost_promised:,.0f} by phi_N(0), {abs(more):,.0f} {why}"
            out.append(("majority of all votes", text))
            if self.adaptive_bound is not None and (verbose or self.adaptive_bound <= n):
                out.append(("bound from gammas", f"lost {_says(self.adaptive_bound, n)}, whatever the learners do"))
        return out


def _says(bound: float, n: int) -> str:
    return f"at most {bound:,.0f}" if bound <= n else f"at most {bound:,.0f} (says nothing)"


def guarantee(clf: Any, mistakes: int, delta: float = 0.05) -> Guarantee | LossGuarantee | None:
    """What the theorems say of a fitted booster that has some; None for others, and for one class or no row.

    The stream must have had no example weights, and all classes known from the start. With `class_weight` or
    `cost_matrix` mistakes count by weight: the bounds on their number say nothing, and it is None.

    Examples
    --------
    >>> from onlineboost import load_dataset, prequential
    >>> data, clf = load_dataset("balance").shuffled(0), AdaBoostOLM(20)
    >>> wrong = ~prequential(clf, data.X, data.y).right
    >>> found = guarantee(clf, wrong.sum())
    >>> found.mistakes <= found.vote_bound
    True
    """
    if _theorems.dispatch(type(clf)) is _theorems.dispatch(object) or clf._fitted().k < 2:
        return None
    model = clf._fitted()
    if not model.chain.t or len(model.counts) or clf.class_weight is not None or clf.cost_matrix is not None:
        return None
    if model.chain.panel is not None:
        return loss_guarantee(clf, mistakes)
    weights = model.chain.gather("weights")
    wrong = np.rint(-model.chain.end.log_vs[0]).astype(int)
    edges = clf.edges_
    n, T = len(edges), model.chain.t
    known: dict[str, Any] = {
        "model": type(clf).__name__,
        "examples": T,
        "learners": n,
        "delta": delta,
        "mistakes": int(mistakes),
        "edges": (float(edges.min()), float(np.median(edges)), float(edges.max())),
        "best_expert": int(wrong.argmin()) + 1,
        "best_expert_mistakes": int(wrong.min()),
        "vote_bound": _vote_bound(clf.combiner, wrong, T, delta),
    }
    return Guarantee(**known, **_theorems(clf, edges, weights, delta))


@singledispatch
def _theorems(clf: Any, edges: np.ndarray, weights: np.ndarray, delta: float) -> dict[str, Any]:
    """What the theorems of a kind of booster say: fields of `Guarantee`. Others have none.

    `sure` are learners whose expected edge is above 0: only losses whose weights are at most k - 1, and no restarts.
    """
    return {}


@_theorems.register
def _(clf: AdaBoostOLM, edges: np.ndarray, weights: np.ndarray, delta: float) -> dict[str, Any]:
    chain, k = clf._fitted().chain, clf._fitted().k
    n, T, born = len(edges), chain.t, chain.gather("born")
    known: dict[str, Any] = {"sure": None}
    if clf.loss == "logistic":
        known["sure"] = int((sure_edges(edges, weights, -1.0, k - 1.0, delta)[born == 0] > 0.0).sum())
    if clf.combiner == "hedge" and not _printed(clf):
        # The theorem is about learners that never restart. Up to the first one that has, the chain is that of the
        # paper, for nothing flows backwards; from there on, edges of 0 promise nothing.
        lasting = np.where(np.maximum.accumulate(born) == 0, edges, 0.0)
        squares = chain.gather("squares") if _adapts(clf) else None
        known["expert_bound"] = best_expert_bound(clf.loss, lasting, k, T, weights, squares)
        known["edge_bound"] = hedge_bound(known["expert_bound"], n, T, delta)
        steepness = None if squares is None else squares / T
        known["edge_bound_from"] = _says_something_from(clf.loss, lasting, k, delta, steepness)
    return known


@_theorems.register
def _(clf: OnlineMBBM, edges: np.ndarray, weights: np.ndarray, delta: float) -> dict[str, Any]:
    k, T, gammas = clf._fitted().k, clf._fitted().chain.t, clf.gammas_
    known: dict[str, Any] = {"sure": None, "gammas": (float(gammas.min()), float(gammas.max()))}
    if clf.loss == "zero_one" and clf.potential == "exact":
        known["sure"] = int((sure_edges(edges, weights, 1.0 - k, k - 1.0, delta) > 0.0).sum())
        known["potential"] = asymptotic_error(k, len(edges), gammas)
        known["lost_promised"] = known["potential"] * T
        known["lost"] = known["lost_promised"] + float(((gammas - edges) * weights).sum()) / k
        if (found := ledger([segment.booster for segment in clf._fitted().chain.segments])) is not None:
            known["lost_promised"], known["lost"] = found.promised, found.promised + found.excess
            known["adaptive_bound"] = found.bound
    return known


@_theorems.register
def _(clf: OnlineBoostClassifier, edges: np.ndarray, weights: np.ndarray, delta: float) -> dict[str, Any]:
    return {}  # what holds behind a panel is in `loss_guarantee`


def _vote_bound(combiner: str, wrong: np.ndarray, T: int, delta: float) -> float:
    """On the mistakes of each way to follow the experts."""
    n, best = len(wrong), int(wrong.min())
    if combiner == "hedge":
        return hedge_bound(best, n, T, delta)
    if combiner == "weighted":  # a mistake: experts of half the mass were wrong, two for one expected by Hedge
        return 2.0 * (best + math.log(n)) / HEDGE_RATE
    if combiner == "best":  # whoever leads has erred at most `best` times before
        return n * (best + 1.0)
    return float(wrong[-1])


def _printed(clf: AdaBoostOLM) -> bool:
    """Whether its alphas follow a gradient that the paper or its authors' program has, for which no theorem holds."""
    return any(segment.booster.printed or segment.booster.programmed for segment in clf._fitted().chain.segments)


def _adapts(clf: AdaBoostOLM) -> bool:
    """Whether its alphas have moved in adaptive steps."""
    return all(segment.booster.squares is not None for segment in clf._fitted().chain.segments)


def _says_something_from(
    loss: str, edges: np.ndarray, k: int, delta: float, steepness: np.ndarray | None = None
) -> float:
    """The number of examples at which the bound of such edges falls below the number of examples.

    `steepness`: the mean squared slopes, if steps are adaptive.
    """

    def good(T: int) -> bool:
        squares = None if steepness is None else steepness * T
        return olm_bound(loss, edges, k, T, delta=delta, squares=squares) <= T

    most = 1 << 62
    return first_where(good, 0, most) if good(most) else math.inf
