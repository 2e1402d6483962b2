"""Single rows: learning and predicting one without making a block of it.

A `Desk` has everything at hand for the rows that come as the last ones did. What is out of the ordinary (a new label or
nominal value, a setting that has changed, tables without room, a review that is due) goes through as a block of one row
does (`learning`), and the desk is made ready again. The result is the same, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import is_
from typing import Any
from weakref import ref

import numpy as np

from onlineboost._compile.handle import compiled, hold
from onlineboost._compile.system import Interrupt
from onlineboost.chain.chain import AWAITED
from onlineboost.chain.experts import Combiner
from onlineboost.chain.model import CalibrationPass, Model, ahead, calibrate_row
from onlineboost.chain.pending import Awaited, Pending, Ticket, as_it_came, checked_id
from onlineboost.chain.rows import LearningRow, PredictingRow, can_go_alone, make_room
from onlineboost.chain.sets import BINS, NO_ROW, SetsPass, bits_of, learn_sets_row, with_classes
from onlineboost.chain.weights import MOST_WEIGHT, counted, mean_after, weigh_classes
from onlineboost.data.encoder import Kept, RowReader
from onlineboost.estimators import learning, memory
from onlineboost.estimators.checks import ready
from onlineboost.estimators.costs import Costs, for_experts
from onlineboost.estimators.listening import with_sets

ENOUGH = 256  # single rows after which a chain that threads have cut into segments is joined again
Input = Mapping[str, Any] | Sequence[Any]


class Desk:
    """What single rows need, for one model and the settings as they are."""

    def __init__(self, clf: Any) -> None:
        self.whose: Callable[[], Any] = ref(clf)  # no cycle, which would be kept until the garbage collector comes
        self.lock = clf._lock()
        self.settings = _settings(clf)
        self.weighs = clf.class_weight is not None or clf.cost_matrix is not None  # if that changes, this desk goes
        self.model, self.combiner = clf._model, clf._combiner()
        self.reader = RowReader(self.model.encoder)
        self.until = 0  # the round that is not to be learned here
        self.row: LearningRow | None = None
        self.beside = False  # whether one of `rows` shares scratch with it
        self.calibration: Any = None  # how its label is learned by the calibration, if there is one,
        self.sets: Any = None  # and by the sets
        self.p, self.weight = np.empty((1, 0)), np.empty(1)  # what is said of the row, and its weight, for both
        self.segments: Any = None  # of the chain, as threads have cut it,
        self.learned = 0  # how many rows have gone alone through them,
        self.enough: float = np.inf  # and after how many there should be fewer of them
        self.rows: list[PredictingRow] = []  # for threads that predict; a thread takes one and brings it back

    def lay(self, until: int) -> None:
        """Make ready to learn, up to the round `until`."""
        model, self.until = self.model, until
        self.clear()
        if model.chain.segments is not self.segments:
            self.segments, self.learned = model.chain.segments, 0
            self.enough = ENOUGH if model.chain.can_join else np.inf
        if self.row is None:
            self.row = LearningRow(model.chain, len(model.encoder.names), model.k)
            self.rows, self.beside, self.calibration, self.sets = [], False, None, None
            self.p, row = np.empty((1, model.k)), self.row
            if model.calibration is not None:
                self.calibration = hold(CalibrationPass(model.calibration, model.floor, self.p, row.y, row.weight))
            if model.sets is not None:
                model.sets = with_classes(model.sets, model.k)
                known = self.p, row.raw, bits_of(row.raw), row.y, self.weight, model.chain.seed
                self.sets = hold(SetsPass(model.sets, *known, np.empty(BINS), NO_ROW))

    def clear(self) -> None:
        """Let go of names and tables that are not those of the model any more: after all that may have changed them."""
        k = self.model.k
        if self.reader.names is not self.model.encoder.names:
            self.reader = RowReader(self.model.encoder)
        self.rows = [row for row in self.rows if row.fits(k)]
        if self.row is not None and not self.row.fits(k):
            self.row = None

    def learn(self, x: Any, y: Any, weight: float, waiting: dict[Any, Any] | None = None, ticket: Any = 0) -> bool:
        """Learn one row; False: nothing has changed, and it is out of the ordinary.

        If the row was `waiting` for its label under a ticket, it does not any more.
        """
        model, row = self.model, self.row
        chain = model.chain
        if row is None or row.segments is not chain.segments or chain.t + 1 >= self.until or model.damage:
            return False
        if self.learned > self.enough:
            return False
        if (type(weight) is not float and type(weight) is not int) or not 0.0 < weight <= MOST_WEIGHT:
            return False
        code = model.labels.code_of(y)
        if code < 0:
            return False
        if not self.reader.read(x, row.raw) and self.reader.read_any(x, row.raw, learning=True) is None:
            return False
        if waiting is not None and waiting.get(ticket) is not x:
            return False
        self.learned += 1
        row.y[0] = code
        mean = chain.mean_weight
        if mean is not None:
            mean = mean_after(mean, float(weight), chain.t + 1)
        row.weight[0] = self.weight[0] = weight if mean is None else counted(weight, mean)
        also: list[tuple[Any, Any]] = [] if waiting is None else [(partial(waiting.pop, ticket), None)]
        if self.weighs and not self._weigh(row, also):
            return False
        if (self.calibration is not None or self.sets is not None) and not self._listen(row, also):
            return False
        counts = row.weight.item()
        also += chain.to_note(counts, counts, 0 if waiting is None else AWAITED)
        try:
            return row.learn(mean, *also)
        except BaseException as error:
            if chain.t < row.begun.item():  # it struck in the middle of the row, which nobody expects
                model.damage = f"{type(error).__name__}: {error}"
            raise

    def _weigh(self, row: LearningRow, also: list[Any]) -> bool:
        """The weight of a row with what mistakes about its class cost; False: the settings have changed."""
        model = self.model
        costs: Costs | None = self.whose()._costs(model.labels)  # the settings may have changed in place
        if for_experts(costs, model.labels) is not model.chain.costs:
            return False
        if costs is not None:
            counts = np.zeros(row.k)
            counts[: len(model.counts)] = model.counts
            weigh_classes(counts, row.y, costs.worth(model.labels.names), costs.balanced, row.weight)
            also.append((partial(setattr, model, "counts"), counts))
        return True

    def _listen(self, row: LearningRow, also: list[Any]) -> bool:
        """What is said of the row before it is learned, for calibration and sets; False: a number is not finite."""
        steps = [(calibrate_row, self.calibration), (learn_sets_row, self.sets)]
        asked = self._free_row()
        asked.raw[:] = row.raw
        p = asked.forecast(self.combiner)
        self.rows.append(asked)
        if p is not None:
            self.p[:] = p
            t = self.model.chain.t + 1
            also += [(partial(compiled(step, at, 0), at), t) for step, at in steps if at is not None]
        return p is not None

    def predict(self, x: Input) -> Any:
        """The label of one row; None: it is out of the ordinary."""
        row = self._take(x)
        if row is None:
            return None
        code = row.code(self.combiner)
        self.rows.append(row)
        return self.model.labels.names[code] if code >= 0 else None

    def predict_and_keep(self, x: Input) -> tuple[Any, Kept] | None:
        """The label of one row, and the row to be learned later; None: it is out of the ordinary."""
        model = self.model
        row = None if model.damage else self._free_row()
        if row is None:
            return None
        if not self.reader.read(x, row.raw):
            self.rows.append(row)
            return None
        kept = Kept(row.raw[0].copy(), len(model.encoder.numeric), {})  # all values are known: their codes are for good
        code = row.code(self.combiner)
        self.rows.append(row)
        return (model.labels.names[code], kept) if code >= 0 else None

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

    def knows(self, x: Any, y: Any) -> bool:
        """Whether a row (None: there is none) and a label are like those before; False: `check_row` looks closer."""
        reader = self.reader
        plain = x is None or (
            reader.names is self.model.encoder.names and reader.read(x, np.empty((1, len(reader.names))))
        )
        return plain and (y is None or self.model.labels.code_of(y) >= 0)

    def set_of(self, x: Input, coverage: float, by_class: bool) -> list[Any] | None:
        """The labels of one row's set, the likeliest first; None: it is out of the ordinary."""
        model = self.model
        row = self._take(x) if model.chain.t and model.sets is not None else None
        if row is None:
            return None
        p = row.forecast(self.combiner)
        if p is None:
            return None
        p = model.with_calibration(p)
        inside = model.sets_by(p, row.raw, coverage, by_class)[0]
        found = _labels_in(model, inside, ahead(p, row.y)[0])
        self.rows.append(row)
        return found

    def _take(self, x: Input) -> PredictingRow | None:
        """Arrays that no other thread is using, with this row in them."""
        model = self.model
        if model.damage:
            return None
        row = self._free_row()
        if not self.reader.read(x, row.raw):
            learning.tell(self.whose(), self.reader.read_any(x, row.raw, learning=False) or {})
        return row

    def _free_row(self) -> PredictingRow:
        chain = self.model.chain
        try:
            row = self.rows.pop()
        except IndexError:
            row = None
        if row is None or row.segments is not chain.segments:
            k, beside = self.model.k, None
            if self.row is not None and not self.beside and self.row.segments is chain.segments:
                beside, self.beside = self.row, True
            row = PredictingRow(chain, len(self.reader.names), k, beside)
        return row


