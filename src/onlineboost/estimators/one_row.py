"""Single rows: learning and predicting one without making a block of it.

A `Desk` has everything at hand for the rows that come as the last ones did. What is out of the ordinary (a new label or
nominal value, a setting that has changed, tables without room, a review that is due) goes through as a block of one row
does, by `_learn_block_of_one` and its like, and the desk is laid anew. The result is the same, bit for bit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from onlineboost.chain.chain import Chain
from onlineboost.chain.experts import Combiner
from onlineboost.chain.relative_weights import counted, mean_after
from onlineboost.chain.reviews import Reviews
from onlineboost.chain.single import LearningRow, PredictingRow, can_go_alone, make_room
from onlineboost.chain.single_ova import learning_row, predicting_row
from onlineboost.data.single import RowReader
from onlineboost.data.warn import Remarks
from onlineboost.estimators.checks import MOST_WEIGHT
from onlineboost.estimators.lock import ReadWriteLock
from onlineboost.estimators.memory import rounds_to_look
from onlineboost.estimators.model import Model

ENOUGH = 256  # single rows after which a chain that threads have cut into segments is joined again
Input = Mapping[str, Any] | Sequence[Any]


class Desk:
    """What single rows need, for one model and the settings as they are."""

    def __init__(self, model: Model, combiner: Combiner, tell: Callable[[Remarks], None]) -> None:
        self.model, self.combiner, self.tell = model, combiner, tell
        self.reader = RowReader(model.encoder)
        self.until = 0  # the round that is not to be learned here
        self.row: LearningRow | None = None
        self.segments: Any = None  # of the chain, as threads have cut it,
        self.learned = 0  # and how many rows have gone alone through them
        self.rows: list[PredictingRow] = []  # for threads that predict; a thread takes one and brings it back

    def lay(self, until: int) -> None:
        """Make ready to learn, up to the round `until`."""
        model, self.until = self.model, until
        self._read_names()
        self.clear()
        if model.chain.segments is not self.segments:
            self.segments, self.learned = model.chain.segments, 0
        if self.row is None:
            self.row = learning_row(model.chain, len(model.encoder.names), model.k)

    def _read_names(self) -> None:
        """Columns may have turned up."""
        if self.reader.names is not self.model.encoder.names:
            self.reader = RowReader(self.model.encoder)

    @property
    def should_join(self) -> bool:
        """Whether so many single rows have come that one segment pays."""
        return self.learned > ENOUGH and self.model.chain.can_join

    def clear(self) -> None:
        """Let go of tables that are not those of the model any more."""
        k = self.model.k
        self.rows = [row for row in self.rows if row.fits(k)]
        if self.row is not None and not self.row.fits(k):
            self.row = None

    def learn(self, x: Any, y: Any, weight: float, waiting: dict[Any, Any] | None = None, ticket: Any = 0) -> bool:
        """Learn one row; False: nothing has changed, and it is out of the ordinary.

        If the row was `waiting` for its label under a ticket, it does not any more.
        """
        model, row = self.model, self.row
        if row is None or model.chain.t + 1 >= self.until or model.damage or self.should_join:
            return False
        if (type(weight) is not float and type(weight) is not int) or not 0.0 < weight <= MOST_WEIGHT:
            return False
        code = model.labels.code_of(y)
        if code < 0 or self.reader.names is not model.encoder.names or not row.fits(len(model.labels.names)):
            return False
        if not self.reader.read(x, row.raw) and self.reader.read_any(x, row.raw, learning=True) is None:
            return False
        if waiting is not None and waiting.get(ticket) is not x:
            return False
        self.learned += 1
        row.y[0] = code
        mean = model.chain.mean_weight
        if mean is not None:
            mean = mean_after(mean, float(weight), model.chain.t + 1)
        row.weight[0] = weight if mean is None else counted(weight, mean)
        try:
            return row.learn(mean) if waiting is None else row.learn(mean, partial(waiting.pop, ticket))
        except BaseException as error:
            if row.is_half_way:
                model.damage = f"{type(error).__name__}: {error}"
            raise

    def predict(self, x: Input) -> Any:
        """The label of one row; None: it is out of the ordinary."""
        row = self._take(x)
        if row is None:
            return None
        code = row.code(self.combiner)
        self.rows.append(row)
        return self.model.labels.names[code] if code >= 0 else None

    def shares(self, x: Input) -> dict[Any, float] | None:
        """Probabilities of one row's classes; None: it is out of the ordinary."""
        row = self._take(x) if self.model.chain.t else None
        if row is None:
            return None
        shares = row.shares(self.combiner)
        self.rows.append(row)
        return None if shares is None else self.model.labels.by_name(shares)

    def _take(self, x: Input) -> PredictingRow | None:
        """Arrays that no other thread is using, with this row in them."""
        model = self.model
        if model.damage:
            return None
        k = len(model.labels.names)
        try:
            row = self.rows.pop()
        except IndexError:
            row = None
        self._read_names()
        if row is None or not row.fits(k):
            row = predicting_row(model.chain, len(model.encoder.names), k)
        if not self.reader.read(x, row.raw):
            self.tell(self.reader.read_any(x, row.raw, learning=False) or {})
        return row


