"""The twin of `class_weight` and `cost_matrix`: the factor of every example, in plain Python, by label."""

from __future__ import annotations


def factors(y, weight, class_weight=None, cost_matrix=None, classes=()):
    """c_t of each row: from the rows up to it, and the labels known by then."""
    counts, known, out = {}, list(classes), []
    for label, w in zip(y, weight, strict=True):
        known += [] if label in known else [label]
        counts[label] = counts.get(label, 0.0) + w
        own = class_weight if isinstance(class_weight, dict) else {}
        value = {r: own.get(r, 1.0) * mean_cost(cost_matrix, r, known) for r in counts}
        if class_weight == "balanced":
            value = {r: value[r] / (counts[r] + 10.0) for r in counts}
        mean = sum(counts[r] * value[r] for r in counts) / sum(counts.values())
        out.append(value[label] / mean)
    return out


def cost(cost_matrix, r, l):
    return 0.0 if r == l else (cost_matrix or {}).get(r, {}).get(l, 1.0)


def mean_cost(cost_matrix, r, known):
    """Of a mistake about r, over the labels that are known."""
    return sum(cost(cost_matrix, r, l) for l in known) / (len(known) - 1) if len(known) > 1 else 1.0
