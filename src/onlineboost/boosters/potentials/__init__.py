from onlineboost.boosters.potentials.potentials import (
    Cache,
    Tables,
    build_cache,
    build_tables,
    excess_cost,
    expected_costs,
    find_costs,
    label_weight,
    make_costs,
    make_rows,
    want_rows,
)
