"""The classifiers, as a scikit-learn user meets them, and the list of them all.

`registry` has a line for every estimator, `words` the words that their settings take; both are light. The other modules
have the classes. May be imported by `evaluation`, `theory`, `paper`, `report` and `cli`. Users import from
`onlineboost` itself.
"""
