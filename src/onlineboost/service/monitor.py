"""What came of the events that a follower has learned: each was predicted just before, so all count as a fair test."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

import numpy as np

from onlineboost.data.labels import object_array
from onlineboost.data.table import Table
from onlineboost.evaluation.audit import audit
from onlineboost.evaluation.metrics import Metrics
from onlineboost.evaluation.results import STRETCHES, interval
from onlineboost.service.log import Learnable
from onlineboost.service.messages import decode, decode_stored

WINDOW = 1000  # events of the figures that say how it is now
POINTS = 600  # of a curve; if there are more, every second one goes
EVERY = 1.0  # seconds between points, at least
FLUSH = 256  # events that are counted at once
KEPT = 30_000  # events of which is known whether they were predicted right, to compare models
AUDITED, SHOWN = 2000, 10  # last events whose probabilities are looked at column by column, and gaps that are shown
FAR, LEAST_FALL = 4.0, 0.02  # standard errors, and points, that accuracy has to fall by to be told
FIGURES = ("accuracy", "log_loss", "balanced_accuracy")


class Monitor:
    """Metrics of all events and of the last ones, and curves of them."""

    def __init__(self) -> None:
        self.all, self.last, self.answered = Metrics(), Metrics(window=WINDOW), Metrics(window=WINDOW)
        self.curve: list[list[float]] = []  # [time, place, accuracy, log loss, balanced accuracy] of the last events
        self.every = EVERY
        self.places, self.right = np.zeros(KEPT, np.int64), np.zeros(KEPT, np.bool_)
        self._new: list[tuple[Learnable, str, dict[str, float]]] = []  # labels as they are written
        self._lately: deque[tuple[Learnable, str, dict[str, float]]] = deque(maxlen=AUDITED)  # those that were counted
        self._lock = threading.Lock()

    def add(self, event: Learnable, label: str, shares: dict[str, float]) -> None:
        """An event that was learned; `shares` are the probabilities before."""
        self._new.append((event, label, shares))
        if len(self._new) >= FLUSH:
            self.count(event.place)

    def count(self, place: int) -> None:
        """Count what has come since."""
        new, self._new = self._new, []
        with self._lock:
            if new:
                labels = [label for _, label, _ in new]
                said = self._add((self.all, self.last), labels, [shares for _, _, shares in new])
                self._lately.extend(new)
                places = np.array([event.place for event, _, _ in new])
                self.places[places % KEPT] = places
                self.right[places % KEPT] = [y == own for y, own in zip(labels, said, strict=True)]
                told = [(label, decode_stored(event.said).probabilities) for event, label, _ in new if event.said]
                if told:
                    self._add((self.answered,), *map(list, zip(*told, strict=True)))
            now = time.time()
            if self.last.rows and (
                not self.curve or (abs(now - self.curve[-1][0]) >= self.every and place > self.curve[-1][1])
            ):
                self.curve.append([now, place, *(getattr(self.last, figure) for figure in FIGURES)])
                if len(self.curve) > POINTS:
                    self.curve, self.every = self.curve[::2], 2.0 * self.every

    def audit(self) -> dict[str, Any]:
        """For which rows, column by column, the probabilities of the last events were wrong by more than chance."""
        with self._lock:
            last = [each for each in self._lately if each[2]]
        rows = [decode(event.row) for event, _, _ in last]
        rows = [row if isinstance(row, dict) else {str(at): value for at, value in enumerate(row)} for row in rows]
        names = tuple(dict.fromkeys(name for row in rows for name in row))
        classes = list(dict.fromkeys(name for _, _, shares in last for name in shares))
        if not names or not classes:
            return {"events": len(last), "groups": 0, "gaps": []}
        X = Table(names, tuple(_column([row.get(name) for row in rows]) for name in names))
        found = audit(
            _matrix([shares for _, _, shares in last], classes), object_array([y for _, y, _ in last]), classes, X, None
        )
        return {
            "events": len(last),
            "groups": len(found),
            "gaps": [gap._asdict() for gap in found.beyond_chance[:SHOWN]],
        }

    @staticmethod
    def _add(to: tuple[Metrics, ...], labels: list[str], shares: list[dict[str, float]]) -> list[str | None]:
        classes = list({name: None for each in shares for name in each})
        said = [max(each, key=each.__getitem__) if each else None for each in shares]
        p = _matrix(shares, classes) if classes else None
        for metrics in to:
            metrics.add(object_array(labels), object_array(said), probabilities=p, classes=object_array(classes))
        return said

    def better_than(self, other: Monitor) -> dict[str, float] | None:
        """By how much this model is more accurate on the last events that both have learned; None: they are too few."""
        with self._lock, other._lock:
            both = (self.places == other.places) & (self.places > 0)
            order = np.argsort(self.places[both])
            more = (self.right[both].astype(np.float64) - other.right[both])[order]
        if len(more) < STRETCHES:
            return None
        parts = np.array_split(more, STRETCHES)
        rows = np.array([len(part) for part in parts], np.float64)
        low, high = interval(np.array([part.mean() for part in parts]), rows)
        return {"events": len(more), "more": float(more.mean()), "low": low, "high": high}

    def fell(self, already: bool = False) -> tuple[float, float] | None:
        """The accuracy on the last events and on those before, if it is lower by more than chance; None: it is not.

        If it was `already`, it has to be nearly as before to count as not.
        """
        with self._lock:
            right = self.right[np.argsort(self.places, kind="stable")][np.count_nonzero(self.places == 0) :]
        before, now = right[:-WINDOW], right[-WINDOW:]
        if len(before) < WINDOW:
            return None
        p = float(before.mean())
        chance = FAR * float(np.sqrt(max(p * (1.0 - p), 1.0 / len(before)) / WINDOW))
        least = max(LEAST_FALL, chance) * (0.5 if already else 1.0)
        return (float(now.mean()), p) if now.mean() < p - least else None

    def figures(self) -> dict[str, Any]:
        """For the page and for machines."""
        with self._lock:
            return {
                "rows": self.all.rows,
                "all": self.all.as_dict(),
                "last": self.last.as_dict(),
                "answered": self.answered.as_dict() | {"rows": self.answered.rows},
                "classes": self.last.per_class(),
                "labels": self.last.labels,
                "confusion": self.last.confusion.tolist(),
                "reliability": {name: values.tolist() for name, values in self.last.reliability().items()},
            }

    def as_values(self) -> dict[str, Any]:
        with self._lock:
            parts = {name: getattr(self, name).as_values() for name in ("all", "last", "answered")}
            curve = np.array(self.curve, np.float64).reshape(-1, 2 + len(FIGURES))
            compared = {"places": self.places.copy(), "right": self.right.copy()}
            return {**parts, **compared, "curve": curve, "every": self.every}

    @classmethod
    def of_values(cls, saved: dict[str, Any] | None) -> Monitor:
        monitor = cls()
        if saved is not None:
            for name in ("all", "last", "answered"):
                setattr(monitor, name, Metrics.of_values(saved[name]))
            monitor.curve, monitor.every = saved["curve"].tolist(), saved["every"]
            monitor.places, monitor.right = saved["places"], saved["right"]
        return monitor


def _matrix(shares: list[dict[str, float]], classes: list[str]) -> np.ndarray:
    return np.array([[each.get(name, 0.0) for name in classes] for each in shares])


def _column(values: list[Any]) -> np.ndarray:
    """Numbers, or text if there is any among them."""
    if any(isinstance(value, str) for value in values):
        return object_array([value if value is None else str(value) for value in values])
    return np.array([np.nan if value is None else float(value) for value in values])
