"""The classifiers, as a scikit-learn user meets them, and the list of them all.

`classifier` is what a user of any of them meets; `learning` and `single_rows` take blocks and rows to the model,
`listening` hears what is said of rows before they are learned, `acting` learns from actions, `lock` says who may use a
model at a time, and makes copies of it, `memory` has their limit. `booster` is what the boosters share, `settings`,
`costs` and `checks` read what a user gives; then the classes: `online_boost`, `adaboost_olm`,
`online_mbbm`, `hoeffding_tree`, `panel_members` (four), `baselines` (four), `multi_label` (for rows with several
labels). `onlineboost.registry` has a line for each.
Users import the classes from `onlineboost` itself; public here is what a new booster is built on (docs/extend.md).
Imports `chain` and all below it; `evaluation`, `theory`, `paper`, `report` and `cli` may import it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onlineboost.estimators.booster import BoosterClassifier, boosted_chain
    from onlineboost.estimators.classifier import OnlineClassifier

__all__ = ["BoosterClassifier", "OnlineClassifier", "boosted_chain"]

_HOME = {"BoosterClassifier": "booster", "OnlineClassifier": "classifier", "boosted_chain": "booster"}


def __getattr__(name: str) -> Any:  # loaded when first asked for: scikit-learn comes with them
    if name not in _HOME:
        raise AttributeError(f"module 'onlineboost.estimators' has no attribute {name!r}")
    return getattr(import_module(f"onlineboost.estimators.{_HOME[name]}"), name)
