"""Tables within a limit: what each tree may have, trees that have more cut back, tables packed and widened in place.

A limit holds at every moment, so that nothing here makes a second copy of a table that is large for its limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onlineboost._compile.jit import bare_kernel, kernel
from onlineboost.trees.budget import free_stat, give_up, has_statistics, leaves_of, promise
from onlineboost.trees.state import (
    DETAIL,
    FREE_ROW,
    HIGH,
    LOW,
    N_FREE_ROWS,
    N_FREE_STATS,
    N_LEAVES,
    N_LOST,
    N_NODES,
    N_ROWS,
    N_STATS,
    NODE,
    NOT_BORN,
    ROW,
    STRETCHES,
    Forest,
    alike,
    all_memory,
    nominal_layout,
    reshaped,
    with_room,
)

STATS, NODES = 0.65, 0.15  # of a tree's share are for statistics and nodes; what is left is for class rows
LEAST_STATS, LEAST_NODES, LEAST_ROWS = 4, 8, 16  # that a tree can do something with


def stat_bytes(width: int) -> int:
    """Bytes of a row of statistics of this many numbers, with its place in the list of free ones."""
    return 8 * width + 4


def least_share(width: int, k: int) -> int:
    """The least bytes that a tree needs for rows of statistics of this width, and k classes."""
    node, row = LEAST_NODES * (NODE.itemsize + DETAIL.itemsize), max(LEAST_ROWS, 4 * k) * ROW.itemsize
    return int(max(LEAST_STATS * stat_bytes(width) / STATS, node / NODES, row / (1.0 - STATS - NODES))) + 1


def allotted(forest: Forest, share: float, width: int) -> Forest:
    """The same forest where each tree may have this many bytes; rows of statistics will be `width` numbers wide.

    Trees that have more give up statistics, and leaves are put together again.
    """
    own = forest.budget
    own["most_nodes"] = max(1, int(NODES * share) // (NODE.itemsize + DETAIL.itemsize))
    own["most_rows"] = max(0, int((1.0 - STATS - NODES) * share) // ROW.itemsize)
    own["most_stats"] = max(0, int(STATS * share) // stat_bytes(width))
    over = [own[part] > own["most_" + part] for part in ("nodes", "rows", "stats")]
    for i in np.flatnonzero(np.any(over, axis=0)):
        cut_back(forest, i)
    for part in ("nodes", "rows"):  # of a single leaf nothing can be taken away
        np.maximum(own["most_" + part], own[part], out=own["most_" + part])
    return _trimmed(forest, width)


@kernel
def cut_back(forest, i):
    """Bring tree i to what it may have: the lightest leaves are put together, the least promising lose statistics."""
    nodes, details, own = forest.nodes, forest.details, forest.budget[i]
    while own.nodes > own.most_nodes or own.rows > own.most_rows:
        parents = last_parents(nodes, details, forest.roots[i], own.nodes)
        if parents.size == 0:
            break
        mass = np.zeros(parents.size)
        for j in range(parents.size):
            for child in range(nodes[parents[j]].first, nodes[parents[j]].first + details[parents[j]].n_children):
                mass[j] += details[child].mass
        for j in np.argsort(mass, kind="mergesort"):
            if own.nodes > own.most_nodes or own.rows > own.most_rows:
                put_together(forest, i, parents[j])
    if own.stats <= own.most_stats:
        return
    leaves = leaves_of(nodes, details, forest.roots[i], own.nodes)
    promises = np.empty(leaves.size)
    for j in range(leaves.size):
        promises[j] = promise(forest.rows, nodes[leaves[j]].first)
    for j in np.argsort(promises, kind="mergesort"):
        if own.stats > own.most_stats and has_statistics(forest.rows, nodes[leaves[j]].first):
            own.bar = promises[j]
            give_up(forest, i, leaves[j])


@kernel
def last_parents(nodes, details, root, n_nodes):
    """The inner nodes whose children are leaves, all of them."""
    todo, found = [np.int64(root)], np.empty(n_nodes, np.int64)
    m = 0
    while len(todo):
        at = todo.pop()
        if nodes[at].feature >= 0:
            last = True
            for child in range(nodes[at].first, nodes[at].first + details[at].n_children):
                todo.append(np.int64(child))
                last = last and nodes[child].feature < 0
            if last:
                found[m] = at
                m += 1
    return found[:m]


@bare_kernel
def put_together(forest, i, at):
    """Make a leaf of this node of tree i and its children, which are leaves. It has their classes, no statistics."""
    nodes, details, rows, used = forest.nodes, forest.details, forest.rows, forest.used
    first, n_children = nodes[at].first, details[at].n_children
    nodes[at].feature = -1
    nodes[at].first = -1
    nodes[at].threshold = np.nan
    details[at].n_children = 0
    details[at].mass = 0.0
    details[at].bayes_lead = 0.0
    for child in range(first, first + n_children):
        details[at].mass += details[child].mass
        row = np.int64(nodes[child].first)
        while row >= 0:
            following = np.int64(rows[row].next)
            take_over(forest, i, at, row)
            row = following
    give_up(forest, i, at)
    used[N_LOST] += n_children
    used[N_LEAVES] -= n_children - 1
    forest.budget[i].nodes -= n_children


@bare_kernel
def take_over(forest, i, leaf, row):
    """Add a class row to a leaf of tree i, or its mass to the class's row that is there."""
    rows, used = forest.rows, forest.used
    rows[row].next = -1
    last, at = np.int64(-1), np.int64(forest.nodes[leaf].first)
    while at >= 0 and rows[at].label != rows[row].label:
        last, at = at, np.int64(rows[at].next)
    if at >= 0:
        rows[at].mass += rows[row].mass
        free_stat(forest, i, row)
        rows[row].next = used[FREE_ROW]
        used[FREE_ROW] = row
        used[N_FREE_ROWS] += 1
        forest.budget[i].rows -= 1
    elif last >= 0:
        rows[last].next = row
    else:
        forest.nodes[leaf].first = row


