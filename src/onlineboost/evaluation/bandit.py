"""Bandit feedback on a labelled stream, simulated; and what another policy would have got, from a log of actions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onlineboost.data.errors import DataError
from onlineboost.data.frames import rows_of
from onlineboost.data.labels import Labels, object_array, sorted_labels
from onlineboost.data.table import Table
from onlineboost.estimators.checks import check_classes, check_labels


@dataclass
class BanditFeedback:
    """A classifier that learns a labelled stream from its own actions alone: a model for `prequential` and `observe`.

    Each row is predicted; then an action is drawn, and the classifier learns whether it was the label. Predictions are
    what the accuracies of a run are about; `accuracy` is that of the actions.

    Parameters
    ----------
    model
        Any classifier of this package.
    exploration : float in [0, 1] or "auto"
        As in `act_one`.
    unbiased : bool
        Whether it learns the probability of each action with it (docs/bandit.md).

    Examples
    --------
    >>> from onlineboost import HoeffdingTree, prequential
    >>> X, y = [[0.0], [1.0]] * 200, ["low", "high"] * 200
    >>> told = BanditFeedback(HoeffdingTree(), exploration=0.1)
    >>> prequential(told, X, y).tail_accuracy, told.rounds
    (1.0, 400)
    """

    model: Any
    exploration: float | str = "auto"
    unbiased: bool = False
    rounds: int = field(default=0, init=False)
    right: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if not hasattr(self.model, "act_one"):
            raise TypeError(f"BanditFeedback takes a classifier of this package, got {type(self.model).__name__}")

    @property
    def accuracy(self) -> float:
        """Of the actions."""
        return self.right / max(self.rounds, 1)

    @property
    def classes_(self) -> np.ndarray:
        found: np.ndarray = self.model.classes_
        return found

    def test_then_train(self, X: Any, y: Any, classes: Any = None, *, proba: bool = False) -> Any:
        """Predict, act and learn, row by row; the predictions, with `proba` the probabilities too."""
        table: Any = rows_of(X)
        labels: Labels = self._labels(classes)
        codes = labels.read(check_labels(y, type(self).__name__))[0].tolist()
        if len(table) != len(codes):
            raise DataError(f"X has {len(table)} rows and y has {len(codes)}: give one label per row")
        columns = (column.tolist() for column in table.columns) if isinstance(table, Table) else None
        rows = table.tolist() if columns is None else map(list, zip(*columns, strict=True))
        said, shares = [], []
        for b, (x, code) in enumerate(zip(rows, codes, strict=True)):
            act = self.model.act_one(x, self.exploration, classes=classes)
            said.append(self.model.predict_one(x))
            shares.append([*(self.model.predict_proba_one(x) or act.distribution).values()] if proba else [])
            right = labels.code_of(act.action) == code
            more = {"probability": act.probability} if self.unbiased else {}
            if self.rounds:
                self.model.learn_one(x, action=act.action, correct=right, **more)
            else:  # the first row settles what the columns are
                own = {name: [value] for name, value in more.items()}
                self.model.partial_fit(table[b : b + 1], action=[act.action], correct=[right], classes=classes, **own)
            self.rounds += 1
            self.right += right
        found = object_array(said)
        return (found, np.array(shares).reshape(len(found), len(labels.names))) if proba else found

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Not without an action: what the model learns of a row is what came of its own action."""
        raise TypeError("BanditFeedback learns what came of each action at once: there are no late labels, nor weights")

    def _labels(self, classes: Any) -> Labels:
        model = self.model.__dict__.get("_model")
        return Labels(sorted_labels(check_classes(classes, "BanditFeedback")), True) if model is None else model.labels


class Value(NamedTuple):
    """A mean reward, and its standard error."""

    mean: float
    error: float


