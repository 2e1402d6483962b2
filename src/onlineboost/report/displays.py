"""Pictures for notebooks, by matplotlib: make one with ``from_...``, draw it with ``plot(ax=None)``.

As in scikit-learn, a display has ``ax_`` and ``figure_`` after ``plot``, and can be drawn again into other axes. Needs
the extra ``onlineboost[report]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from onlineboost.data.errors import DataError
from onlineboost.evaluation.prequential import CURVE_POINTS, PER_LEARNER, SNAPSHOTS, observe, smoothed
from onlineboost.evaluation.prequential import per_learner as numbers_of
from onlineboost.evaluation.results import Result
from onlineboost.evaluation.runner import cut
from onlineboost.report.page import GREY, OKABE_ITO

COLOURS = (*OKABE_ITO, GREY)


class Display:
    """What the displays share: axes, made if there are none."""

    ax_: Any
    figure_: Any

    def _axes(self, ax: Any) -> Any:
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise DataError("displays need matplotlib: pip install 'onlineboost[report]'") from None
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _lines(self, ax: Any, lines: Mapping[str, tuple[Any, Any]], line: dict[str, Any], *, legend: bool) -> Any:
        """The axes, with a line for each name."""
        ax = self._axes(ax)
        for i, (name, (x, y)) in enumerate(lines.items()):
            ax.plot(x, y, **{"color": COLOURS[i % len(COLOURS)], "label": name or None, **line})
        ax.grid(axis="y", alpha=0.3)
        if legend:
            ax.legend(frameon=False)
        return ax


class CurveDisplay(Display):
    """Learning curves: share of right predictions since the point before, smoothed over three points.

    Parameters
    ----------
    curves : dict from name to (examples, accuracy)

    Examples
    --------
    >>> from onlineboost import HoeffdingTree, load_dataset, prequential
    >>> from onlineboost.report import CurveDisplay
    >>> car = load_dataset("car").shuffled(0)
    >>> runs = {"tree": prequential(HoeffdingTree(), car.X, car.y)}
    >>> CurveDisplay.from_results(runs, points=10).curves["tree"][0].tolist()[:3]
    [173, 346, 518]
    """

    def __init__(self, curves: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
        self.curves = dict(curves)

    @classmethod
    def from_results(cls, results: Mapping[str, Result] | Result, *, points: int = CURVE_POINTS) -> Self:
        """Of one run of :func:`prequential`, or of several by name."""
        return cls({name: result.curve(points) for name, result in _named(results).items()})

    def plot(self, ax: Any = None, **line: Any) -> Self:
        """Draw into `ax` (by default a new figure); `line` goes to every ``ax.plot``."""
        curves = {name: (examples, smoothed(accuracy)) for name, (examples, accuracy) in self.curves.items()}
        self._lines(ax, curves, line, legend=any(curves)).set(xlabel="examples", ylabel="accuracy")
        return self


class SpeedDisplay(Display):
    """Accuracy on the last part of the stream against time, on a log axis.

    Parameters
    ----------
    points : dict from name to (seconds, accuracy)
    share : float
        Which last part of the stream.
    """

    def __init__(self, points: Mapping[str, tuple[float, float]], share: float = 0.2) -> None:
        self.points, self.share = dict(points), share

    @classmethod
    def from_results(cls, results: Mapping[str, Result] | Result, *, share: float = 0.2) -> Self:
        """Of one run of :func:`prequential`, or of several by name."""
        return cls({name: (r.seconds, r.tail_accuracy(share)) for name, r in _named(results).items()}, share)

    def plot(self, ax: Any = None, **dots: Any) -> Self:
        """Draw into `ax` (by default a new figure); `dots` goes to every ``ax.scatter``."""
        ax = self._axes(ax)
        for i, (name, (seconds, accuracy)) in enumerate(self.points.items()):
            ax.scatter(seconds, accuracy, **{"color": COLOURS[i % len(COLOURS)], **dots})
            ax.annotate(f" {name}", (seconds, accuracy), va="center", fontsize=9)
        ax.set_xscale("log")
        ax.margins(x=0.25, y=0.12)
        ax.set(xlabel="seconds", ylabel=f"accuracy, last {self.share:.0%}")
        ax.grid(alpha=0.3)
        return self


class LearnersDisplay(Display):
    """A number of every learner along the chain: its edge, the weight of its vote, or the weight of its expert.

    Parameters
    ----------
    values : dict from name to one number per learner
    what : {"edges", "alphas", "expert_weights"}

    Examples
    --------
    >>> from onlineboost import AdaBoostOLM
    >>> from onlineboost.report import LearnersDisplay
    >>> clf = AdaBoostOLM(5).fit([[0.0], [1.0]] * 50, ["low", "high"] * 50)
    >>> len(LearnersDisplay.from_estimator(clf, what="alphas").values["AdaBoostOLM"])
    5
    """

    TITLES: ClassVar = {"edges": "edge", "alphas": "alpha", "expert_weights": "weight of the expert"}

    def __init__(self, values: Mapping[str, np.ndarray], what: str = "edges") -> None:
        self.values, self.what = dict(values), what

    @classmethod
    def from_estimator(cls, estimator: Any, *, what: str = "edges") -> Self:
        """Of a booster that has learned something, or of several by name; a mean over the classes for OneVsAll."""
        if what not in cls.TITLES:
            raise ValueError(f"what must be one of {', '.join(cls.TITLES)}, got {what!r}")
        several = estimator if isinstance(estimator, Mapping) else {type(estimator).__name__: estimator}
        values = {}
        for name, one in several.items():
            numbers = numbers_of(one, PER_LEARNER[what])
            if numbers is None:
                raise ValueError(f"{type(one).__name__} has no {what}")
            values[name] = np.array(numbers)
        return cls(values, what)

    def plot(self, ax: Any = None, **line: Any) -> Self:
        """Draw into `ax` (by default a new figure); `line` goes to every ``ax.plot``."""
        values = {name: (np.arange(1, len(own) + 1), own) for name, own in self.values.items()}
        self._lines(ax, values, line, legend=len(values) > 1).set(xlabel="learner", ylabel=self.TITLES[self.what])
        return self


class ExpertsDisplay(Display):
    """Whom Hedge follows: the weights of the prefix experts over time.

    Parameters
    ----------
    examples : array of shape (times,)
    weights : array of shape (times, n_learners)
        Each row sums to 1.
    """

    def __init__(self, examples: np.ndarray, weights: np.ndarray) -> None:
        self.examples, self.weights = examples, weights

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any) -> Self:
        """Of a booster while a copy of it, which knows nothing yet, learns X, y."""
        y = np.asarray(y)
        blocks = cut(X, y, pieces=SNAPSHOTS)
        _, record = observe(clone(estimator), blocks, np.unique(y), snapshots=True)
        if "snapshots" not in record:
            raise ValueError(f"{type(estimator).__name__} has no experts")
        return cls(np.array(record["snapshots"]["examples"]), np.array(record["snapshots"]["expert_weights"]))

    def plot(self, ax: Any = None, **mesh: Any) -> Self:
        """Draw into `ax` (by default a new figure); `mesh` goes to ``ax.pcolormesh``."""
        ax = self._axes(ax)
        n = self.weights.shape[1]
        settings = {"cmap": "Blues", "vmin": 0.0, **mesh}
        drawn = ax.pcolormesh([0, *self.examples], np.arange(n + 1) + 0.5, self.weights.T, **settings)
        self.figure_.colorbar(drawn, ax=ax, label="weight")
        ax.set(xlabel="examples", ylabel="expert: the first i learners")
        return self


def _named(results: Mapping[str, Result] | Result) -> Mapping[str, Result]:
    return {"": results} if isinstance(results, Result) else results
