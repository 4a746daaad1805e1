"""Orders of minibatches are drawn from seed, update, epoch and shard, and from nothing else."""

from itertools import product

from parcade.learn.sharded_ppo import _shuffle_seed


def test_every_part_of_a_shuffle_counts():
    drawn = [_shuffle_seed(*parts) for parts in product(range(3), repeat=4)]
    assert len(set(drawn)) == 81
    assert drawn == [_shuffle_seed(*parts) for parts in product(range(3), repeat=4)]
    assert all(0 <= seed < 2**63 for seed in drawn)
