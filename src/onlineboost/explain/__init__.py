"""Why a model says what it says, and what has become of it.

`explain` asks a model: which columns matter now, why a row has its label, what has happened, and all in a few lines;
`views` has the objects that users get, as text and pictures. Private: users meet it as
``clf.explain(x)`` and the like (docs/why.md). Imports `chain` and all below it; `estimators` imports it.
"""
