"""All estimators, a line each: what the package exports, and what the command line and the experiments know by name.

Nothing heavy is imported here: a class is loaded when it is first asked for (`lookup`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # for programs that read the code but do not run it
    from onlineboost.estimators.adaboost_olm import AdaBoostOLM as AdaBoostOLM
    from onlineboost.estimators.baselines import AdaBoostOVA as AdaBoostOVA
    from onlineboost.estimators.baselines import BestTree as BestTree
    from onlineboost.estimators.baselines import OneVsAll as OneVsAll
    from onlineboost.estimators.baselines import OzaBoost as OzaBoost
    from onlineboost.estimators.hoeffding_tree import HoeffdingTree as HoeffdingTree
    from onlineboost.estimators.multi_label import MultiLabelBoost as MultiLabelBoost
    from onlineboost.estimators.online_boost import OnlineBoostClassifier as OnlineBoostClassifier
    from onlineboost.estimators.online_mbbm import OnlineMBBM as OnlineMBBM
    from onlineboost.estimators.panel_members import EagerTrees as EagerTrees
    from onlineboost.estimators.panel_members import LeastSquares as LeastSquares
    from onlineboost.estimators.panel_members import NearestNeighbours as NearestNeighbours
    from onlineboost.estimators.panel_members import RefittedTrees as RefittedTrees


class Entry(NamedTuple):
    """One estimator: its name on the command line, its class, the module of this package it is in, and what it is."""

    name: str
    class_name: str
    module: str
    about: str
    is_member: bool = False  # of the panel: of use by itself, but no booster
    paper: str = ""  # the class that its `paper` makes, in the same module; its name is that of the entry, and ".paper"


ENTRIES = (
    Entry(
        "adaboost-olm",
        "AdaBoostOLM",
        "adaboost_olm",
        "adaptive: learners count by how good they have been",
        paper="PaperOLM",
    ),
    Entry(
        "online-mbbm",
        "OnlineMBBM",
        "online_mbbm",
        "boost-by-majority, with costs from potentials",
        paper="PaperMBBM",
    ),
    Entry(
        "online-boost",
        "OnlineBoostClassifier",
        "online_boost",
        "a panel of unlike learners, then boosted trees: the most accurate",
    ),
    Entry("oza-boost", "OzaBoost", "baselines", "Oza and Russell's online boosting: each tree reweights for the next"),
    Entry(
        "one-vs-all",
        "OneVsAll",
        "baselines",
        "a binary booster for every class, each asked: this class or not?",
        paper="PaperOneVsAll",
    ),
    Entry(
        "adaboost-ova",
        "AdaBoostOVA",
        "baselines",
        "learners that are a binary tree for every class",
        paper="PaperOVA",
    ),
    Entry("best-tree", "BestTree", "baselines", "trees side by side; the one right most often so far is asked"),
    Entry(
        "hoeffding-tree",
        "HoeffdingTree",
        "hoeffding_tree",
        "one tree, the weak learner of all the others",
        paper="PaperTree",
    ),
    Entry(
        "eager-trees",
        "EagerTrees",
        "panel_members",
        "a member of the panel: trees that split at once, at random",
        is_member=True,
    ),
    Entry(
        "nearest-neighbours",
        "NearestNeighbours",
        "panel_members",
        "a member of the panel: rows most alike",
        is_member=True,
    ),
    Entry(
        "least-squares",
        "LeastSquares",
        "panel_members",
        "a member of the panel: linear scores, random cosines",
        is_member=True,
    ),
    Entry(
        "refitted-trees",
        "RefittedTrees",
        "panel_members",
        "a member of the panel: small trees over the last rows",
        is_member=True,
    ),
)

# Estimators whose labels are of another kind: in the package and in files, not on the command line.
BESIDE = (Entry("multi-label", "MultiLabelBoost", "multi_label", "ranks labels where several are right"),)
ALL = (*ENTRIES, *BESIDE)


# ----------------------------------------------------------------------------------------- the words that settings take
# What a word means is told in the docstrings of the estimators; that they take these and no others is tested.

LOSSES = ("logistic", "exponential", "squared_hinge")
POTENTIAL_LOSSES = ("zero_one", "pairwise", "logistic", "exponential", "hinge", "squared_hinge")  # of OnlineMBBM
COMBINERS = ("hedge", "weighted", "best", "last")
VOTES = ("tempered", "cost", "argmax")
RESTARTS = ("auto", "always", "never")
ALPHA_STEPS = ("auto", "decaying", "adaptive")
LEAF_PREDICTIONS = ("majority", "nb", "nba")
DRAWS = ("log", "even")  # of a tree's settings from their ranges
WEIGHTS = ("relative", "plain", "mean")  # of OnlineMBBM
