"""A tree of a model: as text, in the language of Graphviz, and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.encoder import Encoder
from onlineboost.data.errors import DataError
from onlineboost.explain.views import by_bayes, name_of, shown, test_of
from onlineboost.trees.paths import distributions, tree_of
from onlineboost.trees.state import Forest

MOST_CHILDREN = 12  # of a node that a text or a picture shows
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")


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
