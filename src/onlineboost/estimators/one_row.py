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

from onlineboost._compile.handle import compiled, hold
from onlineboost.chain.calibration import CalibrationPass, calibrate_row
from onlineboost.chain.chain import Chain
from onlineboost.chain.class_weights import weigh_classes
from onlineboost.chain.experts import Combiner
from onlineboost.chain.relative_weights import counted, mean_after
from onlineboost.chain.reviews import Reviews
from onlineboost.chain.rows import LearningRow, PredictingRow, can_go_alone, make_room
from onlineboost.data.labels import Labels
from onlineboost.data.single import RowReader
from onlineboost.data.warn import Remarks
from onlineboost.estimators.checks import MOST_WEIGHT
from onlineboost.estimators.costs import Costs, for_experts
from onlineboost.estimators.lock import ReadWriteLock
from onlineboost.estimators.memory import rounds_to_look
from onlineboost.estimators.model import Model

ENOUGH = 256  # single rows after which a chain that threads have cut into segments is joined again
Input = Mapping[str, Any] | Sequence[Any]


class Desk:
    """What single rows need, for one model and the settings as they are."""

    # arguments: the model, and what the classifier knows
    def __init__(
        self, model: Model, combiner: Combiner, costs: Callable[[], Costs | None], tell: Callable[[Remarks], None]
    ) -> None:
        self.model, self.combiner, self.tell = model, combiner, tell
        self.costs = costs  # the settings, which may have changed in place
        self.reader = RowReader(model.encoder)
        self.until = 0  # the round that is not to be learned here
        self.row: LearningRow | None = None
        self.beside = False  # whether one of `rows` shares scratch with it
        self.calibration: Any = None  # how its label is learned by the calibration, if there is one
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
            self.row = LearningRow(model.chain, len(model.encoder.names), model.k)
            self.rows, self.beside, self.calibration = [], False, None
            if model.calibration is not None:
                p = np.empty((1, model.k))
                self.calibration = hold(CalibrationPass(model.calibration, model.floor, p, self.row.y, self.row.weight))

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
        also = [] if waiting is None else [(partial(waiting.pop, ticket), None)]
        if not (self._weigh(row, also) and self._calibrate(row, also)):
            return False
        try:
            return row.learn(mean, *also)
        except BaseException as error:
            if row.is_half_way:
                model.damage = f"{type(error).__name__}: {error}"
            raise

    def _weigh(self, row: LearningRow, also: list[Any]) -> bool:
        """The weight of a row with what mistakes about its class cost; False: the settings have changed."""
        costs, model = self.costs(), self.model
        if for_experts(costs, model.labels) is not model.chain.costs:
            return False
        if costs is not None:
            counts = np.zeros(row.k)
            counts[: len(model.counts)] = model.counts
            weigh_classes(counts, row.y, costs.worth(model.labels.names), costs.balanced, row.weight)
            also.append((partial(setattr, model, "counts"), counts))
        return True

    def _calibrate(self, row: LearningRow, also: list[Any]) -> bool:
        """What is said of the row before it is learned, for the calibration; False: a number is not finite."""
        if self.calibration is None:
            return True
        asked = self._free_row(row.k)
        asked.raw[:] = row.raw
        p = asked.forecast(self.combiner)
        self.rows.append(asked)
        if p is not None:
            self.calibration.parts.p[:] = p
            also.append((partial(compiled(calibrate_row, self.calibration, 0), self.calibration), 0))
        return p is not None

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
        model = self.model
        row = self._take(x) if model.chain.t else None
        if row is None:
            return None
        p = row.forecast(self.combiner)
        found = None if p is None else model.labels.by_name(model.calibrated(row.y, p)[0].tolist())
        self.rows.append(row)
        return found

    def _take(self, x: Input) -> PredictingRow | None:
        """Arrays that no other thread is using, with this row in them."""
        model = self.model
        if model.damage:
            return None
        row = self._free_row(len(model.labels.names))
        if not self.reader.read(x, row.raw):
            self.tell(self.reader.read_any(x, row.raw, learning=False) or {})
        return row

    def _free_row(self, k: int) -> PredictingRow:
        try:
            row = self.rows.pop()
        except IndexError:
            row = None
        self._read_names()
        if row is None or not row.fits(k):
            chain = self.model.chain
            beside = None if self.beside or self.row is None or not self.row.fits(k) else self.row
            self.beside |= beside is not None
            row = PredictingRow(chain, len(self.model.encoder.names), k, beside)
        return row


class SingleRows:
    """`learn_one`, `predict_one` and `predict_proba_one` of a classifier."""

    _model: Model

    @abstractmethod
    def _costs(self, labels: Labels | None = None) -> Costs | None: ...

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
        if not can_go_alone(model.chain):
            self.__dict__.pop("_desk_", None)
            return
        desk = self.__dict__.get("_desk_")
        if desk is None or desk.model is not model:
            desk = Desk(model, self._combiner(), partial(self._costs, model.labels), self._tell)
        if learning:
            chain = model.chain
            if desk.should_join:
                chain.join_up()
            rounds, reviews = min(rounds_to_look(model), make_room(chain, model.k)), self._reviews(chain)
            desk.lay(chain.t + (rounds if reviews is None else min(rounds, reviews.rounds())))
        self.__dict__["_desk_"] = desk

    def __setattr__(self, name: str, value: Any) -> None:
        """A setting that changes, or a new model, needs another desk."""
        if self.__dict__.get(name) is not value:
            self.__dict__.pop("_desk_", None)
        super().__setattr__(name, value)
