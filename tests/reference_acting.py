"""Learning from actions, the slow way: what an outcome says, an action and a class at a time."""

from __future__ import annotations

from onlineboost._compile.random import ACTION, OTHER, child_key, uniform


def distribution(predicted, k, rho):
    """The probabilities of the actions; predicted = None: nothing has been learned."""
    if predicted is None:
        return [1.0 / k] * k
    return [rho / k + (1.0 - rho if l == predicted else 0.0) for l in range(k)]


def by_doubt(q, rho):
    """The same by the probabilities of the classes."""
    total = sum(own**3 for own in q)
    return [(1.0 - rho / 4.0) * own**3 / total + rho / (4.0 * len(q)) for own in q]


def action(p, seed, row, t):
    """The action drawn in round t for a row of numbers, given bit by bit (0: missing)."""
    key, mass = 0, 0.0
    for bits in row:
        key = child_key(key, bits)
    u = uniform(seed, ACTION, key, t)
    for l, own in enumerate(p):
        mass += own
        if u < mass:
            return l
    return max(l for l, own in enumerate(p) if own)


def estimate(a, right, p, k, seed, t):
    """The weights with which an outcome teaches each class, by class: {class: weight}."""
    if right:
        return {a: 1.0 if p is None or k == 2 else 1.0 / p}
    if k == 2:
        return {1 - a: 1.0}
    if p is not None:
        return {}
    others = [l for l in range(k) if l != a]
    return {others[int(uniform(seed, OTHER, 0, t) * (k - 1))]: 1.0 / (k - 1)}
