"""Prediction sets: the labels that are likely enough, so that in the long run a given share of the rows is covered.

A label is in the set of a row if its *rank* is at most the threshold q of the coverage 1 - a. Its rank is the share of
the rows lately learned whose own label had a larger probability: 0 is surer than all of them, 1 less sure. Ties, which
are probabilities in the same of BINS bins of log(p / (1 - p)), are broken by a number u that is a hash of the row:

    rank(p) = (mass of the bins above that of p + u * mass of its own) / mass of all bins

The threshold is the coverage, moved by the excess E: by how much more rows were missed so far than were to be. When the
label comes, E follows, and then the bins learn it:

    q = 1 - a + eta E (1 + (E / FREE)^2),   eta = STEP min(a, 1 - a)
    miss = [rank of the label > q],   E <- E + w (miss - a)
    mass <- FADE mass,   mass[bin of the label] += w

Ranks lie in [0, 1]: where q >= 1 nothing is missed, and where q < 0 all is. So E cannot leave a range of some rows, and
what is missed is a sum w + E, on any stream (theory/PROOFS.md). With the first term alone this is the rule of Gibbs and
Candes (2021); the other one pulls back sooner (as in Angelopoulos, Candes and Tibshirani 2023).

Each coverage of LEVELS has its E. One in between takes the q of one neighbour or the other, by a second hash of the
row, as often as makes it so on the average. Beside the track of all rows there is one for the rows of each class.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import entry_kernel, small_kernel
from onlineboost._compile.random import LEVEL, PREDICTION_SET, child_key, uniform
from onlineboost.contracts.schema import f8
from onlineboost.contracts.state import joined

LEVELS = np.array([0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995])
STEP, FREE = 0.2, 4.0
STEPS = STEP * np.minimum(LEVELS, 1.0 - LEVELS)
FARTHEST = 1_000.0  # from 0: no excess comes near
BINS, REACH = 128, 7.0  # bins of log(p / (1 - p)) from -REACH to REACH; what is beyond is in the first and the last
FADE = 0.999  # a memory of about 1,000 rows
PRIOR = 1.0  # mass of rows that the bins are taken to have had before the first, spread evenly
MOST = 10.0  # a row of a larger weight counts so much
NO_ROW = np.empty((0, 0), np.bool_)


class Sets(NamedTuple):
    """What sets are made of. Track 0 is about all rows, track 1 + c about those of class c."""

    mass: Annotated[np.ndarray, f8("tracks", BINS, low=0.0, high=1e6)]
    excess: Annotated[np.ndarray, f8("tracks", len(LEVELS), low=-FARTHEST, high=FARTHEST)]  # E
    weight: Annotated[np.ndarray, f8("tracks", low=0.0, high=1e20)]  # of the rows learned
    heaviest: Annotated[np.ndarray, f8("tracks", low=0.0, high=MOST)]  # of their weights


def new_sets(k: int) -> Sets:
    """Of a model with k classes."""
    n = 1 + k
    return Sets(np.zeros((n, BINS)), np.zeros((n, len(LEVELS))), np.zeros(n), np.zeros(n))


def with_classes(sets: Sets, k: int) -> Sets:
    """The same with k classes; new ones have learned nothing."""
    more = 1 + k - len(sets.weight)
    return sets if more <= 0 else joined([sets, new_sets(more - 1)], "tracks")


@small_kernel
def bin_of(p):
    if not 0.0 < p < 1.0:
        return 0 if p <= 0.0 else BINS - 1
    place = (math.log(p / (1.0 - p)) + REACH) * (BINS / (2.0 * REACH))
    return int(min(max(place, 0.0), BINS - 1.0))


@small_kernel
def add_up(mass, above):
    """The mass above each bin, and of all."""
    total = 0.0
    for b in range(BINS - 1, -1, -1):
        above[b] = total
        total += mass[b] + PRIOR / BINS
    return total


@small_kernel
def rank(mass, above, total, b, u):
    return min(1.0, (above[b] + u * (mass[b] + PRIOR / BINS)) / total)


@small_kernel
def drawn(seed, purpose, x, bits, t):
    """A number in [0, 1) that is a hash of the row x, whose `bits` are given, in round t."""
    key = 0
    for c in range(x.size):
        key = child_key(key, bits[c] if x[c] == x[c] else 0)
    return uniform(seed, purpose, key, t)


@small_kernel
def threshold(excess, j):
    """q of level j."""
    E = excess[j]
    return LEVELS[j] + STEPS[j] * E * (1.0 + (E / FREE) * (E / FREE))


@small_kernel
def threshold_of(excess, coverage, v):
    """q for a coverage in (0, 1). Where it lies between two levels, v says which of them."""
    at = 0
    while at < LEVELS.size and LEVELS[at] < coverage:
        at += 1
    if at < LEVELS.size and LEVELS[at] == coverage:
        return threshold(excess, at)
    low, high = LEVELS[at - 1] if at > 0 else 0.0, LEVELS[at] if at < LEVELS.size else 1.0
    if v * (high - low) < coverage - low:
        return threshold(excess, at) if at < LEVELS.size else 2.0  # all labels
    return threshold(excess, at - 1) if at > 0 else -1.0  # none


# arguments: the rows, what is known of them, and what is asked
@entry_kernel
def find_sets(sets, p, X, bits, seed, t, coverage, by_class, above, total, out):
    """Which labels are in the sets of rows to be predicted in round t: bool (rows, k).

    `above` (tracks, BINS) and `total` (tracks,) are scratch.
    """
    k = p.shape[1]
    for track in range(1 + k if by_class else 1):
        total[track] = add_up(sets.mass[track], above[track])
    for b in range(p.shape[0]):
        u, v = drawn(seed, PREDICTION_SET, X[b], bits[b], t), drawn(seed, LEVEL, X[b], bits[b], t)
        for c in range(k):
            track = 1 + c if by_class else 0
            own = rank(sets.mass[track], above[track], total[track], bin_of(p[b, c]), u)
            out[b, c] = own <= threshold_of(sets.excess[track], coverage, v)


# arguments: the rows, what is known of them, and what is asked
@entry_kernel
def learn_sets(sets, p, X, bits, y, weight, seed, t, coverage, above, out):
    """Rows of the rounds from t on, whose probabilities were p, and their labels. `above` (BINS,) is scratch.

    `out`, if it has rows, gets the set of each before it was learned.
    """
    for b in range(p.shape[0]):
        u, w = drawn(seed, PREDICTION_SET, X[b], bits[b], t + b), min(weight[b], MOST)
        for own_class in range(2):
            track = 1 + y[b] if own_class else 0
            mass, excess = sets.mass[track], sets.excess[track]
            total = add_up(mass, above)
            if track == 0 and out.shape[0] > 0:
                limit = threshold_of(excess, coverage, drawn(seed, LEVEL, X[b], bits[b], t + b))
                for c in range(p.shape[1]):
                    out[b, c] = rank(mass, above, total, bin_of(p[b, c]), u) <= limit
            own = bin_of(p[b, y[b]])
            found = rank(mass, above, total, own, u)
            for j in range(LEVELS.size):
                miss = 1.0 if found > threshold(excess, j) else 0.0
                excess[j] += w * (miss - (1.0 - LEVELS[j]))
            for i in range(BINS):
                mass[i] = mass[i] * FADE if mass[i] > 1e-9 else 0.0
            mass[own] += w
            sets.weight[track] += w
            sets.heaviest[track] = max(sets.heaviest[track], w)


class SetsPass(NamedTuple):
    """A row that was predicted, and its label."""

    sets: Sets
    p: np.ndarray  # float64 (1, k)
    X: np.ndarray  # float64 (1, columns) as it came,
    bits: np.ndarray  # int64: the same memory
    y: np.ndarray  # int64 (1,)
    weight: np.ndarray  # float64 (1,)
    seed: int
    above: np.ndarray  # float64 (BINS,) scratch
    nothing: np.ndarray  # bool (0, 0)


@entry_kernel
def learn_sets_row(handle, t):
    """`learn_sets` as a step of `rows`: the row of round t."""
    at = handle.parts
    learn_sets(at.sets, at.p, at.X, at.bits, at.y, at.weight, at.seed, t, 0.5, at.above, at.nothing)
    return True


def bits_of(X: np.ndarray) -> np.ndarray:
    """Encoded rows bit by bit, for `drawn`."""
    return np.ascontiguousarray(X).view(np.int64)
