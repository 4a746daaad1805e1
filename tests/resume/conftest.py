"""What the tests of stopped trainings share."""

import signal

import pytest


@pytest.fixture(autouse=True)
def a_late_interrupt_fails_one_test():
    """A Ctrl-C that these tests send when no training listens any more fails the test, not the whole run of pytest."""

    def fail(number, frame):
        raise AssertionError(f"{signal.Signals(number).name} came when no training listened")

    before = signal.signal(signal.SIGINT, fail)
    yield
    signal.signal(signal.SIGINT, before)
