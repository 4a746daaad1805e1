"""The archive: what is kept, which start is chosen, and what a checkpoint holds of it."""

from types import SimpleNamespace

import numpy as np
import pytest

from parcade.errors import ModelFileError
from parcade.explore.archive import Archive, pack_starts, unpack_starts
from parcade.explore.lineage import Lineage, Segment
from parcade.pool.seeding import Start

ACTIONS = np.arange(12).reshape(6, 2)


def a_block(ends=()):
    """Return six steps of two slots; slot 0 ends an episode at each row of ``ends``."""
    ended = np.zeros((6, 2), bool)
    ended[list(ends), 0] = True
    episode = np.cumsum(ended, 0)
    return SimpleNamespace(action={"obs": ACTIONS}, ended=ended, episode=episode, n_steps=6, n_envs=2)


def empty(seed=1):
    return Start(seed, {"obs": np.zeros(0, np.int64)})


def taken(start):
    return start.seed, start.actions["obs"].tolist()


def test_lineage_follow_episodes_from_block_to_block():
    lineage = Lineage([empty(10), empty(20)], [0, 0])
    begun = {(0, 2): Start(77, {"obs": np.array([9, 9])})}
    found = list(lineage.follow(a_block([1, 3]), begun, lambda slot, episode: 100 * slot + episode))
    rows = [(s.slot, s.episode, s.seed, s.first, s.stop, s.ended) for s in found]
    assert rows == [(0, 0, 10, 0, 2, True), (0, 1, 1, 2, 4, True), (0, 2, 77, 4, 6, False), (1, 0, 20, 0, 6, False)]
    after = list(lineage.follow(a_block(), {}, lambda slot, episode: 0))
    assert after[0].before["obs"].tolist() == [9, 9, 8, 10]  # the start's own actions, then those of rows 4 and 5
    assert taken(after[0].until(1, a_block())) == (77, [9, 9, 8, 10, 0, 2])
    assert after[1].steps_before == 6


def test_an_episode_that_ends_with_the_block_leaves_the_next_at_its_start():
    lineage = Lineage([empty(10), empty(20)], [0, 0])
    list(lineage.follow(a_block([5]), {}, lambda slot, episode: 55))
    (first, _) = lineage.follow(a_block(), {}, lambda slot, episode: 0)
    assert (first.seed, first.steps_before, first.episode) == (55, 0, 1)


def segment(slot=0, ended=False, before=()):
    return Segment(slot, 0, 1, {"obs": np.array(before, np.int64)}, 0, 6, ended)


def test_the_shortest_way_to_a_cell_is_kept_and_an_end_is_no_start():
    archive = Archive("count", 10)
    archive.take(a_block(), segment(before=[3, 3, 3]), [0, 5, 5, 7, 5, 8])
    assert taken(archive.entries[5].start) == (1, [3, 3, 3, 0, 2])
    assert (archive.entries[5].reached, archive.entries[7].reached) == (2, 1)
    archive.take(a_block(), segment(slot=1, ended=True), [5, 0, 0, 0, 0, 9])
    assert taken(archive.entries[5].start) == (1, [1])
    assert 9 not in archive.entries


def test_a_full_archive_drops_what_was_reached_most():
    archive = Archive("count", 2)
    archive.take(a_block(), segment(), [5, 6, 5, 6, 5, 7])
    assert set(archive.entries) == {6, 7}


@pytest.mark.parametrize("strategy", ["count", "uniform", "frontier"])
def test_strategies_choose_by_what_they_say(strategy):
    archive = Archive(strategy, 100)
    archive.take(a_block(), segment(), [5, 6, 5, 6, 5, 7])
    archive.entries[5].reached = 10_000
    rng = np.random.default_rng(0)
    chosen = [archive.choose(rng).n_steps for _ in range(300)]
    shares = {steps: chosen.count(steps) / 300 for steps in (1, 2, 6)}  # cells 5, 6 and 7
    if strategy == "uniform":
        assert all(0.25 < share < 0.42 for share in shares.values())
    elif strategy == "frontier":
        assert shares == {1: 0, 2: 0, 6: 1}
    else:
        assert shares[1] < 0.2 < shares[2]


