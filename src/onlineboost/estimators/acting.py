"""Learning from actions: what a user gives and gets where only the outcome of an action comes to be known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from onlineboost._compile.system import Interrupt
from onlineboost.chain.acting import (
    EVENLY,
    GUESSED,
    Outcomes,
    draw_action,
    guesses,
    likely_shares,
    new_acts,
    predicted_shares,
    rho_of,
    round_of,
)
from onlineboost.chain.model import Model
from onlineboost.chain.weights import MOST_WEIGHT
from onlineboost.data.columns import first_row
from onlineboost.data.errors import DataError
from onlineboost.data.labels import Labels, object_array, sorted_labels
from onlineboost.estimators import learning, single_rows
from onlineboost.estimators.checks import (
    check_classes,
    check_classes_known,
    check_labels,
    check_weight,
    check_weights,
    ready,
    seed_of,
)
from onlineboost.estimators.single_rows import Input


class Act(NamedTuple):
    """An action: one of the labels, how likely it was to be drawn, and how likely each of them was."""

    action: Any
    probability: float
    distribution: dict[Any, float]


def draw(clf: Any, x: Input, exploration: float | str, classes: Any) -> Act:
    """An action for one row; changes nothing."""
    is_number = isinstance(exploration, int | float | np.number) and not isinstance(exploration, bool)
    good = 0 <= exploration <= 1 if is_number else isinstance(exploration, str) and exploration == "auto"  # type: ignore[operator]
    if not good:
        raise ValueError(f'exploration must be "auto" or a share of the rounds in [0, 1], got {exploration!r}')
    with clf._lock().reading():
        if "_model" not in clf.__dict__:
            given, table = _given(classes, type(clf).__name__), first_row(x, clf.columns, clf.categorical_features)
            clf._check_settings()
            is_drawn = clf.random_state is None or hasattr(clf.random_state, "randint")  # when learning begins
            seed = 0 if is_drawn else seed_of(clf.random_state)
            fresh = learning.new_model(clf, table, given, seed)
            labels, row, t = _fixed(fresh.labels), fresh.encoder.read(table).X, 1
            shares, evenly = predicted_shares(-1, len(labels.names)), 0.0
        else:
            model, desk = ready(clf), clf.__dict__.get("_desk_")
            if not _known(model.labels, classes):
                check_classes_known(model, classes, type(clf).__name__)
            labels, seed, t = _fixed(model.labels), model.chain.seed, round_of(model.chain.t, model.acts)
            row = np.empty((1, len(model.encoder.names)))
            if desk is None or desk.reader.names is not model.encoder.names or not desk.reader.read(x, row):
                row, desk = single_rows.read_row(clf, model, x), None
            by_doubt = isinstance(exploration, str) and model.k > 2 and clf._explores_doubts
            if by_doubt and model.chain.t and clf._costs(model.labels) is None:
                said = None if desk is None else desk.shares(x)
                q = model.shares(row, clf._combiner())[0] if said is None else [said[name] for name in labels.names]
                shares, evenly = likely_shares(np.asarray(q)), EVENLY
            else:
                shares = predicted_shares(_predicted(clf, model, desk, x, row), model.k)
                evenly = float(model.chain.t > 0)
    rho = evenly * rho_of(exploration, len(labels.names), t)
    code, p = draw_action(shares, rho, seed, row, t)
    return Act(labels.names[code], float(p[code]), labels.by_name(p.tolist()))


def _predicted(clf: Any, model: Model, desk: Any, x: Input, row: np.ndarray) -> int:
    """The code predicted for a row, by the desk if it can; -1: nothing has been learned."""
    if not model.chain.t:
        return -1
    label = None if desk is None else desk.predict(x)
    known = label is not None
    return int(model.labels.code_of(label) if known else model.chain.predict(row, model.k, clf._combiner())[0])


def _known(labels: Labels, classes: Any) -> bool:
    """Whether `classes` are none but known ones, at a glance."""
    return classes is None or (
        isinstance(classes, list | tuple | np.ndarray) and all(labels.code_of(label) >= 0 for label in classes)
    )


def _given(classes: Any, whose: str) -> np.ndarray:
    if classes is None:
        raise DataError(f"this {whose} does not know yet which actions there are: give all of them as `classes`")
    return sorted_labels(check_classes(classes, whose))


def _fixed(labels: Labels) -> Labels:
    """The labels that actions are taken from."""
    if not labels.fixed:
        raise DataError("actions are taken from classes that are known in advance: give `classes` on the first call")
    if len(labels.names) < 2:
        raise DataError(f"there must be two classes at least to choose an action from, got {labels.names}")
    return labels


class Told:
    """Actions and their outcomes, as a user tells them; then as rows to learn."""

    def __init__(self, action: Any, correct: Any, probability: Any, whose: str) -> None:
        self.action = check_labels(action, whose)
        n = len(self.action)
        right = _column("correct", correct, n)
        if not np.isin(right, (0, 1)).all():
            raise DataError("correct says of each action whether it was right: True or False")
        self.right = right.astype(bool)
        self.p = None if probability is None else _column("probability", probability, n).astype(np.float64)
        if self.p is not None and not ((self.p > 0.0) & (self.p <= 1.0)).all():
            bad = self.p[~((self.p > 0.0) & (self.p <= 1.0))][0]
            raise DataError(f"probability must be that of the action taken, in (0, 1], got {bad!r}")

    def rows(self, model: Model, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """Labels, and weights as they are multiplied with those given. Changes nothing."""
        labels = _fixed(model.labels)
        given, codes = check_weights(sample_weight, len(self.action)), labels.read(self.action)[0]
        there = given > 0.0  # the other rows are as if absent: they are not rounds
        self.outcomes = Outcomes(codes[there], self.right[there], None if self.p is None else self.p[there])
        start = round_of(model.chain.t, model.acts)
        codes[there], weight = self.outcomes.as_rows(model.k, model.chain.seed, start)
        self.learned = np.flatnonzero(weight > 0.0)
        given[there] *= weight
        if self.p is not None and given.max(initial=0.0) > MOST_WEIGHT:
            raise DataError(f"sample_weight / probability is {given.max():g}, more than {MOST_WEIGHT:g}: too small a p")
        return labels.of(codes), given

    def is_ready(self, model: Model) -> bool:
        """Whether `prepare` has nothing to do."""
        if model.k == 2:
            return True  # nothing is hidden
        if self.p is None:
            return guesses(model)
        return model.chain.t > 0 or model.chain.mean_weight is None

    def prepare(self, clf: Any, model: Model) -> None:
        """Before these rows are learned."""
        if self.is_ready(model) or not len(self.outcomes.right):
            return
        clf.__dict__.pop("_desk_", None)
        if self.p is not None:
            model.chain.mean_weight = None  # 1 / p counts as it is: then it is unbiased
            return
        model.acts = new_acts() if model.acts is None else model.acts.copy()
        model.acts[GUESSED] = 1.0  # from here on experts are not judged: by labels that were drawn they cannot be

    def note(self, model: Model, n: int) -> None:
        """`n` of the rows that count have been learned: all, unless Ctrl-C was pressed."""
        rounds = len(self.outcomes.right) if n >= len(self.learned) else int(self.learned[n])
        if rounds:
            model.acts = self.outcomes.after(model.acts, rounds, model.k)


def _column(name: str, given: Any, n: int) -> np.ndarray:
    if given is None:
        raise ValueError(f"{name} is missing: an action is learned with action=... and correct=...")
    values = np.asarray(given)
    if values.shape != (n,) or values.dtype.kind not in "biuf":
        raise DataError(f"{name} must have one value for each of the {n} actions, got {given!r}")
    return values


def told(y: Any, action: Any, correct: Any, probability: Any, whose: str) -> Told | None:
    """Outcomes of actions, if labels are not given; None: they are."""
    if action is None and correct is None and probability is None:
        return None
    if y is not None or action is None:
        raise ValueError("give y, the labels; or, where they stay unknown, action and correct without y")
    return Told(action, correct, probability, whose)


# arguments: those of `learn_one`
def learn_outcome(
    clf: Any, x: Input, weight: float, action: Any, correct: Any, probability: Any, classes: Any, y: Any
) -> None:
    def alone(value: Any) -> Sequence[Any] | None:
        return None if value is None else [value]

    action = action[()] if isinstance(action, np.ndarray) and action.ndim == 0 else action
    taken = None if action is None else object_array([action])
    outcome = told(y, taken, alone(correct), alone(probability), type(clf).__name__)
    assert outcome is not None
    check_weight(weight)
    with Interrupt() as interrupt, clf._lock().writing():
        desk, model = clf.__dict__.get("_desk_"), clf.__dict__.get("_model")
        if desk is not None and model is not None and outcome.is_ready(model) and _known(model.labels, classes):
            (label,), (own,) = outcome.rows(model, [weight])
            label = label.item() if isinstance(label, np.generic) else label
            if own > 0.0 and desk.learn(x, label, float(own)):
                outcome.note(model, 1)
                return
        learning.learn_row(clf, x, None, weight, interrupt, outcome, classes)
        single_rows.lay_desk(clf, is_learning=True)
    learning.tell_learned(clf, 1)


class Acting:
    """How a user of any classifier learns one row, from its label or from an action; and draws actions."""

    _explores_doubts = True  # whether actions go by probabilities, if no exploration is given; no theorem knows that

    # arguments: the row, and what is known of its label
    def learn_one(
        self,
        x: Input,
        y: Any = None,
        weight: float = 1.0,
        *,
        action: Any = None,
        correct: Any = None,
        probability: Any = None,
        classes: Any = None,
    ) -> Self:
        """Learn one example: x is a row in the order of the columns, or a mapping from their names.

        A name that is left out is a missing value. A pandas Series and a named tuple count as mappings. Where y stays
        unknown, give the `action` taken and whether it was `correct` (docs/bandit.md), and `classes` on the first call.
        With the action's `probability` what is learned is unbiased, and OnlineMBBM has a theorem; without, it varies
        less, and accuracy is better.
        """
        if action is None and correct is None and probability is None:
            single_rows.learn_one(self, x, y, weight)
        else:
            learn_outcome(self, x, weight, action, correct, probability, classes, y)
        return self

    def act_one(self, x: Input, exploration: float | str = "auto", *, classes: Any = None) -> Act:
        """Draw an action for one row: mostly the label that `predict_one` gives, now and then another of the `classes`.

        All classes share `exploration`, in [0, 1]; the rest is the predicted label's. "auto": that falls, and what is
        likely is tried more often than what is not (docs/bandit.md). Changes nothing: the same row has the same action
        until something is learned. Give `classes` as long as nothing has been learned.

        Examples
        --------
        >>> from onlineboost import HoeffdingTree
        >>> clf = HoeffdingTree()
        >>> act = clf.act_one([0.2], classes=["email", "phone", "post"])
        >>> act.probability == act.distribution[act.action]
        True
        >>> clf.learn_one([0.2], action=act.action, correct=False, classes=["email", "phone", "post"]).n_samples_seen_
        1
        """
        return draw(self, x, exploration, classes)
