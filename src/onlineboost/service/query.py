"""Which labels to ask for: of events of which the model is least sure, of those unlike others, and of some more.

* Margin: the probability of the likeliest label less that of the next is below a threshold. It shrinks when it is met
  and grows when it is not, so that the share is kept whatever the model is sure of (variable uncertainty, Zliobaite et
  al. 2014).
* Novelty: values that are rarer in their columns than values there are on average. A model can be sure of what it has
  never seen. The threshold follows in the same way.
* A part is drawn from all events: what the model is wrongly sure of turns up. So is what the others leave of the share.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

STEP = 0.01  # by which a threshold shrinks
MOST_SAVED = 20.0  # labels that may be asked for one after the other, when none was asked for before; then any is
AT_RANDOM, NOVEL = 0.2, 0.2  # parts of the labels asked for that are drawn from all events, and for their novelty
BINS, OLD, SLOW = 4096, 20_000, 0.002  # values of a column that are told apart, events it counts, and how means follow


class Query:
    """Asks for the labels of a `share` of the events in the long run."""

    def __init__(self, share: float, seed: int = 0) -> None:
        self.share, self._draw = share, random.Random(seed)
        self.thresholds = {"margin": 1.0, "novelty": 1.0}
        self._columns: dict[Any, Column] = {}
        self._saved = 1.0  # labels that may be asked for

    def wants(self, shares: Mapping[str, float], row: Any) -> bool:
        """Whether the label of an event with these probabilities would help."""
        drawn, novel = self.share * AT_RANDOM, self.share * NOVEL
        unsure = 1.0 - (1.0 - self.share) / ((1.0 - drawn) * (1.0 - novel))
        best = sorted(shares.values())[-2:]
        reasons = (
            self._is_low("margin", best[-1] - best[0] if len(best) == 2 else 0.0, unsure),
            self._is_low("novelty", self._usual(row), novel),
            self._draw.random() < drawn,
        )
        self._saved = min(MOST_SAVED, self._saved + self.share)
        if self._saved >= (1.0 if any(reasons) else MOST_SAVED):
            self._saved -= 1.0
            return True
        return False

    def _is_low(self, name: str, value: float, part: float) -> bool:
        """Whether a value in 0..1 is among the lowest, of which there is about this part."""
        low = value <= self.thresholds[name]
        # The threshold stays where it is if such a part of the values lies below.
        factor = (1.0 - STEP) if low else (1.0 - STEP) ** (-part / (1.0 - part))
        self.thresholds[name] = min(1.0, max(1e-9, self.thresholds[name] * factor))
        return low

    def _usual(self, row: Any) -> float:
        """How usual the values of a row are, in 0..1; it counts as one from now on."""
        values = row.items() if isinstance(row, dict) else enumerate(row)
        rare = [self._columns.setdefault(name, Column()).rarity(value) for name, value in values]
        return 0.5 * math.erfc(sum(rare) / math.sqrt(2.0 * max(len(rare), 1)))


class Column:
    """How often the values of a column have come; numbers by half standard deviations."""

    def __init__(self) -> None:
        self.counts: dict[int, float] = {}
        self.rows = self.mean = self.squares = 0.0
        self.usual, self.spread = 0.0, 1.0  # of the surprise that values are

    def rarity(self, value: Any) -> float:
        """How much rarer a value is than values are on average, in standard deviations; it is counted."""
        place = self._bin(value)
        surprise = math.log((self.rows + 1.0) / (self.counts.get(place, 0.0) + 1.0))
        found = (surprise - self.usual) / max(math.sqrt(self.spread), 0.1)
        self.usual += SLOW * (surprise - self.usual)
        self.spread += SLOW * ((surprise - self.usual) ** 2 - self.spread)
        self.counts[place] = self.counts.get(place, 0.0) + 1.0
        self.rows += 1.0
        if self.rows > OLD:
            self.rows, self.counts = self.rows / 2.0, {at: n / 2.0 for at, n in self.counts.items() if n > 1.0}
        return found

    def _bin(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return hash(value) % BINS if isinstance(value, str) else -1
        far = value - self.mean
        self.mean += far / (self.rows + 1.0)
        self.squares += far * (value - self.mean)
        width = math.sqrt(self.squares / (self.rows + 1.0)) / 2.0
        return BINS + (round(max(-99.0, min(99.0, far / width))) if width > 0.0 else 0)
