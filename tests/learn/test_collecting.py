import numpy as np
import pytest
import torch
from gymnasium import spaces
from tiny_envs import Endless, Locks, Walk, bench

from parcade.errors import EnvError, ModelFileError
from parcade.learn.normalise import ReturnScaler
from parcade.learn.policy import NetSettings
from parcade.learn.single_actor import SingleActor
from parcade.learn.torch_actor import acting
from parcade.train.rollouts import Rollouts

LSTM = NetSettings(hidden=(16,), lstm=8)


def test_truncated_rows_get_the_value_of_the_final_observation_and_no_others():
    trained = bench(lambda: Walk(ends=0.3), n_envs=8)
    rollout = trained.learner.prepare(trained.collect())
    cut = rollout.truncated & ~rollout.terminated
    assert cut.any()
    assert rollout.terminated.any()
    assert (rollout.final_values[~cut] == 0).all()
    assert (rollout.final_values[cut] != 0).all()
    assert len(rollout.block.episodes()) == rollout.ended.sum()


def test_values_of_a_rollout_are_those_of_single_steps():
    trained = bench(Walk)
    rollout = trained.learner.prepare(trained.collect())
    with torch.no_grad():
        values = torch.stack([trained.policy({"obs": row})[1] for row in rollout.obs["obs"]])
    assert np.allclose(values.numpy(), rollout.values, atol=1e-6)


def test_final_value_of_a_constant_observation_is_its_value():
    trained = bench(Endless)
    rollout = trained.learner.prepare(trained.collect())
    assert rollout.final_values[rollout.truncated] == pytest.approx(rollout.values[0, 0], abs=1e-6)


def by_hand(policy, rollout):
    """Step every slot through the rollout alone, forgetting where an episode ended the step before."""
    params, values, states = [], [], rollout.states.clone()
    with torch.no_grad():
        for t in range(rollout.n_steps):
            if t:
                states[torch.from_numpy(rollout.ended[t - 1])] = 0
            step_params, step_values, states = policy.step({"obs": rollout.obs["obs"][t]}, states)
            params.append(step_params)
            values.append(step_values)
    states[torch.from_numpy(rollout.ended[-1])] = 0
    return torch.stack(params), torch.stack(values), states


def test_memory_is_forgotten_at_ends_and_kept_across_rollouts():
    trained = bench(lambda: Walk(ends=0.1), n_envs=8, n_steps=24, net=LSTM)
    trained.collect()
    between = torch.from_numpy(trained.pool.progress.memory())
    rollout = trained.learner.prepare(trained.collect())
    assert torch.equal(rollout.states, between)
    assert between.any()
    params, values, after = by_hand(trained.policy, rollout)
    log_probs, _ = trained.policy.distribution.evaluate(params.flatten(0, 1), rollout.actions.flatten())
    assert torch.allclose(log_probs, rollout.log_probs.flatten(), atol=1e-6)
    assert np.allclose(values.numpy(), rollout.values[:-1], atol=1e-6)
    assert np.allclose(after.numpy(), trained.pool.progress.memory(), atol=1e-6)


