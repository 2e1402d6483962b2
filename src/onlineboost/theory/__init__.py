"""The paper's theorems as a tool: what error to expect, how many learners and examples it takes, what nobody can beat.

Every bound has all its constants. docs/theory.md says what each means, theory/PROOFS.md has the proofs if they are not
the paper's: several of its constants do not follow from its proofs, and several can be better. k is the number of
classes, N of learners, T of examples; gamma is an edge over random guessing, S an excess loss (`measure_edge` measures
both), delta the probability that a bound fails. The files: `upper_bounds` (Theorems 1 and 3), `lower_bounds` (Theorem
2), `planning` (the bounds solved for N and T), `weak_learning` (the edge of a learner, and learners sure to have one),
`simulate` (boosters on votes with a given edge), `guarantee` (what is guaranteed for a run), `coverage` (of prediction
sets), `label_ranking` (of several labels), `actions` (of learning from actions), and `checks`. Users, reports and the
command line may import this package, the latter when a command needs it, since it takes scikit-learn along; nothing
that it imports itself (estimators, chain, boosters, _compile) may.
"""

from onlineboost.theory.actions import ActionGuarantee, action_bound
from onlineboost.theory.coverage import coverage_bounds
from onlineboost.theory.guarantee import Guarantee, LossGuarantee, NoGuarantee, guarantee
from onlineboost.theory.label_ranking import bmr_error, olmr_bound
from onlineboost.theory.lower_bounds import (
    edge_of_votes,
    excess_of_votes,
    least_error,
    least_error_closed,
    least_examples,
    shrinking_edge,
    useless_rounds,
)
from onlineboost.theory.planning import (
    chernoff_learners,
    hoeffding_learners,
    least_learners,
    mbbm_examples,
    mbbm_learners,
    olm_examples,
    olm_learners,
)
from onlineboost.theory.simulate import (
    Outcome,
    Simulation,
    alpha_regret,
    alpha_regrets,
    draw_labels,
    draw_votes,
    greedy_votes,
)
from onlineboost.theory.upper_bounds import (
    MOST_EXACT,
    adaptive_regret_bounds,
    best_expert_bound,
    chernoff_error,
    edge_gain,
    hedge_bound,
    hoeffding_error,
    mbbm_bound,
    mbbm_error,
    mixture_bound,
    olm_bound,
    paper_weight_bounds,
    regret_bounds,
    weight_sum,
    weight_sum_closed,
)
from onlineboost.theory.weak_learning import (
    Edge,
    Link,
    excess_of_regret,
    lea,
    lea_regret,
    lea_step,
    link,
    measure_edge,
    measure_learner,
    sure_edges,
)

__all__ = [
    "MOST_EXACT",
    "ActionGuarantee",
    "Edge",
    "Guarantee",
    "Link",
    "LossGuarantee",
    "NoGuarantee",
    "Outcome",
    "Simulation",
    "action_bound",
    "adaptive_regret_bounds",
    "alpha_regret",
    "alpha_regrets",
    "best_expert_bound",
    "bmr_error",
    "chernoff_error",
    "chernoff_learners",
    "coverage_bounds",
    "draw_labels",
    "draw_votes",
    "edge_gain",
    "edge_of_votes",
    "excess_of_regret",
    "excess_of_votes",
    "greedy_votes",
    "guarantee",
    "hedge_bound",
    "hoeffding_error",
    "hoeffding_learners",
    "lea",
    "lea_regret",
    "lea_step",
    "least_error",
    "least_error_closed",
    "least_examples",
    "least_learners",
    "link",
    "mbbm_bound",
    "mbbm_error",
    "mbbm_examples",
    "mbbm_learners",
    "measure_edge",
    "measure_learner",
    "mixture_bound",
    "olm_bound",
    "olm_examples",
    "olm_learners",
    "olmr_bound",
    "paper_weight_bounds",
    "regret_bounds",
    "shrinking_edge",
    "sure_edges",
    "useless_rounds",
    "weight_sum",
    "weight_sum_closed",
]
