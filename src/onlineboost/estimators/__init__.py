"""The classifiers, as a scikit-learn user meets them, and the list of them all.

`registry` has a line for every estimator and `lookup` finds them by name, `words` are the words that settings take:
these are light. `base` is what all classifiers share, `predicting` how they predict blocks, `listening` what they say
while they learn, `one_row` how they take single rows, `pending` those whose labels come late, `lock` who may use a
model at a time, `model` what they have learned, `remarks` what they warn of, `booster` what the boosters share, `why`
what they tell about themselves, `settings`, `costs` and `checks` read what a user gives; then a file for every class.
Users import the classes from `onlineboost` itself; public here is what a new booster is built on (docs/new-booster.md).
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
