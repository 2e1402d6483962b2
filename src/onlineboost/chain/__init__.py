"""The chain: examples in blocks through all stages of a model, in order.

`stage` says what the stages are, and what each has to do; `segments` and the ends `hedge`, `stacking`, `one_vs_all` and
`ranking` are them, `chain` is all of them, and `model` a chain with its columns, its classes and calibrated
probabilities.
`loops` are the one learning loop and the one predicting loop, `learners` the weak learners outside of kernels
(`other_learners`: members of the panel, and learners of other packages), `experts` the arithmetic of Hedge, `rows`
single rows, `threads` how cores share the work, `clipping` outliers in numeric columns, `weights` what examples
count, `sets` prediction sets, `acting` actions and their outcomes, `restarts` which learners start again, `reviews` how
that is found out on the way, `gammas` the same for gammas that follow the learners' edges, `diary` what has happened,
`memory_budget` how a limit is shared out, `pending` rows whose labels come late.
Private. Imports `trees`, `boosters`, `panel`, `contracts`, `data` and `_compile`; `explain`, `files`, `estimators` and
all above may import it.
"""
