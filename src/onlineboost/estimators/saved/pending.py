"""Rows that wait for their labels, in model files: their numbers in one array, and the rest as values."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from onlineboost.data.encoder import Encoder, Kept
from onlineboost.estimators.pending import Pending
from onlineboost.estimators.saved.fields import check
from onlineboost.storage.values import Reader, Writer

FIELDS = ("most", "given", "dropped", "lost", "tickets", "widths", "numeric", "texts", "values", "others")
NUMBERS, LISTS = FIELDS[:3], FIELDS[3:8]
WHOLE = "the rows that wait for labels"


def write_pending(writer: Writer, pending: Pending | None) -> dict[str, Any] | None:
    if pending is None:
        return None
    kept = {ticket: row for ticket, row in pending.rows.items() if isinstance(row, Kept)}
    rows = list(kept.values())
    return {
        "most": pending.most,
        "given": pending.given,
        "dropped": pending.dropped,
        "lost": list(pending.lost),
        "tickets": list(kept),
        "widths": [len(row.values) for row in rows],
        "numeric": [row.n_numeric for row in rows],
        "texts": [writer.value(row.texts) for row in rows],
        "values": writer.array(np.concatenate([np.empty(0), *(row.values for row in rows)])),
        "others": [[ticket, writer.value(row)] for ticket, row in pending.rows.items() if ticket not in kept],
    }


def read_pending(reader: Reader, given: Any, encoder: Encoder | None) -> Pending | None:
    """What was written. A row that is not as the model's own rows are would be read where there is nothing."""
    if given is None:
        return None
    check(isinstance(given, dict) and given.keys() == set(FIELDS), WHOLE)
    check(all(type(given[name]) is int and given[name] >= 0 for name in NUMBERS), WHOLE)
    check(all(isinstance(given[name], list) for name in (*LISTS, "others")), WHOLE)
    check(all(len(given[name]) == len(given["tickets"]) for name in ("widths", "numeric", "texts")), WHOLE)
    check(all(type(n) is int and n >= 0 for name in ("lost", "widths", "numeric") for n in given[name]), WHOLE)
    values = reader.array(given["values"])
    ends = [0, *accumulate(given["widths"])]
    check(values.dtype == np.float64 and values.shape == (ends[-1],), WHOLE)
    rows: dict[int, Any] = {}
    for ticket, (a, b), n_numeric, texts in zip(
        given["tickets"], pairwise(ends), given["numeric"], given["texts"], strict=True
    ):
        rows[ticket] = Kept(values[a:b].copy(), n_numeric, reader.value(texts))
        _check_kept(rows[ticket], encoder)
    for ticket, row in given["others"]:
        rows[ticket] = reader.value(row)
        check(isinstance(rows[ticket], dict | list), WHOLE)
    check(all(type(ticket) is int and 0 <= ticket < given["given"] for ticket in rows), WHOLE)
    pending = Pending(given["most"], given["given"])
    pending.dropped, pending.lost = given["dropped"], dict.fromkeys(given["lost"])
    pending.rows = dict(sorted(rows.items()))
    return pending


def _check_kept(row: Kept, encoder: Encoder | None) -> None:
    check(encoder is not None, WHOLE)
    assert encoder is not None
    numbers, codes = row.values[: row.n_numeric], row.values[row.n_numeric :]
    check(len(numbers) == row.n_numeric <= len(encoder.numeric) and len(codes) <= len(encoder.nominal), WHOLE)
    check(not np.isinf(numbers).any(), WHOLE)
    texts = row.texts
    check(isinstance(texts, dict) and all(type(j) is int and 0 <= j < len(codes) for j in texts), WHOLE)
    check(all(type(text) is str for text in texts.values()), WHOLE)
    known = np.array([size + (j in texts) for j, size in enumerate(encoder.sizes[: len(codes)])], np.float64)
    there = ~np.isnan(codes)
    check(((codes >= 0.0) & (codes < known) & (codes == np.floor(codes)))[there].all(), WHOLE)
