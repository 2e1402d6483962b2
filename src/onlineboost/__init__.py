"""Online multiclass boosting: many Hoeffding trees, one pass, one example at a time.

What happens to an example, module by module: `stream` reads it, `encode` turns it into numbers, `chain` sends it
through the learners (`forest`, `splits`, `trees`) and their booster stages (`stages`, `losses`, `potentials`),
`experts` picks whose vote counts, and `online`, `estimators` and `baselines` are the face of it all. `evaluate`
measures, `datasets` has something to measure on, `experiments` are the paper's, `html_report`, `report` and `displays`
draw, `cli` is the command line.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onlineboost.datasets.load import load_dataset
    from onlineboost.estimators.adaboost_olm import AdaBoostOLM
    from onlineboost.estimators.adaboost_ova import AdaBoostOVA
    from onlineboost.estimators.best_tree import BestTree
    from onlineboost.estimators.hoeffding_tree import HoeffdingTree
    from onlineboost.estimators.one_vs_all import OneVsAll
    from onlineboost.estimators.online_mbbm import OnlineMBBM
    from onlineboost.estimators.oza_boost import OzaBoost
    from onlineboost.evaluation.prequential import prequential

__all__ = [
    "AdaBoostOLM",
    "AdaBoostOVA",
    "BestTree",
    "HoeffdingTree",
    "OneVsAll",
    "OnlineMBBM",
    "OzaBoost",
    "load_dataset",
    "prequential",
]
__version__ = "0.1.0"

# Loaded when first asked for: scikit-learn alone takes most of a second to import.
_HOME = {
    "AdaBoostOLM": "onlineboost.estimators.adaboost_olm",
    "AdaBoostOVA": "onlineboost.estimators.adaboost_ova",
    "HoeffdingTree": "onlineboost.estimators.hoeffding_tree",
    "OneVsAll": "onlineboost.estimators.one_vs_all",
    "OnlineMBBM": "onlineboost.estimators.online_mbbm",
    "OzaBoost": "onlineboost.estimators.oza_boost",
    "BestTree": "onlineboost.estimators.best_tree",
    "load_dataset": "onlineboost.datasets.load",
    "prequential": "onlineboost.evaluation.prequential",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'onlineboost' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
