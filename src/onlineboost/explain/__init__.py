"""Explanations: importances, contributions of columns to a prediction, events, trees, summaries.

`explain` asks a model: which columns matter now, why a row has its label, what has happened, and all in a few lines;
`views` has the objects that users get, as text and pictures. Private: users meet it as
``clf.explain(x)`` and the like (docs/explain.md). Imports `chain` and all below it; `estimators` imports it.
"""
