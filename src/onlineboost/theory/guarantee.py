"""What the theorems say of a run that was made: the edges shown, the bounds they imply, the mistakes.

What is said holds for the run at hand: for the weights that its rows had, for classes that came late, and for the ways
in which experts were followed. What does not hold for it is left out. theory/PROOFS.md has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, cast

import numpy as np

from onlineboost.boosters.losses import LOSSES
from onlineboost.boosters.mbbm import ledger
from onlineboost.boosters.potentials import asymptotic_error
from onlineboost.boosters.potentials.draws import check_int
from onlineboost.boosters.potentials.tables import recipe
from onlineboost.chain.chain import AWAITED
from onlineboost.chain.experts import Combiner
from onlineboost.chain.stacking import Stacking
from onlineboost.estimators.adaboost_olm import AdaBoostOLM
from onlineboost.estimators.online_boost import OnlineBoostClassifier
from onlineboost.estimators.online_mbbm import OnlineMBBM
from onlineboost.panel.columns import LIGHTEST
from onlineboost.panel.combiner import FORECAST_NAMES
from onlineboost.theory.actions import ActionGuarantee, Told, action_guarantee
from onlineboost.theory.checks import check_delta
from onlineboost.theory.coverage import coverage_lines, covered
from onlineboost.theory.upper_bounds import best_expert_bound, hedge_bound, mixture_bound
from onlineboost.theory.weak_learning import sure_edges

Covered = dict[str, tuple[float, float, float]] | None


@dataclass(frozen=True)
class LossGuarantee(Told):
    """Bounds on log loss and mistakes of one run. Nothing is drawn, so they hold always."""

    model: str
    examples: int
    learners: int
    mistakes: int  # made, as given
    losses: dict[str, float]  # in log loss, of each forecast; a row counts by its weight, 1 at most
    shares: dict[str, float]  # of the mixture, of each forecast, to begin with
    lost: float  # in log loss, of the mixture of them
    loss_bound: float  # on that, given the losses of the forecasts
    mistake_bound: float  # a mistake costs log 2 at least, times the row's weight, or was about a class not yet met
    weighted: bool = False  # whether the weights of rows differ
    late: int = 0  # rows of a class not met before, which nothing could predict
    calibrated: bool = False  # whether what is predicted is the mixture after calibration
    delta: float = 0.0
    covered: Covered = None  # by the prediction sets of some levels: the share, and its bounds

    def lines(self, verbose: bool = False) -> list[tuple[str, str]]:
        """What it says, in words: (heading, text)."""
        n, best = self.examples, min(self.losses, key=lambda name: self.losses[name])
        least = min(self.losses, key=lambda name: self.losses[name] - math.log(self.shares[name]))
        whose = "" if least == best else f" (the loss of {least})"
        each = "; a row counts by its weight, and 1 at most" if self.weighted else f", {self.lost / n:.4f} per example"
        out = [
            ("mistakes made", f"{self.mistakes:,} of {n:,}"),
            ("log loss", f"{self.lost:,.1f} in all{each}{', before calibration' if self.calibrated else ''}"),
            ("best forecast", f"{best}: {self.losses[best]:,.1f}"),
            (
                "bound on log loss",
                f"at most {self.loss_bound:,.1f}: {self.losses[least]:,.1f}{whose} "
                f"+ log {1.0 / self.shares[least]:.3g} + log {n:,}",
            ),
        ]
        if self.late:
            out.insert(
                2, ("classes not met before", f"{self.late:,}: the first row of each counts as if it were known")
            )
        if verbose:
            out[-1:-1] = [("other forecast", f"{m}: {loss:,.1f}") for m, loss in self.losses.items() if m != best]
        if verbose or self.mistake_bound <= n:
            why = "each has cost log 2 or more" + (" times its weight" if self.weighted else "")
            why += f", but for {self.late:,} first rows of classes" if self.late else ""
            out.append(("bound on mistakes", f"at most {self.mistake_bound:,.0f}: {why}"))
        return out + coverage_lines(self.covered, verbose)


def _loss_guarantee(clf: Any, mistakes: int, late: int) -> LossGuarantee:
    model = clf._fitted()
    chain = model.chain
    mixture = cast(Stacking, chain.end).mixture
    *losses, lost = np.maximum(mixture.lost, 0.0).tolist()  # rounding takes some below 0
    shares = mixture.first.tolist()
    bound = mixture_bound(losses, chain.t, shares=shares)
    return LossGuarantee(
        model=type(clf).__name__,
        examples=chain.t,
        learners=chain.n_learners,
        mistakes=mistakes,
        losses=dict(zip(FORECAST_NAMES, losses, strict=True)),
        shares=dict(zip(FORECAST_NAMES, shares, strict=True)),
        lost=lost,
        loss_bound=bound,
        mistake_bound=bound / (math.log(2.0) * max(chain.lightest, LIGHTEST)) + late,
        weighted=_is_weighted(chain),
        late=late,
        calibrated=model.calibration is not None,
        covered=covered(model.sets),
    )


@dataclass(frozen=True)
class Guarantee(Told):
    """Bounds on the mistakes of one run. All of them hold at once, with probability 1 - delta where a draw is involved.

    What is None does not hold for this run, or is not known.
    """

    model: str
    examples: int
    learners: int
    delta: float
    mistakes: int  # made, as given
    best_expert: int  # how many learners the expert with the fewest mistakes has
    best_expert_mistakes: float  # by the weights of the rows
    combiner: str | None = None  # how the experts were followed; None: now this way, now that
    vote_bound: float | None = None  # on the mistakes, given those of the experts
    weighted: bool = False  # whether the weights of rows differ
    late: int = 0  # rows of a class not met before, which nothing could predict
    edges: tuple[float, float, float] | None = None  # shown: least, median, largest
    sure: int | None = None  # learners whose expected edge is above 0
    expert_bound: float | None = None  # Adaboost.OLM: on the mistakes of the best expert, given the edges and weights
    edge_bound: float | None = None  # on the mistakes, given the same
    gammas: tuple[float, float] | None = None  # OnlineMBBM: the least and the largest of its learners' gammas
    potential: float | None = None  # the chain's potential at the start, the error rate promised for learners of these
    lost: float | None = None  # weight of the rows whose label is not strictly ahead in all N votes; with
    pairwise: bool = False  # once for each label that is not behind it: that many at most
    lost_promised: float | None = None  # the potential times the weight of all rows
    adaptive_bound: float | None = None  # on `lost`, if gammas are adaptive: theory/PROOFS.md
    covered: Covered = None  # by the prediction sets of some levels: the share, and its bounds

    def lines(self, verbose: bool = False) -> list[tuple[str, str]]:
        """What it says, in words: (heading, text). Bounds above the number of examples only if ``verbose``."""
        n = self.examples
        first = f"the first {self.best_expert} learners" if self.best_expert > 1 else "the first learner"
        weight = "by weight, " if self.weighted else ""
        out = [
            ("mistakes made", f"{self.mistakes:,} of {n:,}"),
            ("best expert", f"{self.best_expert_mistakes:,.0f} mistakes: {weight}{first}"),
        ]
        if self.sure is not None:
            out.insert(0, ("surely above 0", f"the edges of {self.sure} of {self.learners} learners"))
        if self.edges is not None:
            low, middle, high = self.edges
            text = f"{low:.3f} to {high:.3f}, median {middle:.3f} (0: guessing, 1: never wrong)"
            out.insert(0, ("edges shown", text))
        if self.late:
            out.append(("classes not met before", f"{self.late:,}: their first rows count as mistakes"))
        unless = ", unless labels depend on the predictions" if self.combiner == "hedge" else ""
        if self.vote_bound is not None and (verbose or self.vote_bound <= n):
            out.append(("bound from experts", _says(self.vote_bound, n) + unless))
        if self.expert_bound is not None and self.edge_bound is not None and (verbose or self.edge_bound <= n):
            text = f"{_says(self.edge_bound, n)}{unless}; best expert {_says(self.expert_bound, n)}"
            out.append(("bound from edges", text))
        if self.gammas is not None:
            least, most = self.gammas
            text = f"{least:.3f}" if least == most else f"{least:.3f} to {most:.3f}"
            text += f"; phi_N(0) = {self.potential:.4f}" if self.potential is not None else ""
            out.append(("gamma in use", text))
        if self.lost is not None and self.lost_promised is not None:
            more = self.lost - self.lost_promised
            why = "more, by edges below gamma" if more > 0.0 else "fewer, by edges above gamma"
            lost = f"lost {self.lost:,.0f}{' at most' if self.pairwise else ''}"
            text = f"{lost}: {weight}{self.lost_promised:,.0f} by phi_N(0), {abs(more):,.0f} {why}"
            out.append(("majority of all votes", text))
            if self.adaptive_bound is not None and (verbose or self.adaptive_bound <= n):
                out.append(("bound from gammas", f"lost {_says(self.adaptive_bound, n)}, whatever the learners do"))
        return out + coverage_lines(self.covered, verbose)


@dataclass(frozen=True)
class NoGuarantee:
    """Nothing is guaranteed for a run, and why. It counts as False."""

    why: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"nothing is guaranteed: {self.why}"


def _says(bound: float, n: int) -> str:
    return f"at most {bound:,.0f}" if bound <= n else f"at most {bound:,.0f} (says nothing)"


def guarantee(
    clf: Any, mistakes: int, delta: float = 0.05
) -> Guarantee | LossGuarantee | ActionGuarantee | NoGuarantee:
    """What the theorems say of the run that a fitted booster has made.

    ``mistakes`` are those of predictions that were each made when all rows before had been learned, as
    `test_then_train` does it. Its text is in words. Where no theorem holds it counts as False, and its text says why:
    other models, no row or one class, rows that have waited for their labels (`learn_pending`), `class_weight` or
    `cost_matrix`, models that an older version has saved, more mistakes than the run can have made.

    Examples
    --------
    >>> from onlineboost import load_dataset, prequential
    >>> data, clf = load_dataset("balance").shuffled(0), AdaBoostOLM(20)
    >>> wrong = ~prequential(clf, data.X, data.y).right
    >>> found = guarantee(clf, wrong.sum())
    >>> found.mistakes <= found.vote_bound
    True
    >>> print(guarantee(AdaBoostOLM(20).learn_one([1.0], "a"), 1))
    nothing is guaranteed: fewer than two classes are known
    """
    check_delta(delta)
    mistakes = check_int("mistakes", mistakes, 0)
    if _theorems.dispatch(type(clf)) is _theorems.dispatch(object):
        return NoGuarantee(f"no theorem is about {type(clf).__name__}")
    model = clf._fitted()
    chain = model.chain
    if model.k < 2 or not chain.t:
        return NoGuarantee("no row has been learned" if not chain.t else "fewer than two classes are known")
    if len(model.counts) or clf.class_weight is not None or clf.cost_matrix is not None:
        return NoGuarantee("mistakes count by class_weight or cost_matrix, and in the theorems all count alike")
    if model.acts is not None and model.k > 2:  # of two classes, an action tells the label
        about = action_guarantee(clf, mistakes, delta)
        return NoGuarantee(about) if isinstance(about, str) else about
    if mistakes > chain.t:
        raise ValueError(
            f"mistakes is {mistakes:,}, but the model has learned {chain.t:,} rows: count those of its own run, "
            f"without rows of weight 0"
        )
    if chain.conduct is None:
        return NoGuarantee("the model is from a file of an older version, which does not say how its rows were learned")
    if chain.conduct & AWAITED:
        return NoGuarantee("rows have waited for their labels, and the theorems are about labels that come at once")
    late = 0 if model.labels.fixed else model.k  # each class that was not announced has come late, in a row of its own
    if chain.panel is not None:
        of_losses = _loss_guarantee(clf, mistakes, late)
        return of_losses if mistakes <= of_losses.mistake_bound else _of_another_run(mistakes, of_losses.mistake_bound)
    followed = [combiner for combiner in Combiner if chain.conduct == 1 << combiner]
    wrong = 0.0 - chain.end.log_vs[0]  # never -0
    known: dict[str, Any] = {
        "model": type(clf).__name__,
        "examples": chain.t,
        "learners": chain.n_learners,
        "delta": delta,
        "mistakes": mistakes,
        "best_expert": int(wrong.argmin()) + 1,
        "best_expert_mistakes": float(wrong.min()),
        "weighted": _is_weighted(chain),
        "late": late,
        "covered": covered(model.sets),
    }
    if followed:
        # The table has two events that can fail: the draws of Hedge, and the confidence of the edges.
        bound = _vote_bound(followed[0], wrong, chain.t, delta / 2.0, chain.lightest)
        known |= {"combiner": followed[0].name.lower(), "vote_bound": bound + late}
        if followed[0] is not Combiner.HEDGE and mistakes > bound + late:
            return _of_another_run(mistakes, bound + late)
    return Guarantee(**known, **_theorems(clf, clf.edges_, chain.gather("weights"), late, delta / 2.0))


def _of_another_run(mistakes: int, most: float) -> NoGuarantee:
    """Bounds that hold always do not hold for what was predicted in another way than rows were learned."""
    return NoGuarantee(
        f"{mistakes:,} mistakes are not those of this run, which has made {math.floor(most):,} at most: predict each "
        f"row right before it is learned, with the same combiner"
    )


def _is_weighted(chain: Any) -> bool:
    return chain.lightest < 1.0 or chain.heaviest > 1.0  # type: ignore[no-any-return]


def _vote_bound(combiner: Combiner, wrong: np.ndarray, T: int, delta: float, lightest: float) -> float:
    """On the mistakes of each way to follow the experts, whose mistakes by weight are given."""
    n, best = len(wrong), float(wrong.min())
    if combiner is Combiner.HEDGE:
        return hedge_bound(best, n, T, delta, lightest)
    if combiner is Combiner.WEIGHTED:  # a mistake: experts of half the mass were wrong, two for one expected by Hedge
        return 2.0 * (best + math.log(n)) / -math.expm1(-lightest)
    if combiner is Combiner.BEST:  # whoever leads has erred at most `best` before, by weight
        return n * (best / lightest + 1.0)
    return float(wrong[-1]) / lightest


@singledispatch
def _theorems(clf: Any, edges: np.ndarray, weights: np.ndarray, late: int, delta: float) -> dict[str, Any]:
    """What the theorems of a kind of booster say: fields of `Guarantee`. Others have none.

    `sure` are learners whose expected edge is above 0: only losses whose weights are at most k - 1, and no restarts.
    """
    return {}


def _shown(edges: np.ndarray) -> dict[str, Any]:
    return {"edges": (float(edges.min()), float(np.median(edges)), float(edges.max()))}


@_theorems.register
def _(clf: AdaBoostOLM, edges: np.ndarray, weights: np.ndarray, late: int, delta: float) -> dict[str, Any]:
    chain, k = clf._fitted().chain, clf._fitted().k
    booster, born, known = chain.booster, chain.gather("born"), _shown(edges)
    loss = next(name for name, number in LOSSES.items() if number == booster.loss)
    if loss == "logistic":
        most = (k - 1.0) * chain.heaviest
        known["sure"] = int((sure_edges(edges, weights, -1.0, most, delta)[born == 0] > 0.0).sum())
    # No theorem holds for the gradients that the paper prints, and that its authors' program has.
    ours = not (booster.printed or booster.programmed)
    if ours and chain.conduct == 1 << Combiner.HEDGE and not (late or _is_weighted(chain)):
        # The theorem is about learners that never restart. Up to the first one that has, the chain is that of the
        # paper, for nothing flows backwards; from there on, edges of 0 promise nothing.
        lasting = np.where(np.maximum.accumulate(born) == 0, edges, 0.0)
        squares = chain.gather("squares") if booster.squares is not None else None
        known["expert_bound"] = best_expert_bound(loss, lasting, k, chain.t, weights, squares)
        known["edge_bound"] = hedge_bound(known["expert_bound"], len(edges), chain.t, delta)
    return known


@_theorems.register
def _(clf: OnlineMBBM, edges: np.ndarray, weights: np.ndarray, late: int, delta: float) -> dict[str, Any]:
    chain, k, gammas = clf._fitted().chain, clf._fitted().k, clf.gammas_
    known: dict[str, Any] = {"gammas": (float(gammas.min()), float(gammas.max()))}
    if late:
        return known  # potentials and edges of different numbers of classes have no common measure
    known |= _shown(edges)
    made = recipe(chain.booster.tables)  # settings may have changed since
    pairwise = made["loss"] == "pairwise"
    if pairwise or (made["loss"] == "zero_one" and made["potential"] == "exact"):
        most = (k - 1.0) ** (2 if pairwise else 1) * chain.heaviest
        known["sure"] = int((sure_edges(edges, weights, 1.0 - k, most, delta) > 0.0).sum())
        known["pairwise"] = pairwise
        known["potential"] = chain.booster.tables.start if pairwise else asymptotic_error(k, len(edges), gammas)
        known["lost_promised"] = known["potential"] * float(chain.gather("seen")[0])
        known["lost"] = known["lost_promised"] + float(((gammas - edges) * weights).sum()) / k
        if (found := ledger([segment.booster for segment in chain.segments])) is not None:
            known["lost_promised"], known["lost"] = found.promised, found.promised + found.excess
            known["adaptive_bound"] = None if _is_weighted(chain) else found.bound  # it is about rows of weight 1
    return known


@_theorems.register
def _(clf: OnlineBoostClassifier, *of_learners: Any) -> dict[str, Any]:
    return {}  # what holds behind a panel is in `_loss_guarantee`
