"""Which systems are better over several data sets, as part of a page."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from onlineboost.evaluation.records import critical_difference, mean_ranks
from onlineboost.report.page import section, table


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