def learn_one(clf: Any, x: Input, y: Any, weight: float) -> None:
    desk = clf.__dict__.get("_desk_")
    if desk is not None and desk.lock.learn_at_once(desk.learn, x, y, weight):
        return
    with Interrupt() as interrupt, clf._lock().writing():
        desk = clf.__dict__.get("_desk_")
        if desk is None or not desk.learn(x, y, weight):  # it only had to wait
            learn_as_block(clf, x, y, weight, interrupt)
    learning.tell_learned(clf, 1)


def learn_as_block(clf: Any, x: Any, y: Any, weight: float, interrupt: Interrupt) -> None:
    """A row that is out of the ordinary goes through as a block of one does; the next ones need not."""
    learning.learn_row(clf, x, y, weight, interrupt)
    if "_model" in clf.__dict__:
        lay_desk(clf, is_learning=True)


def ask(clf: Any, x: Input, quickly: Callable[..., Any], slowly: Callable[..., Any], nothing: Any, *how: Any) -> Any:
    """What a model says of a row: by a method of its desk, or if that has no answer, as of a block.

    `nothing`: what is said as long as nothing has been learned. `how` is what both are asked besides.
    """
    desk = clf.__dict__.get("_desk_")
    if desk is not None and (found := desk.lock.predict_at_once(quickly, desk, x, *how)) is not None:
        return found
    with clf._lock().reading():
        if "_model" not in clf.__dict__:
            return nothing
        desk = clf.__dict__.get("_desk_")
        if desk is not None and (found := quickly(desk, x, *how)) is not None:  # it only had to wait
            return found
        model = ready(clf)
        row = read_row(clf, model, x)
        lay_desk(clf, is_learning=False)
        return slowly(model, row, clf._combiner(), *how)


