"""What the boosters share whose learners start again when a stream changes."""

from __future__ import annotations

import numpy as np

from onlineboost.chain.chain import Chain
from onlineboost.chain.restarts import Watch
from onlineboost.chain.reviews import Reviews
from onlineboost.estimators.base import OnlineClassifier
from onlineboost.estimators.settings import RESTARTS, word


class RestartingClassifier(OnlineClassifier):
    """A chain of Adaboost.OLM that is reviewed now and then: the setting `restart`."""

    restart: str

    def _watched(self, chain: Chain) -> Chain:
        """A new chain, from here on watched."""
        chain.watch = Watch(np.zeros(chain.n_learners), np.zeros(chain.n_learners))
        return chain

    def _check_settings(self) -> None:
        super()._check_settings()
        self._restart()

    def _restart(self) -> str:
        return word("restart", self.restart, RESTARTS)

    def _reviews(self, chain: Chain) -> Reviews | None:
        if self._restart() == "never":
            chain.watch.plan = None  # nothing restarts any more
            return None
        return Reviews(chain, self.restart == "auto")

    @property
    def alphas_(self) -> np.ndarray:
        return self._fitted().chain.gather("alpha")

    @property
    def ages_(self) -> np.ndarray:
        return self._fitted().chain.gather("seen")
