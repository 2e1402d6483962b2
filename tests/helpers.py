"""Small streams, and ways to look at the state of a model that do not depend on where its tables put things."""

from __future__ import annotations

import math
import os
import pickle
import select
import signal
import threading
from contextlib import contextmanager

import joblib
import numpy as np

import reference
from onlineboost._compile.jit import entry_kernel
from onlineboost._compile.random import child_key
from onlineboost.chain.chain import AWAITED, Chain
from onlineboost.chain.experts import Combiner
from onlineboost.chain.hedge import Hedge
from onlineboost.contracts.state import bits
from onlineboost.data.encoder import Encoder
from onlineboost.data.labels import Labels
from onlineboost.panel.panel import ask_row, learn_asked
from onlineboost.panel.state import packed
from onlineboost.trees.state import HIGH, INVERSE, LEAF_RULES, LOW, MEAN, PER_TREE, SQUARES, WEIGHT, LeafRule

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


GLITCHES = 1e6, -1e6, 1e30, -1e160, 1e308, -1.7e308, 1e-320, 5e-324, 0.0


def with_glitches(X, y, weight, seed=0, share=0.02, first=0):
    """`mixed_stream` with such numbers in this share of its numeric values, from row `first` on."""
    rng, X = np.random.default_rng(seed), X.copy()
    for c in set(range(X.shape[1])) - set(NOMINAL):
        at = (rng.random(len(X)) < share) & (np.arange(len(X)) >= first)
        X[at, c] = rng.choice(GLITCHES, at.sum())
    return X, y, weight


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
    most = forest.budget[["most_nodes", "most_rows", "most_stats"]].tolist()
    settings = zip(forest.grace, np.exp(-forest.log_delta), forest.tie, forest.unit, most, strict=True)
    root = child_key(0, seed)
    n_candidates = math.ceil(forest.share * (forest.n_numeric + len(forest.offset) - 1))
    return [
        reference.Tree(past, leaf, grace, delta, tie, unit, n_candidates, child_key(root, i), most)
        for i, (grace, delta, tie, unit, most) in enumerate(settings)
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
        np.testing.assert_allclose(record["threshold"], node.threshold, rtol=1e-12, atol=1e-15)
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
    stretches = [WEIGHT, MEAN, SQUARES, LOW, HIGH, *([INVERSE] if forest.leaf != LeafRule.MAJORITY else [])]
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
    counters = tuple(node[name].tobytes() for name in ("mass", "since", "bayes_lead", "key", "heavy"))
    return counters, tuple(classes)


def forests(chain):
    """The forests of a chain's segments, in order; none where the learners are of another library."""
    return [segment.learners.forest for segment in chain.segments if hasattr(segment.learners, "forest")]


def forest_of(clf):
    """The forest of a classifier whose chain is one segment."""
    (forest,) = forests(clf._model.chain)
    return forest


def booster_state(chain):
    """All that the booster knows of each learner, and its settings, however the chain is cut into segments."""
    boosters = [segment.booster for segment in chain.segments]
    names = boosters[0].per_learner() if boosters else []
    settings = [
        tuple((name, value) for name, value in booster._asdict().items() if isinstance(value, int | float))
        for booster in (booster._replace(offset=0) for booster in boosters)
    ]
    return [(name, chain.gather(name).tobytes()) for name in names], list(dict.fromkeys(settings))


def learners_state(chain, sizes):
    """All that the weak learners have learned, and their settings."""
    out = []
    for segment in chain.segments:
        learners = segment.learners
        if hasattr(learners, "forest"):
            forest = learners.forest
            settings = zip(*(getattr(forest, name).tolist() for name in PER_TREE), strict=True)
            trees = [tree_state(forest, root, sizes) for root in forest.roots]
            out += zip(settings, trees, strict=True)
        elif hasattr(learners, "members"):
            out += [bits(packed(member)) for member in learners.members]
        else:
            out += zip(map(joblib.hash, learners.learners), learners.started.tolist(), strict=True)
    return out


def chain_state(chain, sizes):
    """All a chain has learned, bit by bit, whatever kind of chain it is and however it is cut into segments.

    `sizes` are the numbers of values of its nominal columns.
    """
    return {
        "t": chain.t,
        "mean weight": chain.mean_weight,
        # That rows have waited for their labels is all that tells a model from one that learned them at once.
        "for guarantees": (chain.lightest, chain.heaviest, chain.conduct and chain.conduct % AWAITED),
        "seed": chain.seed,
        "numbers": bits(chain.numbers),
        "log_v": [log_v.tobytes() for log_v in chain.end.log_vs],
        "watch": chain.watch and bits(chain.watch),
        "diary": bits(chain.diary),
        "booster": booster_state(chain),
        "learners": learners_state(chain, sizes),
        "panel": panel_state(chain),
    }


def panel_arrays(chain):
    """Everything that a chain with a panel has learned beside its trees; nothing for others."""
    if chain.panel is None:
        return []
    found = [getattr(chain.panel, "had", np.empty(0))]
    for panel, end, _ in chain.panel.of_classes(16, chain.end):
        found += [*arrays_of(packed(panel)), *end.newton, *end.slow, end.recency, *end.mixture]
    return found


def hedge_chain(segments, n_numeric, seed):
    """These segments as a chain with Hedge at its end."""
    return Chain(segments, n_numeric, seed, Hedge(sum(map(len, segments)), seed))


def learned_rows(chain, X, y, weight, k):
    """Send one block through all segments. The votes and experts are those before learning."""
    block = chain.enter(X, y, weight, k, Combiner.LAST)
    for _, step in chain.steps():
        step(block)
    return block.rows


def asked_rows(chain, X, k, n_learners=None):
    """Votes and experts of these rows in the coming round, by the first learners of a chain without a panel."""
    rows, left = chain.new_rows(X, k, None, None), chain.n_learners if n_learners is None else n_learners
    for segment in chain.segments:
        if left > 0:
            segment.predict(rows, min(left, len(segment)))
            left -= len(segment)
    return rows


def arrays_of(group):
    """The arrays of a named tuple, and of those in it."""
    if isinstance(group, tuple):
        return [array for part in group for array in arrays_of(part)]
    return [group] if isinstance(group, np.ndarray) else []


def panel_state(chain):
    return [(array.shape, array.tobytes()) for array in panel_arrays(chain)]


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
        "once": [table.tolist() for table in encoder.once],
        "classes": labels.classes.tolist(),
        "counts": model.counts.tobytes(),
        "sets": None if model.sets is None else bits(model.sets),
        "acts": None if model.acts is None else model.acts.tolist(),
        "chain": chain_state(model.chain, encoder.sizes),
    }


