"""--class-weight and --cost-matrix: what mistakes cost, as the labels of a stream know it."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

from onlineboost.cli.common import comma_separated, number

TAKES = "balanced or LABEL=WEIGHT,LABEL=WEIGHT"


def class_weight(text: str, classes: Iterable[Hashable]) -> Any:
    """The setting from the option: a word, or weights of labels."""
    if text == "balanced":
        return text
    pairs = [part.rpartition("=") for part in comma_separated(text)]
    if not pairs or not all(sign for _, sign, _ in pairs):
        raise ValueError(f"--class-weight takes {TAKES}, got {text!r}")
    given = {label.strip(): number(weight, "--class-weight", TAKES) for label, _, weight in pairs}
    return _by_label(given, classes, "--class-weight")


def cost_matrix(path: Path, classes: Iterable[Hashable]) -> dict[Hashable, dict[Hashable, float]]:
    """The setting from a JSON file, {label: {prediction: cost}}."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"--cost-matrix: {path} is not JSON: {error}") from None
    if not isinstance(given, dict) or not all(isinstance(row, dict) for row in given.values()):
        raise ValueError(f'--cost-matrix: {path} must hold {{"label": {{"prediction": cost}}}}')
    classes = list(classes)
    rows = {label: _by_label(row, classes, "--cost-matrix") for label, row in given.items()}
    return _by_label(rows, classes, "--cost-matrix")


def _by_label(given: Mapping[str, Any], classes: Iterable[Hashable], option: str) -> dict[Hashable, Any]:
    """The same with the labels themselves in place of how they are written; of a pipe none are known beforehand."""
    if not classes:
        return {name: value for name, value in given.items()}
    labels = {str(label): label for label in classes}
    if unknown := [name for name in given if name not in labels]:
        raise ValueError(f"{option} has {unknown[0]!r}, which is no label; labels: {', '.join(labels)}")
    return {labels[name]: value for name, value in given.items()}
