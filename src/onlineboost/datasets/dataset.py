"""A data set in memory, what may be made of the rows of a file, and data sets that need none.

Balance, Car and Nursery, row for row as published, are complete factorial designs (every combination of values once)
whose class follows small tables. Synthetic streams may have any length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.table import Table

Order = Literal["shuffle", "time"]
Rows = tuple[Table, NDArray[np.object_]]  # predictors and labels


@dataclass(frozen=True, eq=False)
class Dataset:
    """Predictors and labels, held in memory.

    Parameters
    ----------
    name
        As given to :func:`load_dataset`.
    X
        The predictors. The values of every nominal column are in ``X.categories``.
    y
        The labels, an object array of str.
    classes
        The distinct labels, sorted.
    order
        "shuffle" if the rows are sorted or their order is arbitrary: shuffle before an online run. "time" if
        the order carries meaning: run them as they are.
    note
        What to know before trusting a number.

    Examples
    --------
    >>> from onlineboost.datasets import load_dataset
    >>> balance = load_dataset("balance")
    >>> balance.X, balance.classes, len(balance)
    (Table(625 rows; numeric: left_weight, left_distance, right_weight, right_distance), ('B', 'L', 'R'), 625)
    """

    name: str
    X: Table
    y: NDArray[np.object_]
    classes: tuple[str, ...]
    order: Order
    note: str

    def __len__(self) -> int:
        return len(self.y)

    def shuffled(self, seed: int) -> Dataset:
        """The same rows in a random order; the same seed gives the same order.

        Examples
        --------
        >>> from onlineboost.datasets import load_dataset
        >>> load_dataset("car").shuffled(seed=1).y[:3]
        array(['unacc', 'unacc', 'acc'], dtype=object)
        """
        rows = np.random.default_rng(seed).permutation(len(self))
        return replace(self, X=self.X[rows], y=self.y[rows])


# ------------------------------------------------------------------------------------------------------- rows of a file


def as_read(X: Table, y: NDArray[np.object_]) -> Rows:
    return X, y


def proteins(X: Table, y: NDArray[np.object_]) -> Rows:
    """Without the animal's number and its treatment, which together give the class away."""
    kept = [j for j, name in enumerate(X.names) if name.endswith("_N")]
    return Table(tuple(X.names[j] for j in kept), tuple(X.columns[j] for j in kept)), y


def zeros_for_missing(X: Table, y: NDArray[np.object_]) -> Rows:
    """All columns, with 0 in the place of missing numbers."""
    columns = tuple(np.nan_to_num(values) if values.dtype.kind == "f" else values for values in X.columns)
    return replace(X, columns=columns), y


def principal_components(X: Table, y: NDArray[np.object_], n_components: int = 50) -> Rows:
    """Projection on the leading eigenvectors of the covariance, the largest entry of each being positive."""
    values = np.stack(X.columns, axis=1)
    values -= values.mean(axis=0)
    _, vectors = np.linalg.eigh(values.T @ values)
    axes = vectors[:, ::-1][:, :n_components]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(n_components)])
    names = tuple(f"pc{j + 1}" for j in range(n_components))
    return Table(names, tuple(np.ascontiguousarray((values @ axes).T))), y


# ---------------------------------------------------------------------------------------------------- factorial designs


def balance() -> Rows:
    """The scale tips to the side where weight x distance is larger."""
    levels = np.indices((5, 5, 5, 5)).reshape(4, -1) + 1.0
    left_weight, left_distance, right_weight, right_distance = levels
    tips = np.sign(left_weight * left_distance - right_weight * right_distance).astype(np.intp)
    names = ("left_weight", "left_distance", "right_weight", "right_distance")
    return Table(names, tuple(levels)), np.array(["B", "L", "R"], dtype=object)[tips]  # -1 is the last: R


def car() -> Rows:
    """Price and technical merit, each from smaller tables, decide how acceptable a car is."""
    table, (buying, maint, doors, persons, lug_boot, safety) = _design(
        {
            "buying": "vhigh high med low",
            "maint": "vhigh high med low",
            "doors": "2 3 4 5more",
            "persons": "2 4 more",
            "lug_boot": "small med big",
            "safety": "low med high",
        }
    )
    price = _levels("0011 0111 1123 1233", 4, 4)[buying, maint]
    comfort = _levels("000112012 000112122 000122122 000122122", 4, 3, 3)[doors, persons, lug_boot]
    tech = _levels("000 012 023", 3, 3)[comfort, safety]
    car = _grid("uuuu uuaa uaav uagv", 4, 4)[price, tech]
    return table, _words(car, u="unacc", a="acc", g="good", v="vgood")


