"""Rows, labels and weights as nasty as the rules of docs/data.md allow, all drawn from a generator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from onlineboost.data.frames import as_table
from onlineboost.data.values import number_of

NOMINAL = (0, 2)  # of the columns x0 .. x4
NAMES = tuple(f"x{c}" for c in range(5))
CLASSES = list("abcdefgh")

ODD = [
    0.0,
    -0.0,
    5e-324,
    1e-320,
    -1e-310,
    1e-160,
    1e-8,
    1e8,
    -1e20,
    1e75,
    -1e75,
    1,
    True,
    2**60,
    1e150,
    -1e200,
    1e300,
    -1e308,
]
MISSING: list[Any] = [None, np.nan, float("nan")]
LIKE_NUMBERS = ["3.5", " -2 ", "?", "NA"]  # text in a numeric column, once it is known to be one
COLOURS: list[Any] = ["red", " red", "blue", "1", 1, 1.0, 0.5, -0.0, True, "?", "ä\N{SNOWMAN}", "nan"]


@dataclass(frozen=True)
class Batch:
    """Rows (lists of values), their labels, and weights."""

    rows: list[list[Any]]
    y: list[Any]
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def kept(self) -> Batch:
        """Without the rows of weight 0."""
        keep = np.flatnonzero(self.weight > 0.0)
        return Batch([self.rows[b] for b in keep], [self.y[b] for b in keep], self.weight[keep])


def joined(batches: list[Batch]) -> Batch:
    """All their rows in order."""
    rows = [row for batch in batches for row in batch.rows]
    y = [label for batch in batches for label in batch.y]
    return Batch(rows, y, np.concatenate([np.empty(0), *(batch.weight for batch in batches)]))


def draw_batch(rng: np.random.Generator, most: int = 40, *, least: int = 0, tame: bool = False) -> Batch:
    """Some rows that can all be learned; `tame`: by learners of other libraries too, which know no missing values."""
    n = int(rng.integers(least, most + 1))
    known = int(rng.choice([2, 3, 4, len(CLASSES)], p=[0.4, 0.35, 0.2, 0.05]))
    labels = rng.integers(known, size=n)
    many = rng.random() < 0.06  # nominal values that come in hundreds
    odd = rng.choice([0.0, 0.05, 0.5], p=[0.7, 0.2, 0.1])
    missing = rng.choice([0.0, 0.1, 0.6], p=[0.5, 0.4, 0.1])
    if tame:
        many, odd, missing = False, 0.0, 0.0
    rows = [_row(rng, int(label), many, odd, missing) for label in labels]
    weight = rng.uniform(0.3, 2.0, n) if tame else draw_weights(rng, n)
    return Batch(rows, [CLASSES[label] for label in labels], weight)


def draw_weights(rng: np.random.Generator, n: int) -> np.ndarray:
    """Weights of a few kinds: all 1, even, with zeros, tiny and large ones."""
    kind = rng.random()
    weight = rng.uniform(0.3, 2.0, n)
    if kind < 0.4:
        weight = np.ones(n)
    elif kind < 0.55:
        weight[rng.random(n) < 0.4] = 0.0
    elif kind < 0.6:
        weight *= rng.choice([1e-300, 1e-100, 1e-12, 1e-6])
    elif kind < 0.65:
        weight *= 10.0 ** rng.integers(-20, 12, n)
    return weight


def _row(rng: np.random.Generator, label: int, many: bool, odd: float, missing: float) -> list[Any]:
    colour: Any = f"value {rng.integers(400)}" if many else COLOURS[int(rng.integers(3 + label))]
    size = ("small", "middle", "large")[(label + int(rng.random() < 0.4) * int(rng.integers(3))) % 3]
    row = [colour, rng.normal(label % 2, 0.7), size, rng.normal(3.0 * (label // 2), 1.5), float(rng.poisson(2 + label))]
    for c in range(len(row)):
        if rng.random() < missing:
            row[c] = MISSING[int(rng.integers(len(MISSING)))]
        elif rng.random() < odd:
            choices = COLOURS if c in NOMINAL else ODD + LIKE_NUMBERS
            row[c] = choices[int(rng.integers(len(choices)))]
    return row


def canonical(row: list[Any]) -> list[Any]:
    """The row with plain numbers in its numeric columns: what a first block must have."""
    return [value if c in NOMINAL else number_of(value) for c, value in enumerate(row)]


def as_array(rows: list[list[Any]]) -> np.ndarray:
    """An object array of these rows."""
    out = np.empty((len(rows), len(NAMES)), object)
    for b, row in enumerate(rows):
        out[b] = row
    return out


def in_some_form(rng: np.random.Generator, rows: list[list[Any]], *, settled: bool) -> Any:
    """The rows as an array, a list, a table or a frame, whose columns may stand in another order once it is settled."""
    form = rng.integers(4)
    X = as_array(rows)
    if form == 0 or not rows:
        return X
    if form == 1:
        return [list(row) for row in rows]
    if form == 2:
        return as_table(as_array([canonical(row) for row in rows]))
    order = rng.permutation(len(NAMES)) if settled else range(len(NAMES))
    return pd.DataFrame({NAMES[c]: pd.Series(X[:, c], dtype=object) for c in order})


def as_row(rng: np.random.Generator, row: list[Any], *, settled: bool) -> Any:
    """One row as a list, an array or a mapping, in any order and without missing values once it is settled."""
    form = rng.integers(3)
    if form == 0:
        return list(row)
    if form == 1:
        return as_array([row])[0]
    if not settled:
        return dict(zip(NAMES, row, strict=True))
    by_name = {NAMES[c]: row[c] for c in rng.permutation(len(NAMES))}
    return {name: value for name, value in by_name.items() if value is not None or rng.random() < 0.5}
