"""A journal still knows, after a rollout, where every slot was before it."""

import numpy as np

from parcade.pool.journal import Journal

N_SLOTS, N_STEPS = 5, 7


def test_the_dump_of_a_mark_is_the_dump_from_before_the_rollout():
    rng = np.random.default_rng(3)
    journal = Journal({"obs": np.zeros((N_STEPS, N_SLOTS, 2), np.int64)}, [np.arange(N_SLOTS)[g::2] for g in range(2)])
    episode = np.zeros(N_SLOTS, np.int64)
    for _ in range(40):  # the log grows and forgets meanwhile
        before = journal.dump()
        journal.mark(N_STEPS)
        for group in range(2):
            part = slice(group, N_SLOTS, 2)
            ended = rng.random((N_STEPS, len(episode[part]))) < 0.06
            episodes = episode[part] + ended.cumsum(0)
            journal.append(group, {"obs": rng.integers(0, 9, (*ended.shape, 2))}, ended, episodes)
            episode[part] = episodes[-1]
        found = journal.dump_at_mark()
        assert found.keys() == before.keys()
        for name, array in before.items():
            np.testing.assert_array_equal(found[name], array, name)
