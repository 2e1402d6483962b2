"""The reset test: the panel is of no use any more if the frequencies of the labels would have done better.

Let p be what the panel says of a row, and q the frequencies of the labels that it has learned. With every label y of
weight w,

    lead <- max(0, lead + min(w, 1) (min(-log p[y], worst) + log q[y] - SLACK log k))

which is how far, in log loss, the frequencies are ahead of the panel since the row from which on they are ahead most,
less what the panel may always lose: where labels cannot be told from columns, learning to do so costs something.
No row counts as a greater loss of the panel than `worst`. That is WORST or, in many classes, ABOVE more than what the
frequencies and the slack take away where all classes are as frequent: the panel could not be lost there otherwise.
When `lead` has been above TOO_MUCH for PATIENCE rows, what the panel has learned is about a world that is gone, and it
begins anew: a panel that knows nothing is right sooner than one that has to unlearn. A few rows with wrong labels are
no reason: `lead` is never above TOO_MUCH by more than SPARE, so it falls as soon as they are over, and once it has
fallen to half of TOO_MUCH the rows count from 0 again. As long as the panel's probabilities are right, this happens
once in exp(TOO_MUCH) = 480 million rows, or less often (docs/theory.md).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel
from onlineboost.contracts.schema import f8, i8

TOO_MUCH, SPARE = 20.0, 5.0
PATIENCE = 32
WORST, ABOVE = 4.0, 1.0  # the second counts for more than 10 classes
SLACK = 0.3  # in parts of the log loss of guessing, log k
KEPT = 16  # rounds that are remembered


class ResetTest(NamedTuple):
    """How the panel does beside the frequencies of the labels."""

    lead: Annotated[np.ndarray, f8(1, low=0.0, high=TOO_MUCH + SPARE)]
    late: Annotated[np.ndarray, i8(1, low=0, high=PATIENCE - 1)]  # rows that it has been above TOO_MUCH
    counts: Annotated[np.ndarray, f8("classes")]  # weight of the rows of each class that the panel has learned
    rounds: Annotated[np.ndarray, i8(KEPT)]  # after which it has begun anew, the last one first; 0: not so often


@bare_kernel
def should_reset(test, p, k, y, weight):
    """Whether the panel, which has said p[:k] of a row of class y, should begin anew."""
    counts, total = test.counts, 1.0
    for c in range(k):
        total += counts[c]
    frequency = (counts[y] + 1.0 / k) / total
    guess = math.log(float(k))
    loss = min(-math.log(max(p[y], 1e-9)), max(WORST, (1.0 + SLACK) * guess + ABOVE))
    step = loss + math.log(frequency) - SLACK * guess
    lead = min(max(0.0, test.lead[0] + min(weight, 1.0) * step), TOO_MUCH + SPARE)
    test.lead[0] = lead
    if lead > TOO_MUCH:
        test.late[0] += 1
    elif lead <= 0.5 * TOO_MUCH:
        test.late[0] = 0
    counts[y] += weight
    return test.late[0] >= PATIENCE
