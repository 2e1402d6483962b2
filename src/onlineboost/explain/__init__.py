"""Why a model says what it says, and what has become of it.

`importances` tells which columns matter now, `explain` and `explanation` why a row has its label, `events` what has
happened; `tree` is a tree as text and picture, `summary` the whole model in a few lines, `html` the same for notebooks,
`columns` has names and values in words. Private: users meet it as ``clf.explain(x)`` and the like (docs/why.md).
Imports `chain` and all below it; `estimators` imports it.
"""
