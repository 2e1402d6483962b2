"""Logarithm, exponential and normal distribution function, as kernels that inline and vectorise.

``math.log`` and ``math.erf`` are calls into the C library, one value at a time, and split tries are made of
little else. These are plain arithmetic, so that the compiler runs them on four or eight values at once. Polynomials are
added up in pairs, pairs of pairs and so on (Estrin), where single values wait for them.
"""

from __future__ import annotations

import math
import struct

import numpy as np
from numba import types
from numba.extending import intrinsic

from onlineboost._compile.jit import bare_kernel, fused_kernel
from onlineboost._compile.numba_internals import cgutils, config, ir

if config.DISABLE_JIT:  # the same two functions for a run without the compiler

    def float_bits(x: float) -> int:
        return struct.unpack("<q", struct.pack("<d", x))[0]

    def bits_float(i: int) -> float:
        return struct.unpack("<d", struct.pack("<q", i))[0]

    def prefetch(array: np.ndarray, i: int, offset: int) -> None:
        pass

    def add_four(sums: np.ndarray, i: int, values: np.ndarray, j: int) -> None:
        sums[i] += values[j]

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

    @intrinsic
    def add_four(typingctx, sums, i, values, j):
        """sums[i] += values[j], of float32 arrays (any, 4): all at once, which the compiler does not see by itself."""

        def codegen(context, builder, signature, args):
            four = ir.VectorType(ir.FloatType(), 4)

            def place(kind, array, at):
                data = context.make_array(kind)(context, builder, array).data
                return builder.gep(builder.bitcast(data, four.as_pointer()), [at])

            to, of = place(signature.args[0], args[0], args[1]), place(signature.args[2], args[2], args[3])
            builder.store(builder.fadd(builder.load(to, align=4), builder.load(of, align=4)), to, align=4)
            return context.get_dummy_value()

        return types.void(sums, types.int64, values, types.int64), codegen


HALF_BITS = 0x3FE6A09E667F3BCD  # of the square root of 1/2
MANTISSA = 0xFFFFFFFFFFFFF
LN2 = math.log(2.0)
ONE_BITS = 0x3FF0000000000000


@fused_kernel
def log(x):
    """Natural logarithm of a positive normal number, to 3e-15 relative to max(1, |log x|).

    x = 2^e m with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh(u), u = (m-1)/(m+1), |u| <= 0.1716.
    """
    shifted = float_bits(x) - HALF_BITS
    e = shifted >> 52
    m = bits_float((shifted & MANTISSA) + HALF_BITS)
    u = (m - 1.0) / (m + 1.0)
    z = u * u
    z2 = z * z
    low = (1.0 / 3.0 + 1.0 / 5.0 * z) + (1.0 / 7.0 + 1.0 / 9.0 * z) * z2
    high = (1.0 / 11.0 + 1.0 / 13.0 * z) + (1.0 / 15.0 + 1.0 / 17.0 * z) * z2
    return e * LN2 + 2.0 * u * (1.0 + (low + high * (z2 * z2)) * z)


@bare_kernel
def xlogx(x):
    """x log x for x >= 0, with 0 log 0 = 0. No branch, so that loops over it vectorise."""
    return x * log(max(x, 1e-300))


# The normal distribution function: P(Z < -a) = exp(-a^2/2) R(a) with a smooth R, here a polynomial in
# u = (a - 3.5)/(a + 3.5): its interpolation at the Chebyshev nodes of 0 <= a <= 8.5, error 3e-14. Beyond 8.5 deviations
# the tail is under 1e-17.
_REACH = 8.5
_LOG2E = 1.0 / LN2
_ROUND = 1.5 * 2.0**52  # adding it rounds to a whole number, which the lowest bits of the sum then hold


@fused_kernel
def exp(x):
    """exp(x) for -700 <= x <= 700, to 3e-14 of its value, and 1e-15 up to |x| = 20.

    2^j exp(r), |r| <= log(2)/2, by the series of exp.
    """
    rounded = x * _LOG2E + _ROUND
    r = x - (rounded - _ROUND) * LN2
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + (1.0 / 2.0 + 1.0 / 6.0 * r) * r2
    middle = (1.0 / 24.0 + 1.0 / 120.0 * r) + (1.0 / 720.0 + 1.0 / 5040.0 * r) * r2
    high = (1.0 / 40320.0 + 1.0 / 362880.0 * r) + (1.0 / 3628800.0 + 1.0 / 39916800.0 * r) * r2
    series = low + (middle + (high + 1.0 / 479001600.0 * r4) * r4) * r4
    return series * bits_float(((float_bits(rounded) + 1023) & 0x7FF) << 52)


@fused_kernel
def normal_cdf(z):
    """P(Z <= z) of a standard normal Z, to 1e-13."""
    a = abs(z)
    a = a if a < _REACH else _REACH  # in this form a NaN becomes _REACH too
    u = (a - 3.5) / (a + 3.5)
    tail = 9.628450417164755e-07
    tail = tail * u + 5.651515825291506e-06
    tail = tail * u + 8.154668352102373e-06
    tail = tail * u + -2.091737139904024e-05
    tail = tail * u + -5.8778641264848336e-05
    tail = tail * u + 0.00013170559790353837
    tail = tail * u + 0.00039206804215604696
    tail = tail * u + -0.0013807543159612351
    tail = tail * u + -0.0015616634076064911
    tail = tail * u + 0.019065536543532248
    tail = tail * u + -0.06163941395856744
    tail = tail * u + 0.12585525515929755
    tail = tail * u + -0.1871396987852899
    tail = tail * u + 0.10634515363359275
    tail *= exp(-0.5 * a * a)
    return 1.0 - tail if z > 0.0 else tail
