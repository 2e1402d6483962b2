"""Small streams that the tests share, and the option to renew the golden runs."""

from __future__ import annotations

import gc
import os
import signal

import numba
import pytest
from hypothesis import settings

from helpers import mixed_stream, number_stream

# A shell starts commands in the background with Ctrl-C ignored, and they hand that on. Some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["NUMBA_NUM_THREADS"] = "1"  # several workers compile: none of them starts another process for it
numba.config.reload_config()
os.environ["ONLINEBOOST_OFFLINE"] = "1"  # no test depends on other hosts; test_fetch.py has a server of its own

# A kernel's first call compiles it, so no deadline; the same examples on every run, so that a failure can be repeated.
settings.register_profile("onlineboost", deadline=None, derandomize=True, max_examples=60, database=None)
settings.load_profile("onlineboost")


def pytest_addoption(parser):
    parser.addoption("--renew-golden", action="store_true", help="write tests/golden/*.json anew from this run")


# Seconds of compiling in the first test of an estimator, about; all that is not here takes less than 3.
COMPILING = {
    "online-boost": 40, "online-mbbm": 24, "refitted-trees": 18, "least-squares": 13, "eager-trees": 8, "oza-boost": 8,
    "nearest-neighbours": 8, "adaboost-ova": 5, "best-tree": 4,
}  # fmt: skip
FIRST = "test_how_the_stream_is_cut_into_blocks_makes_no_difference"


@pytest.hookimpl(trylast=True)  # once the slow ones have been left out
def pytest_collection_modifyitems(config, items):
    """Several workers begin with the tests that compile most, each with others: what one has compiled, all load.

    As tests stand in their files, all workers would compile the same kernels at the same time. With --dist worksteal a
    worker begins where its share of the list does.
    """
    n = getattr(config, "workerinput", {"workercount": 1})["workercount"]
    seconds = {f"{FIRST}[{name}]": least for name, least in COMPILING.items()}
    heavy = [item for item in items if item.name in seconds]
    if n == 1 or not heavy:
        return
    dealt = [[] for _ in range(n)]
    for item in sorted(heavy, key=lambda item: -seconds[item.name]):
        min(dealt, key=lambda own: sum(seconds[each.name] for each in own)).append(item)
    rest = [item for item in items if item.name not in seconds]
    left, items[:] = len(items), []
    for own, workers in zip(dealt, range(n, 0, -1), strict=True):
        size = left // workers  # as xdist counts it
        items += own + rest[: size - len(own)]
        rest, left = rest[size - len(own) :], left - size
    items += rest


def pytest_collection_finish(session):
    """What is there by now stays: the garbage collector need not go through half a million objects again and again."""
    gc.freeze()


@pytest.fixture
def mixed():
    """(X, y, weight) with 300 rows of numeric, nominal and missing values, nominal values and classes that grow."""
    return mixed_stream()


@pytest.fixture
def numbers():
    """(X, y) with 300 rows of 4 numbers and 3 classes."""
    return number_stream()
