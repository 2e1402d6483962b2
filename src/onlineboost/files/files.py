"""Estimators to model files, and back."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from onlineboost import lookup
from onlineboost._compile.jit import announce_compilation
from onlineboost.chain.chain import Chain
from onlineboost.chain.model import OF_THIS_PROCESS, Model
from onlineboost.chain.segments import Segment
from onlineboost.contracts.state import StateError, copied, require
from onlineboost.files.checks import check_model
from onlineboost.files.fields import read_pending, write_pending
from onlineboost.files.states import STATES, add_boosters, finish
from onlineboost.registry import ALL
from onlineboost.storage import CannotSave, DamagedModelFile, ForeignModelFile, ModelFileError
from onlineboost.storage.container import read, replacing, write
from onlineboost.storage.values import Reader, Writer, unknown

NAMES = {entry.class_name: entry.name for entry in ALL} | {e.paper: f"{e.name}.paper" for e in ALL if e.paper}
OF_SCIKIT_LEARN = ("n_features_in_", "feature_names_in_")  # what it keeps in a fitted estimator
NOT_SAVED = ("_model", "_pending", "_begun_", *OF_THIS_PROCESS)  # the first three by themselves
CopyTable = Callable[[tuple[int, str], np.ndarray], np.ndarray]  # a table, by its segment and name
SPARE = 1.5  # times what the last quick copy took: models grow
ODD = (TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError, ArithmeticError)


class Saved(NamedTuple):
    """An estimator, and what else was put into a file, as the file holds it."""

    content: dict[str, Any]
    arrays: list[np.ndarray]

    def write(self, path: str | os.PathLike[str]) -> int:
        """Put it into a file, as a whole or not at all; its bytes.

        What `load` checks is checked before: a file that cannot be loaded is of no use to anyone.
        """
        try:
            with _named("the model"):
                _read_content(self.content, self.arrays, Pickles(None))
        except ModelFileError as error:
            raise CannotSave(
                f"nothing is saved, since `load` would refuse the file ({error}); the file of before is as it was. Go "
                f"back to an older file, or keep a pickle, and report it: this is an error of onlineboost"
            ) from error
        with replacing(path) as file:
            return write(file, self.content, self.arrays)


def take(estimator: Any, more: dict[str, Any] | None = None, *, pickled_learners: bool = False) -> Saved:
    """A copy of an estimator to be written; `more` are values that go with it, by name."""
    pickles = Pickles(pickled_learners)
    writer = Writer(pickles.write)
    pickles.writer = writer
    content = {
        "onlineboost": import_module("onlineboost").__version__,
        "estimator": _write_estimator(writer, estimator),
        "more": {name: writer.value(value) for name, value in (more or {}).items()},
    }
    return Saved({**content, "pickles": pickles.count}, writer.arrays)


def load(path: str | os.PathLike[str], *, mapped: bool = False, pickled_learners: bool = False) -> Any:
    """The estimator that `save` has put into a file. It goes on as the one that was saved, bit for bit.

    Parameters
    ----------
    path
        The file.
    mapped
        Leave the large tables in the file: what is asked for is fetched when it is. Quick to load a large model and ask
        it a little; these tables are then not checked. The file is never changed, and must stay while the model lives.
    pickled_learners
        Whether to unpickle weak learners of other libraries. That runs code in them: only for files that you trust.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from onlineboost import AdaBoostOLM, load
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.olb")
    >>> AdaBoostOLM(n_learners=10).fit(X, y).save(path)
    >>> load(path).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """
    return load_with_more(path, mapped=mapped, pickled_learners=pickled_learners)[0]


def load_with_more(
    path: str | os.PathLike[str], *, mapped: bool = False, pickled_learners: bool = False
) -> tuple[Any, dict[str, Any]]:
    """`load`, and the values that were saved with the estimator."""
    content, arrays, _ = read(path, mapped=mapped)
    with _named(path):
        estimator, more, models = _read_content(content, arrays, Pickles(pickled_learners))
        announce_compilation(type(estimator).__name__)  # now, or when it is asked first
        for model in models:
            finish(model)
    return estimator, more


def _read_content(content: Any, arrays: list[np.ndarray], pickles: Pickles) -> tuple[Any, dict[str, Any], list[Model]]:
    """The estimator, what was saved with it, and all models in them, which are good and are to be finished."""
    names = {"onlineboost", "estimator", "more", "pickles"}
    require(isinstance(content, dict) and content.keys() == names, "the parts")
    require(type(content["pickles"]) is int and type(content["onlineboost"]) is str, "the parts")
    models: list[Model] = []
    reader = Reader(arrays, {"pickle": pickles.read, "estimator": lambda given: _read_estimator(reader, given, models)})
    pickles.reader = reader
    estimator = _read_estimator(reader, content["estimator"], models)
    more = {name: reader.value(value) for name, value in content["more"].items()}
    reader.check_all_taken()
    require(pickles.count == content["pickles"], "the number of pickles")
    return estimator, more, models


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors name the file; unexpected exceptions count as damage, too."""
    try:
        yield
    except ModelFileError as error:
        raise type(error)(f"{os.fspath(path)}: {error}") from None
    except StateError as error:
        raise DamagedModelFile(f"{os.fspath(path)}: {error}. Go back to an older file") from None
    except (ValueError, *ODD) as error:
        raise DamagedModelFile(
            f"{os.fspath(path)}: corrupt model file, unexpected content ({type(error).__name__}: {error})"
        ) from error


