"""Regret of the combiner of OnlineBoostClassifier against the best fixed coefficients, and of one that has a theorem.

    python benchmarks/combiner.py                           simulated voices, and the voices of 15 streams: 5 minutes
    python benchmarks/combiner.py --sets car,mice --rows 1000 --longest 10000

The voices behind the chain are recorded while the classifier learns, and replayed through combiners: the Newton steps
of panel/combiner.py with three fades, and one after Jezequel, Gaillard and Rudi (2020, 2021): quadratic surrogates of
eta times the Hessian, eta = 1 / (log k + 2 (2 R + 1)), R the largest norm of a row's logits, minimised with a row of
each label still to come. docs/theory.md has what came out.
"""

from __future__ import annotations

import math

import click
import numpy as np
from numba import njit
from rich.console import Console
from rich.table import Table
from scipy.optimize import minimize, minimize_scalar

from onlineboost import OnlineBoostClassifier, load_dataset
from onlineboost.chain.stacking import OF_A_FIFTH, START, Stacking
from onlineboost.panel.combiner import BOUND, FADE, FADES, LEAST, RIDGE, SLOW_FADE

SETS = (
    *("balance", "car", "segment", "mice", "nursery", "waveform", "electricity", "covertype", "keystroke", "synthetic"),
    *("synthetic-abrupt", "mushroom", "shuttle", "movement", "isolet"),
)
IN_ORDER = "electricity", "covertype", "keystroke", "synthetic-abrupt"
NEWTON = {"combiner": FADE, "slow combiner": SLOW_FADE, "nothing fades": 1.0}

# ---------------------------------------------------------------------------------------------------------- combiners


@njit
def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


@njit
def newton(L, y, beta, fade):
    """Probabilities (rows, k) of the Newton steps, from centred logits L (rows, voices, k)."""
    n, voices, k = L.shape
    out, A, ridge = np.empty((n, k)), RIDGE * np.eye(voices), RIDGE * np.eye(voices)
    for t in range(n):
        out[t] = softmax(beta @ L[t])
        g = L[t] @ out[t] - L[t][:, y[t]]
        A = fade * A + np.outer(g, g) + (1.0 - fade) * ridge
        beta = np.minimum(BOUND, np.maximum(-BOUND, beta - np.linalg.solve(A, g)))
    return out


@njit
def surrogates(L, y, beta, eta):
    """The same of the combiner with a theorem: minimises 1/2 b'Ab - q'b + sum_c -log softmax(b L)[c] in every row."""
    n, voices, k = L.shape
    out, A = np.empty((n, k)), RIDGE * np.eye(voices)
    q, b = A @ beta, beta.copy()
    for t in range(n):
        X = L[t]
        for _ in range(12):
            p = softmax(b @ X)
            mean = X @ p
            slope, H = A @ b - q + k * mean - X.sum(axis=1), A.copy()
            for c in range(k):
                H += k * p[c] * np.outer(X[:, c] - mean, X[:, c] - mean)
            step = np.linalg.solve(H, slope)
            size = math.sqrt(abs(slope @ step))
            b = b - step / (1.0 + 0.5 * size)
            if size < 1e-5:
                break
        p = out[t] = softmax(b @ X)
        mean, C = X @ p, np.zeros((voices, voices))
        for c in range(k):
            C += eta * p[c] * np.outer(X[:, c] - mean, X[:, c] - mean)
        A += C
        q += C @ b - mean + X[:, y[t]]
    return out


@njit
def mixed(forecasts, y):
    """Log loss of the mixture of forecasts (forecasts, rows, k)."""
    m, n, _ = forecasts.shape
    share, lost = np.full(m, 1.0 / m), 0.0
    for t in range(n):
        own = np.array([forecasts[i, t, y[t]] for i in range(m)])
        total = (share * own).sum()
        lost -= math.log(total)
        share = share * own / total * (1.0 - 1.0 / (t + 2.0)) + 1.0 / (t + 2.0) / m
    return lost


