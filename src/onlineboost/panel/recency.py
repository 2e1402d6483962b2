"""Which labels have come lately: labels often come in runs, and no column says so.

Two frequencies of the classes that fade, one fast (hardly more than the last label) and one slowly.
"""

from __future__ import annotations

import numpy as np

from onlineboost._compile.jit import bare_kernel
from onlineboost.contracts.schema import f8
from onlineboost.panel.dense import ROOM

FADES = (0.3, 0.9)  # what a label still counts one row later
RECENCY = f8(len(FADES), "classes", low=0.0, high=ROOM)


def new_recency(classes: int) -> np.ndarray:
    """float64 (fades, classes)."""
    return np.zeros((len(FADES), classes))


@bare_kernel
def learn_recency(recency, k, y):
    for i in range(len(FADES)):
        for c in range(k):
            recency[i, c] = FADES[i] * recency[i, c] + (1.0 - FADES[i] if c == y else 0.0)
