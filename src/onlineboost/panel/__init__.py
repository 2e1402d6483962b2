"""The panel ahead of the chain: learners that are unlike trees and unlike each other, and a combiner of what they say.

`dense` makes rows of numbers, `metric` learns how much each column counts, `ground` is both; `least_squares`, `eager`
(trees), `neighbours` and `refits` (trees) are the members; `newton` adds them up; `state` holds it all and makes room,
`panel` sends rows through. `recency` is a voice for the combiner behind the chain. `members` has the members without a
panel. Private. Imports `contracts` and `_compile`; `chain` and all above may import it.
"""
