"""Which labels to ask for: those of events of which the model is least sure, and of some others.

Events whose margin (probability of the likeliest label less that of the next) is below a threshold. It shrinks when one
is asked for and grows when none is, so that the share that was set is kept whatever the model is sure of (variable
uncertainty, Zliobaite et al. 2014). A part is drawn from all events: what the model is wrongly sure of turns up.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

STEP = 0.01  # by which the threshold shrinks
MOST_SAVED = 20.0  # labels that may be asked for one after the other, when none was asked for before
AT_RANDOM = 0.2  # part of the labels asked for that is drawn from all events


class Query:
    """Asks for the labels of a `share` of the events in the long run."""

    def __init__(self, share: float, seed: int = 0) -> None:
        self.share, self.threshold, self._draw = share, 1.0, random.Random(seed)
        self._saved = 1.0  # labels that may be asked for

    def wants(self, shares: Mapping[str, float]) -> bool:
        """Whether the label of an event with these probabilities would help."""
        asked = self._draw.random() < self.share * AT_RANDOM or self._is_unsure(shares)
        self._saved = min(MOST_SAVED, self._saved + self.share)
        if asked and self._saved >= 1.0:
            self._saved -= 1.0
            return True
        return False

    def _is_unsure(self, shares: Mapping[str, float]) -> bool:
        most = self.share * (1.0 - AT_RANDOM) / (1.0 - self.share * AT_RANDOM)
        best = sorted(shares.values())[-2:]
        margin = best[-1] - best[0] if len(best) == 2 else 0.0
        unsure = margin <= self.threshold
        # The threshold stays where it is if a part `most` of the margins lies below.
        factor = (1.0 - STEP) if unsure else (1.0 - STEP) ** (-most / (1.0 - most))
        self.threshold = min(1.0, max(1e-9, self.threshold * factor))
        return unsure