def least_loss(L, y, beta):
    """Log loss of the best fixed coefficients."""
    own = L[np.arange(len(y)), :, y]

    def loss(b):
        z = np.einsum("h,thk->tk", b, L)
        top = z.max(axis=1)
        e = np.exp(z - top[:, None])
        p = e / e.sum(axis=1, keepdims=True)
        slope = np.einsum("thk,tk->h", L, p) - own.sum(axis=0)
        return (np.log(e.sum(axis=1)) + top - own @ b).sum(), slope

    limits = [(-BOUND, BOUND)] * len(beta)
    return minimize(loss, beta, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": 500}).fun


# ------------------------------------------------------------------------------------------------------------- voices


def recorded(name, rows, learners):
    """The votes (places, rows, k) behind a chain, and the labels."""
    data = load_dataset(name) if name in IN_ORDER else load_dataset(name).shuffled(0)
    kept, leave = [], Stacking.leave

    def keep(self, block, *rest, **more):
        kept.append((block.kept.copy(), block.y.copy()))
        return leave(self, block, *rest, **more)

    Stacking.leave = keep
    try:
        OnlineBoostClassifier(learners).partial_fit(data.X[:rows], data.y[:rows], classes=np.unique(data.y))
    finally:
        Stacking.leave = leave
    return np.concatenate([votes for votes, _ in kept], axis=1), np.concatenate([y for _, y in kept])


def voices_of(votes, y):
    """Centred logits (rows, voices, k): the panel, recent labels, and what each fifth of the chain adds."""
    n, k = votes.shape[1:]
    recent, seen = np.empty((len(FADES), n, k)), np.zeros((len(FADES), k))
    fades = np.array(FADES)[:, None]
    for t in range(n):
        recent[:, t] = np.log(seen + LEAST)
        seen = fades * seen + (1.0 - fades) * (np.arange(k) == y[t])
    L = np.concatenate([votes[:1], recent, np.diff(votes[START:], axis=0)]).transpose(1, 0, 2)
    return np.ascontiguousarray(L - L.mean(axis=2, keepdims=True))


def replayed(votes, y):
    """Log loss of every combiner, and of the best fixed coefficients."""
    L = voices_of(votes, y)
    n, voices, k = L.shape
    beta = np.array([1.0, *[0.0] * len(FADES), *[OF_A_FIFTH] * (voices - 1 - len(FADES))])
    eta = 1.0 / (math.log(k) + 2.0 * (2.0 * np.sqrt((L**2).sum(axis=1)).max() + 1.0))
    said = {name: newton(L, y, beta, fade) for name, fade in NEWTON.items()}
    said["with a theorem"] = surrogates(L, y, beta, eta)
    lost = {name: -np.log(np.maximum(p[np.arange(n), y], 1e-300)).sum() for name, p in said.items()}
    alone = [np.array([softmax(row) for row in votes[place]]) for place in (0, -1)]
    for name, second in (("mixture", "slow combiner"), ("mixture with it", "with a theorem")):
        lost[name] = mixed(np.array([said["combiner"], said[second], *alone]), y)
    return lost, least_loss(L, y, beta)


# ----------------------------------------------------------------------------------------------------------- commands


def simulated(longest):
    """Regret of one voice about two classes, independent rows: (stream, fade, regret after each power of ten)."""
    rng, rounds = np.random.default_rng(0), [10**i for i in range(4, 7) if 10**i <= longest]
    u, v, twice = rng.random(longest), rng.random(longest), rng.exponential(2.0, longest)
    streams = {
        "twice the true logit": np.where(v < 1.0 / (1.0 + np.exp(-0.5 * twice)), twice, -twice),
        "1 row in 10: 8 times too sure": np.where(u < 0.1, 8.0, 1.0) * np.where(v < np.where(u < 0.1, 0.5, 0.9), 1, -1),
    }
    for name, x in streams.items():  # x: the logit of the right label less that of the other
        y = np.zeros(longest, np.int64)
        L = np.stack([x / 2.0, -x / 2.0], axis=1)[:, None]
        best = [minimize_scalar(lambda b, own=x[:n]: np.logaddexp(0.0, -b * own).sum()).fun for n in rounds]
        for fade in NEWTON.values():
            lost = np.cumsum(-np.log(newton(L, y, np.ones(1), fade)[:, 0]))
            yield name, fade, [lost[n - 1] - least for n, least in zip(rounds, best, strict=True)]


def table(title, headings, rows):
    out = Table(*headings, title=title)
    for row in rows:
        out.add_row(*row)
    Console(width=140).print(out)


@click.command(help=__doc__.splitlines()[0])
@click.option("--sets", default=",".join(SETS))
@click.option("--rows", default=3000)
@click.option("--learners", default=30)
@click.option("--longest", default=1_000_000)
def main(sets, rows, learners, longest):
    found = [[name, f"{fade:g}", *(f"{regret:,.1f}" for regret in r)] for name, fade, r in simulated(longest)]
    table("regret, simulated", ["stream", "fade", *(f"10^{4 + i}" for i in range(len(found[0]) - 2))], found)
    lines, losses, regrets = [], {}, {}
    for name in sets.split(","):
        votes, y = recorded(name, min(rows, 800) if name == "isolet" else rows, learners)
        lost, least = replayed(votes, y)
        lines.append([name, f"{len(y):,}", *(f"{value - least:.1f}" for value in lost.values())])
        for combiner, value in lost.items():
            losses.setdefault(combiner, []).append(value / len(y))
            regrets.setdefault(combiner, []).append(value - least)
    lines.append(["median", "", *(f"{np.median(values):.1f}" for values in regrets.values())])
    lines.append(["log loss per row", "", *(f"{np.mean(values):.4f}" for values in losses.values())])
    table("regret, replayed", ["stream", "rows", *losses], lines)


if __name__ == "__main__":
    main()
