"""What a weak learner and a booster promise each other, and what passes between them.

`rows` is a block of examples on its way through the chain, `learner` the contract of a weak learner, `booster` that of
a booster. Trees and boosters implement these and know nothing of each other; the loops of `chain` know nothing else.
`schema` is how a state says what its fields hold, `state` all that follows from it: copies, parts, checks, files.
Public: docs/extend.md shows how to use it. Imports `_compile` alone; `trees`, `boosters`, `chain` and all above
may import it.
"""

from onlineboost.contracts.booster import BOOSTER, booster
from onlineboost.contracts.learner import LEARNER
from onlineboost.contracts.rows import Rows, Work

__all__ = ["BOOSTER", "LEARNER", "Rows", "Work", "booster"]
