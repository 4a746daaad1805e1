"""Gradients over gloo are added as one process adds them. Learners are threads here: a group needs no processes."""

import threading
import time

import numpy as np
import pytest
import torch

from parcade.cluster import gradient_part
from parcade.cluster.gloo_exchange import GlooExchange, GlooPlace
from parcade.cluster.gradient_part import bytes_per_step, sends_whole
from parcade.cluster.notice_board import ABANDONED, NoticeBoard
from parcade.learn.exchange import LocalExchange
from parcade.train.spread.mapped_exchange import UpdateAbandonedError
from parcade.train.spread.messages import Holding

N_SHARDS, N_WEIGHTS = 4, 1003


def gradients(n_shards=N_SHARDS):
    drawn = torch.Generator().manual_seed(5)
    return [torch.randn(N_WEIGHTS, generator=drawn) * 10 ** (3 * shard) for shard in range(n_shards)]


def added_here(n_shards):
    exchange, total = LocalExchange(n_shards), torch.empty(N_WEIGHTS)
    for shard, gradient in enumerate(gradients(n_shards)):
        exchange.give(shard, gradient)
    exchange.add_up(total)
    return total


def together(n_learners, work, n_shards=N_SHARDS):
    """Run ``work`` for each learner in a thread of its own; return what each returned."""
    board = NoticeBoard.served("127.0.0.1", 10)
    board.begin(1)
    place, per_learner, found = GlooPlace(board.address, n_shards, N_WEIGHTS, 1), n_shards // n_learners, {}

    def run(learner):
        shards = range(learner * per_learner, (learner + 1) * per_learner)
        holding = Holding(learner, n_learners, shards, range(0))
        try:
            found[learner] = work(GlooExchange(place, holding, "127.0.0.1", 10.0), board)
        except UpdateAbandonedError as error:
            found[learner] = error

    threads = [threading.Thread(target=run, args=(learner,)) for learner in range(n_learners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return [found[learner] for learner in range(n_learners)]


@pytest.mark.parametrize(("n_shards", "n_learners"), [(4, 1), (4, 2), (4, 4), (2, 2), (3, 3)])
@pytest.mark.parametrize("small", [0, 1 << 20])
@pytest.mark.parametrize("split", [None, 16, 960])
def test_the_sum_is_that_of_one_process(n_shards, n_learners, small, split, monkeypatch):
    monkeypatch.setattr(gradient_part, "SMALL", small)
    assert sends_whole(N_WEIGHTS, 4, 1) == (small > 0)

    def work(exchange, board):
        ahead = split is not None and exchange.split_at(split)
        assert ahead == (split is not None and n_learners > 1)
        exchange.begin(1)
        total = torch.empty(N_WEIGHTS)  # stands where the gradients stood, as in training
        for _ in range(3):
            for shard in exchange.held:
                total.fill_(torch.nan)
                if ahead:
                    total[split:] = gradients(n_shards)[shard][split:]
                    exchange.give_ahead(shard, total)
                total.copy_(gradients(n_shards)[shard])
                exchange.give(shard, total)
            exchange.add_up(total)
        rows = exchange.gather(np.array([[shard, shard / 3] for shard in exchange.held]))
        return total, rows, exchange.bytes_sent

    expected = added_here(n_shards)
    shuffled = sum(reversed(gradients(n_shards)))
    differs = expected.numpy().tobytes() != shuffled.numpy().tobytes()
    assert differs == (n_shards > 2)  # the order matters for these numbers
    held = n_shards // n_learners
    for total, rows, sent in together(n_learners, work, n_shards):
        assert total.numpy().tobytes() == expected.numpy().tobytes()
        np.testing.assert_array_equal(rows, [[shard, shard / 3] for shard in range(n_shards)])
        whole = sends_whole(N_WEIGHTS, n_learners, held)
        table = (n_learners - 1) * held * 2 * 8
        parts = [N_WEIGHTS] if split is None else [split, N_WEIGHTS - split]
        assert sent == 3 * sum(bytes_per_step(part, n_learners, held, whole) for part in parts) + table


def test_what_a_learner_sends_does_not_grow_with_their_number():
    sent = [bytes_per_step(1_000_000, learners, 1, False) for learners in (2, 4, 64, 1000)]
    assert max(sent) < 2 * 1_000_000 * 4 * 1.01


def test_an_update_that_is_given_up_is_left_at_once():
    def work(exchange, board):
        exchange.begin(1)
        if exchange.held.start:
            time.sleep(0.3)
            board.begin(ABANDONED)
            return None
        began = time.monotonic()
        try:
            exchange.gather(np.zeros((2, 1)))
        except UpdateAbandonedError:
            return time.monotonic() - began
        return None

    waited, _ = together(2, work)
    assert waited < 5


def test_learners_meet_anew_after_one_was_lost():
    def work(exchange, board):
        exchange.begin(1)
        first = exchange.gather(np.full((2, 1), float(exchange.held.start)))
        exchange.generation = 2
        exchange.begin(1)
        return first, exchange.gather(np.full((2, 1), float(exchange.held.start)))

    for first, second in together(2, work):
        assert first.ravel().tolist() == second.ravel().tolist() == [0, 0, 2, 2]


class LateWork:
    """An exchange that is over just after a wait for it was: by then it has gone well, or not."""

    def __init__(self, fault=None):
        self._fault, self._waits = fault, 0

    def is_completed(self):
        return self._waits > 0

    def wait(self, timeout):
        self._waits += 1
        if self._waits == 1:
            raise RuntimeError("Operation timed out!")
        if self._fault is not None:
            raise RuntimeError(self._fault)


def waiting_exchange():
    exchange = object.__new__(GlooExchange)
    exchange._deadline_s, exchange._built = 1.0, 0
    return exchange


def test_what_is_over_just_after_a_wait_is_not_taken_for_lost():
    exchange = waiting_exchange()
    exchange._await(LateWork())
    assert exchange._built == 0
    with pytest.raises(UpdateAbandonedError, match="Connection closed by peer"):
        exchange._await(LateWork("[tcp/pair.cc:534] Connection closed by peer"))
    assert exchange._built == -1
