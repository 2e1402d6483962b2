"""Rows that wait for their labels, in model files: their numbers in one array, and the rest as values."""

from __future__ import annotations

from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from onlineboost.data.encoder import Encoder, Kept
from onlineboost.estimators.pending import Pending, Ticket
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
        "lost": [writer.value(ticket) for ticket in pending.lost],
        "tickets": [writer.value(ticket) for ticket in kept],
        "widths": [len(row.values) for row in rows],
        "numeric": [row.n_numeric for row in rows],
        "texts": [writer.value(row.texts) for row in rows],
        "values": writer.array(np.concatenate([np.empty(0), *(row.values for row in rows)])),
        "others": [
            [writer.value(ticket), writer.value(row), place]
            for place, (ticket, row) in enumerate(pending.rows.items())
            if ticket not in kept
        ],
    }


def read_pending(reader: Reader, given: Any, encoder: Encoder | None) -> Pending | None:
    """What was written. A row that is not as the model's own rows are would be read where there is nothing."""
    if given is None:
        return None
    check(isinstance(given, dict) and given.keys() == set(FIELDS), WHOLE)
    check(all(type(given[name]) is int and given[name] >= 0 for name in NUMBERS), WHOLE)
    check(all(isinstance(given[name], list) for name in (*LISTS, "others")), WHOLE)
    check(all(len(given[name]) == len(given["tickets"]) for name in ("widths", "numeric", "texts")), WHOLE)
    check(all(type(n) is int and n >= 0 for name in ("widths", "numeric") for n in given[name]), WHOLE)
    values = reader.array(given["values"])
    ends = [0, *accumulate(given["widths"])]
    check(values.dtype == np.float64 and values.shape == (ends[-1],), WHOLE)
    rows: list[tuple[Ticket, Any]] = []
    for ticket, (a, b), n_numeric, texts in zip(
        given["tickets"], pairwise(ends), given["numeric"], given["texts"], strict=True
    ):
        row = Kept(values[a:b].copy(), n_numeric, reader.value(texts))
        _check_kept(row, encoder)
        rows.append((_ticket(reader, ticket), row))
    for ticket, other, *place in given["others"]:
        row = reader.value(other)
        at = place[0] if place else len(rows)
        check(isinstance(row, dict | list) and type(at) is int and 0 <= at <= len(rows), WHOLE)
        rows.insert(at, (_ticket(reader, ticket), row))
    if any(len(other) == 2 for other in given["others"]):  # in files from before there were ids: tickets are numbers
        rows.sort(key=itemgetter(0))
    pending = Pending(given["most"], given["given"])
    pending.dropped = given["dropped"]
    pending.lost = dict.fromkeys(_ticket(reader, ticket) for ticket in given["lost"])
    pending.rows = dict(rows)
    check(len(pending.rows) == len(rows), WHOLE)
    return pending


def _ticket(reader: Reader, given: Any) -> Ticket:
    ticket: Ticket = reader.value(given)
    check(type(ticket) is str or type(ticket) is int, WHOLE)
    return ticket


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