# ------------------------------------------------------------------------------------------------- tables in place


@kernel
def pack_nodes(forest):
    """Move nodes down over those that no tree has any more. Children stay side by side."""
    nodes, details, used = forest.nodes, forest.details, forest.used
    moved = np.full(used[N_NODES], -1, np.int32)
    for root in forest.roots:
        todo = [np.int64(root)]
        while len(todo):
            at = todo.pop()
            moved[at] = 0
            if nodes[at].feature >= 0:
                for child in range(nodes[at].first, nodes[at].first + details[at].n_children):
                    todo.append(np.int64(child))
    n = 0
    for old in range(moved.size):
        if moved[old] == 0:
            moved[old] = n
            n += 1
    for old in range(moved.size):
        new = moved[old]
        if new >= 0:
            if nodes[old].feature >= 0:
                nodes[old].first = moved[nodes[old].first]
                details[old].heavy = moved[details[old].heavy]
            nodes[new] = nodes[old]
            details[new] = details[old]
    for i in range(forest.roots.size):
        forest.roots[i] = moved[forest.roots[i]]
    used[N_NODES] = n
    used[N_LOST] = 0


@kernel
def pack_rows(forest):
    """Move class rows and statistics down into free ones. Every node is in use."""
    nodes, rows, used = forest.nodes, forest.rows, forest.used
    n, n_stats = used[N_ROWS] - used[N_FREE_ROWS], used[N_STATS] - used[N_FREE_STATS]
    low = np.empty(used[N_FREE_ROWS], np.int32)  # free rows among the first n
    m = 0
    free = used[FREE_ROW]
    while free >= 0:
        if free < n:
            low[m] = free
            m += 1
        free = rows[free].next
    low_stats = forest.free_stats[: used[N_FREE_STATS]]
    low_stats = low_stats[low_stats < n_stats]
    m_stats = low_stats.size
    for leaf in range(used[N_NODES]):
        row = np.int64(nodes[leaf].first) if nodes[leaf].feature < 0 else np.int64(-1)
        before = np.int64(-1)
        while row >= 0:
            if row >= n:
                m -= 1
                rows[low[m]] = rows[row]
                row = np.int64(low[m])
                if before >= 0:
                    rows[before].next = row
                else:
                    nodes[leaf].first = row
            if rows[row].stat >= n_stats:
                m_stats -= 1
                forest.stats[low_stats[m_stats]] = forest.stats[rows[row].stat]
                rows[row].stat = low_stats[m_stats]
            before, row = row, np.int64(rows[row].next)
    used[N_ROWS], used[N_STATS] = n, n_stats
    used[N_FREE_ROWS] = used[N_FREE_STATS] = 0
    used[FREE_ROW] = -1


