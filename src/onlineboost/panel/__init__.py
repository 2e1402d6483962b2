"""The panel ahead of the chain: learners that are unlike trees and unlike each other, and a combiner of what they say.

`dense` makes rows of numbers, `columns` learns how much each column counts. `member` is the contract of members:
`least_squares` (linear), `cosines`, `neighbours`, `refits` (trees) and `eager` (trees, which grow by `eager_trees`).
`state` lists them, holds what they have learned, and makes room; `panel` sends rows through all of them, or through
one by itself. `combiner` adds them up, `reset` says when they must begin anew, and `paths` which columns moved them.
Private. Imports `contracts` and `_compile`; `chain` and all above may import it.
"""
