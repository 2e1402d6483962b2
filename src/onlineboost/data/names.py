"""Which columns are meant: names and positions that are given, and what to say of those that are not known."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from onlineboost.data.errors import DataError, near_names

MOST_COLUMNS = 1_000
"""Columns that a model has at most, if some of them turned up later."""


def other_names(unknown: list[str], missing: list[str]) -> DataError:
    """Names that are not those of the first block, in the words of scikit-learn."""
    lines = ["The feature names should match those that were passed during fit."]
    unseen, lost = "Feature names unseen at fit time:", "Feature names seen at fit time, yet now missing:"
    for what, names in ((unseen, unknown), (lost, missing)):
        if names:
            lines += [what, *(f"- {name}" for name in names[:20]), *(["- ..."] if len(names) > 20 else [])]
    advice = "The first block settles the columns: leave the others out, and fill one that is missing with NaN."
    return DataError("\n".join([*lines, advice]))


def positions(categorical: Sequence[int | str] | None, names: tuple[str, ...]) -> set[int]:
    """categorical_features (names, positions or a mask) as positions."""
    if categorical is None:
        return set()
    if isinstance(categorical, str) or not np.iterable(categorical):
        raise DataError(f"categorical_features takes a list of names or positions, or a mask, got {categorical!r}")
    given = list(categorical)
    if given and all(isinstance(c, bool | np.bool_) for c in given):
        if len(given) != len(names):
            raise DataError(f"categorical_features is a mask of length {len(given)} for {len(names)} columns")
        return {c for c, flag in enumerate(given) if flag}
    out = set()
    for c in given:
        if isinstance(c, str):
            if c not in names:
                raise DataError(f"categorical_features names {c!r}, which is not a column: {', '.join(names)}")
            out.add(names.index(c))
        elif not isinstance(c, int | np.integer):
            raise DataError(f"categorical_features takes names, positions or a mask, got {c!r}")
        elif -len(names) <= c < len(names):
            out.add(int(c) % len(names))
        else:
            raise DataError(f"categorical_features names column {c}, but there are {len(names)} columns")
    return out


# -- what is said, once for a model


@dataclass(frozen=True)
class Extra:
    """Unknown names beside all that are known: perhaps new, and then they are learned before they come again."""

    names: frozenset[str]
    known: Sequence[str]

    def __call__(self) -> str:
        return unknown_left_out(sorted(self.names), self.known)


def unknown_left_out(unknown: Sequence[str], known: Sequence[str]) -> str:
    near = {name: near_names(name, known) for name in unknown[:5]}
    meant = "; ".join(f"{name!r}: did you mean {found[0]!r}?" for name, found in near.items() if found)
    return (
        f"unknown column {', '.join(map(repr, unknown[:5]))}: it is left out of the prediction, and so are others that "
        f"have never been learned{f' ({meant})' if meant else ''}. Mend the name or leave it out; columns='fixed' "
        f"makes it an error"
    )


def no_known_column(given: Collection[str], known: Sequence[str]) -> str:
    some = f"its names are {_shown(given)}" if given else "it is empty"
    return f"none of this model's columns has a value here: {some}, and the columns are {_shown(known)}"


def all_missing(given: Collection[str], known: Sequence[str]) -> str:
    return f"{no_known_column(given, known)}. It is predicted as a row whose values are all missing"


def too_many_columns() -> str:
    return (
        f"more than {MOST_COLUMNS} different columns have turned up: those that come from now on are left out. If "
        f"names are made of values, as in 'user_4711', give the value itself, in one nominal column"
    )


def digits_lost(name: str) -> str:
    return (
        f"column {name!r} has whole numbers beyond 2**53, which are rounded: a float has 53 bits, so two of them may "
        f"become one. If they name something (ids), give them as text (in files: --nominal, nominal=); if they measure "
        f"something (times in nanoseconds), subtract the same number from all, or ignore this where the last digits do "
        f"not matter"
    )


def _shown(names: Collection[str]) -> str:
    names = list(names)
    return ", ".join(map(repr, names if len(names) <= 6 else names[:5])) + (", ..." if len(names) > 6 else "")
