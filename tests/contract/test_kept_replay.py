"""Whatever plays, a kept episode is the one that was played: replayed, it gives the same numbers to the last bit."""

import csv
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
import toy_envs as toys
from toy_envs import one

from parcade import train
from parcade.api import make_pool
from parcade.env.replay import differences, open_replay
from parcade.pool.actor import ActorRows
from parcade.run.kept_episodes import read_index
from parcade.train.kept import EndedEpisode, EpisodeKeeper
from parcade.train.random_actor import RandomActor

STEPS, ROLLOUTS = 6, 4  # episodes of 5 to 14 steps: some end in the rollout after the one they began in, or later


def rollouts(pool, acts_here):
    """Play some rollouts with chance as the player, beside the envs or here."""
    actor = RandomActor(pool.action_space)
    pool.make_room(STEPS, actor)
    for _ in range(ROLLOUTS):
        if acts_here:
            slots = [range(*part.indices(pool.n_envs)) for part in pool.parts]
            yield pool.play_here([actor.prepare(np.zeros(0, np.float32), 3, part) for part in slots], STEPS)
        else:
            yield pool.play(actor, np.zeros(0, np.float32), 3, STEPS)


def kept_of(pool, folder, acts_here=False):
    keeper, number, lengths = EpisodeKeeper(folder, 1, pool), 0, []
    pool.reset()
    for block in rollouts(pool, acts_here):
        ended = []
        for episode in block.episodes():
            number += 1
            lengths.append(episode.length)
            ended.append(EndedEpisode(episode, number, number))
        keeper.note(block, ended)
    keeper.kept.close()
    return read_index(folder), lengths


def check(index, **named):
    """Replay all kept episodes; return them."""
    records = [index.load(number) for number in index.facts]
    for record in records:
        with open_replay(record, "the file", named, render=False) as replay:
            assert differences(replay) == []
    return records


@pytest.mark.parametrize("acts_here", [False, True])
@pytest.mark.parametrize(
    "toy", [toys.Toy, toys.Telling, toys.MultiActions, toys.BinaryActions, toys.BoxActions, toys.TreeActions]
)
def test_any_action_space_in_groups(toy, acts_here, tmp_path, monkeypatch):
    monkeypatch.setattr("parcade.pool.journal.FIRST_ROOM", STEPS + 1)  # so that rows have to be forgotten
    with make_pool(one(toy), 5, n_workers=0, n_groups=2, seed=4) as pool:
        index, lengths = kept_of(pool, tmp_path, acts_here)
    records = check(index, factory=cloudpickle.dumps(one(toy)))
    assert max(lengths) > STEPS
    assert len(records) == len(lengths)
    assert [record.length for record in records] == lengths


def test_the_files_are_the_same_for_any_number_of_workers(tmp_path):
    for n_workers in (0, 2):
        with make_pool(one(toys.BoxActions), 5, n_workers=n_workers, seed=4) as pool:
            kept_of(pool, tmp_path / str(n_workers))
    zero, two = ({p.name: p.read_bytes() for p in (tmp_path / n).iterdir()} for n in ("0", "2"))
    assert zero == two


@pytest.mark.parametrize(
    "settings",
    [
        {"game": "lantern", "max_steps": 30, "overlap": True, "n_workers": 2},
        {"game": "lantern", "max_steps": 30, "observation": "pixels", "lstm": 8, "num_threads": 1},
        {"game": "meadow", "max_steps": 20},
        {"env_id": "CartPole-v1", "lstm": 8, "reward_clip": 0.5, "frame_skip": 2},
    ],
)
def test_a_trainings_episodes_replay_exactly(settings, tmp_path):
    usual = {"n_envs": 4, "n_steps": 16, "n_workers": 0, "total_timesteps": 320, "eval_freq": 0}
    result = train(**{**usual, **settings}, final_eval_episodes=0, video=False, log_root=str(tmp_path), seed=3)
    index = read_index(Path(result.run_dir) / "episodes")
    check(index)
    returns = []
    for path in (Path(result.run_dir) / "monitor").iterdir():
        returns += [float(row["return"]) for row in csv.DictReader(path.open())]
    assert len(returns) == result.episodes > 4
    best, worst = (index.facts[index.kinds[kind][0]]["total_reward"] for kind in ("best", "worst"))
    assert (best, worst) == pytest.approx((max(returns), min(returns)), rel=1e-5)
    assert index.kinds["newest"][0] == result.episodes


def test_episodes_that_begin_elsewhere_replay_from_there(tmp_path):
    settings = {"n_envs": 4, "n_steps": 16, "n_workers": 0, "total_timesteps": 512, "eval_freq": 0, "max_steps": 30}
    exploring = {"archive_share": 0.7, "novelty": 0.1, "overlap": True}
    result = train(game="lantern", **settings, **exploring, final_eval_episodes=0, video=False, log_root=str(tmp_path))
    index = read_index(Path(result.run_dir) / "episodes")
    records = check(index)
    elsewhere = {record.number for record in records if record.prefix}
    assert len(elsewhere) > 3
    assert not elsewhere & {*index.kinds["best"], *index.kinds["worst"]}


def test_states_dealt_out_to_slots_are_found_again(tmp_path):
    from parcade.env.make import make
    from parcade.env.spec import EnvSpec

    env = make(EnvSpec(game="lantern"))
    (tmp_path / "states").mkdir()
    for index in range(3):
        env.reset(seed=index)
        for _ in range(5 * index):
            env.step(index)
        (tmp_path / "states" / f"{index}.state").write_bytes(env.console.save())
    env.close()
    with make_pool("lantern", 5, n_workers=0, max_steps=7, state=str(tmp_path / "states")) as pool:
        index, _ = kept_of(pool, tmp_path / "episodes")
    records = check(index)
    assert {record.slot for record in records} == set(range(5))
    assert {record.origin.holds_all_states for record in records} == {False}


def test_episodes_that_crashes_cut_are_not_kept_and_all_others_are(tmp_path, monkeypatch):
    monkeypatch.setattr("parcade.pool.lifecycle.PAUSES_S", (0.0,))

    class Told(RandomActor):
        """Chance, but slot 1 presses what kills at the third step of the second rollout."""

        def prepare(self, weights, seed, slots):
            choose = super().prepare(weights, seed, slots)

            def pressed(rows: ActorRows):
                actions = np.minimum(choose(rows), 1)
                for row, slot in enumerate(slots):
                    if slot == 1 and rows.episode_step[row] == 3 and int(rows.episode_seed[row]) % 2 == 0:
                        actions[row] = toys.KILL
                return actions

            return pressed

    factory = one(toys.Raise)
    with make_pool(factory, 3, n_workers=1, seed=4, restarts=20) as pool:
        monkeypatch.setattr("test_kept_replay.RandomActor", Told)
        index, lengths = kept_of(pool, tmp_path)
        assert pool.cut_episodes > 0
    records = check(index, factory=cloudpickle.dumps(factory))
    assert len(records) == len(lengths) - pool.cut_episodes
    assert not any(record.length == 3 for record in records)
