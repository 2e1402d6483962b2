"""OnlineBoostClassifier: a panel of unlike learners, boosted trees behind it, and a combiner of both."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from onlineboost.boosters.losses import Loss
from onlineboost.boosters.olm import new_olm
from onlineboost.boosters.votes import Vote
from onlineboost.chain.chain import Chain
from onlineboost.chain.model import Model
from onlineboost.estimators.beside import compile_panel
from onlineboost.estimators.booster import BoosterClassifier, boosted_chain, of_all_learners, watched
from onlineboost.estimators.classifier import OnlineClassifier
from onlineboost.estimators.settings import Scale, scales
from onlineboost.trees.state import Columns


@dataclass(repr=False, eq=False)
class OnlineBoostClassifier(OnlineClassifier):
    """The most accurate of the classifiers: a panel of unlike learners, boosted trees, and a combiner of both.

    The panel (least squares, nearest neighbours, eager and refitted trees) is quick to learn from the first rows on.
    The boosted trees of :class:`AdaBoostOLM` start from what the panel says, and learn what it gets wrong. A combiner
    learns by online Newton steps how much to believe each of them, and makes probabilities of it. docs/how-it-works.md
    tells what each part is worth.

    Parameters
    ----------
    n_learners : int
        Number of boosted trees behind the panel.
    learner, weight_scale, restart, class_weight, cost_matrix, memory_limit, categorical_features, columns
    random_state, n_jobs, sets
        As in :class:`AdaBoostOLM`. With `cost_matrix`, the label of least expected cost is predicted.

    Attributes
    ----------
    classes_ : array of labels
    alphas_, edges_, ages_ : arrays of shape (n_learners,)
        As in :class:`AdaBoostOLM`.
    voices_ : dict of str: float
        How much the combiners count each member of the panel, and behind the chain the panel, recent labels and each
        fifth of the chain.

    Examples
    --------
    >>> from onlineboost import OnlineBoostClassifier
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> clf = OnlineBoostClassifier(n_learners=10).fit(X, y)
    >>> clf.predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    n_learners: int = 50
    _: KW_ONLY
    learner: Any = None
    weight_scale: Scale = "rising"
    restart: str = "auto"
    n_jobs: int | None = 1

    alphas_, ages_ = of_all_learners("alpha"), of_all_learners("seen")
    edges_, voices_ = BoosterClassifier.edges_, BoosterClassifier.voices_

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        booster = new_olm(Loss.LOGISTIC, Vote.TEMPERED, seed, scales(self.weight_scale, self.n_learners, seed))
        return watched(boosted_chain(self.learner, booster, columns, k, panel=True), self.restart)

    def _rehearse(self, model: Model) -> None:
        compile_panel(model)
        super()._rehearse(model)
