"""From Python functions to machine code: `jit` compiles kernels, `dispatch` chooses them by type.

`cache` keeps machine code on disk, `handle` hands state to kernels by one pointer. `fastmath` has logarithm,
exponential and normal distribution function as kernels, `random` the counter-based random numbers, `progress` a line in
the terminal, `system` folders that the package may keep things in, and signals. `numba_internals` has all that is used
of Numba and llvmlite beyond what they promise to keep. Private. Imports nothing of the package; all may import it.
"""
