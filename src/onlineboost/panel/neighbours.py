"""Nearest neighbours among the last RECENT rows, in the columns' own metric (`metric`).

Three voices: the nearest row and the nearest four by the columns, and the nearest twelve by the columns and the scores
of least squares, which say what the columns mean together. A neighbour at squared distance d counts exp(-d / mean d).
The rows are stored by columns, in single precision, so that the processor compares several rows at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onlineboost._compile.fastmath import exp
from onlineboost._compile.jit import bare_kernel, fused_kernel

RECENT = 4096
FEW, SOME, MANY = 1, 4, 12
FOUR = 4  # columns compared at once
STRETCH = 64  # rows looked at together when the nearest are picked
FAR = np.float32(1e30)


class Neighbours(NamedTuple):
    """The rows."""

    values: np.ndarray  # float32 (dense columns, recent)
    scores: np.ndarray  # float32 (score columns, recent)
    y: np.ndarray  # int32 (recent,)
    weight: np.ndarray  # float32 (recent,)


class NeighboursWork(NamedTuple):
    """Scratch for one row."""

    distance: np.ndarray  # float32 (recent,) squared
    bits: np.ndarray  # int32 (recent,) the same memory
    rows: np.ndarray  # int64 (most,) nearest first
    squares: np.ndarray  # float32 (most,) their squared distances
    square_bits: np.ndarray  # int32 (most,) the same memory
    at: np.ndarray  # int64 (FOUR,) columns to be added,
    value: np.ndarray  # float32 (FOUR,) the row's value there,
    weight: np.ndarray  # float32 (FOUR,) and the column's weight


def new_neighbours(columns: int, scores: int) -> Neighbours:
    values, said = np.zeros((columns, 0), np.float32), np.zeros((scores, 0), np.float32)
    return Neighbours(values, said, np.zeros(0, np.int32), np.zeros(0, np.float32))


def new_neighbours_work(recent: int, most: int = MANY) -> NeighboursWork:
    """To find up to `most` of them."""
    distance, squares = np.empty(recent, np.float32), np.empty(most, np.float32)
    four = np.zeros(FOUR, np.int64), np.zeros(FOUR, np.float32), np.zeros(FOUR, np.float32)
    bits = distance.view(np.int32), squares.view(np.int32)
    return NeighboursWork(distance, bits[0], np.empty(most, np.int64), squares, bits[1], *four)


@fused_kernel
def add_column(distance, column, value, weight, n):
    for row in range(n):
        off = (column[row] - value) * weight
        distance[row] += off * off


@fused_kernel
def add_four(distance, stored, at, value, weight, n):
    """Four columns at once: the distances are read and written once for all of them."""
    a, b, c, d = stored[at[0]], stored[at[1]], stored[at[2]], stored[at[3]]
    x0, x1, x2, x3 = value[0], value[1], value[2], value[3]
    w0, w1, w2, w3 = weight[0], weight[1], weight[2], weight[3]
    for row in range(n):
        off_0, off_1 = (a[row] - x0) * w0, (b[row] - x1) * w1
        off_2, off_3 = (c[row] - x2) * w2, (d[row] - x3) * w3
        distance[row] += (off_0 * off_0 + off_1 * off_1) + (off_2 * off_2 + off_3 * off_3)


@bare_kernel
def add_columns(work, stored, values, weight, columns, n):
    """Add the squared differences in these columns to the squared distances of n rows."""
    waiting = 0
    for j in range(columns):
        if weight[j] > 0.0:
            work.at[waiting], work.value[waiting], work.weight[waiting] = j, values[j], weight[j]
            waiting += 1
            if waiting == FOUR:
                add_four(work.distance, stored, work.at, work.value, work.weight, n)
                waiting = 0
    for i in range(waiting):
        add_column(work.distance, stored[work.at[i]], work.value[i], work.weight[i], n)


@bare_kernel
def nearest(work, n, most):
    """The nearest rows, nearest first, the lower place among equals; returns how many there are."""
    distance, rows, squares = work.distance, work.rows, work.squares
    found = 0
    for start in range(0, n, STRETCH):
        stop = min(start + STRETCH, n)
        if found == most and least(work.bits, start, stop) >= work.square_bits[most - 1]:
            continue
        for row in range(start, stop):
            d = min(distance[row], FAR)
            if found == most and d >= squares[most - 1]:
                continue
            at = found if found < most else most - 1
            found = min(found + 1, most)
            while at > 0 and squares[at - 1] > d:
                rows[at], squares[at] = rows[at - 1], squares[at - 1]
                at -= 1
            rows[at], squares[at] = row, d
    return found


@bare_kernel
def least(bits, start, stop):
    """The least of some distances, as bits: whole numbers are compared several at a time, and in the same order."""
    out = bits[start]
    for row in range(start, stop):
        out = min(out, bits[row])
    return out


@bare_kernel
def vote(neighbours, work, found, k, p):
    """p[:k] by the first `found` neighbours; all alike if there are none."""
    mean = 0.0
    for i in range(found):
        mean += work.squares[i]
    mean /= max(found, 1)
    mass = 0.0
    for c in range(k):
        p[c] = 0.0
    for i in range(found):
        row = work.rows[i]
        w = np.float64(neighbours.weight[row])
        if mean > 0.0:
            w *= exp(-work.squares[i] / mean)
        p[neighbours.y[row]] += w
        mass += w
    for c in range(k):
        p[c] = p[c] / mass if mass > 0.0 else 1.0 / k


@bare_kernel
def remember_neighbour(neighbours, values, n, scores, n_scores, y, weight, t):
    """Row number t takes the place of the oldest."""
    at = t % RECENT
    for j in range(neighbours.values.shape[0]):
        neighbours.values[j, at] = values[j] if j < n else 0.0
    for j in range(neighbours.scores.shape[0]):
        neighbours.scores[j, at] = scores[j] if j < n_scores else 0.0
    neighbours.y[at] = y
    neighbours.weight[at] = weight
