"""Probabilities that keep what they promise: bolder or more careful than the model's own, by what has come true so far.

The model's p become q, where `floor` counts as so much more of every p:

    z_l = log(p_l + floor),   q = softmax(beta z)
    g = sum_l q_l z_l - z_y                        the slope of -log q_y
    A <- f A + (1 - f) + g^2
    beta <- beta - g / A                           an online Newton step

beta > 0, so the likeliest class stays the likeliest. With beta = 1 and floor = 0, q is p.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onlineboost._compile.jit import entry_kernel
from onlineboost.panel.dense import HEAVIEST, LIGHTEST

NEAR = 1e-9  # probabilities that are as large as another but for rounding: this share of it below, at most
MORE = 1.0 + 2.0**-52  # times a number, it is the next larger one, or the one after that
FADE = 0.998  # f: what a slope still counts in A one row later
LOWEST, HIGHEST = 0.05, 20.0  # bounds of beta
BETA, CURVATURE = range(2)  # where beta and A are


def new_calibration() -> np.ndarray:
    """beta and A of a model that has learned nothing."""
    return np.ones(2)


@entry_kernel
def calibrate(state, floor, p, y, weight):
    """Turn p (rows, k) into q, in place. With labels, beta learns each row after it; y (0,): it stays as it is."""
    k = p.shape[1]
    for b in range(p.shape[0]):
        top = p[b, 0]
        for c in range(k):
            top = max(top, p[b, c])
        own = math.log(p[b, y[b]] + floor) if y.size > 0 else 0.0
        beta, most = state[BETA], math.log(top + floor)
        mass = mean = 0.0
        for c in range(k):
            z = math.log(p[b, c] + floor)
            p[b, c] = math.exp(beta * (z - most))
            mass += p[b, c]
            mean += p[b, c] * z
        for c in range(k):
            p[b, c] /= mass
        if y.size > 0:
            slope, w = mean / mass - own, min(max(weight[b], LIGHTEST), HEAVIEST)
            state[CURVATURE] = FADE * state[CURVATURE] + (1.0 - FADE) + w * slope * slope
            state[BETA] = min(HIGHEST, max(LOWEST, beta - w * slope / state[CURVATURE]))


class CalibrationPass(NamedTuple):
    """A row that was predicted, and its label."""

    state: np.ndarray
    floor: float
    p: np.ndarray  # float64 (1, k)
    y: np.ndarray  # int64 (1,)
    weight: np.ndarray  # float64 (1,)


@entry_kernel
def calibrate_row(handle, t):
    """`calibrate` as a step of `rows`."""
    at = handle.parts
    calibrate(at.state, at.floor, at.p, at.y, at.weight)
    return True


def ahead(p: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """p (rows, k), in which the label that was predicted is the likeliest: by one bit where others are as likely.

    How ties are broken is the model's affair; argmax finds what it said, in whatever order the classes are. Changes p.
    """
    p = np.ascontiguousarray(p)
    put_ahead(p, codes)
    return p


@entry_kernel
def put_ahead(p, codes):
    for b in range(p.shape[0]):
        own, rest = p[b, codes[b]], -1.0
        for c in range(p.shape[1]):
            if c != codes[b]:
                rest = max(rest, p[b, c])
        if rest * (1.0 - NEAR) <= own <= rest:
            p[b, codes[b]] = rest * MORE
