"""The colours of all pictures and tables: they stay apart for the colour-blind."""

from __future__ import annotations

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#000000")  # strongest first
GREY = "#777777"
ABOVE, BELOW = (67, 147, 195), (224, 130, 20)  # blue and orange: the colour-blind tell them apart


def colour(share: float) -> str:
    """White at 0, blue towards 1, orange towards -1; light enough for black text throughout."""
    share = max(-1.0, min(1.0, share))
    end = ABOVE if share > 0 else BELOW
    strength = 0.85 * abs(share) ** 0.7
    return "#" + "".join(f"{round(255 + (c - 255) * strength):02x}" for c in end)
