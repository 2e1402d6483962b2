"""The estimators as classifiers of river: for its pipelines, metrics, `evaluate` and `model_selection`.

They are river's own (`base.MiniBatchClassifier`) and pass its checks. Each has the settings of the estimator of the
same name, with `seed` in the place of `random_state`. Rows are mappings, in any order of their names; features may come
and go; a first prediction is None. `estimator` is what has learned.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

try:
    from river import base
except ImportError as error:
    raise ImportError("onlineboost.river needs river: pip install 'onlineboost[river]'") from error

import pandas as pd

from onlineboost import lookup
from onlineboost.registry import ENTRIES

if TYPE_CHECKING:
    from onlineboost.estimators.classifier import OnlineClassifier

SET_HERE = {"columns": "open"}  # settings that river leaves no choice of
RENAMED = {"random_state": "seed"}


class RiverClassifier(base.MiniBatchClassifier):
    """What the classifiers below share."""

    kind: ClassVar[type]  # of the estimator
    estimator: OnlineClassifier

    def __init__(self, settings: dict[str, Any]) -> None:
        for name, value in settings.items():
            setattr(self, name, value)
        own = {old: settings[RENAMED.get(old, old)] for old in _settings(self.kind)}
        self.estimator = self.kind(**own, **SET_HERE)
        self._names: frozenset[str] = frozenset()

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        row = self._row(x)
        self.estimator.learn_one(row, y, w)
        if row is not x:
            self._names |= row.keys()

    def predict_one(self, x: Mapping[Any, Any], **_: Any) -> Any:
        return self.estimator.predict_one(self._row(x))

    def predict_proba_one(self, x: Mapping[Any, Any], **_: Any) -> dict[Any, float]:
        return self.estimator.predict_proba_one(self._row(x))

    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: pd.Series | None = None) -> None:
        self.estimator.partial_fit(_frame(X), y, sample_weight=w)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        if not self._has_learned():
            return pd.Series([None] * len(X), index=X.index, dtype=object)
        return pd.Series(self.estimator.predict(_frame(X)), index=X.index)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        if not self._has_learned():
            return pd.DataFrame(index=X.index)
        p, labels = self.estimator.predict_proba(_frame(X)), self.estimator._fitted().labels
        names = list(labels.by_name(labels.names))  # as they were given; classes_ is an array of one type
        return pd.DataFrame(p, index=X.index, columns=pd.Index(names))

    def _has_learned(self) -> bool:
        return bool(self.estimator.__sklearn_is_fitted__())

    def _row(self, x: Mapping[Any, Any]) -> Mapping[str, Any]:
        """Names as text. Where some are new they are sorted, so that the order of a mapping makes no difference."""
        if x.keys() <= self._names:
            return x
        return dict(sorted(((str(name), value) for name, value in x.items()), key=lambda item: item[0]))

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def _raw_memory_usage(self) -> int:
        """What the model has learned, in bytes. River's own walk would count the compiler, too, and trip over it."""
        return int(self.estimator.nbytes_) if self._has_learned() else 0

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_learners": 3} if "n_learners" in _settings(cls.kind) else {}


def _frame(X: pd.DataFrame) -> pd.DataFrame:
    """Names as text, in their order."""
    return X.rename(columns=str).sort_index(axis="columns")


def _settings(kind: type) -> list[str]:
    return [name for name in inspect.signature(kind).parameters if name not in SET_HERE]


def _classifier(name: str, family: type[RiverClassifier] = RiverClassifier) -> type[RiverClassifier]:
    """The estimator with this name on the command line as a class of river's."""
    kind = lookup.load(name)
    parameters = inspect.signature(kind).parameters
    own = [parameters[old].replace(name=RENAMED.get(old, old)) for old in _settings(kind)]
    signature = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *own])

    def __init__(self: RiverClassifier, *values: Any, **settings: Any) -> None:
        given = signature.bind(self, *values, **settings)
        given.apply_defaults()
        RiverClassifier.__init__(self, {name: value for name, value in given.arguments.items() if name != "self"})

    __init__.__signature__ = signature  # type: ignore[attr-defined]  # where river looks for the settings
    about = f"{kind.__name__} of this package as a classifier of river; see :class:`onlineboost.{kind.__name__}`."
    members = {"kind": kind, "__init__": __init__, "__doc__": about, "__module__": __name__}
    return type(kind.__name__, (family,), members)


if TYPE_CHECKING:  # for programs that read the code but do not run it

    class _Static(RiverClassifier):
        def __init__(self, *values: Any, **settings: Any) -> None: ...

    class AdaBoostOLM(_Static): ...

    class AdaBoostOVA(_Static): ...

    class BestTree(_Static): ...

    class EagerTrees(_Static): ...

    class HoeffdingTree(_Static): ...

    class LeastSquares(_Static): ...

    class MultiLabelBoost(_Static): ...

    class NearestNeighbours(_Static): ...

    class OneVsAll(_Static): ...

    class OnlineBoostClassifier(_Static): ...

    class OnlineMBBM(_Static): ...

    class OzaBoost(_Static): ...

    class RefittedTrees(_Static): ...


class _MultiLabel(RiverClassifier, base.MultiLabelClassifier):
    """Labels are mappings {label: bool}, as in river; `predict_one` gives one, empty before anything is learned."""

    def predict_one(self, x: Mapping[Any, Any], **_: Any) -> Any:
        said = self.estimator.predict_one(self._row(x))
        return {label: label in said for label in self.estimator.classes_.tolist()} if self._has_learned() else {}

    def predict_proba_one(self, x: Mapping[Any, Any], **_: Any) -> Any:
        found = self.estimator.predict_proba_one(self._row(x))
        return {label: {False: 1.0 - q, True: q} for label, q in found.items()}

    def predict_many(self, X: pd.DataFrame) -> pd.DataFrame:
        return (
            self.predict_proba_many(X) > self.estimator.threshold_
            if self._has_learned()
            else pd.DataFrame(index=X.index)
        )


_CLASSIFIERS = {entry.class_name: _classifier(entry.name) for entry in ENTRIES}
_CLASSIFIERS["MultiLabelBoost"] = _classifier("multi-label", _MultiLabel)
globals().update(_CLASSIFIERS)
__all__ = ["RiverClassifier", *_CLASSIFIERS]
