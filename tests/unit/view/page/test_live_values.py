"""When a saved policy is asked for the value of a moment, and when it is loaded anew."""

import asyncio
import threading

import numpy as np
import pytest

from parcade.view.page import live_values
from parcade.view.page.asked_policy import FAILED, OPENING, READY
from parcade.view.page.live_values import RENEW_S, RETRY_S, LiveValues

ROWS = {"obs": np.zeros(3, np.float32)}


class Policy:
    """Stands for the process: is in the state that the test says, and notes what it is asked."""

    def __init__(self, run, near):
        self.state, self.about, self.loaded, self.is_closed = READY, {"name": "a", "env_steps": near}, [near], False
        self.may_answer = threading.Event()
        self.may_answer.set()

    def choose(self, name, near):
        self.loaded.append(near)

    def value_of(self, rows):
        assert self.may_answer.wait(60)
        return 2.5

    def close(self):
        self.is_closed = True


@pytest.fixture
def values(monkeypatch, tmp_path):
    monkeypatch.setattr(live_values, "AskedPolicy", Policy)
    return LiveValues(tmp_path)


def later(values, seconds):
    values._opened_s -= seconds


def test_a_value_comes_with_the_policy_that_gave_it(values):
    assert asyncio.run(values.value(ROWS, 700)) == {"value": 2.5, "name": "a", "env_steps": 700}


def test_a_policy_that_opens_or_failed_gives_none_and_is_looked_for_again(values):
    assert asyncio.run(values.value(ROWS, 1)) is not None
    policy = values._policy
    for state, loads in ((OPENING, 0), (FAILED, 1)):
        policy.state, before = state, len(policy.loaded)
        later(values, RETRY_S + 1)
        assert asyncio.run(values.value(ROWS, 2)) is None
        assert len(policy.loaded) == before + loads


def test_a_newer_policy_is_loaded_now_and_then(values):
    for env_steps in (1, 2):
        asyncio.run(values.value(ROWS, env_steps))
    assert values._policy.loaded == [1]
    later(values, RENEW_S + 1)
    asyncio.run(values.value(ROWS, 3))
    assert values._policy.loaded == [1, 3]


def test_one_question_at_a_time(values):
    async def ask_twice():
        await values.value(ROWS, 1)
        values._policy.may_answer.clear()
        first = asyncio.create_task(values.value(ROWS, 1))
        await asyncio.sleep(0)
        second = await values.value(ROWS, 1)
        values._policy.may_answer.set()
        return second, await first

    second, first = asyncio.run(ask_twice())
    assert second is None
    assert first["value"] == 2.5


def test_closing_twice_is_fine_and_the_next_question_opens_again(values):
    asyncio.run(values.value(ROWS, 1))
    before = values._policy
    values.close()
    values.close()
    assert asyncio.run(values.value(ROWS, 9))["env_steps"] == 9
    assert values._policy is not before
