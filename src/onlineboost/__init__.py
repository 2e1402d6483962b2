"""Online multiclass boosting: many Hoeffding trees, one pass, one example at a time.

What happens to an example, module by module: `stream` reads it, `encode` turns it into numbers, `chain` sends it through the
learners (`trees`) and their booster stages (`stages`, `losses`), `experts` picks whose vote counts, and `estimators` is the face of it
all. `evaluate` measures, `datasets` has something to measure on, `cli` is the command line.
"""

from onlineboost.estimators import AdaBoostOLM, HoeffdingTree

__all__ = ["AdaBoostOLM", "HoeffdingTree"]
__version__ = "0.1.0"
