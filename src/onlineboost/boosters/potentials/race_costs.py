"""Rows of costs of one state, summed up from the tables of `races`, whose docstring has the formulas."""

from __future__ import annotations

import math

import numpy as np

from onlineboost._compile.jit import bare_kernel, kernel, summing_kernel
from onlineboost.boosters.potentials.blocks import set_excess
from onlineboost.boosters.potentials.draws import NEGLIGIBLE


@kernel
def fill_race(f, block, m, wanted):
    """Fill the wanted rows of excess costs. What a row is filled with does not depend on the others."""
    D = int(block[0])
    first, last = _limits(f, block, m)
    if (last + int(block[1 + D])) * f.lanes >= f.stride[f.rate[m]]:
        raise ValueError("the votes do not add up to the number of learners before this one")
    n = last - first + 1
    sums = np.zeros((D, D + 1))  # [a, b]: what r of tier a loses by a vote for l of tier b; [a, D]: gains by its own
    weight = np.empty((D + 2, 3, n))
    scratch = np.empty((8, n * f.lanes))
    ends = np.empty((D, 3), dtype=np.int64)
    _sum_up(f, block, m, wanted, first, ends, sums, weight, scratch)
    for a in range(D):
        if wanted[a]:
            for b in range(D):
                set_excess(block, a, b, sums[a, D] + sums[a, b])


