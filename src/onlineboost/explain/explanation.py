"""Why a row is given its label: an object to read, print and put into a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.explain.columns import shown
from onlineboost.explain.html import bars, escaped, framed

MOST_LINES = 12  # columns that a text shows


@dataclass(repr=False)
class Explanation:
    """Which columns moved the votes of one row, and which other parts of the model.

    A *score* is a number per class; the larger, the better. Everything is given for every class, and what columns and
    other parts add up to is the score. People mostly want to know what speaks for the label rather than for the
    runner-up: `margins` has these differences, and `str()` prints them.

    Attributes
    ----------
    label, runner_up
        The label predicted, and the class of the next best score (None if there is one class alone).
    classes : list of labels
    scores : array of shape (n_classes,)
        What is explained: votes, or logits for OnlineBoostClassifier.
    columns : list of str
        Names, in the order of the stream.
    values : list
        What the row has in these columns; None: missing.
    contributions : array of shape (n_columns, n_classes)
        What each column adds to the scores.
    others : dict from str to array of shape (n_classes,)
        What else adds to them: what learners say of any row, what becomes of it when it is made a vote, parts of the
        model that weigh up all columns at once.
    groups : dict from str to array of shape (n_classes,)
        The same scores by who adds to them: the panel and parts of the chain.
    paths : list of str
        The way of the row through the trees that speak most for the label.
    """

    label: Any
    runner_up: Any
    classes: list[Any]
    scores: np.ndarray
    columns: list[str]
    values: list[Any]
    contributions: np.ndarray
    others: dict[str, np.ndarray]
    groups: dict[str, np.ndarray]
    paths: list[str]

    def _margin(self, numbers: np.ndarray) -> np.ndarray:
        """For the label, less for the runner-up."""
        own: np.ndarray = numbers[..., self.classes.index(self.label)]
        return own if self.runner_up is None else own - numbers[..., self.classes.index(self.runner_up)]

    @property
    def margin(self) -> float:
        """By how much the label's score is ahead of the runner-up's."""
        return float(self._margin(self.scores))

    @property
    def margins(self) -> dict[str, float]:
        """What each column speaks for the label rather than for the runner-up, the largest first."""
        found = self._margin(self.contributions)
        order = np.argsort(-np.abs(found), kind="stable")
        return {self.columns[c]: float(found[c]) for c in order}

    @property
    def other_margins(self) -> dict[str, float]:
        """The same of what is not told by columns."""
        return {name: float(self._margin(part)) for name, part in self.others.items()}

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain Python, for JSON; labels stay what they are."""
        return {
            "label": self.label,
            "runner_up": self.runner_up,
            "margin": self.margin,
            "scores": dict(zip(self.classes, self.scores.tolist(), strict=True)),
            "values": dict(zip(self.columns, self.values, strict=True)),
            "columns": self.margins,
            "others": self.other_margins,
            "groups": {name: float(self._margin(part)) for name, part in self.groups.items()},
            "paths": list(self.paths),
        }

    def to_frame(self) -> Any:
        """A pandas DataFrame with a line per column, then one for each other part; the last is the sum."""
        try:
            import pandas as pd
        except ImportError:
            raise DataError("to_frame needs pandas: pip install pandas; as_dict() does without") from None
        value = dict(zip(self.columns, self.values, strict=True))
        lines = [("column", name, value[name], margin) for name, margin in self.margins.items()]
        lines += [("other", name, None, margin) for name, margin in self.other_margins.items()]
        lines.append(("sum", "score", None, self.margin))
        return pd.DataFrame(lines, columns=["part", "name", "value", "contribution"])

    def __repr__(self) -> str:
        ahead = "" if self.runner_up is None else f", {self.margin:.4g} ahead of {shown(self.runner_up)}"
        return f"<Explanation of {shown(self.label)}{ahead}>"

    def _heading(self) -> str:
        if self.runner_up is None:
            return f"{shown(self.label)}: the only class so far"
        return f"{shown(self.label)} rather than {shown(self.runner_up)}: {self.margin:+.4g}"

    def _lines(self) -> list[tuple[str, float]]:
        value = dict(zip(self.columns, self.values, strict=True))
        told = [(f"{name} = {shown(value[name])}", margin) for name, margin in self.margins.items()]
        rest = sum(margin for _, margin in told[MOST_LINES:])
        lines = told[:MOST_LINES]
        if len(told) > MOST_LINES:
            lines.append((f"{len(told) - MOST_LINES} other columns", rest))
        return [*lines, *self.other_margins.items()]

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self._lines())
        text = [self._heading(), *(f"  {name:<{width}}  {margin:+.4f}" for name, margin in self._lines())]
        if len(self.groups) > 1:
            text.append("by part of the model")
            text += [f"  {name:<{width}}  {float(self._margin(part)):+.4f}" for name, part in self.groups.items()]
        if self.paths:
            text += ["the trees that speak most for it", *(f"  {path}" for path in self.paths)]
        return "\n".join(text)

    def _repr_html_(self) -> str:
        parts = [(name, float(self._margin(part))) for name, part in self.groups.items()]
        body = f"<p><b>{escaped(self._heading())}</b></p>{bars(self._lines())}"
        if len(parts) > 1:
            body += f"<p>By part of the model</p>{bars(parts)}"
        if self.paths:
            body += "<p>The trees that speak most for it</p><ul>"
            body += "".join(f"<li>{escaped(path)}</li>" for path in self.paths) + "</ul>"
        return framed(body)
