"""Counter-based random numbers: a value is a hash of what it is for, never of how many were drawn before it.

So the same seed gives the same run whatever the block size, the number of threads or a save in between, and predicting
changes nothing.
"""

from __future__ import annotations

import numpy as np

from onlineboost._compile.jit import entry_kernel, small_kernel
from onlineboost._compile.numba_internals import config

# What a random number is for.
VOTE_TIE, EXPERT, SETTING, SAMPLE, MONTE_CARLO, COLUMNS, POISSON, RESTART = 1, 2, 3, 4, 5, 6, 7, 8
FREQUENCY, EAGER, SHARED, MIX, REFIT, PREDICTION_SET, LEVEL = 9, 10, 11, 12, 13, 14, 15
ACTION, OTHER = 16, 17

# `_absorb` takes one more number into a hash, by the output function of splitmix64 (Steele, Lea, Flood 2014).
if config.DISABLE_JIT:

    def _absorb(z, value):
        z = (int(z) + int(value) * 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def _half(z):
        return z >> 1

    def _bits(value):
        return int(value) % 2**64

else:
    _GOLDEN, _MIX1, _MIX2 = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)
    _1, _27, _30, _31 = np.array([1, 27, 30, 31], np.uint64)
    _bits = np.uint64

    @small_kernel
    def _absorb(z, value):
        z = z + value * _GOLDEN
        z = (z ^ (z >> _30)) * _MIX1
        z = (z ^ (z >> _27)) * _MIX2
        return z ^ (z >> _31)

    @small_kernel
    def _half(z):
        return np.int64(z >> _1)


@small_kernel
def stream(seed, purpose, i):
    """What `drawn` needs of (seed, purpose, learner i): for many numbers of one learner."""
    return _absorb(_absorb(_absorb(_bits(1), _bits(seed)), _bits(purpose)), _bits(i))


@small_kernel
def drawn(stream, t):
    """`uniform` of round t."""
    return (_half(_absorb(stream, _bits(t))) >> 10) * 2.0**-53


@entry_kernel
def uniform(seed, purpose, i, t):
    """A number in [0, 1) that is a pure function of (seed, purpose, learner i, round t)."""
    return drawn(stream(seed, purpose, i), t)


@entry_kernel
def child_key(key, branch):
    """The key of a node's child: a hash of the path from the root, the same however nodes are stored."""
    return _half(_absorb(_bits(key), _bits(branch + 1)))
