import resource

import pytest

from parcade.errors import PoolError
from parcade.pool import limits


@pytest.fixture
def limit(monkeypatch):
    """The machine's limits as a test wants them; the real ones stay as they are."""
    now = {"soft": 1024, "hard": 4096}
    monkeypatch.setattr(resource, "getrlimit", lambda _: (now["soft"], now["hard"]))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: now.update(soft=pair[0]))
    monkeypatch.setattr(limits, "_open_files", lambda: 10)
    return now


def test_enough_is_left_as_it_is(limit):
    limits.allow_files(8)
    assert limit["soft"] == 1024


def test_too_few_are_raised_to_what_is_needed(limit):
    limits.allow_files(300)
    assert limit["soft"] == 10 + 300 * limits.FILES_PER_WORKER + limits.SPARE_FILES


def test_more_than_the_machine_allows_is_explained(limit):
    with pytest.raises(PoolError, match=r"1000 workers need about \d+ open files, but this machine allows 4096; use"):
        limits.allow_files(1000)
    assert limit["soft"] == 1024


def test_open_files_are_counted():
    before = limits._open_files()
    with open("/dev/null"):
        assert limits._open_files() == before + 1
