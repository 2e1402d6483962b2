"""The colours of all pictures and tables: they stay apart for the colour-blind."""

from __future__ import annotations

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#000000")  # strongest first
GREY = "#777777"
ABOVE, BELOW = (67, 147, 195), (224, 130, 20)  # blue and orange: the colour-blind tell them apart
LIGHT, DARK = (255, 255, 255), (22, 27, 34)  # the paper of a page, by day and by night


def colour(share: float, dark: bool = False) -> str:
    """The paper's colour at 0, blue towards 1, orange towards -1.

    Light enough for black text throughout, or, if the paper is dark, dark enough for white text.
    """
    share = max(-1.0, min(1.0, share))
    end = ABOVE if share > 0 else BELOW
    strength = (0.5 if dark else 0.85) * abs(share) ** 0.7
    paper = DARK if dark else LIGHT
    return "#" + "".join(f"{round(p + (c - p) * strength):02x}" for c, p in zip(end, paper, strict=True))


def shade(share: float) -> str:
    """The style of a cell of a table that has this colour, on light paper and on dark."""
    return f'style="--light:{colour(share)};--dark:{colour(share, dark=True)}"'