class SingleRows:
    """`learn_one`, `predict_one` and `predict_proba_one` of a classifier."""

    _model: Model
    class_weight: Any
    cost_matrix: Any

    @abstractmethod
    def _lock(self) -> ReadWriteLock: ...

    @abstractmethod
    def _combiner(self) -> Combiner: ...

    @abstractmethod
    def _reviews(self, chain: Chain) -> Reviews | None: ...

    @abstractmethod
    def _learn_block_of_one(self, x: Input, y: Any, weight: float) -> None: ...

    @abstractmethod
    def _ready(self) -> Model: ...

    @abstractmethod
    def _tell(self, remarks: Remarks) -> None: ...

    def learn_one(self, x: Input, y: Any, weight: float = 1.0) -> Self:
        """Learn one example: x is a row in the order of the columns, or a mapping from their names.

        A name that is left out is a missing value. A pandas Series and a named tuple count as mappings.
        """
        desk = self.__dict__.get("_desk_")
        if desk is None or not self._lock().learn_at_once(desk.learn, x, y, weight):
            self._learn_block_of_one(x, y, weight)
        return self

    def predict_one(self, x: Input) -> Any:
        """The label of one row (see `learn_one`); None if nothing has been learned yet."""
        desk = self.__dict__.get("_desk_")
        label = None if desk is None else self._lock().predict_at_once(desk.predict, x)
        return self._predict_block_of_one(x) if label is None else label

    def predict_proba_one(self, x: Input) -> dict[Any, float]:
        """Probabilities of one row's classes (see `learn_one`); empty if nothing has been learned yet."""
        desk = self.__dict__.get("_desk_")
        shares = None if desk is None else self._lock().predict_at_once(desk.shares, x)
        return self._shares_of_block_of_one(x) if shares is None else shares

    def _predict_block_of_one(self, x: Input) -> Any:
        with self._lock().reading():
            if "_model" not in self.__dict__:
                return None
            desk = self.__dict__.get("_desk_")
            if desk is not None and (label := desk.predict(x)) is not None:
                return label  # it only had to wait
            model = self._ready()
            row = self._read(model, x)
            self._lay_desk(learning=False)
            return model.labels.names[model.chain.predict(row, model.k, self._combiner())[0]]

    def _shares_of_block_of_one(self, x: Input) -> dict[Any, float]:
        with self._lock().reading():
            if "_model" not in self.__dict__:
                return {}
            desk = self.__dict__.get("_desk_")
            if desk is not None and (found := desk.shares(x)) is not None:
                return found
            model = self._ready()
            row = self._read(model, x)
            self._lay_desk(learning=False)
            return model.labels.by_name(model.shares(row, self._combiner())[0].tolist())

    def _read(self, model: Model, x: Input) -> np.ndarray:
        encoded = model.encoder.read_row(x, learning=False)
        self._tell(encoded.remarks)
        return encoded.X

    def _lay_desk(self, *, learning: bool) -> None:
        """After a single row that went through as a block: the next ones need not."""
        model = self._model
        if model.calibration is not None or not can_go_alone(model.chain):
            self.__dict__.pop("_desk_", None)
            return
        desk = self.__dict__.get("_desk_")
        if desk is None or desk.model is not model:
            desk = Desk(model, self._combiner(), self._tell)
        if learning and self.class_weight is None and self.cost_matrix is None:
            chain = model.chain
            if desk.should_join:
                chain.join_up()
            make_room(chain, model.k)
            rounds, reviews = rounds_to_look(model), self._reviews(chain)
            desk.lay(chain.t + (rounds if reviews is None else min(rounds, reviews.rounds())))
        self.__dict__["_desk_"] = desk

    def __setattr__(self, name: str, value: Any) -> None:
        """A setting that changes, or a new model, needs another desk."""
        if self.__dict__.get(name) is not value:
            self.__dict__.pop("_desk_", None)
        super().__setattr__(name, value)
