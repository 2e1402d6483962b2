"""The cells of the paper's tables. A cell is one run: (data set, system, order).

Order o is the data set shuffled with seed o, run by a model with seed o.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Self

from onlineboost._compile.cache import ROOT, source_hash
from onlineboost.datasets.catalogue import describe_datasets
from onlineboost.datasets.dataset import Dataset
from onlineboost.datasets.load import load_dataset
from onlineboost.evaluation.records import SNAPSHOTS, Record, observe
from onlineboost.evaluation.runner import cut
from onlineboost.paper.systems import N_LEARNERS, SYSTEMS, make_model


@dataclass(frozen=True)
class Cell:
    dataset: str
    system: str
    order: int
    n_learners: int = N_LEARNERS
    limit: int | None = None  # rows to stop after

    @classmethod
    def of(cls, record: Record) -> Self:
        """The cell whose record this is."""
        return cls(**{field.name: record[field.name] for field in fields(cls)})

    @property
    def key(self) -> str:
        """A hash of all that the cell's result depends on: model, data set, order, and the code that learns."""
        settings = repr(make_model(*SYSTEMS[self.system], self.n_learners, self.order).get_params())
        text = f"{SYSTEMS[self.system][0]} {settings} {self.dataset} {self.order} {self.limit} {code_version()}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def run(self) -> Record:
        data = _loaded(self.dataset).shuffled(self.order)
        n = self.limit or len(data)
        model = make_model(*SYSTEMS[self.system], self.n_learners, self.order)
        blocks = cut(data.X[:n], data.y[:n], pieces=SNAPSHOTS if self.order == 0 else 1)
        _, record = observe(model, blocks, data.classes, snapshots=self.order == 0, proba=False)
        record |= record.pop("best_tree", {})  # the paper's DT is the best tree in hindsight
        return {"key": self.key, "code": code_version(), **asdict(self), **record}


@cache
def _loaded(name: str) -> Dataset:
    return load_dataset(name)


# Packages that results do not depend on: they show results, or say what they should be. A new package counts.
WITHOUT_EFFECT = ("cli", "cluster", "paper", "report", "theory")


def packages_that_count() -> list[str]:
    """The packages that results depend on."""
    return [path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name not in WITHOUT_EFFECT]


@cache
def code_version() -> str:
    """A hash of the sources that results depend on: cells of another version are not mixed with ours."""
    return source_hash(packages_that_count())


# CPU seconds of a cell with 100 learners, to put long cells first and to tell the time left; only ratios matter.
_COSTS = """
         DT   OLB  AdaOLM MB.3 MB.1 MB.05 MB.01 MB.001 OvA  AdaOVA MBauto MBdefault default
balance  .06  .06  .10    .15  .14  .12   .11   .11    .25  .24    .15    .12       .09
mice     .38  .34  1.3    2.4  2.8  2.2   1.5   1.4    2.6  2.8    2.7    1.5       .44
car      .13  .11  .20    .29  .29  .28   .27   .25    .58  .48    .28    .29       .17
mushroom .47  .33  .56    .74  .74  .72   .73   .73    1.0  1.0    .74    .81       .69
nursery  .74  .77  1.2    1.7  1.7  1.6   1.5   1.4    3.9  3.3    1.6    1.6       1.2
isolet   3.7  2.7  7.9    16   18   14    7.9   5.6    23   27     16     8.9       3.2
movement 20   19   36     55   50   46    40    38     96   87     48     36        26
"""


def expected_cost(cell: Cell) -> float:
    headings, *lines = (line.split() for line in _COSTS.strip().split("\n"))
    costs = next(line for line in lines if line[0] == cell.dataset)[1:]
    cost = float(costs[headings.index(cell.system.replace(" ", ""))]) * cell.n_learners / N_LEARNERS
    return cost if cell.limit is None else cost * min(1.0, cell.limit / 1000)


def plan(
    datasets: Sequence[str],
    systems: Sequence[str],
    orders: Mapping[str, int],
    n_learners: int = N_LEARNERS,
    limit: int | None = None,
    absent: bool = False,
) -> tuple[list[Cell], list[str]]:
    """All cells, the longest first so that no core is idle at the end; and the data sets that are not at hand.

    With `absent` these have cells too, which may have been run before.
    """
    at_hand = {row["name"] for row in describe_datasets() if row["available"]}
    cells = [
        Cell(name, system, order, n_learners, limit)
        for name in datasets
        if absent or name in at_hand
        for system in systems
        for order in range(orders[name])
    ]
    cells.sort(key=lambda cell: -expected_cost(cell))
    return cells, [name for name in datasets if name not in at_hand]
