"""Small streams, and ways to look at the state of a model that do not depend on where its tables put things."""

from __future__ import annotations

import pickle

import numpy as np

import reference
from onlineboost._compile.fastmath import child_key
from onlineboost.data.encoder import Encoder
from onlineboost.data.labels import Labels
from onlineboost.trees.state import HIGH, INVERSE, LEAF_RULES, LOW, MAJORITY, MEAN, SQUARES, WEIGHT

# ------------------------------------------------------------------------------------------------------- streams


def mixed_stream(n=300, seed=0, n_classes=4, missing=0.08):
    """(X, y, weight): numeric, nominal and missing values; nominal values and classes that turn up as time goes on.

    X is an object array with the columns colour (nominal), length, size (nominal), width, count.
    """
    rng = np.random.default_rng(seed)
    X = np.empty((n, 5), object)
    y = np.empty(n, object)
    for b in range(n):
        label = int(rng.integers(min(n_classes, 2 + b // 40)))
        y[b] = "abcdefgh"[label]
        colour = int(rng.integers(2 + b // 60)) if rng.random() < 0.6 else label
        size = (label + int(rng.random() < 0.4) * int(rng.integers(3))) % 3
        length, width = rng.normal(label % 2, 0.7), rng.normal(3.0 * (label // 2), 1.5) + 20.0
        X[b] = [f"colour {colour}", length, ("small", "middle", "large")[size], width, float(rng.poisson(2 + label))]
        if b:
            X[b, rng.random(5) < missing] = None
    return X, y, rng.uniform(0.3, 2.0, n)


def number_stream(n=300, d=4, n_classes=3, seed=0):
    """(X, y): plain numbers, classes 0, 1, ... with different means."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return rng.normal(size=(n, d)) + y[:, None] * np.linspace(0.0, 1.0, d), y


NOMINAL = (0, 2)  # the nominal columns of mixed_stream


def plain(X, nominal=NOMINAL):
    """A stream's rows as the twin takes them."""
    return reference.plain_rows([list(column) for column in np.asarray(X, object).T], set(nominal))


def in_blocks(clf, X, y, block, weight=None, **first):
    """test_then_train in blocks of so many rows; all predictions."""
    out = []
    for a in range(0, len(y), block):
        w = None if weight is None else weight[a : a + block]
        out += clf.test_then_train(X[a : a + block], y[a : a + block], sample_weight=w, **first).tolist()
    return out


# --------------------------------------------------------------------------------------------------------- twins


def twins_of(forest, past, seed):
    """Trees of the twin with the settings of a forest."""
    leaf = next(name for name, number in LEAF_RULES.items() if number == forest.leaf)
    settings = zip(forest.grace, np.exp(-forest.log_delta), forest.tie, forest.unit, strict=True)
    root = child_key(0, seed)
    return [
        reference.Tree(past, leaf, grace, delta, tie, unit, forest.n_candidates, child_key(root, i))
        for i, (grace, delta, tie, unit) in enumerate(settings)
    ]


def node_of(forest, at):
    """All there is in the tables of nodes about one node, by name."""
    return {name: record[name] for record in (forest.nodes[at], forest.details[at]) for name in record.dtype.names}


def assert_same_tree(forest, at, node, *, lead=True, rel=1e-8):
    """Table and twin hold the same tree below this node: splits, masses, counters."""
    record = node_of(forest, at)
    assert record["key"] == node.key
    if node.column is None:
        assert record["feature"] == -1
        masses = leaf_masses(forest, at)
        assert list(masses) == list(node.masses)
        np.testing.assert_allclose(list(masses.values()), list(node.masses.values()), rtol=rel)
        np.testing.assert_allclose(record["mass"], sum(node.masses.values()), rtol=rel)
        np.testing.assert_allclose(record["since"], node.since, rtol=rel, atol=1e-12)
        if lead:
            np.testing.assert_allclose(record["bayes_lead"], node.bayes_lead, rtol=rel, atol=1e-9)
        return
    assert record["feature"] == node.column
    assert record["n_children"] == len(node.children)
    assert record["heavy"] == record["first"] + node.heavy
    if node.threshold is None:
        assert np.isnan(record["threshold"])
    else:
        np.testing.assert_allclose(record["threshold"], node.threshold, rtol=1e-12)
    for b, child in enumerate(node.children):
        assert_same_tree(forest, record["first"] + b, child, lead=lead, rel=rel)


# --------------------------------------------------------------------------------------------------------- state


def leaf_rows(forest, leaf):
    """Numbers of the class rows of a leaf, in order."""
    out, row = [], forest.nodes[leaf]["first"]
    while row >= 0:
        out.append(int(row))
        row = forest.rows[row]["next"]
    return out


def leaf_masses(forest, leaf):
    """Label -> mass of a leaf, in order."""
    return {int(forest.rows[row]["label"]): float(forest.rows[row]["mass"]) for row in leaf_rows(forest, leaf)}


def leaves(forest):
    """Numbers of all leaves."""
    out, todo = [], [int(root) for root in forest.roots]
    while todo:
        at = todo.pop()
        if forest.nodes[at]["feature"] < 0:
            out.append(at)
        else:
            first = int(forest.nodes[at]["first"])
            todo += range(first, first + int(forest.details[at]["n_children"]))
    return out


def n_inner(forest):
    """Number of splits in all trees."""
    return int((forest.nodes["feature"][: forest.used[0]] >= 0).sum())


def _learned(forest, stat, sizes):
    """A row of statistics as bytes, without the room kept for nominal values to come."""
    n, values = forest.n_numeric, forest.stats[stat]
    stretches = [WEIGHT, MEAN, SQUARES, LOW, HIGH, *([INVERSE] if forest.leaf != MAJORITY else [])]
    parts = [values[stretch * n : (stretch + 1) * n] for stretch in stretches]
    parts += [values[at : at + 1 + size] for at, size in zip(forest.offset[:-1], sizes, strict=True)]
    return np.concatenate(parts).tobytes()


def tree_state(forest, at, sizes):
    """All there is to know of the tree below a node, bit by bit, wherever its parts are stored."""
    node = node_of(forest, at)
    if node["feature"] >= 0:
        first, count = int(node["first"]), int(node["n_children"])
        below = tuple(tree_state(forest, at, sizes) for at in range(first, first + count))
        return int(node["feature"]), node["threshold"].tobytes(), int(node["heavy"]) - first, int(node["key"]), below
    classes = []
    for row in leaf_rows(forest, at):
        record = forest.rows[row]
        learned = _learned(forest, record["stat"], sizes) if record["stat"] >= 0 else None
        classes.append((int(record["label"]), record["mass"].tobytes(), record["prior"].tobytes(), learned))
    counters = tuple(node[name].tobytes() for name in ("mass", "since", "bayes_lead", "key"))
    return counters, tuple(classes)


def chain_state(chain, sizes):
    """All a chain has learned, bit by bit."""
    trees = []
    for segment in chain.segments:
        if hasattr(segment, "forest"):
            trees += [tree_state(segment.forest, root, sizes) for root in segment.forest.roots]
        else:
            trees += [pickle.dumps(learner) for learner in segment.learners]
    arrays = [chain.gather(name).tobytes() for name in ("alpha", "edge_sums", "scale")]
    return chain.t, chain.moments.tobytes(), arrays, trees


def model_state(clf):
    """All a classifier has learned, bit by bit, wherever its tables put it."""
    model = clf._model
    encoder, labels = model.encoder, model.labels
    assert isinstance(encoder, Encoder)
    assert isinstance(labels, Labels)
    return {
        "columns": (encoder.names, tuple(encoder.numeric), tuple(encoder.nominal)),
        "values": [list(codes.items()) for codes in encoder.codes],
        "births": encoder.births,
        "classes": labels.classes.tolist(),
        "log_v": model.log_v.tobytes(),
        "seed": model.seed,
        "watch": vars(model.watch) | {"before": model.watch.before.tobytes()},
        "chain": chain_state(model.chain, encoder.sizes),
    }


def frozen(clf):
    """Every byte of an estimator: two of these are equal if nothing at all has changed in between."""
    return pickle.dumps({name: value for name, value in sorted(vars(clf).items())})


def assert_finite(clf):
    """No NaN and no infinity in anything that was learned."""
    model = clf._model
    assert np.isfinite(model.log_v).all()
    assert np.isfinite(model.chain.moments).all()
    for segment in model.chain.segments:
        assert np.isfinite(segment.stage.alpha).all()
        assert np.isfinite(segment.stage.edge_sums).all()
        forest = segment.forest
        nodes = forest.details[: forest.used[0]]
        for name in ("mass", "since", "bayes_lead"):
            assert np.isfinite(nodes[name]).all(), name
        n = forest.n_numeric
        for leaf in leaves(forest):
            for row in leaf_rows(forest, leaf):
                record = forest.rows[row]
                assert np.isfinite([record["mass"], record["prior"]]).all()
                assert record["mass"] >= 0.0
                if record["stat"] >= 0:
                    stat = forest.stats[record["stat"]]
                    for stretch in (WEIGHT, MEAN, SQUARES, INVERSE):
                        assert np.isfinite(stat[stretch * n : (stretch + 1) * n]).all(), stretch
                    assert np.isfinite(stat[6 * n :]).all()
