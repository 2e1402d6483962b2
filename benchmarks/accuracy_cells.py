"""What `benchmarks/results/accuracy.md` says of the runs of `whole_streams.py`, as figures.

Two systems are compared on the orders that both have run, and on the rows that both have done: beside a run that was
cut stand the same rows of ours.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SYSTEMS = {
    "ours-boost": "OnlineBoost",
    "ours-olm": "AdaBoostOLM",
    "ours-mbbm": "OnlineMBBM",
    "ours-tree": "one tree",
    "ours-leaf": "one leaf",
    "simple-majority": "majority",
    "simple-nochange": "label before",
    "onelearn-amf": "onelearn AMF",
    "river-amf": "river AMF",
    "river-arf": "river ARF",
    "river-srp": "river SRP",
    "river-bole-ddm": "river BOLE",
    "river-ada": "river AdaBoost",
    "capymoa-arf": "CapyMOA ARF",
    "capymoa-srp": "CapyMOA SRP",
    "capymoa-levbag": "CapyMOA LevBag",
    "capymoa-oza": "CapyMOA OzaBoost",
    "capymoa-bole": "CapyMOA BOLE",
    "capymoa-sgbt": "CapyMOA SGBT",
    "capymoa-dems": "CapyMOA DEMS",
    "lightgbm-batch": "LightGBM",
    "lightgbm-refitted": "LightGBM",
    "catboost-refitted": "CatBoost",
    "sklearn-svm": "SVM",
}
FLAGSHIP = "ours-boost"
REFITTED = ("lightgbm-refitted", "catboost-refitted")
SEEN_80 = ("lightgbm-batch", "sklearn-svm")  # they learn the first 80 % of the rows, and predict the last 20 % only
OWN = (FLAGSHIP, "ours-tree", "ours-leaf", "simple-majority", "simple-nochange", *REFITTED, *SEEN_80)
OTHERS = tuple(model for model in SYSTEMS if model.startswith(("onelearn", "river", "capymoa")))

STREAMS = (
    "balance",
    "car",
    "mice",
    "segment",
    "keystroke",
    "waveform",
    "mushroom",
    "isolet",
    "nursery",
    "electricity",
    "covertype:20000",
    "synthetic",
    "synthetic-abrupt",
    "synthetic-gradual",
    "shuttle",
    "movement",
    "covertype",
    "agrawal",
    "led",
)
ENOUGH = 2_000  # rows of a run that is compared with ours, if its stream is not shorter
RESULTS = Path(__file__).parent / "results" / "whole_streams.jsonl"

Lines = list[dict[str, Any]]


# ------------------------------------------------------------------------------------------------- stored runs


class Job(NamedTuple):
    """One run."""

    stream: str  # "name" or "name:rows" for its first rows
    order: int
    model: str
    learners: int  # 0: its own number


def read(path: Path) -> dict[Job, dict[str, Any]]:
    """The runs of a file by what they are. Of the same twice, the later one."""
    lines = map(json.loads, path.read_text().splitlines()) if path.exists() else ()
    return {Job(*(line[name] for name in Job._fields)): line for line in lines}


# -------------------------------------------------------------------------------------------------- the figures


class Cell(NamedTuple):
    """A system with so many learners on a stream: means over its orders, and ours on the same rows and orders."""

    stream: str
    model: str
    learners: int
    rows: int
    done: int
    orders: int
    seconds: float  # CPU time of a run, in the mean
    all: float | None  # None: it predicts the last 20 % only
    last: float
    errors: tuple[float, float]  # standard errors of all and last; 0 with one order
    ours: tuple[float, float] | None  # all and last; None: ours has not run, or it has done too few rows

    @property
    def whole(self) -> bool:
        return self.done == self.rows

    def lead(self, part: str) -> float:
        """How far it is ahead of ours in `part`, "all" or "last"."""
        assert self.ours is not None
        return float(getattr(self, part)) - self.ours[("all", "last").index(part)]


def step_of(rows: int) -> int:
    """Runs keep their mistakes for every so many rows: about 200 numbers, at most 1,000 rows each."""
    return max(1, min(1000, rows // 200))


def accuracies(line: dict[str, Any], rows: int) -> tuple[float, float]:
    """Accuracy over the first rows of a run and over the last 20 % of these: of all, or of a whole number of steps."""
    if rows == line["done"]:
        return line["all"], line["last"]
    step = step_of(line["rows"])
    wrong, steps = np.array(line["mistakes"]), rows // step
    return 1 - wrong[:steps].sum() / rows, 1 - wrong[4 * steps // 5 : steps].sum() / (rows - 4 * steps // 5 * step)


def cells_of(lines: Lines, enough: int | None = None) -> list[Cell]:
    """Every system on every stream, in the order of the streams' sizes and of the systems."""
    enough = ENOUGH if enough is None else enough
    runs = [line for line in lines if "error" not in line]
    ours = {(line["stream"], line["order"]): line for line in runs if line["model"] == FLAGSHIP}
    groups: dict[tuple[str, str, int], Lines] = {}
    for line in runs:
        groups.setdefault((line["stream"], line["model"], line["learners"]), []).append(line)
    cells = []
    for (stream, model, learners), members in groups.items():
        done = min(line["done"] for line in members)  # the same rows in all orders
        figures = [(None, line["last"]) if line["all"] is None else accuracies(line, done) for line in members]
        beside = [ours[stream, line["order"]] for line in members if (stream, line["order"]) in ours]
        at_hand = len(beside) == len(members) and all(line["done"] >= done for line in beside)
        at_hand &= done >= min(enough, members[0]["rows"])
        mine = tuple(np.mean([accuracies(line, done) for line in beside], axis=0).tolist()) if at_hand else None
        everywhere = [first for first, _ in figures if first is not None]
        last = [second for _, second in figures]
        cells.append(
            Cell(
                stream,
                model,
                learners,
                members[0]["rows"],
                done,
                len(members),
                float(np.mean([line["cpu_seconds"] for line in members])),
                float(np.mean(everywhere)) if everywhere else None,
                float(np.mean(last)),
                (standard_error(everywhere), standard_error(last)),
                mine,  # type: ignore[arg-type]
            )
        )
    order = list(SYSTEMS)
    return sorted(cells, key=lambda cell: (cell.rows, cell.stream, order.index(cell.model), -cell.learners))