class Pickles:
    """Weak learners of other libraries, which only pickle knows how to write."""

    writer: Writer
    reader: Reader

    def __init__(self, allowed: bool | None) -> None:
        self.allowed = allowed  # None: they are looked at and left as they are
        self.count = 0

    def write(self, value: Any) -> Any:
        if type(value).__name__ in NAMES and _is_ours(value):
            return {"estimator": _write_estimator(self.writer, value)}
        if not hasattr(value, "partial_fit"):
            raise unknown(value)
        if not self.allowed:
            raise CannotSave(
                f"the weak learner {value!r} is from another library, and only a pickle can hold it: save and load "
                f"with pickled_learners=True, if those who load it may run your code"
            )
        self.count += 1
        return {"pickle": self.writer.array(np.frombuffer(pickle.dumps(value, protocol=5), np.uint8))}

    def read(self, given: Any) -> Any:
        if self.allowed is False:
            raise ForeignModelFile(
                "it holds pickled weak learners, and loading them runs the code in them: if you trust the file, load "
                "it with pickled_learners=True"
            )
        self.count += 1
        text = self.reader.array(given)
        return pickle.loads(text.tobytes()) if self.allowed else Unread()


class Unread:
    """A weak learner that was left in its pickle."""

    def partial_fit(self, X: Any, y: Any) -> None:
        raise NotImplementedError


def _is_ours(value: Any) -> bool:
    return type(value) is lookup.load(NAMES[type(value).__name__])


def _write_estimator(writer: Writer, estimator: Any) -> dict[str, Any]:
    kind = type(estimator)
    if kind.__name__ not in NAMES or not _is_ours(estimator):
        raise CannotSave(
            f"{getattr(kind, '__module__', None)}.{kind.__qualname__} is not an estimator of onlineboost, and a model "
            f"file holds those alone: use pickle"
        )
    settings = estimator.get_params(deep=False) | estimator.__dict__.get("_begun_", {})  # those that it learned with
    odd = sorted(estimator.__dict__.keys() - {*settings, *OF_SCIKIT_LEARN, *NOT_SAVED})
    if odd:
        raise CannotSave(
            f"this {kind.__name__} has an attribute {odd[0]!r}, which a model file does not hold. Delete it, or use "
            f"pickle"
        )
    model = estimator._fitted() if "_model" in estimator.__dict__ else None
    return {
        "kind": NAMES[kind.__name__],
        "settings": {name: _write_setting(writer, name, value) for name, value in settings.items()},
        "columns": {
            name: writer.value(estimator.__dict__[name]) for name in OF_SCIKIT_LEARN if name in estimator.__dict__
        },
        "model": None if model is None else _write_model(writer, model),
        "pending": write_pending(writer, estimator.__dict__.get("_pending")),
    }


def _write_setting(writer: Writer, name: str, value: Any) -> Any:
    try:
        return writer.value(value)
    except CannotSave as error:
        raise CannotSave(f"the setting {name}: {error}") from None


def _write_model(writer: Writer, model: Any) -> Any:
    try:
        for label in model.labels.names:
            Writer().value(label)
    except CannotSave as error:
        raise CannotSave(f"the label {error}") from None
    add_boosters()
    return STATES.write(writer, model)


