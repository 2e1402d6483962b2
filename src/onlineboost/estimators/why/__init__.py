"""Why a model says what it says, and what has become of it.

`importances` which columns matter now, `explain` and `explanation` one row, `events` what has happened, `tree` a tree as
text and picture, `summary` the whole model in a few lines, `html` the same for notebooks; `mixin` has the attributes and
methods of the classifiers. Private: users meet it as ``clf.explain(x)`` and the like (docs/why.md). Imports `chain` and
all below it; `estimators.base` imports it.
"""
