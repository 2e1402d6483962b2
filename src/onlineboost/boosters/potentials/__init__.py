"""Potentials of OnlineMBBM: what a vote costs, how much an example weighs, what error to expect in the end.

phi^r_m(s) is the loss to expect if label r is correct, the votes so far are s, and m more votes are drawn from
u_gamma^r, eq. (potentialCond); if learners have different gammas, each vote with the gamma of its learner. Learner i is
charged C[r, l] = phi^r_{N-i}(s^{i-1} + e_l), eq. (costMatrix), for the vote l, and learns with weight
sum_l (C[y, l] - C[y, y]).

In a kernel: one look-up per (learner, example), then as many questions as there are::

    tables = build_tables(n_classes, n_learners, gamma)       # read-only, any number of threads
    cache = build_cache(tables)                               # one thread at a time

    at = find_costs(cache, s, tables.reach[m], tables.key[m]) # m = N - i draws left after this vote
    if at < 0:
        at = make_costs(cache)
    if want_rows(cache, at, y, labels, p, n):                 # of C: only those that the questions need
        make_rows(tables, cache, at, m)
    expected_costs(cache, at, labels, p, n, vote, cost)      # cost[l] = sum_r p_r (C[r, l] - C[r, r])
    weight = label_weight(cache, at, y)                       # sum_l (C[y, l] - C[y, y])
    edge = excess_cost(cache, at, y, l)                       # C[y, l] - C[y, y]

(Two calls rather than one, since passing the tables around costs more than the look-up.) Costs are relative to the
diagonal, as in (normalizedCostMatrix). That takes the same off all entries of a row, so that argmin_l sum_r p_r C[r, l]
stays what it is, and small differences do not drown in large costs.

The files, from the numbers to the booster: `draws` (how often labels are drawn, and checks of arguments) and `blocks`
(how the costs of a state are stored, and what a booster asks of them); `dense`, `fourier`, `races` with `race_costs`
and `pairwise` (ways to compute them); `tables` (which way, and all that it needs); `cache` (blocks met before);
`values` (single numbers, for people).

Boosters, the chain, estimators, theory and reports may import this package. It imports nothing of the library but
`_compile` and `boosters.votes`.
"""

from onlineboost.boosters.potentials.blocks import excess_cost, expected_costs, label_weight
from onlineboost.boosters.potentials.cache import Cache, build_cache, find_costs, make_costs, make_rows, want_rows
from onlineboost.boosters.potentials.tables import Method, Tables, build_tables
from onlineboost.boosters.potentials.values import asymptotic_error, cost_matrix, potential, weight_bounds

__all__ = [
    "Cache",
    "Method",
    "Tables",
    "asymptotic_error",
    "build_cache",
    "build_tables",
    "cost_matrix",
    "excess_cost",
    "expected_costs",
    "find_costs",
    "label_weight",
    "make_costs",
    "make_rows",
    "potential",
    "want_rows",
    "weight_bounds",
]
