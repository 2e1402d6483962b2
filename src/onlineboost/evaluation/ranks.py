"""Several systems over several data sets: mean ranks, and how far apart is more than chance."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np


def mean_ranks(scores: Mapping[str, Mapping[str, float]]) -> tuple[dict[str, float], int]:
    """The mean rank of each system that has a score on all data sets, best first; and the number of data sets.

    `scores` are of a data set, then of a system; more is better. Ties share their ranks.

    Examples
    --------
    >>> mean_ranks({"car": {"tree": 0.8, "booster": 0.9}, "segment": {"tree": 0.7, "booster": 0.7}})
    ({'booster': 1.25, 'tree': 1.75}, 2)
    """
    from scipy.stats import rankdata  # loaded when it is needed: it takes a while

    everywhere = [system for system in next(iter(scores.values())) if all(system in one for one in scores.values())]
    ranks = np.mean([rankdata([-one[system] for system in everywhere]) for one in scores.values()], axis=0)
    pairs = sorted(zip(everywhere, ranks.tolist(), strict=True), key=lambda pair: pair[1])
    return dict(pairs), len(scores)


def critical_difference(n_systems: int, n_datasets: int, level: float = 0.95) -> float:
    """How far two mean ranks have to be apart to be more than chance: Nemenyi's test (Demšar 2006).

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(level, n_systems, np.inf)) / math.sqrt(2.0)
    return q * math.sqrt(n_systems * (n_systems + 1) / (6.0 * n_datasets))
