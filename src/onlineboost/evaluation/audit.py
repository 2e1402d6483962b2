"""For whom are the probabilities wrong? What was said beside what came true, in groups of rows, column by column.

If p_t is the probability of a label given all before row t, then sum over a group of p_t - 1[y_t is the label] is a
martingale, whoever chooses the group, as long as it does so from the row alone. Its variance is that of the sum of
p_t (1 - p_t), so z = sum / sqrt(variance) is about normal. With m groups and labels, chance alone gives |z| above
`limit`, the normal quantile of 1 - .025 / m, in one run of twenty at the most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.frames import as_table
from onlineboost.data.values import shortest

MOST_VALUES = 10  # of a nominal column that are groups of their own; the rest is one group
LEAST_VARIANCE = 5.0  # of a group: with less, z is not about normal


class Gap(NamedTuple):
    """What was said of a label, and what came true, in a group of rows."""

    column: str
    group: str  # such as "<= 2.5" or "NL"
    label: Any
    rows: int
    said: float  # mean probability of the label
    seen: float  # share of the rows that have it
    z: float  # how many standard deviations what was said is above what was seen


@dataclass(frozen=True)
class Audit(Sequence[Gap]):
    """The gaps of all groups and labels, the least likely by chance first; `str` shows the first ten.

    Get one from :meth:`Result.audit`.
    """

    gaps: tuple[Gap, ...]
    limit: float  # of |z|: no gap is above it, in 19 of 20 runs, if the probabilities are right

    def __len__(self) -> int:
        return len(self.gaps)

    def __getitem__(self, at: Any) -> Any:
        return self.gaps[at]

    @property
    def beyond_chance(self) -> tuple[Gap, ...]:
        """The gaps that chance does not explain."""
        return tuple(gap for gap in self.gaps if abs(gap.z) > self.limit)

    def __repr__(self) -> str:
        found = len(self.beyond_chance)
        head = f"{found} of {len(self.gaps)} gaps are beyond chance (|z| above {self.limit:.1f})"
        lines = [
            f"{gap.z:+6.1f}  {gap.label!s}: said {gap.said:.3f}, seen {gap.seen:.3f}, {where(gap)} ({gap.rows:,} rows)"
            for gap in self.gaps[:10]
        ]
        return "\n".join([head, *lines])


def where(gap: Gap) -> str:
    return f"where {gap.column} {gap.group}" if gap.group else gap.column


def audit(probabilities: np.ndarray, y: np.ndarray, classes: Any, X: Any, weight: np.ndarray | None) -> Audit:
    """Compare what was said with what came true. Rows for which nothing was said are left out.

    Of two labels the rarer one alone is shown: what is said of the other is the rest.
    """
    labels = list(np.asarray(classes).tolist() if isinstance(classes, np.ndarray) else classes)
    told = probabilities.sum(axis=1) > 0.0
    w = np.where(told, 1.0 if weight is None else weight, 0.0)
    w = w / max(float(w.max(initial=0.0)), 1e-300)  # a common factor makes no difference: of tiny ones squares are 0
    came = np.stack([np.asarray([each == label for each in y.tolist()]) for label in labels], axis=1)
    p, gaps = probabilities, []
    shown = range(len(labels)) if len(labels) != 2 else [int(came.sum(axis=0).argmin())]
    variance = w[:, None] ** 2 * p * (1.0 - p)
    excess = w[:, None] * (p - came)
    for column, group, mask in [("in all rows", "", told), *_groups(X, told)]:
        mass = max(float(w[mask].sum()), 1e-300)
        for c in shown:
            of_sum = float(variance[mask, c].sum())
            if of_sum > 0.0 and of_sum >= LEAST_VARIANCE * float((w[mask] ** 2).mean()):
                said, seen = float(w[mask] @ p[mask, c]) / mass, float(w[mask] @ came[mask, c]) / mass
                z = float(excess[mask, c].sum()) / math.sqrt(of_sum)
                gaps.append(Gap(column, group, labels[c], int(mask.sum()), said, seen, z))
    gaps.sort(key=lambda gap: -abs(gap.z))
    return Audit(tuple(gaps), NormalDist().inv_cdf(1.0 - 0.025 / max(1, len(gaps))))


def _groups(X: Any, told: np.ndarray) -> Iterator[tuple[str, str, np.ndarray]]:
    """(column, group, its rows): quarters of a numeric column, the most frequent values of a nominal one."""
    table = as_table(X)
    for name, column in zip(table.names, table.columns, strict=True):
        if column.dtype == np.object_:
            values, codes, counts = np.unique(
                ["" if v is None else v for v in column], return_inverse=True, return_counts=True
            )
            frequent = np.argsort(-counts, kind="stable")[:MOST_VALUES]
            parts = [("is missing" if not values[v] else f"is {values[v]}", codes == v) for v in frequent]
            parts.append(("is another value", ~np.isin(codes, frequent)))
        else:
            there = column[~np.isnan(column)]
            cuts = np.unique(np.quantile(there, [0.25, 0.5, 0.75])) if len(there) else np.empty(0)
            code = np.where(np.isnan(column), -1, np.searchsorted(cuts, column))
            parts = [(_between(cuts, q), code == q) for q in range(len(cuts) + 1)]
            parts.append(("is missing", code == -1))
        yield from ((name, group, rows & told) for group, rows in parts if (rows & told).any())


def _between(cuts: np.ndarray, at: int) -> str:
    low = f"> {shortest(float(cuts[at - 1]))}" if at > 0 else ""
    high = f"<= {shortest(float(cuts[at]))}" if at < len(cuts) else ""
    return " and ".join(filter(None, (low, high))) or "is there"