FIRST, SECOND, GUIDED = 1, 2, 1 << 64  # milestones 0 and 1 of a title, and the first of a guide


def test_milestones_are_kept_where_they_were_reached():
    archive = Archive("milestone", 100)
    archive.take(a_block(), segment(before=[3]), [5, 5, 0, 7, 8, 5], [0, FIRST, SECOND | GUIDED, 0, 0, 0])
    found = {entry.milestone: taken(entry.start) for entry in archive.entries.values()}
    # the second row of cell 5; what is reached where there is no cell waits for the next one
    assert found == {0: (1, [3, 0, 2]), 1: (1, [3, 0, 2, 4, 6]), 64: (1, [3, 0, 2, 4, 6])}
    archive.take(a_block(), segment(slot=1), [9, 5, 9, 9, 9, 9], [0, FIRST, 0, 0, 0, 0])
    assert taken(next(e.start for e in archive.entries.values() if e.milestone == 0)) == (1, [1, 3])  # shorter
    archive.take(a_block(), segment(slot=1, ended=True), [9] * 6, [0, 0, 0, 0, 0, SECOND])
    assert len(archive.entries) == 3  # an episode's last moment is no start


def test_every_milestone_has_its_share_and_none_is_dropped_for_another():
    archive = Archive("milestone", 4)
    for _ in range(3):  # reached more often than any other
        archive.take(a_block(), segment(), [9] * 6, [0, 0, 0, 0, SECOND, 0])
    archive.take(a_block(), segment(), [5, 6, 7, 8, 10, 10], [FIRST] * 4 + [0, GUIDED])
    kept = sorted(entry.milestone for entry in archive.entries.values())
    assert kept == [0, 0, 1, 64]
    rng = np.random.default_rng(0)
    chosen = [archive.choose(rng).n_steps for _ in range(600)]
    assert all(150 < chosen.count(steps) < 250 for steps in (5, 6))  # a third each
    assert set(chosen) == {3, 4, 5, 6}


def test_an_empty_archive_has_no_start():
    assert Archive("count", 5).choose(np.random.default_rng(0)) is None


@pytest.mark.parametrize("strategy", ["count", "milestone"])
def test_state_is_everything_and_damage_is_refused(strategy):
    one, other = Archive(strategy, 5), Archive(strategy, 5)
    one.take(a_block(), segment(), [5, 6, 5, 6, 5, 7], [FIRST, FIRST, SECOND, 0, GUIDED, 0])
    one.choose(np.random.default_rng(0))
    other.load_state(one.state())
    choices = [[taken(a.choose(np.random.default_rng(k))) for k in range(9)] for a in (one, other)]
    assert choices[0] == choices[1]
    with pytest.raises(ModelFileError, match="is inconsistent"):
        other.load_state({**one.state(), "cells": np.zeros(9, np.uint64)})
    with pytest.raises(ModelFileError, match="no counts of its cells"):
        other.load_state({**one.state(), "numbers": one.state()["numbers"][:, :2]})
    other.load_state({**one.state(), "numbers": one.state()["numbers"][:, :3]})  # as it was before milestones
    assert {entry.milestone for entry in other.entries.values()} == {-1}


def test_starts_packed_and_unpacked():
    starts = [Start(3, {"obs": np.array([1, 2])}), empty(4), Start(5, {"obs": np.array([7])})]
    assert [taken(start) for start in unpack_starts(pack_starts(starts))] == [taken(start) for start in starts]
    assert unpack_starts(pack_starts([])) == []
    packed = pack_starts(starts)
    for broken in ({**packed, "steps": np.array([1, 1, 9])}, {**packed, "seeds": np.array([1])}, {}):
        with pytest.raises(ModelFileError, match="starts have"):
            unpack_starts(broken)
