"""Hoeffding trees (VFDT): many of them in shared tables.

`state` has the tables and their memory, `predict` sends an example to its leaf and asks it, `learn` takes one
example in, `split` tries splits, `budget` and `shrink` keep to a limit of memory, `compact` moves trees between
forests; `learner` makes them weak learners as `contracts.learner` wants them. Private. Imports `contracts`
and `_compile`, and knows nothing of boosters; `chain` and all above may import it.
"""
