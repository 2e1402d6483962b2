"""Records of cells as tables: ours, the paper's, and the difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from onlineboost.evaluation.records import Record
from onlineboost.paper import tables as paper_tables
from onlineboost.paper.cells import Cell
from onlineboost.paper.tables import OURS, SYSTEMS

Summary = Sequence[Mapping[str, Any]]


def summarise(records: Iterable[Record], cells: Iterable[Cell]) -> Summary:
    """A row for every data set and system: mean and standard error of each measure, and how far from the paper's."""
    order = {cell.key: (list(paper_tables.LABELS).index(cell.dataset), list(SYSTEMS).index(cell.system), cell.order)
             for cell in cells}  # fmt: skip
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in sorted((r for r in records if r["key"] in order), key=lambda r: order[r["key"]]):
        groups.setdefault((record["dataset"], record["system"]), []).append(record)
    return [
        {"dataset": name, "system": system, "n": len(group), **_measures(name, system, group)}
        for (name, system), group in groups.items()
    ]


def _measures(name: str, system: str, group: list[Record]) -> dict[str, float | None]:
    out: dict[str, float | None] = {}
    for measure, printed in paper_tables.MEASURES.items():
        values = np.array([record[measure] for record in group])
        mean, paper = float(values.mean()), printed[name].get(system)
        out[measure] = mean
        out[f"{measure}_error"] = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
        out[f"{measure}_paper"] = paper
        out[f"{measure}_difference"] = None if paper is None else mean - paper
    return out


def is_below(row: Mapping[str, Any], measure: str = "tail") -> bool:
    """Whether ours is more than two standard errors, and more than rounding, below what the paper prints."""
    difference, error = row[f"{measure}_difference"], row[f"{measure}_error"]
    return None not in (difference, error) and difference < -2.0 * error and difference < -0.0005


def table_one(summary: Summary) -> list[dict[str, Any]]:
    """Table 1 of the paper beside ours: best tree, online boosting, Adaboost.OLM, and the best OnlineMBBM."""
    found = {(row["dataset"], row["system"]): row for row in summary}
    gammas = [system for system in paper_tables.PRINTED if system.startswith("MB")]
    lines = []
    for name in paper_tables.LABELS:
        columns = {s: _pair(found.get((name, s)), name, s) for s in ("DT", "OLB", "AdaOLM")}
        if ours := [system for system in gammas if (name, system) in found]:
            best = max(ours, key=lambda system: found[name, system]["tail"])
            printed = max(gammas, key=paper_tables.TAIL[name].__getitem__)
            columns["Best MB"] = {**_pair(found[name, best], name, printed), "system": best, "paper_system": printed}
        columns[OURS] = _pair(found.get((name, OURS)), name, None)
        if any(columns.values()):
            lines.append({"dataset": name, **columns})
    return lines


def _pair(row: Mapping[str, Any] | None, name: str, system: str | None) -> dict[str, Any]:
    if row is None:
        return {}
    printed = (
        {} if system is None else {f"{m}_paper": paper_tables.MEASURES[m][name][system] for m in ("tail", "seconds")}
    )
    return {"tail": row["tail"], "tail_error": row["tail_error"], "seconds": row["seconds"], **printed}