@bare_kernel
def _limits(f, block, m):
    """The T to sum over, first <= T <= last; T = last is for x - 1 draws of r only."""
    D = int(block[0])
    k = 0
    room = 0
    for b in range(D):
        k += int(block[2 + D + b])
        room += int(block[2 + D + b] * block[2 + b])
    first = max((m + 2 * k - 2 - room) // k, 0 if block[2 + D] == 1 else 1)  # k T + room - (k - 1) draws have room
    second = 0 if block[2 + D] > 1 else int(block[3])  # the deficit of the leader's next rival
    low, last = first, max(first, f.longest[m])  # from some T on no limit binds, or r is never drawn so often
    while low < last:
        T = (low + last) // 2
        own = _at(f.own_tail[m], T) * _at(f.other_tail[m], T - 1 + second)
        rival = _at(f.own_tail[m], T + second) * _at(f.other_tail[m], max(T - 1, 0))
        if k * max(own, rival) > NEGLIGIBLE:
            low = T + 1
        else:
            last = T
    return first, last


@bare_kernel
def _at(row, i):
    return row[i] if i < row.size else 0.0


@bare_kernel
def _sum_up(f, block, m, wanted, first, ends, sums, weight, scratch):
    """The sums over all T and all frequencies that matter, by a bound for each term: its size at frequency 0."""
    D = int(block[0])
    g = f.rate[m]
    n = weight.shape[2]
    size, decay, largest, fastest = weight[D, 0], weight[D, 1], weight[D, 2], weight[D + 1, 0]
    for t in range(n):
        size[t] = 0.0
        decay[t] = 0.0
        largest[t] = 1e-300
        fastest[t] = 0.0
    for a in range(D):
        x = first + int(block[2 + a])
        many = block[2 + D + a]
        now, more, share = weight[a, 0], weight[a, 1], weight[a, 2]
        of_x, log_limited, rate_of_decay, inverse = (
            f.weight[m, x:],
            f.log_limited[g, x:],
            f.decay[g, x:],
            f.inverse[g, x:],
        )
        more[0] = f.weight[m, x - 1] if x > 0 else 0.0
        for t in range(1, n):
            more[t] = of_x[t - 1]
        for t in range(n):
            now[t] = of_x[t]
        now[n - 1] = 0.0
        if first == 0 and a > 0:  # T = 0: only the leader can win
            now[0] = 0.0
            more[0] = 0.0
        for t in range(n):
            size[t] += many * log_limited[t]
            decay[t] += many * rate_of_decay[t]
            fastest[t] = max(fastest[t], rate_of_decay[t])
            share[t] = (now[t] + more[t]) * inverse[t]
            largest[t] = max(largest[t], share[t])
    product = weight[D + 1, 1]
    scale = 8.0 * f.n_points[g] / NEGLIGIBLE
    for t in range(n):
        product[t] = scale * math.exp(size[t])
        size[t] += math.log(scale * largest[t])
        decay[t] -= fastest[t]
    for a in range(D):  # the T that matter to row a
        share = weight[a, 2]
        low, high = 0, n
        while low < high and share[low] * product[low] <= 1.0:
            low += 1
        while low < high and share[high - 1] * product[high - 1] <= 1.0:
            high -= 1
        ends[a, 0] = low
        ends[a, 1] = high
    low, high = 0, n
    for group in range(f.groups[g]):
        while low < high and size[low] <= decay[low] * f.angle[g, group]:
            low += 1
        while low < high and size[high - 1] <= decay[high - 1] * f.angle[g, group]:
            high -= 1
        if low == high:
            break
        _add_group(f, block, m, wanted, g, group, first, low, high, ends, sums, weight, scratch)


# long: with the products in a function of their own it took 8 % longer (k = 5, N = 200), and the sums of a row in one
# of their own are added up in another order, so that last bits differ.
# arguments: for the same reason.
@summing_kernel
def _add_group(f, block, m, wanted, g, group, first, low, high, ends, sums, weight, scratch):
    """Add the terms of one group of frequencies, for first + low <= T < first + high."""
    D = int(block[0])
    free, lanes = f.free[g], f.lanes
    real = f.start[g] + 2 * group * f.stride[g]
    imaginary = real + f.stride[g]
    T = first + low
    # G = w^-m prod_v E_{c_v}, first of all labels without a limit, which is the same for all T
    limited = D
    unlimited = 0
    while limited > 0 and T + int(block[1 + limited]) > free:
        limited -= 1
        unlimited += int(block[2 + D + limited])
    needed_from, needed_to = high, low
    for a in range(D):
        if wanted[a] and ends[a, 0] < ends[a, 1]:
            needed_from, needed_to = min(needed_from, ends[a, 0]), max(needed_to, ends[a, 1])
    low, high = max(low, needed_from), min(high, needed_to)
    if low >= high:
        return
    T = first + low
    size = (high - low) * lanes
    G0, G1, H0, H1 = scratch[0], scratch[1], scratch[2], scratch[3]
    for j in range(lanes):
        G0[j] = f.phase[m, group, 0, j]
        G1[j] = f.phase[m, group, 1, j]
    if group == 0:
        G0[0] *= 0.5  # has no conjugate
    _multiply_power(G0, G1, f.unlimited[g, group, 0], f.unlimited[g, group, 1], unlimited, H0, H1, lanes)
    turned0, turned1 = scratch[4], scratch[5]
    _repeat(G0, G0, lanes, size)
    _repeat(G1, G1, lanes, size)
    _repeat(f.step[g, group, 0], turned0, lanes, size)
    _repeat(f.step[g, group, 1], turned1, lanes, size)
    for b in range(limited):
        i = (T + int(block[2 + b])) * lanes
        E0, E1 = f.limited[real + i :], f.limited[imaginary + i :]
        _multiply_power(G0, G1, E0, E1, int(block[2 + D + b]), H0, H1, size)
    now, more, columns = scratch[6], scratch[7], ends[:, 2]
    F0, F1 = f.exact[real:], f.exact[imaginary:]
    for a in range(D):
        start, stop = max(low, ends[a, 0]), min(high, ends[a, 1])
        if start >= stop or not wanted[a]:
            continue
        T = first + start
        G0, G1 = scratch[0, (start - low) * lanes :], scratch[1, (start - low) * lanes :]
        size = (stop - start) * lanes
        _spread(weight[a, 0, start:], now, lanes, stop - start)
        _spread(weight[a, 1, start:], more, lanes, stop - start)
        i = (T + int(block[2 + a])) * lanes
        W0, W1 = f.without[real + i :], f.without[imaginary + i :]
        gain = 0.0
        for j in range(size):
            u = G0[j] * W0[j] - G1[j] * W1[j]
            v = G0[j] * W1[j] + G1[j] * W0[j]
            gain += more[j] * (u * turned0[j] + v * turned1[j]) - now[j] * u
            H0[j] = now[j] * u
            H1[j] = now[j] * v
        sums[a, D] += gain
        n_columns = 0
        for b in range(D):
            if T + int(block[2 + b]) <= free and (b != a or block[2 + D + b] > 1):
                columns[n_columns] = b
                n_columns += 1
        at = 0
        while at < n_columns:
            last = n_columns - 1
            i = (T + int(block[2 + columns[at]])) * lanes
            A0, A1 = F0[i:], F1[i:]
            s0 = 0.0
            s1 = 0.0
            s2 = 0.0
            s3 = 0.0
            if at == last:
                for j in range(size):
                    s0 += H0[j] * A0[j] - H1[j] * A1[j]
            else:  # four at once: H is read once
                i = (T + int(block[2 + columns[at + 1]])) * lanes
                B0, B1 = F0[i:], F1[i:]
                i = (T + int(block[2 + columns[min(at + 2, last)]])) * lanes
                C0, C1 = F0[i:], F1[i:]
                i = (T + int(block[2 + columns[min(at + 3, last)]])) * lanes
                D0, D1 = F0[i:], F1[i:]
                for j in range(size):
                    u, v = H0[j], H1[j]
                    s0 += u * A0[j] - v * A1[j]
                    s1 += u * B0[j] - v * B1[j]
                    s2 += u * C0[j] - v * C1[j]
                    s3 += u * D0[j] - v * D1[j]
                sums[a, columns[at + 1]] += s1
                if at + 2 <= last:
                    sums[a, columns[at + 2]] += s2
                if at + 3 <= last:
                    sums[a, columns[at + 3]] += s3
            sums[a, columns[at]] += s0
            at += 4


@bare_kernel
def _repeat(pattern, out, lanes, size):
    for at in range(0, size, lanes):
        part = out[at:]
        for j in range(lanes):
            part[j] = pattern[j]


@bare_kernel
def _spread(values, out, lanes, n):
    for t in range(n):
        value = values[t]
        part = out[t * lanes :]
        for j in range(lanes):
            part[j] = value


@summing_kernel
def _multiply(G0, G1, E0, E1, size):
    """G *= E; 0 is the real part, 1 the imaginary part."""
    for j in range(size):
        u, v = G0[j], G1[j]
        G0[j] = u * E0[j] - v * E1[j]
        G1[j] = u * E1[j] + v * E0[j]


@summing_kernel
def _square(E0, E1, P0, P1, size):
    """P = E^2; P may be E."""
    for j in range(size):
        u, v = E0[j], E1[j]
        P0[j] = u * u - v * v
        P1[j] = 2.0 * u * v


@bare_kernel
def _multiply_power(G0, G1, E0, E1, n, P0, P1, size):
    """G *= E^n by repeated squaring, P is scratch."""
    if n & 1:
        _multiply(G0, G1, E0, E1, size)
    n >>= 1
    if n > 0:
        _square(E0, E1, P0, P1, size)
    while n > 0:
        if n & 1:
            _multiply(G0, G1, P0, P1, size)
        n >>= 1
        if n > 0:
            _square(P0, P1, P0, P1, size)
