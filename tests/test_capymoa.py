"""Our classifiers in CapyMOA, through its wrapper for those of scikit-learn. Skipped where CapyMOA is not."""

from __future__ import annotations

import numpy as np
import pytest

from onlineboost import AdaBoostOLM

pytest.importorskip("capymoa", reason="CapyMOA is not installed")


def test_capymoa_evaluates_them():
    from capymoa.base import SKClassifier
    from capymoa.evaluation import prequential_evaluation
    from capymoa.stream import NumpyStream

    X = np.random.default_rng(0).normal(size=(600, 3))
    stream = NumpyStream(X, (X[:, 0] > 0.0).astype(int))
    model = SKClassifier(AdaBoostOLM(5), stream.get_schema())
    assert prequential_evaluation(stream, model, window_size=100).cumulative.accuracy() > 90.0
