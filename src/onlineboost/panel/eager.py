"""Eager trees as a member of the panel: what they say of a row, how they learn it, and why they say so.

`eager_trees` has what they are, and how they grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from onlineboost._compile.fastmath import bits_float, float_bits
from onlineboost._compile.jit import bare_kernel
from onlineboost.contracts.state import require
from onlineboost.panel import columns
from onlineboost.panel.columns import moved
from onlineboost.panel.combiner import LEAST
from onlineboost.panel.eager_trees import (
    CLASSES,
    COLUMN_BITS,
    LINK,
    MEMORY,
    N_LEAVES,
    N_NODES,
    N_TREES,
    NODES,
    PRIOR,
    ROWS,
    SPLIT,
    WRAP,
    Eager,
    EagerWork,
    column_of,
    fetch_leaf,
    first_of,
    gather_rows,
    push_row,
    split,
)
from onlineboost.panel.member import MEMBER, Part, Room


def new_eager_work(eager: Eager, sizes: Mapping[str, int]) -> EagerWork:
    columns = sizes["columns"]
    rows, numbers, kind, labels = (np.empty(ROWS, np.int64) for _ in range(4))
    low, high = np.empty(columns, np.float32), np.empty(columns, np.float32)
    weights, mass, left = np.empty(ROWS), np.empty(ROWS), np.empty(ROWS)
    leaf, turn, share = np.empty(N_TREES, np.int64), np.empty(N_TREES, np.int64), np.empty(columns)
    return EagerWork(leaf, turn, rows, numbers, kind, weights, labels, mass, left, low, high, share)


@bare_kernel
def say(eager, work, said, shared, row, n, k):
    """The mean over the trees of what the row's leaf says."""
    find_leaves(eager, work, row.values)
    p, base = said[0], 0.0
    for c in range(k):
        p[c] = 0.0
    for tree in range(N_TREES):
        place = first_of(eager.nodes[tree, work.leaf[tree]])
        weights, labels = eager.weights[tree, place], eager.labels[tree, place]
        mass = PRIOR * k
        for i in range(CLASSES):
            mass += weights[i]
        base += PRIOR / mass
        for i in range(CLASSES):
            if weights[i] > 0.0:
                p[labels[i]] += weights[i] / mass
    for c in range(k):
        p[c] = (p[c] + base) / N_TREES


@bare_kernel
def find_leaves(eager, work, values):
    """The row's leaf in every tree: all trees go down together, so that many nodes are on their way from memory."""
    leaf, turn, n = work.leaf, work.turn, N_TREES
    for tree in range(N_TREES):
        leaf[tree], turn[tree] = 0, tree
    while n > 0:
        going = 0
        for i in range(n):
            tree = turn[i]
            node = eager.nodes[tree, leaf[tree]]
            column = column_of(node)
            if column >= 0:
                leaf[tree] = first_of(node) + (0 if values[column] <= bits_float(node[SPLIT]) else 1)
                turn[going] = tree
                going += 1
        n = going
    for tree in range(N_TREES):
        fetch_leaf(eager, tree, first_of(eager.nodes[tree, leaf[tree]]))


@bare_kernel
def remember_row(eager, values, n, y, weight, t):
    """Row number t, of class y, into the memory."""
    at = t % MEMORY
    for j in range(n):
        eager.values[at, j] = values[j]
    for j in range(n, eager.values.shape[1]):
        eager.values[at, j] = 0.0
    eager.y[at] = y
    eager.weight[at] = weight


@bare_kernel
def move(eager, shared, j, n, k, factor, shift):
    """In the memory, and in thresholds."""
    for at in range(eager.values.shape[0]):
        eager.values[at, j] = moved(eager.values[at, j], factor, shift)
    for tree in range(N_TREES):
        for at in range(eager.used[tree, N_NODES]):
            node = eager.nodes[tree, at]
            if column_of(node) == j:
                node[SPLIT] = float_bits(np.float64(moved(bits_float(node[SPLIT]), factor, shift)))


@bare_kernel
def learn(eager, work, shared, row, n, k, y, weight):
    """All trees learn the row in the leaves that `say` found."""
    stats = shared.stats
    t = stats.used[columns.ROWS]
    remember_row(eager, row.values, n, y, weight, t)
    learn_row(eager, work, stats.columns.pull, n, y, weight, t, stats.seed)


@bare_kernel
def learn_row(eager, work, column_weight, n, y, weight, t, seed):
    """Row t, which has been remembered."""
    n_mixed = 0
    for tree in range(N_TREES):
        place = first_of(eager.nodes[tree, work.leaf[tree]])
        count_class(eager.labels[tree, place], eager.weights[tree, place], y, weight)
        push_row(eager.rows[tree, place], eager.met[tree], place, t & WRAP)
        if is_mixed(eager.weights[tree, place]):
            work.turn[n_mixed] = tree
            n_mixed += 1
    for i in range(n_mixed):
        tree = work.turn[i]
        at = work.leaf[tree]
        kinds, n_rows = gather_rows(eager, work, tree, first_of(eager.nodes[tree, at]), t)
        if kinds > 1:
            split(eager, work, tree, at, kinds, n_rows, column_weight, n, t, seed)


