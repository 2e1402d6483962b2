"""Within which numbers a panel, or a member by itself, can have learned: for what comes from a file.

By where an array is (the fields of `state.Panel`; those of a ground are as if outside): the least and the largest. Of
a whole number the largest may be a name, for what differs from model to model. Numbers of arrays that are not listed
have to be finite, and that is all. Bounds that rounding can touch have some room.
"""

from __future__ import annotations

from onlineboost.panel.alarm import PATIENCE, SPARE, TOO_MUCH
from onlineboost.panel.eager import ROWS
from onlineboost.panel.ground import HEAVIEST, LIGHTEST
from onlineboost.panel.least_squares import MOST
from onlineboost.panel.metric import CONSTANT, LONGEST
from onlineboost.panel.newton import BOUND
from onlineboost.panel.refits import BOUND as LARGEST_VOTE
from onlineboost.panel.refits import TREES

Range = tuple[float, float | str]
LABEL, COLUMN, NOMINAL, ROW = "label", "column", "nominal column", "row"

ROOM = 1.001
LARGEST = 1e140  # no number of a row is: see `chain.numbers`
LARGE = 1e12  # no dense number is larger, nor a coefficient of one
HUGE = 1e18  # no sum of such numbers is
SHARPEST = ROOM / CONSTANT**0.5  # weight of a column that is all but constant
WEIGHTS = LIGHTEST / ROOM, HEAVIEST * ROOM  # of rows

METRIC: dict[str, Range] = {
    **dict.fromkeys(("total.mass", "by_class.mass"), (0.0, ROOM * LONGEST)),
    **dict.fromkeys(("total.mean", "by_class.mean", "centre"), (-HUGE, HUGE)),
    **dict.fromkeys(("total.squares", "by_class.squares", "variance"), (0.0, HUGE * HUGE)),
    **dict.fromkeys(("weight", "pull"), (0.0, SHARPEST)),
}
RANGES: dict[str, Range] = {
    **dict.fromkeys(("seen", "class_seen"), (0.0, ROOM * LONGEST)),
    "dense.unit": (0.0, 2.0**1000),
    "dense.shown": (0, 1 << 62),
    **dict.fromkeys(("dense.origin", "dense.low", "dense.high"), (-LARGEST, LARGEST)),
    "dense.place": (0, COLUMN),  # plus 1
    "dense.sign": (-1, 1),
    "dense.owner": (0, NOMINAL),
    **{f"columns.{name}": own for name, own in METRIC.items()},
    "scale": (0.0, SHARPEST),
    "tilt": (0.0, 100.0),
    "frequencies": (-2.0, 2.0),
    "phases": (0.0, 1.0),
    **dict.fromkeys(("linear.P", "curved.P"), (-1e3 * MOST, 1e3 * MOST)),
    **dict.fromkeys(("linear.W", "curved.W"), (-LARGE, LARGE)),
    **{f"scores.{name}": own for name, own in METRIC.items()},
    "eager.labels": (0, LABEL),
    "eager.weights": (0.0, HUGE),
    "eager.rows": (0, ROW),
    "eager.met": (0, 2 * ROWS - 1),
    "eager.values": (-HUGE, HUGE),
    "eager.y": (0, LABEL),
    "eager.weight": WEIGHTS,
    "neighbours.values": (-HUGE, HUGE),
    "neighbours.scores": (-1e4 * HUGE, 1e4 * HUGE),
    "neighbours.y": (0, LABEL),
    "neighbours.weight": WEIGHTS,
    "refits.thresholds": (-1e4 * HUGE, 1e4 * HUGE),
    "refits.votes": (-LARGEST_VOTE, LARGEST_VOTE),
    "refits.said": (-2.0 * TREES * LARGEST_VOTE, 2.0 * TREES * LARGEST_VOTE),
    "newton.beta": (-BOUND, BOUND),
    "newton.A": (-HUGE, HUGE),
    "alarm.lead": (0.0, TOO_MUCH + SPARE),
    "alarm.late": (0, PATIENCE - 1),
    "recency": (0.0, ROOM),  # behind the chain
}
