"""The chain: examples in blocks through all learners, in order, and the experts of each of its segments.

`loops` are the one learning loop and the one predicting loop, `learners` the weak learners outside of kernels (`given`:
those of another make), `segments` neighbouring learners, `chain` all of them; `ova`, `independent` and `panelled` are
chains of another shape, `single` and `single_ova` send single rows through, `experts` says whom to follow, `restarts`
which learners start again, `reviews` how that is found out on the way, `class_weights` what a class is worth,
`relative_weights` how an example's weight counts, `numbers` what is believed of numeric columns, `threads` how cores
share the work.
Private. Imports `trees`, `boosters`, `panel`, `contracts`, `data` and `_compile`; `estimators` and all above may import
it.
"""
