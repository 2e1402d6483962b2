"""Which systems are better over several data sets, and by how much that is more than chance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

import numpy as np
from scipy.stats import rankdata, studentized_range

from onlineboost.report.page import section, table


def mean_ranks(scores: Mapping[str, Mapping[str, float]]) -> tuple[dict[str, float], int]:
    """The mean rank of each system that has a score on all data sets, best first; and the number of data sets.

    `scores` are of a data set, then of a system; more is better. Ties share their ranks.

    Examples
    --------
    >>> mean_ranks({"car": {"tree": 0.8, "booster": 0.9}, "segment": {"tree": 0.7, "booster": 0.7}})
    ({'booster': 1.25, 'tree': 1.75}, 2)
    """
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
    q = float(studentized_range.ppf(level, n_systems, np.inf)) / math.sqrt(2.0)
    return q * math.sqrt(n_systems * (n_systems + 1) / (6.0 * n_datasets))


def ranking(scores: Mapping[str, Mapping[str, float]]) -> str:
    """A part of a page that ranks the systems over the data sets; empty if there are too few of either."""
    if len(scores) < 2:
        return ""
    ranks, n = mean_ranks(scores)
    if len(ranks) < 2:
        return ""
    distance = critical_difference(len(ranks), n)
    first = next(iter(ranks.values()))
    lines = ["<tr><th></th><th>mean rank</th><th></th><th>behind the first?</th></tr>"]
    place = 100.0 / len(ranks)  # per cent of the line that a rank takes
    band = (
        f'<i style="left:{place * (first - 1):.1f}%;width:{min(place * distance, 100 - place * (first - 1)):.1f}%"></i>'
    )
    for system, rank in ranks.items():
        behind = "" if rank == first else "yes" if rank - first > distance else "not clear"
        lines.append(
            f'<tr><th class="row">{escape(system)}</th><td><b>{rank:.2f}</b></td><td><span class="track">{band}'
            f'<b style="left:{place * (rank - 1):.1f}%"></b></span></td><td>{behind}</td></tr>'
        )
    text = (
        f"Mean ranks by accuracy on the last 20 %, over {n} data sets; 1 would be the best on every one. The critical "
        f"difference is <b>{distance:.2f}</b>: two systems whose mean ranks are closer than that cannot be told apart "
        "by these data sets. The grey band is as wide as that, from the first on."
    )
    return section("Ranking over the data sets", text, table(lines))