def test_unrolling_gives_the_numbers_and_gradients_of_single_steps():
    trained = bench(lambda: Walk(ends=0.1), n_envs=8, n_steps=24, net=LSTM)
    trained.collect()
    rollout, policy = trained.learner.prepare(trained.collect()), trained.policy
    assert rollout.starts().any()
    params, values = policy.unroll(rollout.flat(), rollout.states, rollout.starts())
    stepped_params, stepped_values, _ = by_hand(policy, rollout)
    assert torch.allclose(params, stepped_params.flatten(0, 1), atol=1e-6)
    assert torch.allclose(values, stepped_values.flatten(), atol=1e-6)

    state, parts = rollout.states.clone(), []
    for t, latent in enumerate(rollout.obs["obs"][:-1]):
        state = state * (~rollout.starts()[t]).unsqueeze(-1)
        out, state = policy.recurrence.step(latent, state)
        parts.append(policy.critic(out))
    wanted = torch.autograd.grad(torch.cat(parts).square().sum(), policy.recurrence.parameters())
    got = torch.autograd.grad(values.square().sum(), policy.recurrence.parameters())
    for one, other in zip(wanted, got, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_the_value_at_a_cut_uses_the_memory_of_the_episode_that_was_cut():
    trained = bench(Endless, n_envs=4, n_steps=7, net=LSTM)
    rollout, policy = trained.learner.prepare(trained.collect()), trained.policy
    state = policy.initial_state(1)
    with torch.no_grad():
        for _ in range(6):  # five steps, then the observation the episode was cut at
            _, value, state = policy.step({"obs": torch.ones(1, 1)}, state)
    assert rollout.truncated[4].all()
    assert rollout.final_values[4] == pytest.approx(float(value), abs=1e-6)


def test_rollouts_taken_up_go_on_with_the_same_numbers():
    first, second = (bench(lambda: Walk(ends=0.1), net=LSTM) for _ in range(2))
    first.returns(2)
    second.policy.load_state_dict(first.policy.state_dict())
    one, other = (Rollouts(b.pool, b.learner, b.n_steps, 1) for b in (first, second))
    other.load_state(one.state())
    found, again = one.play(), other.play()
    assert np.array_equal(found.params, again.params)
    assert np.array_equal(found.value, again.value)
    assert np.array_equal(found.drawn, again.drawn)


def test_a_mask_without_any_action_is_refused_by_slot():
    class Shut(Locks):
        def _show(self):
            shown = super()._show()
            shown["action_mask"][:] = 0
            return shown

    with pytest.raises(EnvError, match="slot 0 shows an action_mask that allows no action"):
        bench(Shut).collect()


def test_a_single_actor_has_memory_within_an_episode_and_none_across():
    policy = bench(lambda: Walk(spaces.Box(-1, 1, (2,), np.float32)), net=LSTM).policy
    torch.nn.init.normal_(policy.actor[-1].weight, std=3.0)
    actor = SingleActor(policy, seed=3)
    seen = {"obs": np.ones(2, np.float32)}
    start = actor._state.memory.copy()
    actor(seen)
    assert (actor._state.memory != start).any()
    actor.begin()
    assert (actor._state.memory == start).all()


def test_a_single_actor_repeats_itself_for_the_same_seed_and_takes_the_likeliest_if_asked():
    policy = bench(Walk).policy
    shown = [{"obs": np.full(6, n / 10, np.float32)} for n in range(30)]
    first, second = SingleActor(policy, seed=1), SingleActor(policy, seed=1)
    assert [first(rows) for rows in shown] == [second(rows) for rows in shown]
    likeliest = SingleActor(policy, deterministic=True)
    with torch.no_grad():
        wanted = [int(policy({"obs": torch.from_numpy(rows["obs"])[None]})[0].argmax()) for rows in shown]
    assert [likeliest(rows) for rows in shown] == wanted


def test_what_belongs_to_another_training_is_not_taken_up():
    trained, other = bench(Walk, net=LSTM, scaler=ReturnScaler(16, 0.9)), bench(Walk, n_envs=8)
    trained.returns(1)
    rollouts = Rollouts(trained.pool, trained.learner, trained.n_steps, 1)
    state, learned = rollouts.state(), trained.learner.state()
    with pytest.raises(ModelFileError, match=r"memory of shape \(3, 16\), wanted \(16, 16\)"):
        rollouts.load_state({**state, "memory": np.zeros((3, 16), np.float32)})
    with pytest.raises(ModelFileError, match=r"memory of shape \(16, 0\)"):
        rollouts.load_state({name: array for name, array in state.items() if name != "memory"})
    with pytest.raises(ModelFileError, match="no return scale"):
        trained.learner.load_state({**learned, "running_returns": torch.zeros(3)})
    with pytest.raises(ModelFileError, match="does not belong to this network"):
        other.learner.load_state(learned)
    with pytest.raises(ModelFileError, match="no state of the shuffle"):
        other.learner.load_state({})


def test_a_learner_taken_up_goes_on_with_the_same_weights():
    first, second = (bench(lambda: Walk(ends=0.1), scaler=ReturnScaler(16, 0.99)) for _ in range(2))
    first.returns(2)
    second.policy.load_state_dict(first.policy.state_dict())
    second.learner.load_state(first.learner.state())
    block = first.collect()
    first.learner.update(block)
    second.learner.update(block)
    for one, other in zip(first.policy.parameters(), second.policy.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("net", [NetSettings(hidden=(16,)), LSTM], ids=["vectors", "memory"])
@pytest.mark.parametrize("n_groups", [1, 2])
def test_a_policy_that_acts_in_the_trainer_plays_the_same_rollout(net, n_groups):
    """As one on a graphics card does, over the same block."""
    beside, here = (bench(lambda: Walk(ends=0.1), net=net, n_groups=n_groups, n_steps=12) for _ in range(2))
    for _ in range(2):
        wanted = beside.collect()
        here.pool.make_room(12, here.learner.actor())
        chooses = [acting(here.policy, 1, range(*part.indices(16))) for part in here.pool.parts]
        found = here.pool.play_here(chooses, 12)
        assert np.array_equal(found.drawn, wanted.drawn)
        assert np.array_equal(found.reward, wanted.reward)
        assert np.allclose(found.params, wanted.params, atol=1e-6)
        assert np.allclose(found.memory, wanted.memory, atol=1e-6)