def label_of(model: Model, row: np.ndarray, combiner: Combiner) -> Any:
    return model.labels.names[model.chain.predict(row, model.k, combiner)[0]]


def shares_of(model: Model, row: np.ndarray, combiner: Combiner) -> dict[Any, float]:
    return model.labels.by_name(model.shares(row, combiner)[0].tolist())


def set_of(clf: Any, model: Model, row: np.ndarray, combiner: Combiner, *how: Any) -> list[Any]:
    p = model.shares(row, combiner)
    return _labels_in(model, with_sets(clf, model).sets_of(row, combiner, *how)[0], p[0])


def _labels_in(model: Model, inside: np.ndarray, p: np.ndarray) -> list[Any]:
    """The labels that are inside, the likeliest first."""
    return [model.labels.names[code] for code in np.argsort(-p, kind="stable") if inside[code]]


def read_row(clf: Any, model: Model, x: Input) -> np.ndarray:
    """A row to be predicted, encoded."""
    encoded = model.encoder.read_row(x, learning=False)
    learning.tell(clf, encoded.remarks)
    return encoded.X


def lay_desk(clf: Any, *, is_learning: bool) -> None:
    """After a single row that went through as a block: the next ones need not."""
    model = clf._model
    if not can_go_alone(model.chain):
        clf.__dict__.pop("_desk_", None)
        return
    desk = clf.__dict__.get("_desk_")
    if desk is None or desk.model is not model:
        desk = Desk(clf)
    if is_learning:
        chain = model.chain
        if desk.learned > desk.enough:
            chain.join_up()
        rounds, reviews = min(memory.rounds_to_look(model), make_room(chain, model.k)), learning.reviews_of(clf, chain)
        desk.lay(chain.t + (rounds if reviews is None else min(rounds, reviews.rounds())))
    clf.__dict__["_desk_"] = desk
    if not all(map(is_, desk.settings, _settings(clf))):
        clf.__dict__.pop("_desk_", None)  # another thread has changed them meanwhile