def _trimmed(forest: Forest, width: int) -> Forest:
    """The same forest with tables no larger than all its trees may ever need, once statistics have this width."""
    nodes, rows, stats = (int(forest.budget["most_" + part].sum()) for part in ("nodes", "rows", "stats"))
    stats = max(stats, stats * width // max(1, forest.stats.shape[1]))
    most = {"nodes": nodes, "details": nodes, "rows": rows, "stats": stats, "free_stats": stats}
    tables = {name: getattr(forest, name) for name in most}
    if all(len(table) <= most[name] for name, table in tables.items()):
        return forest
    pack_nodes(forest)
    pack_rows(forest)
    shorter: dict[str, Any] = {
        name: reshaped(table, (most[name], *table.shape[1:])) if most[name] < len(table) else table
        for name, table in tables.items()
    }
    return forest._replace(**shorter)


# ---------------------------------------------------------------------------------------------- wider statistics


def widen(forest: Forest, nominal_sizes: list[int], birth: list[list[int]]) -> Forest:
    """The same forest with room for more values in its nominal columns, and the rounds of their first appearance."""
    offset = nominal_layout(forest.n_numeric, nominal_sizes)
    born = np.full(offset[-1] - offset[0], NOT_BORN)
    for start, stop, rounds in zip(offset[:-1] - offset[0] + 1, offset[1:] - offset[0], birth, strict=True):
        born[start:stop][: len(rounds)] = rounds[: stop - start]
    return laid_out(forest, offset)._replace(birth=born)


def laid_out(forest: Forest, offset: np.ndarray) -> Forest:
    """The same forest with this layout of its statistics: more columns of a kind, more values or fewer."""
    if np.array_equal(offset, forest.offset):
        return forest
    pack_nodes(forest)
    pack_rows(forest)
    width, most = int(offset[-1]), int(forest.budget["most_stats"].sum())
    n, flat = int(forest.used[N_STATS]), all_memory(forest.stats)
    fits = min(flat.size // width, most)
    if fits >= max(n, 1):
        spread_out(flat, n, forest.offset, flat, offset)
        stats = reshaped(forest.stats, (fits, width))
    else:
        stats = with_room(max(2 * n, len(forest.roots), 16), n, most, (width,), np.float64)
        spread_out(flat, n, forest.offset, stats.reshape(-1), offset)
    return forest._replace(stats=stats, free_stats=alike(stats, np.int32), offset=offset)


def with_columns(forest: Forest, numeric: int, nominal: int) -> Forest:
    """The same trees with more columns of each kind, the last of their kind, in which nothing has been met."""
    before, n = forest.n_numeric, forest.n_numeric + numeric
    sizes = [*(np.diff(forest.offset) - 1).tolist(), *[0] * nominal]
    features = forest.nodes["feature"][: forest.used[N_NODES]]
    features[features >= before] += numeric  # nominal columns come after the numeric ones
    birth = np.concatenate([forest.birth, np.full(nominal, -1, np.int64)])
    return laid_out(forest, nominal_layout(n, sizes))._replace(birth=birth, n_numeric=n)


@kernel
def spread_out(old, n, old_offset, new, offset):
    """Copy n rows of statistics into others of another layout; `new` may be the same memory."""
    row = np.empty(old_offset[-1])
    wider = offset[-1] > row.size
    before, after = old_offset[0] // STRETCHES, offset[0] // STRETCHES  # numeric columns
    for i in range(n):
        s = n - 1 - i if wider else i  # in the order in which no row is overwritten before it is read
        row[:] = old[s * row.size : (s + 1) * row.size]
        wide = new[s * offset[-1] : (s + 1) * offset[-1]]
        wide[:] = 0.0
        wide[LOW * after : (LOW + 1) * after] = np.inf
        wide[HIGH * after : (HIGH + 1) * after] = -np.inf
        for j in range(STRETCHES):
            wide[j * after : j * after + before] = row[j * before : (j + 1) * before]
        for j in range(old_offset.size - 1):
            size = min(offset[j + 1] - offset[j], old_offset[j + 1] - old_offset[j])
            wide[offset[j] : offset[j] + size] = row[old_offset[j] : old_offset[j] + size]