@bare_kernel
def count_class(labels, weights, y, weight):
    """Add to the weight of class y in a leaf; in place of the lightest class if there is no room."""
    lightest = 0
    for i in range(CLASSES):
        if weights[i] > 0.0 and labels[i] == y:
            weights[i] += weight
            return
        if weights[i] < weights[lightest]:
            lightest = i
    labels[lightest] = y
    weights[lightest] = weight


@bare_kernel
def is_mixed(weights):
    several = 0
    for i in range(CLASSES):
        several += 1 if weights[i] > 0.0 else 0
    return several > 1


def split_of(nodes: np.ndarray) -> tuple[Any, Any]:
    """The column that nodes split on, -1 for a leaf, and the first child or the leaf's place: `link` undone."""
    link = nodes[..., LINK]
    return (link & ((1 << COLUMN_BITS) - 1)) - 1, link >> COLUMN_BITS


def check_trees(eager: Eager, shared: Any) -> None:
    """Every node leads to two nodes after it, or to a leaf of the tables."""
    column, first = split_of(eager.nodes)
    n_nodes, n_leaves = eager.used[:, N_NODES, None], eager.used[:, N_LEAVES, None]
    at = np.arange(column.shape[1])
    good = (n_nodes >= 1) & (n_nodes <= len(at)) & (n_nodes == 2 * n_leaves - 1)
    require(good.all(), "the nodes of a tree")
    inner = (first > at) & (first + 1 < n_nodes) & (column < shared.stats.used[columns.COLUMNS])
    leaf = (first >= 0) & (first < n_leaves)
    require((np.where(column >= 0, inner, leaf) | (at >= n_nodes)).all(), "the nodes of a tree")


def masses_of(eager: Eager, k: int) -> list[np.ndarray]:
    """Weights of the classes below every node, (nodes, k) for each tree."""
    out = []
    for tree in range(N_TREES):
        nodes = eager.nodes[tree, : eager.used[tree, N_NODES]]
        column, first = split_of(nodes)
        mass = np.zeros((len(nodes), k))
        leaf = np.flatnonzero(column < 0)
        for c in range(CLASSES):
            np.add.at(mass, (leaf, eager.labels[tree, first[leaf], c]), eager.weights[tree, first[leaf], c])
        levels, level = [], np.zeros(1, np.int64)
        while (level := level[column[level] >= 0]).size:
            levels.append(level)
            level = np.concatenate([first[level], first[level] + 1])
        for level in reversed(levels):
            mass[level] = mass[first[level]] + mass[first[level] + 1]
        out.append(mass)
    return out


def tell(eager: Eager, shared: Any, k: int) -> Any:
    """By paths, as in `trees.paths`.

    The mean distribution of the trees goes from that of the roots to that of the leaves, and the logits follow in
    proportion.
    """
    masses = masses_of(eager, k)
    return lambda own, row, n, leave_out: told_columns(
        eager, masses, row.values, n, k, leave_out, LEAST if row.rules[0] < 2 else EAGER.floor
    )


def told_columns(
    eager: Eager, masses: list[np.ndarray], values: np.ndarray, n: int, k: int, leave_out: int, floor: float
) -> np.ndarray:
    """What each dense column adds to the logits of the trees' mean distribution, (dense columns, k)."""
    change, start = np.zeros((n, k)), np.zeros(k)
    for tree, mass in enumerate(masses):
        nodes, at = eager.nodes[tree], 0
        p = distribution(mass[0], None, k, leave_out)
        start += p
        while (link := split_of(nodes[at]))[0] >= 0:
            column, threshold = int(link[0]), nodes[at, SPLIT : SPLIT + 1].view(np.float64)[0]
            at = int(link[1]) + int(values[column] > threshold)
            after = distribution(mass[at], p, k, leave_out)
            change[column] += after - p
            p = after
    start, change = start / N_TREES, change / N_TREES
    end = start + change.sum(axis=0)
    far = np.abs(end - start) > 1e-9
    slope = np.where(
        far, np.log((end + floor) / (start + floor)) / np.where(far, end - start, 1.0), 1.0 / (end + floor)
    )
    logits = slope * change
    centred: np.ndarray = logits - logits.mean(axis=1, keepdims=True)
    return centred


def distribution(mass: np.ndarray, before: np.ndarray | None, k: int, leave_out: int) -> np.ndarray:
    """The distribution of a node; without the row's own weight it may know nothing, and says what its parent does."""
    if leave_out >= 0:
        mass = mass.copy()
        mass[leave_out] = max(0.0, mass[leave_out] - 1.0)
        if mass.sum() <= 0.0 and before is not None:
            return before
    shares: np.ndarray = (mass + PRIOR) / (mass.sum() + PRIOR * k)
    return shares


MEMBER.implement(Eager, move, say, learn)
EAGER = Part(
    "eager",
    Eager,
    {0: "trees"},
    new_eager_work,
    rooms=(
        Room("memory", MEMORY, 512),
        Room("nodes", NODES, 1024, 2, lambda eager: int(eager.used[:, N_NODES].max()), start=1),
    ),
    sizes={"leaves": lambda sizes: sizes["nodes"] // 2 + 1},
    check=check_trees,
    tell=tell,
)
