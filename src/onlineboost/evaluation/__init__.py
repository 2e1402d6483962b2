"""Measuring a classifier on a stream, public: predict every example, then learn it (test-then-train, or prequential).

`prequential` runs a model and gives a `Result`; labels come at once or late. `Metrics` counts metrics of any
predictions, its `Ranking` is of the scores of one class, `interval` says how sure a mean is. `observe` keeps no row and
gives a `Tally` of the same figures, and a small record for reports. `resumable` is a run with checkpoints, which
survives a crash. `tune` chooses settings. `prequential_labels` and `LabelMetrics` are for rows with several labels.
`BanditFeedback` shows a model only whether its actions are right, `ips_value` and `doubly_robust_value` say what
another policy would have got. `MajorityClass` and `LastClass` are what any model should beat. `cut` makes blocks of
rows in memory, `warm_up` compiles what a model needs before it is timed.

In the order of the data: `runner` has the one loop that all of them go through, and the baselines, `sums` and
`ranking` have what `metrics` counts of the predictions, `audit` asks for which rows probabilities are wrong, `results`
has the figures of a run, `prequential` (with `observe` and `tune`) and `resumable` are the functions for users. May be
imported by `theory`, `report` and `cli`.
"""

from onlineboost.evaluation.audit import Audit, Gap
from onlineboost.evaluation.bandit import BanditFeedback, Value, doubly_robust_value, ips_value
from onlineboost.evaluation.metrics import Metrics
from onlineboost.evaluation.multi_label import LabelMetrics, LabelRun, coverages, prequential_labels, rank_losses
from onlineboost.evaluation.prequential import Record, Tuned, observe, prequential, tune, warm_up
from onlineboost.evaluation.ranking import Alarms, Ranking
from onlineboost.evaluation.results import Result, Tally, interval
from onlineboost.evaluation.resumable import resumable
from onlineboost.evaluation.runner import LastClass, MajorityClass, cut

__all__ = [
    "Alarms",
    "Audit",
    "BanditFeedback",
    "Gap",
    "LabelMetrics",
    "LabelRun",
    "LastClass",
    "MajorityClass",
    "Metrics",
    "Ranking",
    "Record",
    "Result",
    "Tally",
    "Tuned",
    "Value",
    "coverages",
    "cut",
    "doubly_robust_value",
    "interval",
    "ips_value",
    "observe",
    "prequential",
    "prequential_labels",
    "rank_losses",
    "resumable",
    "tune",
    "warm_up",
]
