"""What the words of the reports mean, in a line or two each: whoever opens a page need not know the paper."""

from __future__ import annotations

from onlineboost.evaluation.metrics import METRICS

WORDS = {
    "test, then train": "Every row is predicted before its label is learned, so each prediction is one that could have "
    "been made in earnest. Also called <em>prequential</em>.",
    "last 20 %": "Share of right predictions on the last fifth of the stream, when most has been learned.",
    "interval": "How much of the accuracy is luck: about 95 of 100 such intervals hold the true value. Neighbouring "
    "rows are alike, so it is made from stretches of the stream, not from single rows.",
    **{metric.title: metric.about for metric in METRICS.values() if metric.about},
    "learner": "A small model, here mostly a tree. Boosting makes one good model of a chain of many weak ones: each "
    "pays more attention to what those before it got wrong.",
    "edge": "How much better than guessing a learner is, where hard rows count more: 1 is never wrong, 0 is guessing, "
    "below 0 is worse than guessing. Later learners in the chain get the hard rows, so their edges are small.",
    "weight of a vote (alpha)": "How much the vote of a learner counts. Below 0, the opposite of what it says counts.",
    "expert": "Expert 10 is the vote of the first 10 learners together: a shorter chain inside the long one.",
    "Hedge": "The algorithm that decides which expert to follow: an expert loses weight with every mistake it makes.",
    "mean rank": "On each data set the best system has rank 1, the next rank 2, and so on; ties share their ranks. The "
    "mean of these over the data sets.",
    "critical difference": "How far two mean ranks have to be apart before it is more than chance (Nemenyi's test at "
    "95 %, as in Demšar 2006). With few data sets it is large.",
}

# What the parts of a page show.
CURVES = (
    "How the accuracy changes as the stream goes by: the share of right predictions in each thirtieth of the stream, "
    "smoothed with its neighbours."
)
EXPERTS = (
    "A long chain is not always the best: the vote of the first learners alone may be better than that of all. "
    "So the model keeps a weight for each such part of its chain, an <em>expert</em>, and follows those that have been "
    "right (the algorithm is called <em>Hedge</em>). From left to right the stream, from bottom to top longer and "
    "longer parts of the chain; the stronger the blue, the more weight."
)
EDGES = (
    "How much better than guessing the single learners of each model are, at the end: 1 is never wrong, 0 is guessing. "
    "The thick bar is the middle half of the learners, the mark in it the median, the thin line goes from the worst to "
    "the best."
)
ALPHAS = "How much the vote of a learner counts, along the chain, at the end; neighbours are averaged."
