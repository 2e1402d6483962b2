"""Pictures of runs, public: displays for notebooks, the paper's figures, and whole HTML pages; all by matplotlib.

The displays follow scikit-learn: make one with ``from_results`` or ``from_estimator``, draw it with ``plot``. Pages
need no network: `comparison_page` shows models on one stream. `draw_potentials` draws the paper's figure. All need the
extra ``onlineboost[report]``, and are loaded when first asked for. Inside, `page` has the look of pages, `charts`
draws, `comparison` puts a page together, `displays` is for notebooks. May be imported by `cli`.
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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'onlineboost.report' has no attribute {name!r}")
    home = "displays" if name.endswith("Display") else {"comparison_page": "comparison"}.get(name, "charts")
    return getattr(import_module(f"onlineboost.report.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
