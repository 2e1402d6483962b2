"""What is promised behind a panel, as in OnlineBoostClassifier: hardly more log loss than that of the best forecast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from onlineboost.chain.stacking import Stacking
from onlineboost.panel.mixture import NAMES


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
    return best + math.log(len(NAMES)) + math.log(max(T, 1)) + switches * math.log(len(NAMES) * max(T, 1))


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
    known = dict(zip(NAMES, losses, strict=True))
    bounds = bound, bound / math.log(2.0)
    return LossGuarantee(type(clf).__name__, chain.t, chain.n_learners, int(mistakes), known, lost, *bounds)
