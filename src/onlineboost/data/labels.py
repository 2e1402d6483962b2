"""Labels to class codes and back. As with columns, reading changes nothing; adding takes new labels over."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, repeat

import numpy as np

from onlineboost.data.errors import DataError


@dataclass
class Labels:
    """Labels of any type to codes 0, 1, ..., and back. Fixed, or growing with every label that is met."""

    classes: np.ndarray  # code -> label
    fixed: bool
    _codes: dict[Hashable, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._codes = {label: code for code, label in enumerate(self.classes.tolist())}

    def read(self, y: np.ndarray) -> tuple[np.ndarray, dict[Hashable, int]]:
        """Codes of these labels, and the new labels with the row in which each appears first. Changes nothing."""
        known = self._codes
        new: dict[Hashable, int] = {}
        labels = y.tolist()
        out = np.fromiter(map(known.get, labels, repeat(-1)), np.int64, len(y))
        for row in np.flatnonzero(out < 0).tolist():
            label = labels[row]
            if label not in new:
                if label is None or label != label:
                    raise DataError(
                        f"row {row}: the label is missing ({label!r}); give every row a label or leave it out"
                    )
                if self.fixed:
                    shown = ", ".join(map(repr, self.classes.tolist()[:20]))
                    raise DataError(
                        f"row {row}: unknown label {label!r}. The classes were fixed by `classes`: {shown}"
                        f"{', ...' if len(self.classes) > 20 else ''}. "
                        f"Leave `classes` out on the first call to let them grow"
                    )
                new[label] = row
            out[row] = len(known) + list(new).index(label)
        return out, new

    def add(self, new: Sequence[Hashable]) -> None:
        """Take over new labels that `read` found, in its order."""
        for label in new:
            self._codes[label] = len(self._codes)
        if new:
            labels = [*self.classes.tolist(), *new]
            same = len({type(label) for label in labels}) == 1
            self.classes = np.array(labels) if same else np.array([*labels, None], object)[:-1]


def stretches(codes: np.ndarray, known: int) -> Iterator[tuple[int, int, int]]:
    """Cut rows into (start, stop, classes) so that a label not known before can only be the first of a stretch."""
    high = np.maximum(np.maximum.accumulate(codes), known - 1)
    cuts = [0, *(np.flatnonzero(np.diff(high) > 0) + 1), len(codes)]
    for start, stop in pairwise(cuts):
        if start < stop:
            yield int(start), int(stop), int(high[start]) + 1
