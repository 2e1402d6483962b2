"""A chain with a panel in front of it, and Newton's combiner behind it in place of Hedge.

The votes of the chain start from what the panel says, if its booster can do that, otherwise from none. They are
remembered there and after each fifth of the chain: the segments end at the fifths, always. The combiner then has these
voices: the panel, which labels have come lately, and what each fifth of the chain has added. A second one has the same
voices, and is slower to forget. What is predicted is a mixture of the two, the panel alone and the chain alone, never
much worse than the best of them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from onlineboost._compile.jit import bare_kernel, entry_kernel
from onlineboost.chain.chain import Chain, Step
from onlineboost.chain.experts import Combiner
from onlineboost.chain.segments import Segment
from onlineboost.contracts.rows import Rows
from onlineboost.contracts.state import copied, nbytes
from onlineboost.panel.alarm import PATIENCE
from onlineboost.panel.dense import HEAVIEST, LIGHTEST
from onlineboost.panel.mixture import (
    CHAIN,
    COMBINED,
    FORECASTS,
    PANEL,
    SLOW,
    Mixture,
    learn_mixture,
    mix,
    new_forecasts,
    new_mixture,
)
from onlineboost.panel.newton import (
    FADE,
    SLOW_FADE,
    Newton,
    NewtonWork,
    centre,
    combine,
    learn_newton,
    logits_of,
    new_newton,
    new_newton_work,
    softmax,
)
from onlineboost.panel.panel import NAMES, ask_panel, begin, learn_panel, new_panel_work
from onlineboost.panel.recency import FADES, learn_recency, new_recency
from onlineboost.panel.state import (
    Panel,
    begun_anew,
    most_bytes,
    new_panel,
    packed,
    room_for_rows,
    with_classes,
    with_room,
)

FIFTHS = 5
START = 1  # place in Stages.votes: of the panel 0, at the head of the chain 1, after fifth i 1 + i
OF_A_FIFTH = 0.15  # coefficient of what a fifth of the chain adds, to begin with


class Stages(NamedTuple):
    """A block on its way, and its votes so far."""

    rows: Rows
    votes: np.ndarray  # float64 (2 + fifths, rows, k) of the panel, at the head of the chain, and after each fifth


@bare_kernel
def ask_voices(newtons, recency, mixture, votes, b, k, work, forecasts):
    """What the voices say of row b, and all of them together: the last of the forecasts."""
    logits = work.logits
    for c in range(k):
        logits[0, c] = votes[0, b, c]
    centre(logits[0], k)
    for i in range(len(FADES)):
        logits_of(recency[i], k, logits[1 + i])
    for stage in range(START + 1, votes.shape[0]):
        voice = logits[len(FADES) + stage - START]
        for c in range(k):
            voice[c] = votes[stage, b, c] - votes[stage - 1, b, c]
        centre(voice, k)
    for m in (COMBINED, SLOW):
        combine(newtons[m], work, k)
        for c in range(k):
            forecasts[m, c] = work.p[c]
    softmax(votes[0, b], k, forecasts[PANEL])
    softmax(votes[votes.shape[0] - 1, b], k, forecasts[CHAIN])
    mix(mixture, forecasts, k)


@bare_kernel
def learn_voices(newtons, work, forecasts, k, y, weight):
    """Both combiners learn the label of the row that `ask_voices` was asked about."""
    for m, fade in ((COMBINED, FADE), (SLOW, SLOW_FADE)):
        for c in range(k):
            work.p[c] = forecasts[m, c]
        learn_newton(newtons[m], work, k, y, weight, fade)


@bare_kernel
def cheapest(p, k, costs):
    """The likeliest label, the lowest among equals; with `costs` (k, k) the one that is expected to cost least."""
    best, least = 0, np.inf
    for l in range(k):
        cost = -p[l]
        if costs is not None:
            cost = 0.0
            for r in range(k):
                cost += p[r] * costs[r, l]
        if cost < least:
            best, least = l, cost
    return best


@entry_kernel
def ask_block(newtons, recency, mixture, votes, work, forecasts, p):
    """Probabilities (rows, k). Changes nothing else."""
    for b in range(p.shape[0]):
        ask_voices(newtons, recency, mixture, votes, b, p.shape[1], work, forecasts)
        for c in range(p.shape[1]):
            p[b, c] = forecasts[FORECASTS, c]


@entry_kernel
def choose_block(p, costs, out):
    for b in range(p.shape[0]):
        out[b] = cheapest(p[b], p.shape[1], costs)


# arguments: a block, the three states that learn from it, and scratch
@entry_kernel
def finish_block(newtons, recency, mixture, t, votes, y, weight, work, forecasts, costs, p, out):
    """The label predicted for every row, from round t on, before it is learned; if `p` is (rows, k), that too."""
    k = votes.shape[2]
    for b in range(y.size):
        ask_voices(newtons, recency, mixture, votes, b, k, work, forecasts)
        out[b] = cheapest(forecasts[FORECASTS], k, costs)
        if p.shape[0] > 0:
            for c in range(k):
                p[b, c] = forecasts[FORECASTS, c]
        w = min(max(weight[b], LIGHTEST), HEAVIEST)
        learn_mixture(mixture, forecasts, y[b], w, t + b)
        learn_voices(newtons, work, forecasts, k, y[b], w)
        learn_recency(recency, k, y[b])


def ends_of(n_learners: int) -> list[int]:
    """Learners up to each fifth of a chain."""
    n = min(FIFTHS, n_learners)
    return [n_learners * i // n for i in range(1, n + 1)]


class PanelChain(Chain):
    """A chain whose votes start from those of a panel."""

    goes_alone = False
    panel: Panel
    newton: Newton
    slow: Newton
    recency: np.ndarray
    mixture: Mixture

    def __init__(self, segment: Segment, n_numeric: int, n_nominal: int, seed: int) -> None:
        self.ends = ends_of(len(segment))
        super().__init__(self._fifths(segment), n_numeric, seed)
        self.panel = new_panel(n_numeric, n_nominal, seed)
        begin(self.panel)
        self.newton, self.slow = (
            new_newton([1.0] + [0.0] * len(FADES) + [OF_A_FIFTH] * len(self.ends)) for _ in range(2)
        )
        self.recency = new_recency(0)
        self.mixture = new_mixture()

    def _fifths(self, whole: Segment) -> list[Segment]:
        return [whole.between(a, b) for a, b in pairwise([0, *self.ends])]

    def __getstate__(self) -> dict[str, Any]:
        copy = self.joined()
        copy.segments = [copy.whole()]  # what the fifths share is in it once
        return copy.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.cut_at_fifths()

    def cut_at_fifths(self) -> None:
        """What was saved as one segment."""
        self.segments = self._fifths(*self.segments)

    def set_classes(self, k: int) -> None:
        super().set_classes(k)
        self.panel = with_classes(self.panel, k)
        self.room_for_labels(k)

    def room_for_labels(self, k: int) -> None:
        """Labels that have come lately: of new classes none."""
        if k > self.recency.shape[1]:
            self.recency = np.pad(self.recency, ((0, 0), (0, k - self.recency.shape[1])))

    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        super().new_values(sizes, births)
        self.make_room(sum(sizes))

    def new_columns(self, numeric: int, nominal: int) -> None:
        """The panel goes on without them: the trees of the chain alone see columns that turn up later."""
        super().new_columns(numeric, nominal)
        dense = self.panel.dense
        self.panel = self.panel._replace(dense=dense._replace(offset=dense.offset + numeric))

    def make_room(self, n_values: int) -> None:
        """Room for so many values of all nominal columns together."""
        wanted = self.panel.dense.n_numbers + n_values
        self.panel = with_room(self.panel, columns=min(wanted, self.panel.most))

    # ------------------------------------------------------------------------------------------- predicting

    def predict(self, X: np.ndarray, k: int, combiner: Combiner) -> np.ndarray:
        return self.forecast(X, k, combiner)[0]

    def forecast(self, X: np.ndarray, k: int, combiner: Combiner) -> tuple[np.ndarray, np.ndarray]:
        block = self._block(self.new_rows(X, k, None, None))
        rows = block.rows
        block.votes[0] = self.votes_of_panel(rows, k)
        block.votes[START] = self.set_out(rows)
        cache = self._take_cache(k)
        for segment, stage in zip(self.segments, self._stages(), strict=True):
            segment.predict(rows, len(segment), cache)
            if stage:
                block.votes[START + stage] = rows.s
        if cache is not None:
            self._caches.append((k, cache))
        out, p = np.empty(len(X), np.int64), np.empty((len(X), k))
        ask_block((self.newton, self.slow), self.recency, self.mixture, block.votes, self._work(k), new_forecasts(k), p)
        choose_block(p, self.costs, out)
        return out, p

    def votes_of_panel(self, rows: Rows, k: int) -> np.ndarray:
        """What the panel says of rows at the head of the chain: rows.s."""
        ask_panel(self.panel, rows.X, k, new_panel_work(self.panel, k), rows.s)
        return rows.s

    def set_out(self, rows: Rows) -> np.ndarray:
        """The votes that the chain starts from, where those of the panel are in rows.s."""
        booster = self.segments[0].booster
        if booster.takes_votes():
            booster.begin(rows)
        else:
            rows.s[:] = 0.0
        return rows.s

    def _block(self, rows: Rows) -> Stages:
        return Stages(rows, np.empty((START + 1 + len(self.ends), len(rows.X), rows.k)))

    def _work(self, k: int) -> NewtonWork:
        return new_newton_work(len(self.newton.beta), k)

    def _stages(self) -> list[int]:
        """For each segment the number of the fifth that it ends, 0: none."""
        ends = np.cumsum([len(segment) for segment in self.segments])
        return [self.ends.index(end) + 1 if end in self.ends else 0 for end in ends]

    # --------------------------------------------------------------------------------------------- learning

    def is_traced(self, combiner: Combiner) -> bool:
        return False

    def enter(self, X: np.ndarray, weight: np.ndarray, k: int, combiner: Combiner) -> Stages:
        return self._block(self.enter_rows(X, weight, k))

    def steps(self) -> list[tuple[Segment | None, Step]]:
        """The panel, then every segment."""

        def through(segment: Segment, stage: int) -> tuple[Segment, Step]:
            def step(block: Stages, y: np.ndarray, weight: np.ndarray) -> None:
                segment.learn(block.rows, y, weight)
                if stage:
                    block.votes[START + stage] = block.rows.s

            return segment, step

        return [(None, self._start), *map(through, self.segments, self._stages())]

    def _start(self, block: Stages, y: np.ndarray, weight: np.ndarray) -> None:
        """The panel's votes, and the panel learns. In mid-block another may take its place."""
        rows, k, done = block.rows, block.rows.k, 0
        while done < len(y):
            self.panel = room_for_rows(self.panel, len(y) - done)
            left = rows.X[done:], y[done:], weight[done:]
            done += learn_panel(self.panel, *left, k, new_panel_work(self.panel, k), rows.s[done:])
            if self.panel.alarm.late[0] >= PATIENCE:
                self.panel = begun_anew(self.panel, rows.t + done - 1)
                begin(self.panel)
        block.votes[0] = rows.s
        block.votes[START] = self.set_out(rows)

    def leave(self, block: Stages, y: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
        k = block.rows.k
        states = (self.newton, self.slow), self.recency, self.mixture, block.rows.t
        p = np.empty((0 if self.heard is None else len(y), k))
        finish_block(*states, block.votes, y, weight, self._work(k), new_forecasts(k), self.costs, p, out)
        if self.heard is not None:
            self.hear(p, block.rows.t)

    # --------------------------------------------------------------------------------------------- segments

    def joined(self) -> Self:
        copy = super().joined()
        copy.copy_panel(self)
        return copy

    def copy_panel(self, original: Self) -> None:
        """Panel and combiner of the original, as copies with no room to spare."""
        self.panel = packed(original.panel)
        self.newton, self.slow = copied(original.newton), copied(original.slow)
        self.recency, self.mixture = original.recency.copy(), copied(original.mixture)

    @property
    def can_join(self) -> bool:
        return len(self.segments) > len(self.ends)

    def join_up(self) -> None:
        self._join(self)

    def _join(self, original: Self) -> None:
        """One segment for every fifth."""
        joined: list[Segment] = []
        parts: list[Segment] = []
        for segment, stage in zip(original.segments, original._stages(), strict=True):
            parts.append(segment)
            if stage:
                joined.append(parts[0].join(parts[1:]))
                parts = []
        self.segments = joined

    def voices(self) -> dict[str, float]:
        """Coefficients of the combiner of the panel, and of the one behind the chain."""
        behind = ["panel", "last label", "recent labels", *(f"chain {i + 1}" for i in range(len(self.ends)))]
        names = [*NAMES, *behind]
        beta = np.concatenate([self.panel.newton.beta, self.newton.beta])
        return dict(zip(names, beta.tolist(), strict=True))

    def nbytes(self) -> dict[str, int]:
        others = super().nbytes()
        behind = self.newton, self.slow, self.mixture
        own = nbytes(self.panel) + nbytes(behind) + self.recency.nbytes
        return {**others, "panel": own}

    def most_bytes(self, k: int) -> int:
        return super().most_bytes(k) + most_bytes(self.panel, k)
