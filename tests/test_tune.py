"""Settings chosen on a stream: by rows that were predicted before they were learned, and nothing looks ahead."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.model_selection import GridSearchCV

import onlineboost
from helpers import number_stream
from onlineboost import HoeffdingTree, evaluation, prequential, tune
from onlineboost.cli.main import main
from onlineboost.data.errors import DataError

GRID = {"grace_period": [20, 5000], "leaf_prediction": ["majority", "nba"]}


def test_what_is_chosen_is_a_prequential_run_of_its_own():
    X, y = number_stream(600)
    told = []
    found = tune(HoeffdingTree(), GRID, X, y, progress=lambda *look: told.append(look))
    assert found.settings in [
        {"grace_period": g, "leaf_prediction": p} for g in (20, 5000) for p in ("majority", "nba")
    ]
    alone = prequential(HoeffdingTree(**found.settings), X, y)
    last = found.rounds[-1]
    assert last.rows == 600
    assert last.scores == ((found.settings, pytest.approx(alone.metrics.log_loss)),)
    assert [left for *_, left in told] == [2, 1, 1]
    assert [len(look.scores) for look in found.rounds] == [4, 2, 1]
    assert found.model.n_samples_seen_ == 600
    assert repr(found).startswith("Tuned(grace_period=")


def test_nothing_looks_ahead():
    """Rows after a look change nothing that was decided at it."""
    X, y = number_stream(600)
    other = y.copy()
    cut = tune(HoeffdingTree(), GRID, X, y).rounds[0].rows
    other[cut:] = other[cut:][::-1]
    one, two = (tune(HoeffdingTree(), GRID, X, labels) for labels in (y, other))
    assert one.rounds[0] == two.rounds[0]
    first = tune(HoeffdingTree(), [one.rounds[0].scores[-1][0]], X[:cut], y[:cut])
    assert first.rounds[0].scores[0][1] == pytest.approx(one.rounds[0].scores[-1][1])
    assert one.own.rows == 600


def test_what_cannot_be_tuned_is_named():
    X, y = number_stream(100)
    for settings, more, what in (
        (GRID, {"score": "luck"}, "score must be one of"),
        (GRID, {"keep": 1.0}, "keep must lie"),
        ([], {}, "at least one"),
        ({"colour": [1]}, {}, "colour"),
    ):
        with pytest.raises(ValueError, match=what):
            tune(HoeffdingTree(), settings, X, y, **more)
    with pytest.raises(DataError, match="too few"):
        tune(HoeffdingTree(), GRID, X[:20], y[:20])
    with pytest.raises(DataError, match="one label per row"):
        tune(HoeffdingTree(), GRID, X, y[:5])
    assert onlineboost.tune is evaluation.tune


def test_the_command():
    arguments = ["tune", "balance", "--model", "hoeffding-tree", "--set", "grace_period=20,5000"]
    done = CliRunner().invoke(main, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["settings"]["grace_period"] in (20, 5000)
    assert [look["rows"] for look in answer["rounds"]][-1] == 625
    done = CliRunner().invoke(main, arguments)
    assert "Chosen: grace_period=" in done.stdout
    assert "left" in done.stderr
    bad = CliRunner().invoke(main, ["tune", "balance", "--set", "colour=1"])
    assert bad.exit_code == 2
    assert "has no setting 'colour'" in bad.stderr


def test_the_searches_of_scikit_learn_take_our_estimators():
    X, y = number_stream(120)
    found = GridSearchCV(HoeffdingTree(), {"grace_period": [20, 60]}, cv=2, scoring="neg_log_loss").fit(X, y)
    assert found.best_params_["grace_period"] in (20, 60)
    assert np.isfinite(found.best_score_)
