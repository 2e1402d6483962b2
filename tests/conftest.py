"""Small streams that the tests share, and the option to renew the golden runs."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

from helpers import mixed_stream, number_stream

# A shell starts commands in the background with Ctrl-C ignored, and they hand that on. Some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["ONLINEBOOST_OFFLINE"] = "1"  # no test depends on other hosts; test_fetch.py has a server of its own

# A kernel's first call compiles it, so no deadline; the same examples on every run, so that a failure can be repeated.
settings.register_profile("onlineboost", deadline=None, derandomize=True, max_examples=60, database=None)
settings.load_profile("onlineboost")


def pytest_addoption(parser):
    parser.addoption("--renew-golden", action="store_true", help="write tests/golden/*.json anew from this run")


@pytest.fixture
def mixed():
    """(X, y, weight) with 300 rows of numeric, nominal and missing values, nominal values and classes that grow."""
    return mixed_stream()


@pytest.fixture
def numbers():
    """(X, y) with 300 rows of 4 numbers and 3 classes."""
    return number_stream()
