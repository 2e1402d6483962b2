"""The panel ahead of the chain: learners that are unlike trees and unlike each other, and a combiner of what they say.

`columns` makes rows of numbers, and learns how much each column counts. `member` is the contract of members:
`least_squares` (linear), `cosines`, `neighbours`, `refits` (trees) and `eager` (trees, which grow by `eager_trees`).
`state` lists them, holds what they have learned, and makes room; `panel` sends rows through all of them, or through
one by itself, and says which columns moved them. `combiner` adds them up, and says when they must begin again.
Private. Imports `contracts` and `_compile`; `chain` and all above may import it.
"""