def _settings(clf: Any) -> list[Any]:
    """What a desk goes by for as long as there is one."""
    return [clf.__dict__.get(name) for name in ("combiner", "class_weight", "cost_matrix")]


# -------------------------------------------------------------------------------- labels that come late


def predict_pending(clf: Any, x: Input, id: Ticket | None) -> Awaited:
    own = None if id is None else checked_id(id, "id")
    desk = clf.__dict__.get("_desk_")
    found = None if desk is None else clf._lock().predict_at_once(desk.predict_and_keep, x)
    if desk is not None and found is not None:
        label, row = found
        ticket = clf._lock().learn_at_once(_let_wait, clf, desk, row, own)
        if ticket is not False:
            return Awaited(label, ticket)
    label = clf.predict_one(x)
    with clf._lock().writing():
        model: Model | None = clf.__dict__.get("_model")
        if model is None or model.encoder.new_columns_of_row(x):
            return Awaited(label, waiting(clf).add(as_it_came(x), own))
        return Awaited(label, waiting(clf).add(model.encoder.keep(x), own))


def _let_wait(clf: Any, desk: Desk, row: Kept, own: Ticket | None) -> Ticket:
    """Its ticket; False: another model has begun since it was predicted."""
    return waiting(clf).add(row, own) if clf.__dict__.get("_desk_") is desk else False


def learn_pending(clf: Any, ticket: Ticket, y: Any, weight: float) -> None:
    desk = clf.__dict__.get("_desk_")
    rows = waiting(clf).rows
    x = rows.get(ticket) if type(ticket) is str or type(ticket) is int else None
    if desk is not None and x is not None and clf._lock().learn_at_once(desk.learn, x, y, weight, rows, ticket):
        return
    with Interrupt() as interrupt, clf._lock().writing():
        learn_as_block(clf, waiting(clf).row(ticket), y, weight, interrupt)
        waiting(clf).rows.pop(checked_id(ticket, "ticket"))
        for note, value in clf._model.chain.to_note(1.0, 1.0, AWAITED) if hasattr(clf, "_model") else ():
            note(value)
    learning.tell_learned(clf, 1)


def waiting(clf: Any) -> Pending:
    """The rows of a classifier that wait."""
    found: Pending = clf.__dict__.get("_pending") or clf.__dict__.setdefault("_pending", Pending())
    return found
