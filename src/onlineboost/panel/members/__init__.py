"""The members of the panel by themselves: weak learners of the chain's own kind, each in a file of its own.

`member` is what they share: a row is made of numbers, the member is asked, and then it learns; `eager_trees`,
`nearest_neighbours`, `least_squares` (linear, or with cosines) and `refitted_trees` say what is special. The kernels
are those of the panel. Private. Imports `panel` and `contracts`; `chain` and all above may import it.
"""
