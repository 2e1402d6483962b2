"""The words that the command line and type checkers know are those that the estimators take."""

from __future__ import annotations

import re

import pytest

from onlineboost import AdaBoostOLM, AdaBoostOVA, HoeffdingTree, OneVsAll, OnlineMBBM
from onlineboost import registry as words
from onlineboost.estimators.adaboost_olm import PaperOLM
from onlineboost.estimators.hoeffding_tree import PaperTree
from onlineboost.estimators.online_mbbm import PaperMBBM

X, Y = [[0.0], [1.0]] * 3, ["low", "high"] * 3

TAKES = [
    (HoeffdingTree, "leaf_prediction", words.LEAF_PREDICTIONS),
    (PaperTree, "draws", words.DRAWS),
    (AdaBoostOLM, "loss", words.LOSSES),
    (AdaBoostOLM, "combiner", words.COMBINERS),
    (AdaBoostOLM, "vote", words.VOTES),
    (AdaBoostOLM, "restart", words.RESTARTS),
    (PaperOLM, "vote", (*words.VOTES, "normalized")),
    (AdaBoostOLM, "alpha_steps", words.ALPHA_STEPS),
    (OnlineMBBM, "loss", words.POTENTIAL_LOSSES),
    (OnlineMBBM, "combiner", words.COMBINERS),
    (OnlineMBBM, "vote", words.VOTES),
    (PaperMBBM, "vote", (*words.VOTES, "normalized")),
    (PaperMBBM, "weights", words.WEIGHTS),
    (OneVsAll, "loss", words.LOSSES),
    (OneVsAll, "vote", words.VOTES),
    (AdaBoostOVA, "loss", words.LOSSES),
    (AdaBoostOVA, "combiner", words.COMBINERS),
    (AdaBoostOVA, "vote", words.VOTES),
]


def few(kind, **settings):
    return kind(**settings) if issubclass(kind, HoeffdingTree) else kind(2, **settings)


@pytest.mark.parametrize(("kind", "setting", "known"), TAKES, ids=lambda value: getattr(value, "__name__", None))
def test_estimators_take_these_words_and_no_others(kind, setting, known):
    for word in known:
        few(kind, **{setting: word}).fit(X, Y)
    with pytest.raises(ValueError, match=f"{setting} must be one of .*nonesuch") as told:
        few(kind, **{setting: "nonesuch"}).fit(X, Y)
    listed = re.search(r"must be one of (.*?)[,;] got", str(told.value))[1]
    assert sorted(listed.split(", ")) == sorted(known)
    assert few(kind).get_params()[setting] in known  # the default
