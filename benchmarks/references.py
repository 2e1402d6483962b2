"""What figures stand beside: the simplest guesses, and learners that see the first 80 % as often as they like.

Each function predicts every row it can; -1 stands where it predicts nothing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import rare_learners

if TYPE_CHECKING:
    from peers import Stream

LAST = 0.2  # share of the rows that a batch learner is scored on
REFITS = 50


def majority(stream: Stream, seed: int) -> np.ndarray:
    """The label that has come most often so far."""
    counts = np.zeros(stream.n_classes, np.int64)
    predicted = np.empty(len(stream.y), np.int64)
    for i, label in enumerate(stream.y):
        predicted[i] = counts.argmax()
        counts[label] += 1
    return predicted


def no_change(stream: Stream, seed: int) -> np.ndarray:
    """The label before."""
    return np.concatenate([[-1], stream.y[:-1]])


def lightgbm(stream: Stream, seed: int) -> np.ndarray:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)
    return batch(model, stream.X, stream.y, categorical_feature=list(stream.nominal) or "auto")


def refitted(stream: Stream, seed: int, kind: str) -> np.ndarray:
    """A batch learner as it is used on a stream: 50 times fitted to the last 20,000 rows, to predict the next fiftieth.

    Until it has been fitted to two classes: the label that has come most often so far.
    """
    predicted = majority(stream, seed)
    for memory, ahead in rare_learners.stretches(len(stream.y), REFITS):
        if len(np.unique(stream.y[memory])) > 1:
            model = rare_learners.BATCH[kind](stream, memory, seed)
            predicted[ahead] = model.classes[model.probabilities(stream.X[ahead]).argmax(axis=1)]
    return predicted


def svm(stream: Stream, seed: int) -> np.ndarray:
    """Numbers with mean 0 and variance 1, a column of 0 and 1 for each nominal value; missing numbers by the mean."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC

    nominal = list(stream.nominal)
    numeric = [j for j in range(stream.X.shape[1]) if j not in stream.nominal]
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), numeric),
        (OneHotEncoder(handle_unknown="ignore"), nominal),
    )
    return batch(make_pipeline(columns, SVC(cache_size=1000)), stream.X, stream.y)


def batch(model: Any, X: np.ndarray, y: np.ndarray, **settings: Any) -> np.ndarray:
    """Learn the first 80 %, predict the last 20 %."""
    first = len(y) - max(1, round(LAST * len(y)))
    model.fit(X[:first], y[:first], **settings)
    return np.concatenate([np.full(first, -1), model.predict(X[first:])])


MODELS = {
    "simple-majority": majority,
    "simple-nochange": no_change,
    "lightgbm-batch": lightgbm,
    "lightgbm-refitted": partial(refitted, kind="lightgbm"),
    "catboost-refitted": partial(refitted, kind="catboost"),
    "sklearn-svm": svm,
}
