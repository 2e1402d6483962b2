"""Online multiclass boosting: many Hoeffding trees, one pass, one example at a time.

What happens to an example, package by package: `data` reads it and turns it into numbers, `chain` sends it through the
learners (`trees`) and their booster's costs and votes (`boosters`), some behind a `panel` of learners of other kinds,
and `estimators` are the face of it all. `datasets` has something to learn from, `evaluation` measures, `theory` says
what can be expected, `cluster` spreads a chain over machines, `paper` has the paper's experiments, `report` draws,
`cli` is the command line. `_compile` turns the kernels into machine code, `storage` has the format of model files.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from onlineboost.registry import ALL as _ALL

if TYPE_CHECKING:  # for programs that read the code but do not run it
    from onlineboost.datasets import load_dataset as load_dataset
    from onlineboost.evaluation.prequential import prequential as prequential
    from onlineboost.evaluation.prequential import tune as tune
    from onlineboost.files.files import load as load
    from onlineboost.registry import *  # noqa: F403

__version__ = "0.3.0"

# Where each name lives. Loaded when first asked for: scikit-learn alone takes most of a second to import.
_HOME = {entry.class_name: f"onlineboost.estimators.{entry.module}" for entry in _ALL} | {
    "load": "onlineboost.files.files",
    "load_dataset": "onlineboost.datasets",
    "prequential": "onlineboost.evaluation",
    "tune": "onlineboost.evaluation",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'onlineboost' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
