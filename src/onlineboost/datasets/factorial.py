"""Balance, Car and Nursery, generated row for row as published.

They are complete factorial designs (every combination of values once) whose class follows small tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.table import Table
from onlineboost.datasets.dataset import Rows


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
