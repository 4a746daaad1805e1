"""Whoever holds the shards, their gradients add up to the same bits."""

import threading

import numpy as np
import pytest
import torch

from parcade.learn.exchange import LocalExchange
from parcade.pool.mapped import MappedArrays
from parcade.train.spread.mapped_exchange import MappedExchange, UpdateAbandonedError, exchange_fields

N_SHARDS, N_WEIGHTS, ROUNDS = 6, 37, 25


def gradient(turn, shard):
    return torch.from_numpy(np.random.default_rng([turn, shard]).normal(size=N_WEIGHTS).astype(np.float32))


def take_rounds(exchange, found):
    """Exchange numbers and gradients in turns, and note what comes of it."""
    into = torch.empty(N_WEIGHTS)
    for turn in range(ROUNDS):
        rows = exchange.gather(np.array([[turn + shard / 7, shard] for shard in exchange.held]))
        for shard in exchange.held:
            exchange.give(shard, gradient(turn, shard))
        exchange.add_up(into)
        found.append((rows.tobytes(), into.numpy().tobytes()))


@pytest.mark.parametrize("n_learners", [1, 2, 3, 6])
def test_any_number_of_learners_gets_the_sum_of_one(n_learners):
    alone = []
    take_rounds(LocalExchange(N_SHARDS), alone)
    mapped = MappedArrays.create(exchange_fields(N_SHARDS, n_learners, N_WEIGHTS, 5))
    found = [[] for _ in range(n_learners)]
    each = N_SHARDS // n_learners
    threads = []
    for learner in range(n_learners):
        exchange = MappedExchange(mapped, N_SHARDS, range(learner * each, (learner + 1) * each), learner)
        threads.append(threading.Thread(target=take_rounds, args=(exchange, found[learner])))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    mapped.close()
    assert all(one == alone for one in found)


def test_who_waits_for_a_learner_that_is_gone_gives_up():
    mapped = MappedArrays.create(exchange_fields(2, 2, N_WEIGHTS, 5))
    exchange = MappedExchange(mapped, 2, range(1), 0)
    exchange.begin(1)
    mapped.arrays["attempt"][0] = 1
    timer = threading.Timer(0.1, mapped.arrays["attempt"].__setitem__, (0, -1))
    timer.start()
    with pytest.raises(UpdateAbandonedError):
        exchange.gather(np.zeros((1, 2)))
    timer.join()
    mapped.close()
