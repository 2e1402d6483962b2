"""Settings as users give them (words, numbers, ranges) to what the kernels want; a bad one is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from onlineboost import registry as words
from onlineboost._compile.random import SETTING, uniform
from onlineboost.boosters.losses import LOSSES, Loss
from onlineboost.boosters.votes import Vote
from onlineboost.chain.experts import Combiner

Range = float | tuple[float, float]
Scale = Range | Sequence[float] | str  # weight_scale
Names = Sequence[int | str] | None  # categorical_features
Meaning = TypeVar("Meaning")

COMBINERS: dict[str, Combiner] = {combiner.name.lower(): combiner for combiner in Combiner}
ALL_VOTES: dict[str, Vote] = {vote.name.lower(): vote for vote in Vote}
VOTES = {word: ALL_VOTES[word] for word in words.VOTES}
RESTARTS = {word: word for word in words.RESTARTS}
DRAWS = {word: word for word in words.DRAWS}
WEIGHTS = {word: word for word in words.WEIGHTS}
ALPHA_STEPS = {word: word for word in words.ALPHA_STEPS}

GRACE, CONFIDENCE, TIE, SCALE = range(4)  # what is drawn from a range: a part of the random number's name


def word(name: str, given: Any, meanings: Mapping[str, Meaning]) -> Meaning:
    """What a word means; the error says which words there are."""
    try:
        return meanings[given]
    except (KeyError, TypeError):
        moved = MOVED.get((name, given)) if isinstance(given, str | bool) else None
        hint = f"; {moved}" if moved else ""
        raise ValueError(f"{name} must be one of {', '.join(meanings)}, got {given!r}{hint}") from None


def yes_or_no(name: str, given: Any) -> bool:
    if not isinstance(given, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {given!r}")
    return bool(given)


OF_THE_PAPER = {  # settings that are there to be compared with, and what takes them
    "gradient": "AdaBoostOLM.paper(as_printed=True)",
    "as_printed": "AdaBoostOLM.paper(...)",
    "as_programmed": "AdaBoostOLM.paper(...)",
    "potential": "OnlineMBBM.paper(...)",
    "weights": "OnlineMBBM.paper(...)",
    "draws": "HoeffdingTree.paper(...)",
}


def check_names(kind: Any, settings: Mapping[str, Any]) -> None:
    """A setting of the paper's forms that another classifier is given: the error says where it is."""
    for name in settings.keys() & OF_THE_PAPER.keys() - {*kind._get_param_names()}:
        raise TypeError(f"{name} is not a setting of {kind.__name__}: it is for {OF_THE_PAPER[name]}")


# Words that are, or were in version 0.1, of another setting.
MOVED: dict[tuple[str, Any], str] = {
    ("vote", "normalized"): "AdaBoostOLM.paper(...) and OnlineMBBM.paper(...) alone take 'normalized'",
    **{("vote", name): f"which expert to follow is now combiner={name!r}" for name in COMBINERS},
    ("restart", True): "True is now 'always'",
    ("restart", False): "False is now 'never'",
}


def loss_of(given: Any) -> Loss:
    return word("loss", given, LOSSES)


def vote_of(given: Any, known: Mapping[str, Vote] = VOTES) -> Vote:
    return word("vote", given, known)


def adapts(alpha_steps: Any, loss: Loss) -> bool:
    """Whether the steps of alpha are adaptive. By themselves, where the paper's are next to nothing."""
    given = word("alpha_steps", alpha_steps, ALPHA_STEPS)
    return given == "adaptive" or (given == "auto" and loss == Loss.EXPONENTIAL)


def count(name: str, given: Any) -> int:
    """A whole number >= 1."""
    if not isinstance(given, int | np.integer) or isinstance(given, bool) or given < 1:
        raise ValueError(f"{name} must be a whole number >= 1, got {given!r}")
    return int(given)


def draw(given: Range, n: int, seed: int, which: int, name: str, *, log: bool = False, first: int = 0) -> np.ndarray:
    """A setting for each of n learners, from number `first` of the chain on: one number for all, or drawn from a range.

    Drawn uniformly, or so in its logarithm.
    """
    try:
        values = np.atleast_1d(np.asarray(given, np.float64))
        good = values.shape in ((1,), (2,)) and np.isfinite(values).all() and 0.0 <= values[0] <= values[-1]
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError(f"{name} must be a number or a (low, high) range of numbers >= 0, got {given!r}")
    if len(values) == 1:
        return np.full(n, values[0])
    low, high = values
    if log and low <= 0.0:
        raise ValueError(f"{name} is drawn from a range on a log scale: its low end must be > 0, got {given!r}")
    u = np.array([uniform(seed, SETTING, first + i, which) for i in range(n)])
    return low * (high / low) ** u if log else low + (high - low) * u


def scales(given: Any, n: int, seed: int) -> np.ndarray:
    """weight_scale as one number per learner."""
    n = count("n_learners", n)
    if isinstance(given, str):
        if given != "rising":
            raise ValueError(f'weight_scale must be a number, a (low, high) range, a list or "rising", got {given!r}')
        leaves = n // 20
        return np.concatenate([np.full(leaves, 1e-6), np.geomspace(1.0, 200.0, n - leaves)])
    if isinstance(given, list | np.ndarray):
        if len(given) != n or not all(isinstance(value, int | float | np.number) for value in given):
            raise ValueError(f"a list of weight_scale must hold one number for each of the {n} learners, got {given!r}")
        scale = np.asarray(given, np.float64)
    else:
        scale = draw(given, n, seed, SCALE, "weight_scale")
    if not (np.isfinite(scale).all() and (scale > 0.0).all()):
        raise ValueError(f"weight_scale must be positive, got {given!r}")
    return scale