def frozen(clf):
    """Every byte of an estimator: two of these are equal if nothing at all has changed in between."""
    return pickle.dumps({name: value for name, value in sorted(clf.__getstate__().items())})


def assert_finite(clf):
    """No NaN and no infinity in anything that was learned."""
    chain = clf._model.chain
    assert all(np.isfinite(log_v).all() for log_v in chain.end.log_vs)
    assert all(np.isfinite(part).all() for part in [*chain.numbers, *panel_arrays(chain)])
    for segment in chain.segments:
        for name in segment.booster.per_learner():
            assert np.isfinite(getattr(segment.booster, name)).all(), name
    for forest in forests(chain):
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


@contextmanager
def asked_meanwhile(clf, X, n_threads):
    """Threads that ask a model all the time; at the end they must have met no error."""
    errors, stop = [], threading.Event()

    def ask():
        try:
            while not stop.is_set():
                assert np.isfinite(clf.predict_proba(X)).all()
                clf.predict(X)
                clf.predict_one(list(X[0]))
                clf.snapshot()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors


def by_code(clf, p):
    """Probabilities (rows, classes) in the order of the codes, which is that in which classes were met."""
    return p[:, [clf.classes_.tolist().index(label) for label in clf._model.labels.names]]


def lost_weight(clf, data, weight):
    """Weight of the rows, after the first, whose label is not strictly ahead when they are learned one by one."""
    y = np.searchsorted(data.classes, data.y)
    clf.partial_fit(data.X[:1], data.y[:1], classes=data.classes)
    lost = 0.0
    for t in range(1, len(y)):
        votes = clf.predict_proba(data.X[t : t + 1])[0]
        own = votes[y[t]]
        votes[y[t]] = -1.0
        lost += weight[t] * (votes.max() >= own - 1e-9)
        clf.partial_fit(data.X[t : t + 1], data.y[t : t + 1])
    return lost


def forked(work, seconds=60.0):
    """What work() returns in a child that is forked now: a text. A child that hangs is killed, and that is an error."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(into, work().encode())
        except BaseException as error:
            os.write(into, repr(error).encode())
        finally:
            os._exit(0)
    os.close(into)
    with open(out, "rb") as file:
        if not select.select([file], [], [], seconds)[0]:
            os.kill(child, signal.SIGKILL)
        text = file.read().decode()
    assert os.waitpid(child, 0)[1] == 0, "the child hung"
    return text


@entry_kernel
def learn_panel(panel, X, y, weight, k, work, s):
    """s[b] for every row, before it is learned. Returns how many: up to a row after which the panel must begin anew."""
    for b in range(X.shape[0]):
        ask_row(panel, X[b], k, work, s[b])
        if learn_asked(panel, X[b], y[b], weight[b], k, work):
            return b + 1
    return X.shape[0]
