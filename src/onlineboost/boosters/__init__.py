"""The boosters: one file and one state type for each, readable beside the algorithm it implements.

`olm` is Adaboost.OLM with its `losses`, `mbbm` OnlineMBBM with its `potentials` and `adaptive` gammas, `oza` Oza and
Russell's, `plain` none at all, `olmr` Ada.OLMR and OnlineBMR for several labels; `votes` is how a distribution becomes
a vote. They implement `contracts.booster` and know nothing of trees.
Private; docs/extend.md says how to write one. Imports `contracts` and `_compile`; `chain` and all above may import
it.
"""
