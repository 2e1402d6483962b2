"""Pictures of runs, public: displays for notebooks, the paper's figures, and whole HTML pages; all by matplotlib.

The displays follow scikit-learn: make one with ``from_results`` or ``from_estimator``, draw it with ``plot``. Pages
need no network: `comparison_page` shows models on one stream. `draw_potentials` draws the paper's figure. All need the
extra ``onlineboost[report]``, and are loaded when first asked for. Inside, `charts` draws for pages, `page` has their
look and tables, `comparison` puts them together, `displays` is for notebooks. May be imported by `cli`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onlineboost.report.charts import draw_potentials
    from onlineboost.report.comparison import comparison_page
    from onlineboost.report.displays import CurveDisplay, ExpertsDisplay, LearnersDisplay, SpeedDisplay

__all__ = [
    "CurveDisplay",
    "ExpertsDisplay",
    "LearnersDisplay",
    "SpeedDisplay",
    "comparison_page",
    "draw_potentials",
]

_HOME = {"comparison_page": "comparison", "draw_potentials": "charts"}  # others: displays


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'onlineboost.report' has no attribute {name!r}")
    return getattr(import_module(f"onlineboost.report.{_HOME.get(name, 'displays')}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
