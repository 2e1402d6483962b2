"""Columns and values in words: from the encoded order, numeric columns first, back to the stream's."""

from __future__ import annotations

from typing import Any

import numpy as np

from onlineboost.data.encoder import Encoder


def in_stream_order(encoder: Encoder, encoded: np.ndarray) -> np.ndarray:
    """Numbers of the encoded columns (first axis) in the order of the stream's."""
    out = np.empty_like(encoded)
    out[[*encoder.numeric, *encoder.nominal]] = encoded
    return out


def name_of(encoder: Encoder, column: int) -> str:
    """The name of an encoded column."""
    return encoder.names[[*encoder.numeric, *encoder.nominal][column]]


def value_of(encoder: Encoder, column: int, value: float) -> Any:
    """An encoded value as a person would write it: a number, a text, or None where it is missing."""
    if np.isnan(value):
        return None
    if column < len(encoder.numeric):
        return float(value)
    known = list(encoder.codes[column - len(encoder.numeric)])
    code = int(value)
    if code >= len(known):
        return "a new value"
    return known[code] if isinstance(known[code], str) else f"one of the rare values ({known[code]})"


def shown(value: Any) -> str:
    """A value in a text: short."""
    if value is None:
        return "missing"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))
    return text if len(text) <= 32 else f"{text[:29]}..."
