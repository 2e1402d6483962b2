"""Random operations over all estimators: `make soak`, and an episode that failed again by its seed.

python tests/soak/run.py --operations 100000
python tests/soak/run.py --programs 10000
python tests/soak/run.py --kind "oza-boost poisson=False" --seed 17 --operations 1
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from contract.kinds import Kind, every_estimator, every_two_words, shortened, with_costs, with_learners_of_another_make
from onlineboost.chain import chain as chain_module
from soak.pair import Pair
from soak.plan import Operation, plan
from soak.programs import SHARES, Program
from soak.twins import kinds_with_twins, perform_beside_twin

MOST_ROWS = 2000  # of a pair, before the next begins
STUCK = 120.0  # seconds after which an operation counts as one that never ends
GIVE_UP = 5  # failures after which the run ends
TELLING = 20.0  # seconds between lines about how far it is
SHRINKING = 30.0  # seconds to look for a shorter list of operations that fails
MEANT = (  # warnings that are no errors
    r"column '.*' is nominal, with more than 64 different values",
    r"the model has reached its memory_limit",
    r"X (does not have|has) (valid )?feature names",
)


class Failure(Exception):
    """An operation went wrong after those in `done`."""

    def __init__(self, done: Sequence[Operation], error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.done, self.error = done, error


def kinds_to_soak() -> list[Kind]:
    """Every estimator with every two words of its settings, with costs, and with learners of other libraries."""
    return [*every_two_words(), *with_costs(), *filter(_takes_any_learner, with_learners_of_another_make())]


def _takes_any_learner(kind: Kind) -> bool:
    """Some take trees alone, and say so."""
    try:
        kind.make().partial_fit([[0.0]], [0], classes=[0, 1])
    except ValueError as error:
        return "must be a HoeffdingTree" not in str(error)
    return True


@contextmanager
def short_and_strict() -> Iterator[None]:
    """Blocks, threads and restarts in streams of a few hundred rows; warnings are errors."""
    with shortened(), patch.object(chain_module, "BLOCK", 16), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="sklearn")  # GaussianNB with one value
        for message in MEANT:
            warnings.filterwarnings("ignore", message)
        yield


def perform(
    kind: Kind, seed: int, operations: Sequence[Operation], *, timers: bool = True, make: type[Pair] = Pair
) -> int:
    """Do them all to a new pair, up to so many rows; how many were done."""
    rng = np.random.default_rng(seed)
    other_make = "GaussianNB" in kind.name
    pair = make(kind, classes=other_make or rng.random() < 0.3, timers=timers, tame=other_make)
    for done, operation in enumerate(operations):
        faulthandler.dump_traceback_later(STUCK, exit=True)
        try:
            getattr(pair, operation.name)(np.random.default_rng(operation.seed))
            if pair.n > MOST_ROWS:
                pair.compare(np.random.default_rng(operation.seed))
                return done + 1
        except BaseException as error:
            if "memory_limit" in kind.name and "is too small: with" in str(error):
                pair.compare(np.random.default_rng(operation.seed))  # it has no room for one more class, and says so
                return done + 1
            raise Failure(operations[: done + 1], error) from error
        finally:
            faulthandler.cancel_dump_traceback_later()
    return len(operations)


def warm(kind: Kind) -> None:
    """Have everything compiled and imported: an exception in the middle of that would say nothing of the estimator."""
    calm = [operation for operation in plan(0, 120) if "struck" not in operation.name]
    perform(kind, 0, [each for each in calm if each.name != "learn_watched"])


def shrink(kind: Kind, seed: int, operations: list[Operation], **settings: bool) -> list[Operation]:
    """Fewer of these operations that fail as well, as far as time allows."""
    end, size = time.monotonic() + SHRINKING, max(1, len(operations) // 2)
    while time.monotonic() < end:
        for start in range(len(operations) - size, -1, -size):
            fewer = operations[:start] + operations[start + size :]
            try:
                perform(kind, seed, [*fewer, Operation("compare", 0)], **settings)
            except Failure as failure:
                operations = [each for each in failure.done if each in fewer]
                break
            if time.monotonic() > end:
                break
        else:
            if size == 1:
                break
            size = max(1, size // 2)
    return operations


def explain(kind: Kind, seed: int, failure: Failure, **settings: bool) -> str:
    """What failed, how to see it again, and a short list of operations that does it too."""
    said = "".join(traceback.format_exception(failure.error))
    operations = shrink(kind, seed, list(failure.done), **settings)
    how = f"again: python tests/soak/run.py --kind {kind.name!r} --seed {seed} --operations 1"
    return f"{said}\n{kind.name}, seed {seed}, operation {len(failure.done)}\n{how}\nfewer operations: {operations}\n"


def soak(kinds: Sequence[Kind], seed: int, operations: int, **settings: bool) -> int:
    """Episodes over all kinds in turn, until so many operations are done; the number of those that failed."""
    began, done, failed, ready = time.monotonic(), 0, 0, set()
    told = began
    while True:
        for at in np.random.default_rng(seed).permutation(len(kinds)):  # so that a run cut short has met them evenly
            kind = kinds[at]
            try:
                if kind not in ready:
                    warm(kind)
                    ready.add(kind)
                done += perform(kind, seed, plan(seed), **settings)
            except Failure as failure:
                done, failed = done + len(failure.done), failed + 1
                print(explain(kind, seed, failure, **settings), flush=True)
            now, ends = time.monotonic(), done >= operations or failed >= GIVE_UP
            if ends or now > told + TELLING:
                told = now
                print(f"{now - began:5.0f} s: {done} operations, seed {seed}, {failed} failed", flush=True)
            if ends:
                return failed
        seed += 1


def soak_beside_twins(seed: int, episodes: int) -> None:
    """A few short episodes beside the twins in plain Python."""
    done = 0
    for kind in kinds_with_twins():
        for each in range(seed, seed + episodes):
            done += perform_beside_twin(kind, plan(each))
    print(f"{done} operations beside the twins", flush=True)


def run_programs(kinds: Sequence[Kind], seed: int, programs: int) -> int:
    """So many random programs of a service, over all kinds in turn; the number of those that failed."""
    failed, told = 0, time.monotonic()
    for number in range(seed, seed + programs):
        kind = kinds[number % len(kinds)]
        try:
            perform(kind, number, a_program(number), make=Program)
        except Failure as failure:
            failed += 1
            traceback.print_exception(failure.error)
            print(f"again: python tests/soak/run.py --kind {kind.name!r} --seed {number} --programs 1")
        if time.monotonic() > told + TELLING or number == seed + programs - 1 or failed >= GIVE_UP:
            told = time.monotonic()
            print(f"{number - seed + 1} programs, {failed} failed", flush=True)
        if failed >= GIVE_UP:
            break
    return failed


def a_program(seed: int) -> list[Operation]:
    """A block to begin with, then some twelve operations."""
    return [Operation("learn", seed), *plan(seed, 12, SHARES)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--programs", type=int, default=0, help="so many programs of a service instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", default="", help="only kinds whose name begins like this")
    parser.add_argument("--defaults", action="store_true", help="each estimator with its defaults only")
    parser.add_argument("--twins", type=int, default=2, help="episodes of each estimator beside its twin")
    parser.add_argument("--no-timers", action="store_true", help="no exceptions at moments that cannot be repeated")
    given = parser.parse_args()
    every = every_estimator() if given.defaults else kinds_to_soak()
    kinds = [kind for kind in every if kind.name.startswith(given.kind)]
    with short_and_strict():
        if given.programs:
            own = [kind for kind in kinds if "GaussianNB" not in kind.name]  # which files hold by request alone
            return run_programs(own, given.seed, given.programs) > 0
        soak_beside_twins(given.seed, given.twins)
        return soak(kinds, given.seed, given.operations, timers=not given.no_timers) > 0


if __name__ == "__main__":
    sys.exit(main())
