"""Hoeffding trees (VFDT): many of them in shared tables.

`state` has the tables, `predict` sends an example to its leaf and asks it, `learn` takes one example in, `split` tries
splits, `compact` moves trees between forests; `learner` and `binary` make them weak learners as `contracts.learner`
wants them. Private. Imports `contracts` and `_compile`, and knows nothing of boosters; `chain` and all above may import
it.
"""
