"""What a fitted classifier has learned: its columns, its classes, the chain, and how probabilities are calibrated.

Probabilities become bolder or more careful than the chain's own, by what has come true so far: temperature scaling,
learned online. The chain's p become q, where `floor` counts as so much more of every p:

    z_l = log(p_l + floor),   q = softmax(beta z)
    g = sum_l q_l z_l - z_y                        the slope of -log q_y
    A <- f A + (1 - f) + g^2
    beta <- beta - g / A                           an online Newton step

beta > 0, so the likeliest class stays the likeliest. With beta = 1 and floor = 0, q is p.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from onlineboost._compile.jit import announce_compilation, done_compiling, entry_kernel
from onlineboost._compile.numba_internals import NumbaError
from onlineboost.chain.chain import BLOCK, LEAST_ROWS, LEAST_VOTES, Chain
from onlineboost.chain.diary import NEW_COLUMN
from onlineboost.chain.experts import Combiner
from onlineboost.chain.sets import BINS, NO_ROW, Sets, bits_of, find_sets, learn_sets, with_classes
from onlineboost.chain.threads import spread
from onlineboost.contracts.booster import BOOSTER
from onlineboost.contracts.state import restore
from onlineboost.data.columns import NewColumn, no_new_columns
from onlineboost.data.encoder import Encoder
from onlineboost.data.errors import Remarks
from onlineboost.data.labels import Labels
from onlineboost.panel.columns import HEAVIEST, LIGHTEST
from onlineboost.trees.state import Columns

NEAR = 1e-9  # probabilities that are as large as another but for rounding: this share of it below, at most
MORE = 1.0 + 2.0**-52  # times a number, it is the next larger one, or the one after that
FADE = 0.998  # f: what a slope still counts in A one row later
LOWEST, HIGHEST = 0.05, 20.0  # bounds of beta
BETA, CURVATURE = range(2)  # where beta and A are


def new_calibration() -> np.ndarray:
    """beta and A of a model that has learned nothing."""
    return np.ones(2)


@entry_kernel
def calibrate(state, floor, p, y, weight):
    """Turn p (rows, k) into q, in place. With labels, beta learns each row after it; y (0,): it stays as it is."""
    k = p.shape[1]
    for b in range(p.shape[0]):
        top = p[b, 0]
        for c in range(k):
            top = max(top, p[b, c])
        own = math.log(p[b, y[b]] + floor) if y.size > 0 else 0.0
        beta, most = state[BETA], math.log(top + floor)
        mass = mean = 0.0
        for c in range(k):
            z = math.log(p[b, c] + floor)
            p[b, c] = math.exp(beta * (z - most))
            mass += p[b, c]
            mean += p[b, c] * z
        for c in range(k):
            p[b, c] /= mass
        if y.size > 0:
            slope, w = mean / mass - own, min(max(weight[b], LIGHTEST), HEAVIEST)
            state[CURVATURE] = FADE * state[CURVATURE] + (1.0 - FADE) + w * slope * slope
            state[BETA] = min(HIGHEST, max(LOWEST, beta - w * slope / state[CURVATURE]))


class CalibrationPass(NamedTuple):
    """A row that was predicted, and its label."""

    state: np.ndarray
    floor: float
    p: np.ndarray  # float64 (1, k)
    y: np.ndarray  # int64 (1,)
    weight: np.ndarray  # float64 (1,)


@entry_kernel
def calibrate_row(handle, t):
    """`calibrate` as a step of `rows`."""
    at = handle.parts
    calibrate(at.state, at.floor, at.p, at.y, at.weight)
    return True


def ahead(p: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """p (rows, k), in which the label that was predicted is the likeliest: by one bit where others are as likely.

    How ties are broken is the model's affair; argmax finds what it said, in whatever order the classes are. Changes p.
    """
    p = np.ascontiguousarray(p)
    put_ahead(p, codes)
    return p


@entry_kernel
def put_ahead(p, codes):
    for b in range(p.shape[0]):
        own, rest = p[b, codes[b]], -1.0
        for c in range(p.shape[1]):
            if c != codes[b]:
                rest = max(rest, p[b, c])
        if rest * (1.0 - NEAR) <= own <= rest:
            p[b, codes[b]] = rest * MORE


# Attributes of a classifier that are not part of its copies, pickles and files:
OF_THIS_PROCESS = ("_lock_", "_desk_", "_checked_", "_changed_", "_told_", "_line_up_")


@dataclass
class Model:
    """What a fitted classifier has learned."""

    encoder: Encoder
    labels: Labels
    chain: Chain
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0))  # weight of each class, where costs need it
    limit: int | None = None  # bytes that it may take
    ready: tuple = ()  # the classes and values that there is room for: see `memory.make_ready`
    calibration: np.ndarray | None = None  # what `calibrate` has learned; None: probabilities are as the chain says
    floor: float = 0.0  # of probabilities, for `calibrate`
    sets: Sets | None = None  # what prediction sets are made of, if there are to be any
    acts: np.ndarray | None = None  # counts of the actions it has learned from, if there are any: `acting`
    warned: bool = False  # whether the user knows that it has reached its limit
    damage: str = ""  # what went wrong in the middle of a row, if anything did: it cannot be used any more
    compiled: bool = False  # whether its kernels are, in this process
    remarks: Remarks = field(default_factory=dict)  # what there is to warn of when the call is done

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "compiled": False, "ready": (), "remarks": {}}  # tables are saved without room

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore(self, state)

    @property
    def k(self) -> int:
        return len(self.labels.classes)

    @property
    def columns(self) -> Columns:
        return Columns(len(self.encoder.numeric), self.encoder.sizes)

    def with_columns(self, columns: Sequence[NewColumn]) -> Encoder:
        """The encoder with these columns, to try them on; an error if the chain cannot have them."""
        if not self.chain.safe:
            raise no_new_columns(columns)
        return self.encoder.grown(columns)

    def add_columns(self, columns: Sequence[NewColumn]) -> tuple[str, ...]:
        """These columns come after those that are known, and hold nothing so far; the names of all columns."""
        nominal = sum(column.nominal for column in columns)
        try:
            known = len(self.encoder.names)
            self.encoder.add_columns(columns)
            self.chain.new_columns(len(columns) - nominal, nominal)
            self.chain.diary.note(self.chain.t + 1, NEW_COLUMN, range(known, len(self.encoder.names)))
        except BaseException as error:
            self.damage = f"{type(error).__name__}: {error}"
            raise
        return self.encoder.names

    def predict(self, X: np.ndarray, combiner: Combiner, threads: int) -> np.ndarray:
        """The codes of encoded rows."""
        return self._in_pieces(X, threads, lambda piece: self.chain.predict(piece, self.k, combiner))

    def predict_proba(self, X: np.ndarray, combiner: Combiner, threads: int) -> np.ndarray:
        """The probabilities of the classes, by code."""
        return self._in_pieces(X, threads, lambda piece: self.shares(piece, combiner))

    def _in_pieces(self, X: np.ndarray, threads: int, predict: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """predict(X) by pieces that fit the cache, and by as many threads as pay. Rows know nothing of each other."""
        if not len(X):
            return predict(X)
        pays = len(X) * self.chain.n_learners >= LEAST_VOTES
        threads = max(1, min(threads, len(X) // LEAST_ROWS)) if pays else 1
        return spread(predict, X, min(BLOCK, -(-len(X) // threads)), threads)

    def shares(self, X: np.ndarray, combiner: Combiner) -> np.ndarray:
        """Probabilities of the classes, by code, for encoded rows; before the first is learned all are as likely."""
        if self.chain.t == 0:
            return np.full((len(X), self.k), 1.0 / self.k)
        return self.calibrated(*self.chain.forecast(X, self.k, combiner))

    def calibrated(self, codes: np.ndarray, p: np.ndarray) -> np.ndarray:
        """What the chain says of rows (codes, and probabilities p) as probabilities for users."""
        return ahead(self.with_calibration(p), codes)

    def with_calibration(self, p: np.ndarray) -> np.ndarray:
        """Probabilities of the chain, calibrated if they are to be."""
        p = np.ascontiguousarray(p)
        if self.calibration is not None:
            calibrate(self.calibration, self.floor, p, np.empty(0, np.int64), np.empty(0))
        return p

    def predict_set(
        self, X: np.ndarray, combiner: Combiner, threads: int, coverage: float, by_class: bool
    ) -> np.ndarray:
        """Which codes are in the prediction sets of encoded rows, bool (rows, k)."""
        return self._in_pieces(X, threads, lambda piece: self.sets_of(piece, combiner, coverage, by_class))

    def sets_of(self, X: np.ndarray, combiner: Combiner, coverage: float, by_class: bool) -> np.ndarray:
        p = self.chain.forecast(X, self.k, combiner)[1] if self.chain.t else np.full((len(X), self.k), 1.0 / self.k)
        return self.sets_by(self.with_calibration(p), X, coverage, by_class)

    def sets_by(self, p: np.ndarray, X: np.ndarray, coverage: float, by_class: bool) -> np.ndarray:
        """The same from what is said of these rows."""
        assert self.sets is not None
        X, tracks, out = np.ascontiguousarray(X), 1 + self.k, np.empty(p.shape, np.bool_)
        how = self.chain.seed, self.chain.t + 1, coverage, by_class, np.empty((tracks, BINS)), np.empty(tracks)
        find_sets(with_classes(self.sets, self.k), p, X, bits_of(X), *how, out)
        return out

    # arguments: the rows, what was said of them, and what is asked
    def learn_sets(
        self,
        parts: Sequence[np.ndarray],
        X: np.ndarray,
        codes: np.ndarray,
        weight: np.ndarray,
        t: int,
        coverage: float | None,
    ) -> list[np.ndarray]:
        """The sets learn rows of the rounds from t on, by what was said of them; those of the rows, if asked."""
        assert self.sets is not None
        at, above, shown = 0, np.empty(BINS), []
        for p in parts:
            rows = slice(at, at + len(p))
            own = np.ascontiguousarray(X[rows])
            out = NO_ROW if coverage is None else np.empty(p.shape, np.bool_)
            known = np.ascontiguousarray(p), own, bits_of(own), codes[rows], weight[rows]
            learn_sets(self.sets, *known, self.chain.seed, t + at, coverage or 0.5, above, out)
            shown.append(out)
            at = rows.stop
        return shown

    def calibrate(self, parts: Sequence[np.ndarray], codes: np.ndarray, weight: np.ndarray) -> None:
        """What the chain said of rows becomes what was predicted for them, in place; then their labels are learned."""
        at = 0
        for p in parts:
            rows = slice(at, at + len(p))
            calibrate(self.calibration, self.floor, p, codes[rows], weight[rows])
            at = rows.stop


KERNELS, WITH_PANEL = 110, 200  # about as many are compiled in this process
_COMPILED: set[type] = set()  # estimators whose kernels have been compiled or loaded in this process


def is_new(estimator: Any) -> bool:
    """Whether its kernels have still to be compiled or loaded in this process, which takes a while."""
    return type(estimator) not in _COMPILED


def compiled_by(rehearse: Callable[[Model], None], model: Model, kind: type) -> None:
    """Have all kernels of a model compiled, and say so where that takes a while."""
    announce_compilation(kind.__name__, KERNELS if model.chain.panel is None else WITH_PANEL)
    try:
        rehearse(model)
    except NumbaError as error:
        raise TypeError(uncompiled(model.chain, error)) from error
    finally:
        done_compiling()
    _COMPILED.add(kind)
    model.compiled = True


def uncompiled(chain: Chain, error: Exception) -> str:
    """What to tell the author of a booster whose kernels do not compile; Numba takes some hundred lines for it."""
    for kind in {type(segment.booster): 0 for segment in chain.segments}:
        if kind not in BOOSTER.types:
            return (
                f"{kind.__name__} is not a booster in this process, to which it came from another one in a pickle: "
                f"its kernels stayed behind. Put it into a module of its own, which both import, and not into the "
                f"script ({kind.__module__})"
            )
    lines = [line.strip() for line in str(error).splitlines()]
    why = next((line for line in reversed(lines) if line.startswith(("File", "Cannot", "Unknown", "No "))), lines[0])
    booster = " or ".join({type(segment.booster).__name__: 0 for segment in chain.segments}) or "this model"
    return f"the kernels of {booster} do not compile: {why}. NUMBA_DISABLE_JIT=1 runs them as plain Python, to debug"