def ips_value(reward: ArrayLike, probability: ArrayLike, policy: ArrayLike) -> Value:
    """The mean reward another policy would have had, from a log: inverse propensity scores.

    Unbiased if every action that the policy takes had a probability above 0. Its error grows with 1 / probability.

    Parameters
    ----------
    reward : array of shape (n,)
        Of each action taken: 1 if it was right, 0 if not, or any numbers.
    probability : array of shape (n,)
        With which it was drawn, as `act_one` has said.
    policy : array of shape (n,)
        With which the other policy would have taken the same action: 0 or 1 if nothing is drawn.

    Examples
    --------
    >>> value = ips_value([1, 0, 1, 0], [0.5, 0.5, 0.5, 0.5], [1, 0, 1, 1])
    >>> round(value.mean, 2), round(value.error, 2)
    (1.0, 0.58)
    """
    reward, p, policy = _columns(reward=reward, probability=probability, policy=policy)
    return _value(reward * _shares(policy) / _positive(p))


def doubly_robust_value(
    reward: ArrayLike, probability: ArrayLike, action: ArrayLike, policy: ArrayLike, expected: ArrayLike
) -> Value:
    """The same with a guess of the rewards: unbiased whatever it is, and less noisy the better it is.

    Parameters
    ----------
    reward, probability : arrays of shape (n,)
        As in `ips_value`.
    action : array of shape (n,)
        Numbers of the actions taken: columns of the next two.
    policy : array of shape (n, n_actions)
        Probabilities with which the other policy would have acted.
    expected : array of shape (n, n_actions)
        The guess of each action's reward, made before it was taken: `predict_proba` of a classifier, say.

    Examples
    --------
    >>> policy, expected = [[1, 0], [0, 1]] * 2, [[0.9, 0.1], [0.2, 0.8]] * 2
    >>> value = doubly_robust_value([1, 0, 0, 1], [0.5, 0.5, 0.5, 0.5], [0, 0, 1, 1], policy, expected)
    >>> round(value.mean, 2), round(value.error, 2)
    (1.0, 0.09)
    """
    reward, p = _columns(reward=reward, probability=probability)
    own, guess, at = np.asarray(policy, np.float64), np.asarray(expected, np.float64), np.asarray(action)
    if own.ndim != 2 or own.shape != guess.shape or len(own) != len(reward):
        raise DataError(f"policy and expected must have a row for each of the {len(reward)} actions, and equal shapes")
    if not np.isfinite(guess).all():
        raise DataError("expected must have finite numbers alone")
    if (abs(_shares(own).sum(axis=1) - 1.0) > 1e-6).any():
        raise DataError("policy must have probabilities of all actions: the sum of each row is 1")
    if at.shape != reward.shape or at.dtype.kind not in "iu" or not ((at >= 0) & (at < own.shape[1])).all():
        raise DataError(f"action must have one whole number from 0 to {own.shape[1] - 1} for each reward")
    rows = np.arange(len(reward))
    rest = own[rows, at] * (reward - guess[rows, at]) / _positive(p)
    return _value((own * guess).sum(axis=1) + rest)


def _columns(**given: ArrayLike) -> list[np.ndarray]:
    columns = {name: np.asarray(values, np.float64) for name, values in given.items()}
    n = next(iter(columns.values())).size
    if not n:
        raise DataError("there are no actions: give one value for each action taken")
    for name, values in columns.items():
        if values.shape != (n,) or not np.isfinite(values).all():
            raise DataError(f"{name} must be {n} finite numbers, one for each action taken")
    return list(columns.values())


def _positive(p: np.ndarray) -> np.ndarray:
    if not ((p > 0.0) & (p <= 1.0)).all():
        raise DataError("probability must be that of the action taken, in (0, 1]")
    return p


def _shares(policy: np.ndarray) -> np.ndarray:
    if not ((policy >= 0.0) & (policy <= 1.0)).all():
        raise DataError("policy must have probabilities, in [0, 1]")
    return policy


def _value(each: np.ndarray) -> Value:
    n = len(each)
    return Value(float(each.mean()), float(each.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan"))
