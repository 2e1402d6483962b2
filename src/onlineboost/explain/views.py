"""What users get: why a row is given its label, and what has happened; as text, frames and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from onlineboost.chain.evidence import LEVELS
from onlineboost.data.encoder import Encoder
from onlineboost.data.errors import DataError
from onlineboost.data.places import EVIDENCE, FIRST_CELL
from onlineboost.trees.state import Forest, LeafRule

MOST_LINES = 12  # columns that a text shows
MOST_MARKS = 16  # signs that a number is drawn with
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


def shown(value: Any) -> str:
    """A value in a text: short."""
    if value is None:
        return "missing"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))
    return text if len(text) <= 32 else f"{text[:29]}..."


def framed(body: str) -> str:
    """HTML for notebooks that reads well on light and on dark ground."""
    return f'{STYLE}<div class="onlineboost">{body}</div>'


def table(lines: Iterable[Sequence[Any]]) -> str:
    """A table of two columns: a name, and what is said of it."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in lines)
    return f"<table>{rows}</table>"


def drawn(lines: Sequence[tuple[str, float]], width: int) -> list[str]:
    """A line of text for each number, with its sign as often as it is large."""
    most = max((abs(number) for _, number in lines), default=0.0) or 1.0
    marks = (("-" if number < 0.0 else "+") * round(MOST_MARKS * abs(number) / most) for _, number in lines)
    return [
        f"  {name:<{width}}  {number:+8.4f}  {mark}".rstrip() for (name, number), mark in zip(lines, marks, strict=True)
    ]


def bars(lines: Sequence[tuple[str, float]]) -> str:
    """A bar for each number, as long as it is large: to the right, or to the left and in another colour below 0."""
    most = max((abs(number) for _, number in lines), default=0.0) or 1.0
    left = 6.0 * max(0.0, *(-number / most for _, number in lines), 0.0)  # em, as far as the longest to the left
    rows = ""
    for name, number in lines:
        kind, wide = "b m" if number < 0.0 else "b", 6.0 * abs(number) / most
        start = left - wide if number < 0.0 else left
        bar = f'<span class="{kind}" style="margin-left:{start:.2f}em;width:{wide:.2f}em"></span>'
        rows += f'<tr><td>{escape(name)}</td><td class="n">{number:+.3f}</td><td>{bar}</td></tr>'
    return f"<table>{rows}</table>"


class Event(NamedTuple):
    """Something that has happened."""

    row: int  # number of the row that was learned then; the first one is row 1
    kind: str  # "restart", "new class", "new column", "memory" or "new panel"
    what: tuple[Any, ...]  # numbers of learners, labels, names of columns, how many trees went without memory; or none

    def __str__(self) -> str:
        what = ", ".join(map(str, self.what))
        words = {
            "restart": f"{'learner' if len(self.what) == 1 else 'learners'} {what} restarted",
            "new class": f"the first row of class {what}",
            "new column": f"the first row with column {what}",
            "memory": f"{what} trees have reached their share of the memory limit",
            "new panel": "the panel was reset, since the stream had changed",
        }
        return f"row {self.row:,}: {words[self.kind]}"


