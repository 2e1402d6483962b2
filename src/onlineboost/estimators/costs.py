"""`class_weight` and `cost_matrix`: what mistakes cost, as users give it, to factors of the examples' weights.

A loss L^y times c_y has c_y times the costs, weights, steps of alpha and losses of the experts. So all that a chain has
to know of costs is the weight of an example: see docs/rare-events.md.
"""

from __future__ import annotations

import pickle
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np

from onlineboost.chain.weights import weigh_classes
from onlineboost.data.errors import DataError, Remarks, did_you_mean, near_names
from onlineboost.data.labels import Labels, stretches, written_as

LEAST_RATIO = 1e-6  # a class counts at least so much beside the one that counts most
MOST = 1e150  # weights and costs above are refused: sums of them must be numbers

ClassWeight = Mapping[Any, float] | str | None
CostMatrix = Any  # array of shape (classes, classes), mapping of mappings, or None


@dataclass(frozen=True)
class Costs:
    """What mistakes cost, by label: checked, but for what depends on which labels there are."""

    weights: Mapping[Hashable, float]  # labels that are not in it: 1
    balanced: bool
    matrix: Mapping[Hashable, Mapping[Hashable, float]] | np.ndarray | None  # pairs that are not in it: 1
    _found: dict[Any, np.ndarray] = field(default_factory=dict, repr=False, compare=False)  # what takes long to find

    def check_labels(self, labels: Labels) -> None:
        """Does it fit the labels? Nothing can be said of a mapping as long as labels may still turn up."""
        known = labels.names
        if isinstance(self.matrix, np.ndarray):
            if not labels.fixed:
                raise DataError(
                    "cost_matrix is an array, so the classes must be known: give `classes` on the first call of "
                    "partial_fit, or give cost_matrix as a dict of dicts, {label: {prediction: cost}}"
                )
            if len(self.matrix) != len(known):
                raise DataError(
                    f"cost_matrix has {len(self.matrix)} rows and there are {len(known)} classes: give a row and a "
                    f"column for each, in the order of {_shown(known)}"
                )
        if labels.fixed:
            matrix = self.matrix if isinstance(self.matrix, Mapping) else {}
            for name, given in (("class_weight", self.weights), ("cost_matrix", matrix)):
                if given and not any(written_as(label) in given for label in known):
                    raise DataError(f"{name} has {_shown(given)}, but the classes are {_shown(known)}")

    def told(self, labels: Labels) -> Remarks:
        """What there is to say of labels in the settings that cannot come any more: they may be misspelt."""
        known = set(map(written_as, labels.names))
        matrix = self.matrix if isinstance(self.matrix, Mapping) else {}
        given = {"class_weight": set(self.weights), "cost_matrix": set(matrix).union(*matrix.values())}
        odd = {name: of - known for name, of in given.items() if labels.fixed and of - known}
        return {f"labels of {name}": partial(_unknown_told, name, of, labels.names) for name, of in odd.items()}

    def worth(self, labels: Sequence[Hashable]) -> np.ndarray:
        """What a mistake about each label costs on the average over the other labels, times the label's weight."""
        key = ("worth", *labels)
        if key not in self._found:
            self._found[key] = self._worth(labels)
        return self._found[key]

    def _worth(self, labels: Sequence[Hashable]) -> np.ndarray:
        worth = _share(np.array([self.weights.get(written_as(label), 1.0) for label in labels], np.float64))
        if self.matrix is not None:
            worth = _share(worth * _share(_means(_pairs(self.matrix, labels))))
        return worth

    def weigh(
        self, counts: np.ndarray, labels: Sequence[Hashable], known: int, codes: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """Weights of these rows with their costs.

        `counts` is the weight of each class before them; of the labels, `known` have been known before.
        """
        out = weight.copy()
        counts = np.pad(counts, (0, len(labels) - len(counts)))
        for start, stop, k in stretches(codes, known):
            weigh_classes(counts, codes[start:stop], self.worth(labels[:k]), self.balanced, out[start:stop])
        return out


def _unknown_told(name: str, odd: Iterable[Hashable], known: Sequence[Hashable]) -> str:
    label = min(odd, key=repr)
    near = did_you_mean(near_names(str(label), list(map(str, known))))
    return f"{name} has {label!r}, which is none of the classes {_shown(known)} and changes nothing.{near}"


def for_experts(costs: Costs | None, labels: Labels) -> np.ndarray | None:
    """What a mistake counts beside the average one about its label, which is in the weights; None: all the same."""
    if costs is None or costs.matrix is None:
        return None
    key = ("experts", *labels.names)
    if key not in costs._found:
        pairs = _pairs(costs.matrix, labels.names)
        costs._found[key] = pairs / _means(pairs)[:, None]
    return costs._found[key]


def _pairs(matrix: CostMatrix, labels: Sequence[Hashable]) -> np.ndarray:
    """What each mistake about these labels costs, (label, prediction)."""
    if not isinstance(matrix, Mapping):
        return np.asarray(matrix, np.float64)
    costs = np.ones((len(labels), len(labels)))
    codes = {written_as(label): code for code, label in enumerate(labels)}
    for label, row in matrix.items():
        for prediction, cost in row.items():
            if label in codes and prediction in codes:
                costs[codes[label], codes[prediction]] = cost
    np.fill_diagonal(costs, 0.0)
    return costs


def _means(pairs: np.ndarray) -> np.ndarray:
    """What a mistake about each label costs on the average; 1 for a label that is alone."""
    return (pairs / max(len(pairs) - 1, 1)).sum(axis=1) if len(pairs) > 1 else np.ones(len(pairs))  # type: ignore[no-any-return]


def _share(worth: np.ndarray) -> np.ndarray:
    """Beside the largest, since only ratios matter: costs that are far apart make no infinite weights."""
    return np.maximum(worth / worth.max(), LEAST_RATIO) if len(worth) else worth


def count(counts: np.ndarray, codes: np.ndarray, weight: np.ndarray, k: int) -> np.ndarray:
    """`counts` after these rows, of k classes: added up row by row, as `weigh_classes` does."""
    counts = np.pad(counts, (0, k - len(counts)))
    np.add.at(counts, codes, weight)
    return counts


def costs_of(class_weight: ClassWeight, cost_matrix: CostMatrix, labels: Labels | None = None) -> Costs | None:
    """The two settings, which have to fit the labels; None: all mistakes cost the same."""
    if class_weight is None and cost_matrix is None:
        return None
    balanced = isinstance(class_weight, str) and class_weight == "balanced"
    weights = {} if class_weight is None or balanced else _weights(class_weight)
    costs = Costs(weights, balanced, None if cost_matrix is None else _matrix(cost_matrix))
    if labels is not None:
        costs.check_labels(labels)
    return costs


class Checked:
    """The two settings as they were last found good: checking many costs takes long, pickling them does not.

    Their pickle is compared, so a setting that changes in place is noticed, whatever it is.
    """

    def __init__(self) -> None:
        self._given: bytes | None = None
        self._costs: Costs | None = None

    def costs_of(
        self, class_weight: ClassWeight, cost_matrix: CostMatrix, labels: Labels | None = None
    ) -> Costs | None:
        """`costs_of` these settings."""
        if class_weight is None and cost_matrix is None:
            return None
        given = _pickled((class_weight, cost_matrix))
        if given is None or given != self._given:
            self._given = None
            self._costs = costs_of(class_weight, cost_matrix)
            self._given = given
        if labels is not None and self._costs is not None:
            self._costs.check_labels(labels)
        return self._costs


def _pickled(settings: Any) -> bytes | None:
    try:
        return pickle.dumps(settings, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None  # such as a mapping of a class within a function: it is checked every time


def _weights(given: Any) -> Mapping[Hashable, float]:
    if not isinstance(given, Mapping):
        raise ValueError(f'class_weight must be None, "balanced" or a dict of label: weight, got {given!r}')
    for label, weight in given.items():
        if not (_is_number(weight) and 0.0 < weight <= MOST):
            raise ValueError(
                f"class_weight of {label!r} must be a number above 0, at most {MOST:g}, got {weight!r}; "
                "to leave a class out, leave out its rows"
            )
    return {written_as(label): float(weight) for label, weight in given.items()}


def _matrix(given: Any) -> Mapping[Hashable, Mapping[Hashable, float]] | np.ndarray:
    """Costs as an array, or by how labels are written. A frame of pandas goes by its names."""
    if hasattr(given, "index") and hasattr(given, "columns"):
        given = {label: {name: cost for name, cost in row.items() if name != label} for label, row in given.iterrows()}
    if not isinstance(given, Mapping):
        return _array(given)
    _check_mapping(given)
    return {written_as(label): {written_as(l): float(c) for l, c in row.items()} for label, row in given.items()}


def _check_mapping(given: Mapping[Any, Any]) -> None:
    for label, row in given.items():
        if not isinstance(row, Mapping):
            raise ValueError(f"cost_matrix of {label!r} must be a dict of prediction: cost, got {row!r}")
        for prediction, cost in row.items():
            _check_cost(label, prediction, label == prediction, cost)


def _array(given: Any) -> np.ndarray:
    says = "cost_matrix must be an array with a row and a column for each class, or a dict of dicts"
    try:
        if np.iscomplexobj(given) or np.ma.isMaskedArray(given):
            raise TypeError
        matrix = np.asarray(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{says}, got {given!r}") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{says}, got an array of shape {matrix.shape}")
    for (r, l), cost in np.ndenumerate(matrix):
        _check_cost(r, l, r == l, float(cost))
    return matrix


def _check_cost(label: Any, prediction: Any, right: bool, cost: Any) -> None:
    good = _is_number(cost) and (cost == 0.0 if right else 0.0 < cost <= MOST)
    if not good:
        rule = "a right prediction costs 0: put 0 there, or leave it out of a dict"
        rule = rule if right else f"a mistake must cost a number above 0, at most {MOST:g}"
        raise ValueError(f"cost_matrix[{label!r}][{prediction!r}] is {cost!r}: {rule}")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _shown(labels: Iterable[Any]) -> str:
    """The first few of the labels."""
    labels = list(islice(labels, 11))
    return ", ".join(map(repr, labels[:10])) + (", ..." if len(labels) > 10 else "")