def standard_error(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def rivals(cells: Iterable[Cell], stream: str, models: Iterable[str] = OTHERS) -> list[Cell]:
    """Every run of others on a stream that can be compared with ours, cut or whole."""
    return [cell for cell in cells if cell.stream == stream and cell.model in models and cell.ours is not None]


def best_rival(cells: list[Cell], stream: str, part: str, models: Iterable[str] = OTHERS) -> Cell | None:
    """The run of another system that is furthest ahead of ours, or least behind: cut or whole, with 10 or 100."""
    return max(rivals(cells, stream, models), key=lambda cell: cell.lead(part), default=None)


def streams_of(cells: Iterable[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.stream for cell in cells))


def shown_cell(cells: list[Cell], stream: str, model: str) -> Cell | None:
    """Of the runs of a system on a stream the one for the table: whole before cut, then the most learners."""
    own = [cell for cell in cells if (cell.stream, cell.model) == (stream, model)]
    return max(own, key=lambda cell: (cell.whole, cell.learners), default=None)


def mean_ranks(cells: list[Cell], part: str) -> dict[str, float]:
    """Mean rank of each system over the streams it has run on, among all that have; by leads over ours."""
    ranks: dict[str, list[float]] = {}
    for stream in streams_of(cells):
        if not rivals(cells, stream):
            continue
        leads = {FLAGSHIP: 0.0}
        for model in ("ours-olm", "ours-mbbm", *OTHERS):
            cell = best_rival(cells, stream, part, (model,))
            if cell is not None:
                leads[model] = cell.lead(part)
        for model, lead in leads.items():
            above = sum(other > lead for other in leads.values())
            level = sum(other == lead for other in leads.values())
            ranks.setdefault(model, []).append(above + (level + 1) / 2)
    return {model: float(np.mean(own)) for model, own in ranks.items()}


def added_text(cells: list[Cell]) -> str:
    """What boosting adds to a single leaf, in a paragraph: means over the streams that all have run on."""
    models = ("ours-leaf", "ours-olm", FLAGSHIP)
    rows = [[shown_cell(cells, stream, model) for model in models] for stream in streams_of(cells)]
    whole = [row for row in rows if all(row)]
    if not whole:
        return ""
    means = [
        " / ".join(share(float(np.mean([getattr(row[i], part) for row in whole]))) for part in ("all", "last"))
        for i in range(len(models))
    ]
    idle = [title(row[0].stream) for row in whole if row[1].all <= row[0].all + 0.001]  # type: ignore[union-attr,operator]
    names = f" ({', '.join(idle)})" if idle else ""
    first = f"Mean over {len(whole)} streams, all rows / last 20 %: a single naive Bayes leaf {means[0]},"
    second = f"`AdaBoostOLM` {means[1]}, `OnlineBoostClassifier` {means[2]}. On {len(idle)} of them{names}"
    third = (
        "boosting adds nothing to its first leaf: `AdaBoostOLM` is not ahead of it over all rows, or by .001 at most."
    )
    fourth = "`OnlineBoostClassifier` has other kinds of learners for such streams."
    return textwrap.fill(f"{first} {second} {third} {fourth}", 118, break_on_hyphens=False, break_long_words=False)


def share(value: float) -> str:
    """
    >>> share(0.9371), share(1.0), share(-0.0123)
    ('.937', '1.000', '-.012')
    """
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 0.9995 else f"{value:.3f}"


def title(stream: str) -> str:
    name, _, rows = stream.partition(":")
    return f"{name}, first {int(rows):,}" if rows else name
