"""Stacking at the end of a chain with a panel: a combiner that is learned, in place of Hedge.

The votes of the chain start from what the panel says, if its booster can do that, otherwise from none. They are
remembered there and after each fifth of the chain: the segments end at the fifths, always. The combiner then has these
voices: the panel, which labels have come lately, and what each fifth of the chain has added. A second one has the same
voices, and is slower to forget. What is predicted is a mixture of the two, the panel alone and the chain alone, never
much worse than the best of them.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from onlineboost._compile.handle import compiled, hold
from onlineboost._compile.jit import bare_kernel, entry_kernel
from onlineboost.chain.experts import Combiner
from onlineboost.chain.rows import (
    Asking,
    Row,
    Step,
    beginning,
    finding_ahead,
    learning_pass,
    predicting_pass,
    preparing,
)
from onlineboost.chain.segments import Segment, new_asked, vote_weights
from onlineboost.chain.stage import Block, End, Voter
from onlineboost.contracts.rows import Rows
from onlineboost.contracts.state import copied, nbytes
from onlineboost.panel.columns import HEAVIEST, LIGHTEST
from onlineboost.panel.combiner import (
    CHAIN,
    COMBINED,
    FADE,
    FADES,
    FORECASTS,
    LEAST,
    PANEL,
    SLOW,
    SLOW_FADE,
    Mixture,
    Newton,
    NewtonWork,
    centre,
    combine,
    learn_mixture,
    learn_newton,
    learn_recency,
    logits_of,
    mix,
    new_forecasts,
    new_mixture,
    new_newton,
    new_newton_work,
    new_recency,
    softmax,
)
from onlineboost.panel.state import NAMES

FIFTHS = 5
START = 1  # place in StackPass.votes: of the panel 0, at the head of the chain 1, after fifth i 1 + i
OF_A_FIFTH = 0.15  # coefficient of what a fifth of the chain adds, to begin with
BEFORE = 1 + len(FADES)  # voices before those of the fifths: the panel, and labels that have come lately


class StackPass(NamedTuple):
    """A block at the combiner."""

    newtons: tuple[Newton, Newton]
    recency: np.ndarray
    mixture: Mixture
    votes: np.ndarray  # float64 (2 + fifths, rows, k) of the panel, at the head of the chain, and after each fifth
    s: np.ndarray  # float64 (rows, k) the votes so far
    y: np.ndarray  # int64 (rows,)
    weight: np.ndarray  # float64 (rows,)
    costs: Any  # (k, k) what mistakes cost; None: 1 each
    work: NewtonWork
    forecasts: np.ndarray
    p: np.ndarray  # float64 (rows, k) probabilities; (0, k): nobody asks
    out: np.ndarray  # int64 (rows,) codes that are predicted


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
def ask_block(handle, t):
    """Probabilities and codes of a block. Changes nothing else."""
    at = handle.parts
    for b in range(at.p.shape[0]):
        ask_voices(at.newtons, at.recency, at.mixture, at.votes, b, at.p.shape[1], at.work, at.forecasts)
        for c in range(at.p.shape[1]):
            at.p[b, c] = at.forecasts[FORECASTS, c]
        at.out[b] = cheapest(at.p[b], at.p.shape[1], at.costs)
    return True


@entry_kernel
def finish_block(handle, t):
    """The code predicted for every row, from round t on, before it is learned; if somebody asks, probabilities too."""
    at = handle.parts
    k = at.votes.shape[2]
    for b in range(at.y.size):
        ask_voices(at.newtons, at.recency, at.mixture, at.votes, b, k, at.work, at.forecasts)
        at.out[b] = cheapest(at.forecasts[FORECASTS], k, at.costs)
        if at.p.shape[0] > 0:
            for c in range(k):
                at.p[b, c] = at.forecasts[FORECASTS, c]
        w = min(max(at.weight[b], LIGHTEST), HEAVIEST)
        learn_mixture(at.mixture, at.forecasts, at.y[b], w, t + b)
        learn_voices(at.newtons, at.work, at.forecasts, k, at.y[b], w)
        learn_recency(at.recency, k, at.y[b])
    return True


@entry_kernel
def keep_votes(handle, place, t):
    """The votes so far, at one of the places of `StackPass.votes`."""
    at = handle.parts
    for b in range(at.s.shape[0]):
        for c in range(at.s.shape[1]):
            at.votes[place, b, c] = at.s[b, c]
    return True


def ends_of(n_learners: int) -> list[int]:
    """Learners up to each fifth of a chain."""
    n = min(FIFTHS, n_learners)
    return [n_learners * i // n for i in range(1, n + 1)]


class Stacking(End):
    """Two combiners of the panel, recent labels and the fifths of the chain, and a mixture of four forecasts."""

    name = "panelled"
    trees_see_wide = False  # the panel does; statistics of all values in all leaves would be most of a model
    follows_experts = False

    def __init__(self, n_learners: int) -> None:
        self.n_learners, self.ends = n_learners, ends_of(n_learners)
        beta = [1.0] + [0.0] * len(FADES) + [OF_A_FIFTH] * len(self.ends)
        self.newton, self.slow = new_newton(beta), new_newton(beta)
        self.recency = new_recency(0)
        self.mixture = new_mixture()

    @property
    def log_vs(self) -> list[np.ndarray]:
        """No expert is followed: all stay as they began."""
        return [np.zeros(self.n_learners)]

    @property
    def n_experts(self) -> int:
        return self.n_learners

    def copy(self) -> Self:
        copy = type(self)(self.n_learners)
        copy.newton, copy.slow, copy.mixture = copied(self.newton), copied(self.slow), copied(self.mixture)
        copy.recency = self.recency.copy()
        return copy

    def set_classes(self, k: int) -> None:
        """Labels that have come lately: of new classes none."""
        if k > self.recency.shape[1]:
            self.recency = np.pad(self.recency, ((0, 0), (0, k - self.recency.shape[1])))

    def nbytes(self) -> dict[str, int]:
        return {"panel": sum(map(nbytes, (self.newton, self.slow, self.mixture, self.recency)))}

    def identity(self) -> tuple[Any, ...]:
        return (self.recency,)

    # --------------------------------------------------------------------------------------- the segments before it

    def groups(self, segments: list[Segment]) -> list[list[Segment]]:
        """One segment for every fifth."""
        found: list[list[Segment]] = [[]]
        for segment in segments:
            found[-1].append(segment)
            if segment.place.stop in self.ends[:-1]:
                found.append([])
        return found

    def parted(self, segments: list[Segment]) -> list[Segment]:
        (whole,) = segments
        return [whole.between(a, b) for a, b in pairwise([0, *self.ends])]

    def _fifth(self, segment: Segment) -> int:
        """The number of the fifth that a segment ends; 0: none."""
        stop = segment.place.stop
        return self.ends.index(stop) + 1 if stop in self.ends else 0

    # ------------------------------------------------------------------------------------------------------- blocks

    def open(self, rows: Rows, combiner: Combiner) -> np.ndarray:
        """The votes of the panel, at the head of the chain, and after each fifth."""
        return np.empty((START + 1 + len(self.ends), len(rows.X), rows.k))

    def start(self, block: Block) -> None:
        rows, votes = block.rows, block.kept
        votes[0] = rows.s
        if block.booster.takes_votes():
            block.booster.begin(rows)
        else:
            rows.s[:] = 0.0
        votes[START] = rows.s

    def learn(self, i: int, segment: Segment, block: Block) -> None:
        segment.learn(block.rows, block.y, block.weight)
        self._keep(segment, block)

    def ask(self, i: int, segment: Segment, block: Block, n_learners: int, cache: Any) -> None:
        segment.predict(block.rows, n_learners, cache)
        self._keep(segment, block)

    def _keep(self, segment: Segment, block: Block) -> None:
        if fifth := self._fifth(segment):
            block.kept[START + fifth] = block.rows.s

    def leave(self, block: Block, out: np.ndarray, *, heard: bool) -> np.ndarray | None:
        p = np.empty((len(out) if heard else 0, block.rows.k))
        handle = self._open(block, p, out)
        compiled(finish_block, handle, 0)(handle, block.rows.t)
        return p if heard else None

    def walk(self, combiner: Combiner, t: int) -> int:
        return self.n_learners

    def forecast(self, block: Block, walk: int) -> tuple[np.ndarray, np.ndarray]:
        n, k = len(block.rows.X), block.rows.k
        out, p = np.empty(n, np.int64), np.empty((n, k))
        handle = self._open(block, p, out)
        compiled(ask_block, handle, 0)(handle, block.rows.t)
        return out, p

    def _open(self, block: Block, p: np.ndarray, out: np.ndarray) -> Any:
        states, k = ((self.newton, self.slow), self.recency, self.mixture, block.kept), block.rows.k
        scratch = new_newton_work(len(self.newton.beta), k), new_forecasts(k)
        return hold(StackPass(*states, block.rows.s, block.y, block.weight, block.costs, *scratch, p, out))

    # --------------------------------------------------------------------------------------------------- explaining

    def voters(self, segments: list[Segment], k: int, combiner: Combiner, t: int, *, now: bool) -> list[Voter]:
        centred, weights = np.eye(k) - 1.0 / k, vote_weights(segments)
        found = []
        for at, (segment, place) in enumerate((one, i) for one in segments for i in range(len(one))):
            fifth = int(np.searchsorted(self.ends, at, side="right"))
            if beta := float(self.newton.beta[BEFORE + fifth]):
                group = f"chain {1 + fifth}"
                found.append(Voter(at, at, segment.learners, place, weights[at], beta * centred, group=group))
        return found

    def voices(self, panel: Newton) -> dict[str, float]:
        """Coefficients of the combiner of the panel, and of the one behind the chain."""
        behind = ["panel", "last label", "recent labels", *(f"chain {i + 1}" for i in range(len(self.ends)))]
        beta = np.concatenate([panel.beta, self.newton.beta])
        return dict(zip([*NAMES, *behind], beta.tolist(), strict=True))

    def recent_labels(self, k: int) -> np.ndarray:
        """What the labels that have come lately add to the score of each class."""
        total = np.zeros(k)
        for i in range(len(FADES)):
            logits = np.log(self.recency[i, :k] + LEAST)
            total += self.newton.beta[1 + i] * (logits - logits.mean())
        return total

    # ---------------------------------------------------------------------------------------- parts in other places

    def votes_of(self, block: Block, done: int) -> dict[str, Any]:
        rows, votes = block.rows, block.kept
        fifths = sum(end <= done for end in self.ends)
        own = {"panel": votes[0], "fifths": votes[START + 1 : START + 1 + fifths]}
        return {**own, "s": rows.s, "notes": block.booster.hand_on(rows)}

    def put_votes(self, block: Block, votes: dict[str, Any]) -> None:
        rows, booster = block.rows, block.booster
        rows.s[:] = votes["panel"]
        self.start(block)
        block.kept[START + 1 : START + 1 + len(votes["fifths"])] = votes["fifths"]
        rows.s[:] = votes["s"]
        booster.begin(rows)
        booster.take_up(rows, votes["notes"])

    def sliced(self, kept: np.ndarray, part: slice) -> np.ndarray:
        return kept[:, part]

    # -------------------------------------------------------------------------------------------------- single rows

    def open_row(self, row: Row, p: np.ndarray, out: np.ndarray) -> tuple[Any, Any]:
        """A row at the combiner: its handle, and what keeps the votes at a place."""
        kept = self.open(row.rows, Combiner.LAST)
        block = Block(row.rows, row.y, row.weight, row.chain.booster, Combiner.LAST, row.chain.costs, kept)
        handle = self._open(block, p, out)
        return handle, partial(compiled(keep_votes, handle, 0, 0), handle)

    def learning_steps(self, row: Row) -> tuple[list[Step], list[Step]]:
        chain = row.chain
        row.asked = new_asked(chain.panel.state, row.raw.shape[1], row.k)
        handle, keep = self.open_row(row, np.empty((0, row.k)), np.zeros(1, np.int64))
        stays, panel = chain.panel.learning_steps(row, row.asked)
        ready: list[Step] = [stays]
        ahead = finding_ahead(row, row.y)
        through: list[Step] = [ahead, panel, partial(keep, 0), beginning(row, row.segments[0]), partial(keep, START)]
        for segment in row.segments:
            prepare, send = learning_pass(segment, row)
            ready.append(prepare)
            through.append(send)
            if fifth := self._fifth(segment):
                through.append(partial(keep, START + fifth))
        return ready, [*through, partial(compiled(finish_block, handle, 0), handle)]

    def asking(self, row: Row) -> Asking:
        return AskingStack(self, row)


class AskingStack(Asking):
    """The panel, all segments, and the combiner."""

    def __init__(self, end: Stacking, row: Row) -> None:
        super().__init__(row)
        chain, self.p = row.chain, np.empty((1, row.k))
        if row.asked is None:
            row.asked = new_asked(chain.panel.state, row.raw.shape[1], row.k)
        handle, keep = end.open_row(row, self.p, row.y)
        first = row.segments[0]
        cache = first.booster.new_cache()
        steps = [chain.panel.asking_step(row, row.asked), partial(keep, 0), beginning(row, first), partial(keep, START)]
        for segment in row.segments:
            booster = segment.booster if cache is None else segment.booster.with_cache(cache)
            loop, send = predicting_pass(segment, row.rows, row, booster)
            steps.append(partial(loop, send, len(segment), 0, 0))
            if fifth := end._fifth(segment):
                steps.append(partial(keep, START + fifth))
        _, held = predicting_pass(first, row.rows, row, first.booster)
        ahead = finding_ahead(row, np.zeros(0, np.int64))
        self.steps = [preparing(held), ahead, *steps, partial(compiled(ask_block, handle, 0), handle)]

    def code(self, combiner: Combiner) -> int:
        return -1 if self.forecast(combiner) is None else self.y.item()  # type: ignore[no-any-return]

    def forecast(self, combiner: Combiner) -> np.ndarray | None:
        t = self.chain.t + 1
        if self.look(combiner, t) < 0:
            return None
        for step in self.steps:
            step(t)
        return self.p
