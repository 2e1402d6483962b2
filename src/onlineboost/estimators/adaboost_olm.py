"""AdaBoostOLM: the adaptive booster of the paper."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from onlineboost.chain.chain import Chain
from onlineboost.estimators.booster import (
    AsInThePaper,
    BoosterClassifier,
    boosted_chain,
    booster_of,
    of_all_learners,
    of_the_paper,
    watched,
)
from onlineboost.estimators.settings import Scale
from onlineboost.trees.state import Columns


@dataclass(repr=False, eq=False)
class AdaBoostOLM(BoosterClassifier):
    """Adaboost.OLM: adaptive online multiclass boosting (Jung, Goetz, Tewari 2017, Algorithm 2), corrected.

    Parameters
    ----------
    n_learners : int
        N, the number of weak learners.
    loss : {"logistic", "exponential", "squared_hinge"}
        The surrogate loss whose gradient makes the cost matrices, the weights and the steps of alpha. With
        "squared_hinge" accuracies are much the same, but the probabilities are poor.
    learner : HoeffdingTree, or any classifier with ``partial_fit`` and ``predict_proba``, optional
        The weak learner, by default ``HoeffdingTree()``; or a member of the panel: :class:`EagerTrees`,
        :class:`NearestNeighbours`, :class:`LeastSquares` and :class:`RefittedTrees`. Learners of other libraries run
        the same algorithm on a slower path, and need `classes` on the first call of ``partial_fit``.
    weight_scale : number, (low, high), list of numbers or "rising"
        The weights of the paper lie in [0, 1]; each learner's are multiplied by its scale. A Hoeffding tree's grace
        period and bound are in units of weight, so the scale decides how fast a tree grows. A range is drawn from
        uniformly.
        "rising": next to nothing for the first twentieth of the learners, which so stay single leaves, then from 1 to
        200 by equal factors.
    combiner : {"hedge", "weighted", "best", "last"}
        Which of the experts (expert i is the weighted vote of the first i learners) to follow: one drawn by its Hedge
        weight in each round; their vote by Hedge weight; the one with the fewest mistakes; the one of all learners.
    vote : {"tempered", "cost", "argmax"}
        What a learner votes for: the label of least expected cost under its distribution (with "tempered" costs, or as
        they are), or simply the likeliest label.
    restart : {"auto", "always", "never"}
        Whether the learners that have lately been worst start again, with settings like those of the best: while the
        stream seems to change with time, which a few learners at the end of the chain find out ("auto"); all the time;
        or never, as in the paper. See :mod:`onlineboost.chain.restarts` for the rule.
    alpha_steps : {"auto", "decaying", "adaptive"}
        The steps in which a learner's alpha is learned: falling with the number of examples, as in the paper
        ("decaying"), or with the slopes of the loss there have been ("adaptive"). "auto" is decaying but for the
        exponential loss, for which the paper's steps are so small that most learners never get a vote.
        docs/models.md has figures.
    class_weight : None, dict of label: weight, or "balanced"
        How much the examples of a class count beside those of others; labels that are not in the dict weigh 1.
        "balanced": all classes count the same in total, by how often they have come so far (docs/rare-events.md).
    cost_matrix : None, dict of dicts {label: {prediction: cost}}, or array of shape (n_classes, n_classes)
        What it costs to predict l where r is right: ``cost_matrix[r][l]``. Pairs that are not in the dict cost 1. An
        array is in the order of `classes_`, and needs `classes` on the first call of ``partial_fit``. Of costs and of
        weights only the ratios matter: the examples weigh 1 on the average, times their `sample_weight`.
    panel : bool
        Whether a panel of unlike learners stands ahead of the chain, whose votes then start from what the panel says. A
        combiner of both says what is predicted, as in :class:`OnlineBoostClassifier`, and `combiner` is not used.
    calibrate : bool
        Whether probabilities are calibrated online, by temperature scaling (docs/measure.md). Predictions stay the
        same; single rows take longer to learn. Read when learning begins.
    memory_limit : int, str such as "64MB" or "1GB", or None
        The most bytes that the model takes, kept at every moment (docs/scale.md); None: no limit. Read when
        learning begins.
    categorical_features : list of names or positions, or a mask, optional
        Columns to take as nominal besides those of a text or categorical type.
    columns : {"auto", "open", "fixed"}
        Whether columns may turn up that the first row or block did not have: in rows that are mappings, in blocks with
        names too, or not at all. A column begins with the first row that has a value in it.
    random_state : int, RandomState or None
        Seed. The same seed gives the same run, however the stream is cut into blocks.
    n_jobs : int or None
        Threads to learn and predict with; -1: all cores. The result is the same, bit for bit (docs/scale.md).
    sets : bool
        Whether it learns what prediction sets are made of: see `predict_set` and docs/sets.md. May change at any time.

    Attributes
    ----------
    classes_ : array of labels
    alphas_ : array of shape (n_learners,)
        Weights of the learners' votes.
    edges_ : array of shape (n_learners,)
        Empirical edges gamma_i in [-1, 1]; 0 is random guessing.
    expert_weights_ : array of shape (n_learners,)
        Hedge's probabilities of following each expert.
    ages_ : array of shape (n_learners,)
        Weight of the examples each learner has met since it last started.
    voices_ : dict of str: float
        With `panel`: how much each member of the panel and each fifth of the chain count.

    Examples
    --------
    >>> from onlineboost import AdaBoostOLM
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> clf = AdaBoostOLM(n_learners=10).fit(X, y)
    >>> clf.predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    n_learners: int = 100
    _: KW_ONLY
    loss: str = "logistic"
    learner: Any = None
    weight_scale: Scale = "rising"
    combiner: str = "hedge"
    vote: str = "tempered"
    restart: str = "auto"
    alpha_steps: str = "auto"
    panel: bool = False
    calibrate: bool = False
    n_jobs: int | None = 1

    alphas_, ages_ = of_all_learners("alpha"), of_all_learners("seen")

    @classmethod
    def paper(cls, n_learners: int = 100, **settings: Any) -> PaperOLM:
        """Algorithm 2 of the paper over its weak learners: weights in [0, 1], plain costs, Hedge, no restarts.

        Parameters
        ----------
        n_learners : int
            N, the number of weak learners.
        as_printed : bool
            Whether the alphas follow the gradient that the paper prints for the logistic loss, which is wrong
            (docs/paper.md), instead of the right one.
        as_programmed : bool
            Whether all is as in the authors' program: another wrong gradient, weights times U(5, 200), but always 5 for
            the first learner, and trees drawn evenly in the logarithm.
        **settings
            Any of the parameters of the class, to differ from the paper in these. A `vote` may also be "normalized":
            every row of the cost matrix divided by its sum.

        Examples
        --------
        >>> AdaBoostOLM.paper(as_printed=True).as_printed
        True
        """
        return PaperOLM(n_learners, **{"restart": "never", "alpha_steps": "decaying"} | of_the_paper(settings))

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        self._combiner()  # a bad setting shows here
        chain = boosted_chain(self.learner, booster_of(self, self.n_learners, seed), columns, k, self.panel)
        return watched(chain, self.restart)


@dataclass(repr=False, eq=False)
class PaperOLM(AsInThePaper, AdaBoostOLM):
    """What `AdaBoostOLM.paper` makes: with settings that exist for comparison."""
