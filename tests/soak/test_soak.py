"""A short soak: `make soak` is the long one."""

from __future__ import annotations

import pytest

from contract.kinds import every_estimator
from soak.plan import plan
from soak.programs import Program
from soak.run import a_program, perform, short_and_strict, warm
from soak.twins import kinds_with_twins, perform_beside_twin


@pytest.mark.parametrize("kind", every_estimator(), ids=str)
def test_random_operations_do_no_harm(kind):
    with short_and_strict():
        warm(kind)
        assert perform(kind, 1, plan(1, 60)) == 60


@pytest.mark.parametrize("kind", every_estimator(), ids=str)
def test_random_programs_of_a_service(kind):
    """Blocks, rows, late labels, files, restarts, forks, and readers beside a learner."""
    with short_and_strict():
        for seed in range(3):
            perform(kind, seed, a_program(seed), make=Program)


@pytest.mark.parametrize("kind", kinds_with_twins(), ids=str)
def test_random_operations_leave_the_model_of_the_twin(kind):
    with short_and_strict():
        assert perform_beside_twin(kind, plan(2, 100)) > 10
