"""From Python functions to machine code: `jit` compiles kernels, `dispatch` chooses them by type.

`cache` says where machine code is kept, `kept` reads and writes it, `handle` hands state to kernels by one pointer.
`fastmath` has logarithm, exponential and normal distribution function as kernels, `random` the counter-based random
numbers, `folders` says where the package may keep things, `interrupt` holds back what handlers of signals raise.
`numba_internals` has all that is used of Numba and llvmlite beyond what they promise to keep.
Private. Imports nothing of the package; all may import it.
"""
