"""What users get: why a row is given its label, what has happened, and trees; as text, frames, HTML and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.encoder import Encoder
from onlineboost.data.errors import DataError
from onlineboost.trees.paths import distributions, tree_of
from onlineboost.trees.state import Forest, LeafRule

MOST_CHILDREN = 12  # of a node that a text or a picture shows
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
MOST_LINES = 12  # columns that a text shows
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


def bars(lines: Sequence[tuple[str, float]]) -> str:
    """A bar for each number, as long as it is large; those below 0 in another colour."""
    most = max((abs(number) for _, number in lines), default=0.0) or 1.0
    rows = ""
    for name, number in lines:
        kind = "b m" if number < 0.0 else "b"
        bar = f'<span class="{kind}" style="width:{12.0 * abs(number) / most:.2f}em"></span>'
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
            "new panel": "what the panel knew was of no use any more, and it began anew",
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
        return f"{shown(self.label)} rather than {shown(self.runner_up)}: {self.margin:+.4g}"

    def _lines(self) -> list[tuple[str, float]]:
        value = dict(zip(self.columns, self.values, strict=True))
        told = [(f"{name} = {shown(value[name])}", margin) for name, margin in self.margins.items()]
        if rest := told[MOST_LINES:]:
            told = [*told[:MOST_LINES], (f"{len(rest)} other columns", sum(margin for _, margin in rest))]
        return [*told, *self.other_margins.items()]

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self._lines())
        text = [self._heading(), *(f"  {name:<{width}}  {margin:+.4f}" for name, margin in self._lines())]
        if len(self.groups) > 1:
            text.append("by part of the model")
            text += [f"  {name:<{width}}  {margin:+.4f}" for name, margin in self._margins(self.groups).items()]
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


# -------------------------------------------------------------------------------------------------------------- trees


class Node(NamedTuple):
    """A node, in words."""

    how: str  # what leads here: "x3 > 0.52"; of the root nothing
    depth: int
    children: list[int]
    column: str | None  # that it splits on; None: a leaf
    weight: float  # of the rows learned below
    shares: list[float]  # of the classes among them
    bayes: bool  # whether it is a leaf that predicts by naive Bayes


class TreeView:
    """A tree of a model, as it was when asked for. Make one with ``clf.tree(i)``.

    Attributes
    ----------
    nodes : list of Node
        The root first, level by level.
    labels : list of str
        Names of the classes.
    """

    def __init__(self, forest: Forest, i: int, encoder: Encoder, labels: list[str], title: str, order: Any) -> None:
        order = range(len(labels)) if order is None else order  # of the labels and what is told by them
        self.labels, self.title = [labels[code] for code in order], title
        tree = tree_of(forest, i, len(labels))
        shares = distributions(tree.mass)[:, list(order)]
        how, depth = {0: ""}, {0: 0}
        self.nodes: list[Node] = []
        for at, (place, first) in enumerate(zip(tree.at.tolist(), tree.first.tolist(), strict=True)):
            children, column = [], None
            if first >= 0:
                children = list(range(first, first + int(forest.details["n_children"][place])))
                column = name_of(encoder, int(forest.nodes["feature"][place]))
                how |= {child: test_of(encoder, forest, place, branch) for branch, child in enumerate(children)}
                depth |= dict.fromkeys(children, depth[at] + 1)
            bayes, weight = first < 0 and by_bayes(forest, place), float(tree.mass[at].sum())
            self.nodes.append(Node(how[at], depth[at], children, column, weight, shares[at].tolist(), bayes))

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        leaves = sum(node.column is None for node in self.nodes)
        return f"<{self.title}: {leaves} leaves, {max(node.depth for node in self.nodes)} levels deep>"

    def __str__(self) -> str:
        return self.to_text()

    def _says(self, node: Node) -> str:
        if not node.weight:
            return "nothing learned yet"
        best = int(np.argmax(node.shares))
        how = ", naive Bayes" if node.bayes else ""
        return f"{shown(self.labels[best])} {node.shares[best]:.0%} of {node.weight:.4g}{how}"

    def _visible(self, most_depth: int | None) -> Iterator[tuple[int, Node, list[int], int]]:
        """Nodes in the order of a text, with the children that are shown and how many are not."""
        todo = [0]
        while todo:
            at = todo.pop()
            node = self.nodes[at]
            deep = most_depth is not None and node.depth >= most_depth
            children = [] if deep else node.children[:MOST_CHILDREN]
            yield at, node, children, len(node.children) - len(children)
            todo += reversed(children)

    def to_text(self, max_depth: int | None = None) -> str:
        """A line for every node: what leads there, and the likeliest class with its share of the weight learned."""
        lines = [self.title]
        for _, node, _, left_out in self._visible(max_depth):
            says = self._says(node) if node.column is None or left_out else ""
            more = f" ({left_out} branches not shown)" if left_out else ""
            text = ": ".join(part for part in (node.how or ("" if says else "all rows"), says) if part)
            lines.append(f"{'  ' * node.depth}{text}{more}")
        return "\n".join(lines)

    def to_dot(self, max_depth: int | None = None) -> str:
        """The tree in the language of Graphviz: ``dot -Tsvg``."""
        lines = ["digraph tree {", '  node [shape=box, fontname="sans-serif"]', f"  label={_quoted(self.title)}"]
        for at, node, children, left_out in self._visible(max_depth):
            text = self._says(node) if node.column is None else node.column
            lines.append(f"  n{at} [label={_quoted(text + (' ...' if left_out else ''))}]")
            lines += [f"  n{at} -> n{c} [label={_quoted(self._branch(c, node))}]" for c in children]
        return "\n".join([*lines, "}"])

    def plot(self, ax: Any = None, max_depth: int | None = 4) -> Any:
        """Draw it with matplotlib, down to some depth, and return the axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise DataError("pictures of trees need matplotlib: pip install 'onlineboost[report]'") from None
        shown_nodes = list(self._visible(max_depth))
        places = _places(shown_nodes)
        if ax is None:
            wide = max(6.0, 1.9 * sum(not children for _, _, children, _ in shown_nodes))
            deepest = max(node.depth for _, node, _, _ in shown_nodes)
            _, ax = plt.subplots(figsize=(min(wide, 40.0), 1.6 + 1.2 * deepest), layout="constrained")
        for at, node, children, left_out in shown_nodes:
            x, y = places[at]
            for child in children:
                below = places[child]
                ax.plot([x, below[0]], [y, below[1]], color="#888888", linewidth=1, zorder=1)
                text = _plain(self._branch(child, node))
                middle = (x + below[0]) / 2, (y + below[1]) / 2
                box: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 1}
                ax.text(*middle, text, ha="center", va="center", fontsize=8, bbox=box, zorder=2)
            best, leaf = int(np.argmax(node.shares)), node.column is None
            text = _plain(self._in_box(node) + (" ..." if left_out else ""))
            colour = COLOURS[best % len(COLOURS)] if leaf or left_out else "#444444"
            box = {"boxstyle": "round", "facecolor": "white", "edgecolor": colour, "linewidth": 1.6}
            ax.text(x, y, text, ha="center", va="center", fontsize=9, color="black", bbox=box, zorder=3)
        ax.set_title(_plain(self.title))
        ax.set_xlim(-0.6, max(x for x, _ in places.values()) + 0.6)
        ax.set_ylim(min(y for _, y in places.values()) - 0.5, 0.5)
        ax.axis("off")
        return ax

    def _branch(self, child: int, parent: Node) -> str:
        return self.nodes[child].how.removeprefix(f"{parent.column} ")

    def _in_box(self, node: Node) -> str:
        if node.column is not None:
            return shown(node.column)
        if not node.weight:
            return "nothing yet"
        best = int(np.argmax(node.shares))
        return f"{shown(self.labels[best])}\n{node.shares[best]:.0%} of {node.weight:.3g}"


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
    if value >= len(known):
        return "a new value"
    own = known[int(value)]
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


def _places(nodes: list[tuple[int, Node, list[int], int]]) -> dict[int, tuple[float, float]]:
    """Leaves side by side, and every other node above the middle of its children."""
    places: dict[int, tuple[float, float]] = {}
    for at, node, children, _ in nodes:
        if not children:
            places[at] = float(len(places)), -float(node.depth)
    for at, node, children, _ in sorted(nodes, key=lambda found: -found[1].depth):
        if children:
            places[at] = (places[children[0]][0] + places[children[-1]][0]) / 2.0, -float(node.depth)
    return places


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def _plain(text: str) -> str:
    return text.replace("$", "\\$")  # matplotlib reads formulas between dollars
