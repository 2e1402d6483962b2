"""Predictions of a default booster at fixed rows of three data sets, so that an accidental change of behaviour shows.

After a deliberate change: ``python -m pytest tests/test_golden.py --renew-golden``, and look at what `git diff` says.
"""

from __future__ import annotations

import json
from pathlib import Path

import llvmlite.binding
import numba
import numpy as np
import pytest

from onlineboost import AdaBoostOLM, load_dataset, prequential
from onlineboost._compile.numba_internals import processor

GOLDEN = Path(__file__).parent / "golden"
ROWS = 100  # predictions kept, spread over the stream
AGREE = 0.9  # on another processor sums may differ in the last bit, and a near tie then falls the other way


def machine() -> str:
    """Where runs are equal bit by bit: kernels may add up in the order that suits what they are compiled for."""
    made_for = processor() or (llvmlite.binding.get_host_cpu_name(),)
    return f"{made_for[-2]}, numba {numba.__version__}"


@pytest.mark.parametrize("name", ["balance", "car", "nursery"])
def test_the_default_booster_predicts_what_it_did(name, pytestconfig):
    data = load_dataset(name).shuffled(0)
    n = min(2000, len(data))
    result = prequential(AdaBoostOLM(n_learners=20), data.X[:n], data.y[:n], classes=list(data.classes))
    rows = np.linspace(n // 10, n - 1, ROWS).round().astype(int)
    now = {
        "machine": machine(),
        "accuracy": round(result.accuracy, 4),
        "rows": rows.tolist(),
        "predictions": result.predictions[rows].tolist(),
    }
    path = GOLDEN / f"{name}.json"
    if pytestconfig.getoption("--renew-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(now, indent=1) + "\n")
    then = json.loads(path.read_text())
    assert then["rows"] == now["rows"]
    assert set(then["predictions"]) <= set(data.classes)
    if then["machine"] == now["machine"]:
        assert now == then
    else:
        same = np.mean([a == b for a, b in zip(now["predictions"], then["predictions"], strict=True)])
        assert same >= AGREE
        assert now["accuracy"] == pytest.approx(then["accuracy"], abs=0.02)