def _read_estimator(reader: Reader, given: Any, models: list[Model]) -> Any:
    require(
        isinstance(given, dict) and given.keys() == {"kind", "settings", "columns", "model", "pending"},
        "the parts of an estimator",
    )
    name = given["kind"]
    require(name in NAMES.values(), f"an estimator {name!r}")
    settings = {key: reader.value(value) for key, value in given["settings"].items()}
    estimator = _of_settings(name, settings)
    columns = {key: reader.value(value) for key, value in given["columns"].items()}
    require(columns.keys() <= set(OF_SCIKIT_LEARN), "what is known of the columns")
    if given["model"] is not None:
        add_boosters()
        model = STATES.read(reader, given["model"], (Model,))
        check_model(name, model)
        n = len(model.encoder.names)
        require(columns.get("n_features_in_", n) == n, "the number of columns")
        names = columns.get("feature_names_in_")
        require(names is None or (isinstance(names, np.ndarray) and len(names) == n), "the names of the columns")
        estimator._model = model
        models.append(model)
    encoder = model.encoder if given["model"] is not None else None
    if (pending := read_pending(reader, given["pending"], encoder)) is not None:
        estimator._pending = pending
    for key, value in columns.items():
        setattr(estimator, key, value)
    return estimator


def _of_settings(name: str, settings: dict[str, Any]) -> Any:
    """An estimator. Older files have the settings that are there to be compared with in every one of its kind."""
    if name == "multi-label":
        settings.setdefault("panel", False)  # there was none
    if settings.pop("gradient", "corrected") == "printed":
        settings["as_printed"] = True
    if (paper := f"{name}.paper") in NAMES.values():
        usual = lookup.load(name)
        compared = settings.keys() & {*lookup.settings_of(paper)} - {*lookup.settings_of(name)}
        if settings.get("vote") == "normalized" or any(settings[key] != getattr(usual, key) for key in compared):
            name = paper
        else:
            settings = {key: value for key, value in settings.items() if key not in compared}
    unknown_settings = settings.keys() - set(lookup.settings_of(name))
    require(not unknown_settings, f"the settings {', '.join(sorted(unknown_settings))}")
    return lookup.load(name)(**settings)


# --------------------------------------------------------------------------------------- while a model goes on learning


class Room:
    """Memory for the tables of one quick copy at a time: to get fresh memory from the system takes longest."""

    def __init__(self) -> None:
        self._room: dict[tuple[int, str], np.ndarray] = {}
        self._taken: dict[tuple[int, str], int] = {}

    def copy(self, key: tuple[int, str], table: np.ndarray) -> np.ndarray:
        """A copy of a table, which holds until the next one with the same key."""
        self._taken[key] = table.nbytes
        if key not in self._room or self._room[key].nbytes < table.nbytes:
            self._room[key] = np.empty(int(SPARE * table.nbytes), np.uint8)
        out = self._room[key][: table.nbytes].view(table.dtype).reshape(table.shape)
        np.copyto(out, table)
        return out

    def prepare(self) -> None:
        """Get the memory for the next copy, once the last is not needed any more: in a thread that has the time."""
        for key, nbytes in self._taken.items():
            if self._room[key].nbytes < SPARE * nbytes:
                self._room[key] = np.empty(int(SPARE * SPARE * nbytes), np.uint8)
                self._room[key].fill(0)  # the system gives memory when it is first written to


def frozen(estimator: Any, room: Room) -> Any:
    """A quick copy, for another thread to save, that shares nothing that learning changes.

    It is good for `take`, until the room is used again.
    """
    twin = object.__new__(type(estimator))
    twin.__dict__ = {name: value for name, value in estimator.__dict__.items() if name not in OF_THIS_PROCESS}
    if "_pending" in twin.__dict__:
        twin._pending = deepcopy(twin._pending)
    if "_model" in twin.__dict__:
        model: Model = estimator._fitted()
        twin._model = replace(
            model,
            encoder=deepcopy(model.encoder),
            labels=deepcopy(model.labels),
            chain=quick_copy(model.chain, room.copy),
            counts=model.counts.copy(),
            calibration=None if model.calibration is None else model.calibration.copy(),
            sets=None if model.sets is None else copied(model.sets),
        )
    return twin


def quick_copy(chain: Chain, copy: CopyTable) -> Chain:
    """A copy of a chain whose trees are as they lie in their tables: to sort them takes ten times as long."""
    segments = (
        Segment(segment.learners.quick_copy(partial(_numbered, copy, i)), copied(segment.booster))
        for i, segment in enumerate(chain.segments)
    )
    return chain.copy_with([*segments])


def _numbered(copy: CopyTable, number: int, name: str, table: np.ndarray) -> np.ndarray:
    return copy((number, name), table)
