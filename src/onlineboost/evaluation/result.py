"""What a prequential run shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A prequential run: every prediction was made before its label was learned.

    Examples
    --------
    >>> r = Result(predictions=np.array(["a", "b", "b"]), y=np.array(["a", "a", "b"]), seconds=0.5)
    >>> r
    Result(3 examples, accuracy 0.6667, last 20 % 1.0000, 0.50 s, 6 examples/s)
    >>> round(r.accuracy, 3), r.tail_accuracy(0.34), r.examples_per_second
    (0.667, 1.0, 6.0)
    """

    predictions: np.ndarray
    y: np.ndarray
    seconds: float
    tree_right: np.ndarray | None = None  # bool (rows, trees): which trees of a BestTree were right

    def __repr__(self) -> str:
        if not len(self.y):
            return "Result(0 examples)"
        accuracy = f"accuracy {self.accuracy:.4f}, last 20 % {self.tail_accuracy(0.2):.4f}"
        speed = f"{self.seconds:.2f} s, {self.examples_per_second:,.0f} examples/s"
        return f"Result({len(self.y):,} examples, {accuracy}, {speed})"

    @property
    def right(self) -> np.ndarray:
        """Whether each prediction was right."""
        return np.asarray(self.predictions == self.y, bool)

    @property
    def accuracy(self) -> float:
        """Share of right predictions over the whole stream."""
        return float(self.right.mean())

    def tail_accuracy(self, share: float = 0.2) -> float:
        """Share of right predictions over the last part of the stream."""
        if not 0.0 < share <= 1.0:
            raise ValueError(f"share must lie in (0, 1], got {share!r}")
        return float(self.right[-max(1, round(share * len(self.y))) :].mean())

    def best_tree_accuracy(self, share: float = 1.0) -> float:
        """Share of right predictions over the last part of the stream by the tree that was best there: the paper's DT.

        For runs of :class:`BestTree` only. The tree is chosen in hindsight, so no online method can be sure of this.
        """
        if self.tree_right is None:
            raise ValueError("best_tree_accuracy needs a run of BestTree: other models have no trees to choose from")
        if not 0.0 < share <= 1.0:
            raise ValueError(f"share must lie in (0, 1], got {share!r}")
        return float(self.tree_right[-max(1, round(share * len(self.y))) :].mean(axis=0).max())

    @property
    def examples_per_second(self) -> float:
        """Examples predicted and learned in a second."""
        return len(self.y) / self.seconds if self.seconds > 0.0 else float("inf")

    def curve(self, points: int = 200) -> tuple[np.ndarray, np.ndarray]:
        """Learning curve: (examples, share of right predictions since the point before)."""
        edges = np.unique(np.linspace(0, len(self.y), min(points, len(self.y)) + 1).round().astype(int))
        return edges[1:], np.add.reduceat(self.right, edges[:-1]) / np.diff(edges)