def nursery5() -> Rows:
    """The published set: five classes, of which recommend has two rows."""
    table, (parents, has_nurs, form, children, housing, finance, social, health) = _design(
        {
            "parents": "usual pretentious great_pret",
            "has_nurs": "proper less_proper improper critical very_crit",
            "form": "complete completed incomplete foster",
            "children": "1 2 3 more",
            "housing": "convenient less_conv critical",
            "finance": "convenient inconv",
            "social": "nonprob slightly_prob problematic",
            "health": "recommended priority not_recom",
        }
    )
    employ = _levels("01123 11233 22333", 3, 5)[parents, has_nurs]
    structure = _levels("0122 1122 1222 2222", 4, 4)[form, children]
    housing_finance = _levels("01 11 22", 3, 2)[housing, finance]
    struct_finan = _levels("011 112 122", 3, 3)[structure, housing_finance]
    soc_health = _levels("012 012 112", 3, 3)[social, health]
    nursery = _grid("rpnvpnppn vpnvpnppn ppnppnpsn ppnpsnssn", 4, 3, 3)[employ, struct_finan, soc_health]
    words = {"r": "recommend", "v": "very_recom", "p": "priority", "s": "spec_prior", "n": "not_recom"}
    return table, _words(nursery, **words)


def nursery() -> Rows:
    """As in the paper: without the class of two rows."""
    table, y = nursery5()
    kept = y != "recommend"
    return table[kept], y[kept]


def _grid(text: str, *shape: int) -> NDArray[Any]:
    """A table of one-character entries."""
    return np.array(list(text.replace(" ", ""))).reshape(shape)


def _levels(text: str, *shape: int) -> NDArray[np.intp]:
    return _grid(text, *shape).astype(np.intp)


def _design(domains: dict[str, str]) -> tuple[Table, NDArray[np.intp]]:
    """Every combination of values, first column slowest, and the same as value numbers, a row per column."""
    values = {name: tuple(words.split()) for name, words in domains.items()}
    codes = np.indices([len(v) for v in values.values()]).reshape(len(values), -1)
    columns = tuple(np.array(v, dtype=object)[code] for v, code in zip(values.values(), codes, strict=True))
    return Table(tuple(values), columns, values), codes


def _words(letters: NDArray[Any], **word: str) -> NDArray[np.object_]:
    return np.array([word[letter] for letter in letters], dtype=object)


# ---------------------------------------------------------------------------------------------------- synthetic streams


SYNTHETIC_NOTE = "Clusters in the first 60 % of the columns, the rest irrelevant; 5 % of the labels random."


