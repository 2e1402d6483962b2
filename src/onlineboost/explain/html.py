"""Small pieces of HTML for notebooks: tables and bars that read well on light and on dark ground."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

STYLE = """
<style>
.onlineboost{font-family:system-ui,sans-serif;font-size:13px;line-height:1.4;color:inherit;max-width:60em}
.onlineboost table{border-collapse:collapse;background:transparent;color:inherit}
.onlineboost td,.onlineboost th{padding:2px 8px;text-align:left;border:0;background:transparent;color:inherit;
vertical-align:top;overflow-wrap:anywhere}
.onlineboost .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.onlineboost .b{display:inline-block;height:.8em;background:#0072b2;border-radius:2px}
.onlineboost .m{background:#d55e00}
@media (prefers-color-scheme:dark){.onlineboost .b{background:#56b4e9}.onlineboost .m{background:#e69f00}}
</style>
"""


def escaped(value: Any) -> str:
    """Text that means itself, whatever is in it."""
    return escape(str(value), quote=True)


def framed(body: str) -> str:
    return f'{STYLE}<div class="onlineboost">{body}</div>'


def table(lines: Iterable[Sequence[Any]]) -> str:
    """A table of two columns: a name, and what is said of it."""
    rows = "".join(f"<tr><th>{escaped(name)}</th><td>{escaped(value)}</td></tr>" for name, value in lines)
    return f"<table>{rows}</table>"


def bars(lines: Sequence[tuple[str, float]]) -> str:
    """A bar for each number, as long as it is large; those below 0 in another colour."""
    most = max((abs(number) for _, number in lines), default=0.0) or 1.0
    rows = ""
    for name, number in lines:
        kind = "b m" if number < 0.0 else "b"
        bar = f'<span class="{kind}" style="width:{12.0 * abs(number) / most:.2f}em"></span>'
        rows += f'<tr><td>{escaped(name)}</td><td class="n">{number:+.3f}</td><td>{bar}</td></tr>'
    return f"<table>{rows}</table>"
