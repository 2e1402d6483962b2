"""Logarithm, normal distribution function and counter-based random numbers, as kernels that inline and vectorise.

``math.log`` and ``math.erf`` are calls into the C library, one value at a time, and split tries are made of
little else. These are plain arithmetic, so that the compiler runs them on four or eight values at once.
"""

from __future__ import annotations

import math
import struct

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from onlineboost._jit import bare_kernel, config

if config.DISABLE_JIT:  # the same two functions for a run without the compiler

    def float_bits(x: float) -> int:
        return struct.unpack("<q", struct.pack("<d", x))[0]

    def bits_float(i: int) -> float:
        return struct.unpack("<d", struct.pack("<q", i))[0]

    def prefetch(array: np.ndarray, i: int, offset: int) -> None:
        pass

else:

    @intrinsic
    def float_bits(typingctx, x):
        """The 64 bits of a float64, as an int64."""

        def codegen(context, builder, signature, args):
            return builder.bitcast(args[0], ir.IntType(64))

        return types.int64(types.float64), codegen

    @intrinsic
    def bits_float(typingctx, i):
        """The float64 with these 64 bits."""

        def codegen(context, builder, signature, args):
            return builder.bitcast(args[0], ir.DoubleType())

        return types.float64(types.int64), codegen

    @intrinsic
    def prefetch(typingctx, array, i, offset):
        """Ask for the cache line `offset` bytes into array[i], which is soon to be written; does not wait for it."""

        def codegen(context, builder, signature, args):
            array = context.make_array(signature.args[0])(context, builder, args[0])
            (stride, *_) = cgutils.unpack_tuple(builder, array.strides)
            offset = builder.add(builder.mul(args[1], stride), args[2])
            byte = ir.IntType(8).as_pointer()
            address = builder.gep(builder.bitcast(array.data, byte), [offset])
            flag = ir.IntType(32)
            what = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
            instruction = cgutils.get_or_insert_function(builder.module, what, "llvm.prefetch.p0i8")
            builder.call(instruction, [address, flag(1), flag(3), flag(1)])
            return context.get_dummy_value()

        return types.void(array, types.int64, types.int64), codegen


HALF_BITS = 0x3FE6A09E667F3BCD  # of the square root of 1/2
MANTISSA = 0xFFFFFFFFFFFFF
LN2 = math.log(2.0)


@bare_kernel
def log(x):
    """Natural logarithm of a positive normal number, to 3e-15 relative to max(1, |log x|).

    x = 2^e m with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh(u), u = (m-1)/(m+1), |u| <= 0.1716.
    """
    shifted = float_bits(x) - HALF_BITS
    e = shifted >> 52
    m = bits_float((shifted & MANTISSA) + HALF_BITS)
    u = (m - 1.0) / (m + 1.0)
    z = u * u
    series = 1.0 / 17.0
    series = series * z + 1.0 / 15.0
    series = series * z + 1.0 / 13.0
    series = series * z + 1.0 / 11.0
    series = series * z + 1.0 / 9.0
    series = series * z + 1.0 / 7.0
    series = series * z + 1.0 / 5.0
    series = series * z + 1.0 / 3.0
    return e * LN2 + 2.0 * u * (1.0 + series * z)


@bare_kernel
def xlogx(x):
    """x log x for x >= 0, with 0 log 0 = 0. No branch, so that loops over it vectorise."""
    return x * log(max(x, 1e-300))


# The normal distribution function as a cubic on each of 128 cells per standard deviation, from its values and slopes
# at the cells' ends (Hermite). The error is below h^4/384 max|cdf''''| = 6e-12. Beyond 8.5 deviations the tail is under
# 1e-17.
_CELLS = 128.0
_REACH = 8.5


def _normal_cdf_table() -> np.ndarray:
    z = np.arange(-_REACH, _REACH + 1.5 / _CELLS, 1.0 / _CELLS)
    value = np.array([0.5 * math.erfc(-at / math.sqrt(2.0)) for at in z])
    slope = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi) / _CELLS
    rise = np.append(np.diff(value), 0.0)
    after = np.append(slope[1:], 0.0)
    return np.column_stack([value, slope, 3.0 * rise - 2.0 * slope - after, slope + after - 2.0 * rise])


NORMAL_CDF = _normal_cdf_table()


@bare_kernel
def normal_cdf(z, table):
    """P(Z <= z) of a standard normal Z, to 1e-11; `table` is NORMAL_CDF."""
    z = z if z > -_REACH else -_REACH  # in this form a NaN becomes -_REACH too, and the index stays inside
    z = z if z < _REACH else _REACH
    position = (z + _REACH) * _CELLS
    j = np.int32(position)
    u = position - j
    return table[j, 0] + u * (table[j, 1] + u * (table[j, 2] + u * table[j, 3]))


# Counter-based random numbers: a value is a hash of what it is for. `_absorb` takes one more number into a hash, by the
# output function of splitmix64 (Steele, Lea, Flood 2014).
if config.DISABLE_JIT:

    def _absorb(z, value):
        z = (int(z) + int(value) * 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def _half(z):
        return z >> 1

else:
    _GOLDEN, _MIX1, _MIX2 = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)
    _1, _27, _30, _31 = np.array([1, 27, 30, 31], np.uint64)

    @bare_kernel
    def _absorb(z, value):
        z = np.uint64(z) + np.uint64(value) * _GOLDEN
        z = (z ^ (z >> _30)) * _MIX1
        z = (z ^ (z >> _27)) * _MIX2
        return z ^ (z >> _31)

    @bare_kernel
    def _half(z):
        return np.int64(z >> _1)


@bare_kernel
def uniform(seed, purpose, i, t):
    """A number in [0, 1) that is a pure function of (seed, purpose, learner i, round t)."""
    z = _absorb(_absorb(_absorb(_absorb(1, seed), purpose), i), t)
    return (_half(z) >> 10) * 2.0**-53


@bare_kernel
def child_key(key, branch):
    """The key of a node's child: a hash of the path from the root, the same however nodes are stored."""
    return _half(_absorb(key, branch + 1))


# What a random number is for.
VOTE_TIE, EXPERT, SETTING, SAMPLE, MONTE_CARLO, COLUMNS = 1, 2, 3, 4, 5, 6