def synthetic_stream(
    n: int,
    n_columns: int = 10,
    n_classes: int = 5,
    seed: int = 0,
    drift: Literal["abrupt", "gradual"] | None = None,
) -> Dataset:
    """Gaussian clusters, four to a class, with noise: easy to learn something from, hard to learn fully.

    The first 60 % of the columns place the clusters, the rest are irrelevant; 5 % of the labels are drawn at
    random. A class is a union of round clusters, which the straight cuts of one small tree fit badly, so that
    many trees gain. Without drift, the first rows do not depend on ``n``.

    Parameters
    ----------
    n, n_columns, n_classes
        Size of the stream.
    seed
        The same seed gives the same stream.
    drift
        "abrupt": all clusters move at the middle of the stream. "gradual": over the middle third, more and
        more rows come from the moved clusters.

    Examples
    --------
    >>> stream = synthetic_stream(1000, n_columns=3, n_classes=2, drift="abrupt")
    >>> stream.X, stream.classes
    (Table(1000 rows; numeric: x1, x2, x3), ('c1', 'c2'))
    """
    if n < 1 or n_columns < 1 or n_classes < 2:
        raise ValueError(f"need n >= 1, n_columns >= 1, n_classes >= 2, got {n}, {n_columns}, {n_classes}")
    if drift not in (None, "abrupt", "gradual"):
        raise ValueError(f"drift must be None, 'abrupt' or 'gradual', got {drift!r}")
    generators = np.random.default_rng(seed).spawn(6)  # one per purpose: longer streams continue shorter ones
    for_centres, for_clusters, for_values, for_labels, for_noise, for_drift = generators
    n_clusters, n_relevant = 4 * n_classes, -(-6 * n_columns // 10)
    centres = for_centres.normal(0, 2, size=(2, n_clusters, n_relevant))  # before and after the drift

    position = (np.arange(n) + 0.5) / n
    if drift is None:
        after = np.zeros(n, dtype=np.intp)
    elif drift == "abrupt":
        after = (position > 1 / 2).astype(np.intp)
    else:
        after = (for_drift.random(n) < 3 * position - 1).astype(np.intp)

    cluster = for_clusters.integers(n_clusters, size=n)
    values = for_values.normal(size=(n, n_columns))
    values[:, :n_relevant] += centres[after, cluster]
    label = np.where(for_noise.random(n) < 0.05, for_labels.integers(n_classes, size=n), cluster % n_classes)

    width = len(str(n_classes))  # c01 ... c10 sort as they count
    names = np.array([f"c{i + 1:0{width}}" for i in range(n_classes)], dtype=object)
    table = Table(tuple(f"x{j + 1}" for j in range(n_columns)), tuple(np.ascontiguousarray(values.T)))
    name = "synthetic" if drift is None else f"synthetic-{drift}"
    y = names[label]
    order: Order = "shuffle" if drift is None else "time"
    return Dataset(name, table, y, tuple(sorted(set(y))), order, SYNTHETIC_NOTE)


def synthetic_rows(drift: Literal["abrupt", "gradual"] | None) -> Callable[[], Rows]:
    """What makes the catalogue's stream with this drift."""

    def make() -> Rows:
        stream = synthetic_stream(50_000, drift=drift)
        return stream.X, stream.y

    return make


# ----------------------------------------------------------------------------------------------------------- payments


PAYMENTS_NOTE = "About 2.5 % fraud: by amount, country, hour of the night, and 3 % of the merchants, which are bad."
COUNTRIES = {"NL": 0.4, "DE": 0.2, "FR": 0.1, "BE": 0.1, "GB": 0.1, "US": 0.05, "RO": 0.03, "NG": 0.02}
DEVICES = {"ios": 0.25, "android": 0.3, "web": 0.25, "pos": 0.2}


def payments_stream(n: int = 50_000, merchants: int = 2_000, seed: int = 0, drift: bool = False) -> Dataset:
    """Payments, of which few are fraud, with a column of many values: which merchant was paid.

    The logit of the probability of fraud is a sum: of the logarithm of the amount, of country, hour and merchant. So no
    ranking is perfect: the ROC AUC of the true probabilities is about .86. Without drift, the first rows do not depend
    on ``n``.

    Parameters
    ----------
    n
        Number of payments.
    merchants
        Number of merchants: few have most of the payments. 3 % of them are bad, drawn by lot.
    seed
        The same seed gives the same stream.
    drift
        At the middle of the stream other merchants become bad, other countries risky, and the amount says less.

    Examples
    --------
    >>> payments = payments_stream(2000, merchants=200)
    >>> payments.X
    Table(2000 rows; numeric: amount, hour; nominal: merchant, country, device)
    >>> round(float((payments.y == "fraud").mean()), 3)
    0.023
    """
    if n < 1 or merchants < 34:
        raise ValueError(f"need n >= 1, and merchants >= 34 so that at least one is bad, got {n}, {merchants}")
    generators = np.random.default_rng(seed).spawn(7)  # one per purpose: longer streams continue shorter ones
    for_merchant, for_country, for_hour, for_device, for_amount, for_bad, for_label = generators
    merchant = np.minimum((merchants * for_merchant.power(0.35, n)).astype(np.intp), merchants - 1)
    country, device = _drawn(for_country, n, COUNTRIES), _drawn(for_device, n, DEVICES)
    hour, size = for_hour.integers(0, 24, n).astype(np.float64), for_amount.normal(0.0, 1.1, n)
    bad, bad_later = (
        np.isin(merchant, for_bad.choice(merchants, merchants * 3 // 100, replace=False)) for _ in range(2)
    )

    score = 1.1 * size + 2.0 * np.isin(country, ["RO", "NG"]) + 3.2 * bad
    if drift:
        later = 0.3 * size + 2.2 * np.isin(country, ["US", "GB"]) * (device == "web") + 3.2 * bad_later
        score = np.where(np.arange(n) < n // 2, score, later)
    p = 1.0 / (1.0 + np.exp(5.05 - score - (hour < 5.0)))

    names = np.array([f"M{i:06d}" for i in range(merchants)], object)
    columns = {"amount": np.exp(3.3 + size).round(2), "merchant": names[merchant], "country": country, "hour": hour,
               "device": device}  # fmt: skip
    y = np.where(for_label.random(n) < p, "fraud", "ok").astype(object)
    known = {"country": tuple(COUNTRIES), "device": tuple(DEVICES)}  # new merchants turn up as the stream goes by
    table, name = Table(tuple(columns), tuple(columns.values()), known), "payments-drift" if drift else "payments"
    return Dataset(name, table, y, tuple(sorted(set(y))), "time", PAYMENTS_NOTE)


def _drawn(generator: np.random.Generator, n: int, shares: dict[str, float]) -> NDArray[np.object_]:
    """Values that are drawn by their shares."""
    return np.array(list(shares), object)[generator.choice(len(shares), n, p=list(shares.values()))]


def payments_rows(drift: bool) -> Callable[[], Rows]:
    """What makes the catalogue's payments."""

    def make() -> Rows:
        stream = payments_stream(drift=drift)
        return stream.X, stream.y

    return make
