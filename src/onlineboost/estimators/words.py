"""The words that settings take, where a program can know them without loading the estimators.

Which word means what is told in the docstrings of the estimators; that they take these and no others is tested.
"""

from __future__ import annotations

from typing import Literal, get_args

Loss = Literal["logistic", "exponential", "squared_hinge"]
PotentialLoss = Literal["zero_one", "logistic", "exponential", "hinge", "squared_hinge"]
Combiner = Literal["hedge", "weighted", "best", "last"]
Vote = Literal["tempered", "cost", "argmax"]
Restart = Literal["auto", "always", "never"]
AlphaSteps = Literal["auto", "decaying", "adaptive"]
LeafPrediction = Literal["majority", "nb", "nba"]
Draws = Literal["log", "even"]
Weights = Literal["relative", "plain", "mean"]

LOSSES: tuple[str, ...] = get_args(Loss)
POTENTIAL_LOSSES: tuple[str, ...] = get_args(PotentialLoss)  # of OnlineMBBM
COMBINERS: tuple[str, ...] = get_args(Combiner)
VOTES: tuple[str, ...] = get_args(Vote)
RESTARTS: tuple[str, ...] = get_args(Restart)
ALPHA_STEPS: tuple[str, ...] = get_args(AlphaSteps)
LEAF_PREDICTIONS: tuple[str, ...] = get_args(LeafPrediction)
DRAWS: tuple[str, ...] = get_args(Draws)  # of a tree's settings from their ranges
WEIGHTS: tuple[str, ...] = get_args(Weights)  # of OnlineMBBM
