"""The panel ahead of the chain: learners that are unlike trees and unlike each other, and a combiner of what they say.

`dense` makes rows of numbers, `metric` learns how much each column counts; `least_squares`, `eager` (trees) and
`neighbours` are the members; `newton` adds them up; `state` holds it all and makes room, `panel` sends rows through.
`recency` is a voice for the combiner behind the chain.
Private. Imports `_compile` alone; `chain` and all above may import it.
"""