@dataclass(repr=False)
class Explanation:
    """Which columns moved the votes of one row, and which other parts of the model.

    A *score* is a number per class; the larger, the better. Everything is given for every class, and what columns and
    other parts add up to is the score. People mostly want to know what speaks for the label rather than for the
    runner-up: `margins` has these differences, and `str()` prints them.

    Attributes
    ----------
    label, runner_up
        The label that is explained, and the best of the others (None if there is one class alone).
    predicted, probability
        The label predicted, and the probability of `label`.
    classes : list of labels
    scores : array of shape (n_classes,)
        What is explained: votes; logits for OnlineBoostClassifier, and for all models with ``by="columns"``.
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
    predicted: Any
    probability: float
    classes: list[Any]
    scores: np.ndarray
    columns: list[str]
    values: list[Any]
    contributions: np.ndarray
    others: dict[str, np.ndarray]
    groups: dict[str, np.ndarray]
    paths: list[str]

    def _margin(self, numbers: np.ndarray) -> Any:
        """For the label, less for the runner-up."""
        own = numbers[..., self.classes.index(self.label)]
        return own if self.runner_up is None else own - numbers[..., self.classes.index(self.runner_up)]

    def _margins(self, parts: dict[str, np.ndarray]) -> dict[str, float]:
        return {name: float(self._margin(part)) for name, part in parts.items()}

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
        return self._margins(self.others)

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain Python, for JSON; labels stay what they are."""
        return {
            "label": self.label,
            "runner_up": self.runner_up,
            "predicted": self.predicted,
            "probability": self.probability,
            "margin": self.margin,
            "scores": dict(zip(self.classes, self.scores.tolist(), strict=True)),
            "values": dict(zip(self.columns, self.values, strict=True)),
            "columns": self.margins,
            "others": self.other_margins,
            "groups": self._margins(self.groups),
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
        told = f"{shown(self.label)} rather than {shown(self.runner_up)}: {self.margin:+.4g}"
        return f"{told}, probability {self.probability:.3g}"

    def _lines(self) -> list[tuple[str, float]]:
        value = dict(zip(self.columns, self.values, strict=True))
        told = [(f"{name} = {shown(value[name])}", margin) for name, margin in self.margins.items()]
        if rest := told[MOST_LINES:]:
            told = [*told[:MOST_LINES], (f"{len(rest)} other columns", sum(margin for _, margin in rest))]
        return [*told, *self.other_margins.items()]

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self._lines())
        text = [self._heading(), *drawn(self._lines(), width)]
        if len(self.groups) > 1:
            text += ["by part of the model", *drawn([*self._margins(self.groups).items()], width)]
        if self.paths:
            text += ["the trees that speak most for it", *(f"  {path}" for path in self.paths)]
        return "\n".join(text)

    def _repr_html_(self) -> str:
        body = f"<p><b>{escape(self._heading())}</b></p>{bars(self._lines())}"
        if len(self.groups) > 1:
            body += f"<p>By part of the model</p>{bars([*self._margins(self.groups).items()])}"
        if self.paths:
            body += "<p>The trees that speak most for it</p><ul>"
            body += "".join(f"<li>{escape(path)}</li>" for path in self.paths) + "</ul>"
        return framed(body)


def name_of(encoder: Encoder, column: int) -> str:
    """The name of an encoded column."""
    return encoder.names[[*encoder.numeric, *encoder.nominal][column]]


def value_of(encoder: Encoder, column: int, value: float) -> Any:
    """An encoded value as a person would write it: a number, a text, or None where it is missing."""
    if np.isnan(value):
        return None
    if column < len(encoder.numeric):
        return float(value)
    if value >= FIRST_CELL:
        return "one of many values"
    known = list(encoder.codes[column - len(encoder.numeric)])
    if value >= len(known):
        return "a new value"
    own = known[int(value)]
    if own in EVIDENCE:
        slot, level = divmod(EVIDENCE.index(own), LEVELS)
        return f"a value that speaks for class {slot}, {level} of {LEVELS - 1}" if level else "a value that says little"
    return own if isinstance(own, str) else f"one of the rare values ({own})"


def test_of(encoder: Encoder, forest: Forest, place: int, branch: float) -> str:
    """What leads from a node to this branch, in words; NaN: a value that is missing."""
    column, threshold = int(forest.nodes["feature"][place]), forest.nodes["threshold"][place]
    name = name_of(encoder, column)
    if np.isnan(branch):
        return f"{name} is missing"
    if column < len(encoder.numeric):
        return f"{name} {'>' if branch else '<='} {threshold:.4g}"
    return f"{name} = {shown(value_of(encoder, column, branch))}"


def by_bayes(forest: Forest, place: int) -> bool:
    """Whether a leaf predicts by naive Bayes."""
    lead = forest.details["bayes_lead"][place] >= 0.0 or forest.leaf == LeafRule.BAYES
    return bool(lead and forest.leaf != LeafRule.MAJORITY)
