"""The policy beside the envs chooses as the network that learns does."""

import subprocess
import sys

import cloudpickle
import numpy as np
import pytest
import torch
from gymnasium import spaces

from parcade.errors import EnvError
from parcade.learn.actors import actor_for, actor_weights, worker_modules
from parcade.learn.encoders import LeafShape
from parcade.learn.normalise import RunningMoments
from parcade.learn.policy import NetSettings, Policy
from parcade.learn.sampling import EpisodeNoise, sampler_for
from parcade.learn.torch_actor import TorchActor
from parcade.learn.vector_actor import VectorActor
from parcade.pool.actor import ActorRows

LEAVES = {"near": ((5,), "float32"), "far": ((2, 3), "int16")}
CHOICES = {
    "state": LeafShape((), "int64", ((7, 2),)),
    **LEAVES,
    "pair": LeafShape((2,), "int64", ((3, 0), (4, -1))),
}
STEPS, SLOTS = 6, 21


def policy_of(leaves=LEAVES, actions=spaces.Discrete(4), **net):  # noqa: B008
    torch.manual_seed(3)
    policy = Policy(leaves, actions, NetSettings(**{"hidden": (16, 12), **net}))
    torch.nn.init.normal_(policy.actor[-1].weight, std=0.3)
    return policy


def rows_of(leaves=LEAVES, slots=SLOTS):
    rng = np.random.default_rng(0)
    rows = {name: (rng.normal(size=(slots, *leaf[0])) * 3).astype(leaf[1]) for name, leaf in leaves.items()}
    for name, leaf in leaves.items():
        for at, (n, start) in enumerate(LeafShape(*leaf).choices):
            rows[name].reshape(slots, -1)[:, at] = rng.integers(start, start + n, slots)
    if "action_mask" in rows:
        rows["action_mask"] = rng.integers(0, 2, rows["action_mask"].shape).astype(np.int8)
        rows["action_mask"][:, 1] = 1
    return rows


def actor_rows(actor, obs, step=0, memory=None):
    """Return rows as a block hands them out; every slot is in an episode of its own."""
    shape, n = actor.shape, len(next(iter(obs.values())))
    memory = np.zeros((n, shape.state_size), np.float32) if memory is None else memory
    drawn = np.zeros((n, *shape.drawn_shape), shape.drawn_dtype)
    params, value = np.zeros((n, shape.n_params), np.float32), np.zeros(n, np.float32)
    seeds, steps = np.arange(100, 100 + n), np.full(n, step)
    return ActorRows(step, obs, seeds, steps, memory, np.zeros_like(memory), params, value, drawn)


def choices(policy, rows, slots=range(SLOTS), seed=9, **options):
    actor = cloudpickle.loads(cloudpickle.dumps(actor_for(policy, **options)))
    choose = actor.prepare(actor_weights(policy), seed, slots)
    part = {name: array[slots.start : slots.stop] for name, array in rows.items()}
    found = []
    for step in range(STEPS):
        shown = actor_rows(actor, part, step)
        shown.episode_seed[:] += slots.start
        found.append(choose(shown))
    return np.stack(found)


def noise(policy, seed):
    """The noise of every slot, drawn as an actor must."""
    drawn = EpisodeNoise(sampler_for(policy.action_space, policy.net.box), seed, SLOTS)
    return [drawn.at(np.arange(100, 100 + SLOTS), np.full(SLOTS, step)) for step in range(STEPS)]


@pytest.mark.parametrize(
    ("leaves", "net"),
    [
        (LEAVES, {}),
        (LEAVES, {"activation": "relu"}),
        (LEAVES, {"hidden": ()}),
        (LEAVES, {"normalize_obs": True}),
        ({**LEAVES, "action_mask": ((4,), "int8")}, {}),
        (CHOICES, {}),
        (CHOICES, {"normalize_obs": True}),
    ],
    ids=["tanh", "relu", "no hidden layer", "normalised", "masked", "choices", "choices and normalised"],
)
def test_a_choice_is_the_largest_logit_plus_noise(leaves, net):
    policy, rows = policy_of(leaves, **net), rows_of(leaves)
    for module in policy.modules():
        if isinstance(module, RunningMoments):
            module.observe(torch.randn(50, module.mean.numel()) * 2 + 1)
    with torch.no_grad():
        logits = policy({name: torch.from_numpy(array) for name, array in rows.items()})[0].numpy()
    wanted = np.stack([(logits + drawn).argmax(-1) for drawn in noise(policy, 9)])
    found = choices(policy, rows)
    assert (found == wanted).all()
    assert len(set(found.ravel())) > 2
    if "action_mask" in rows:
        assert np.take_along_axis(rows["action_mask"], found.T, 1).all()


def test_choices_do_not_depend_on_who_runs_which_slots():
    policy, rows = policy_of(), rows_of()
    together = choices(policy, rows)
    for shares in ([range(10), range(10, 21)], [range(1), range(1, 9), range(9, 21)]):
        apart = np.concatenate([choices(policy, rows, slots) for slots in shares], 1)
        assert (apart == together).all()


def test_a_row_alone_gets_the_parameters_it_gets_among_others():
    """To the bit: the products are of the same number of rows whoever asks."""
    policy = policy_of({"obs": ((92,), "float32")}, hidden=(128, 128))
    rows = {"obs": np.random.default_rng(1).normal(size=(16, 92)).astype(np.float32)}
    actor = actor_for(policy)
    together = actor_rows(actor, rows)
    actor.prepare(actor_weights(policy), 0, range(16))(together)
    for slot in range(16):
        alone = actor_rows(actor, {"obs": rows["obs"][slot : slot + 1]})
        actor.prepare(actor_weights(policy), 0, range(1))(alone)
        assert (alone.params[0] == together.params[slot]).all()


def test_another_seed_draws_other_actions_and_the_same_the_same():
    policy, rows = policy_of(), rows_of()
    assert (choices(policy, rows) == choices(policy, rows)).all()
    assert (choices(policy, rows) != choices(policy, rows, seed=10)).any()


def test_choices_come_as_often_as_the_policy_says():
    policy, rows = policy_of(), rows_of()
    first = {name: np.repeat(array[:1], 2000, 0) for name, array in rows.items()}
    actor = actor_for(policy)
    counts = np.bincount(actor.prepare(actor_weights(policy), 0, range(2000))(actor_rows(actor, first)), minlength=4)
    with torch.no_grad():
        shown = policy({name: torch.from_numpy(array[:1]) for name, array in rows.items()})[0].softmax(-1)[0]
    assert counts / 2000 == pytest.approx(shown.numpy(), abs=0.05)


def test_choices_begin_where_the_space_begins():
    policy = policy_of(actions=spaces.Discrete(4, start=7))
    found = choices(policy, rows_of())
    assert found.min() >= 7
    assert found.max() <= 10


def test_a_mask_without_any_action_is_refused_by_slot():
    leaves = {**LEAVES, "action_mask": ((4,), "int8")}
    policy, rows = policy_of(leaves), rows_of(leaves)
    rows["action_mask"][12] = 0
    with pytest.raises(EnvError, match="slot 12 shows an action_mask that allows no action"):
        choices(policy, rows, range(10, 21))


ALL_KINDS = {
    "small": ({"screen": ((1, 24, 24), "uint8")}, spaces.Discrete(4), {}),
    "nature": ({"screen": ((4, 40, 40), "uint8")}, spaces.Discrete(4), {"cnn": "nature"}),
    "pooled": ({"screen": ((1, 24, 24), "uint8")}, spaces.Discrete(4), {"cnn": "pooled"}),
    "impala": ({"screen": ((1, 24, 24), "uint8")}, spaces.Discrete(4), {"cnn": "impala"}),
    "both": ({"screen": ((1, 24, 24), "uint8"), **LEAVES}, spaces.Discrete(4), {}),
    "memory": (LEAVES, spaces.Discrete(4), {"lstm": 8}),
    "masked memory": ({**LEAVES, "action_mask": ((4,), "int8")}, spaces.Discrete(4), {"lstm": 8}),
    "several choices": (LEAVES, spaces.MultiDiscrete([3, 2]), {}),
    "switches": (LEAVES, spaces.MultiBinary(3), {}),
    "gaussian": (LEAVES, spaces.Box(-1, 1, (2,)), {}),
    "beta": (LEAVES, spaces.Box(-1, 1, (2,)), {"box": "beta"}),
    "normalised gaussian": (LEAVES, spaces.Box(-1, 1, (2,)), {"normalize_obs": True}),
    "beta from pictures": ({"screen": ((1, 24, 24), "uint8")}, spaces.Box(-1, 1, (3,)), {"box": "beta"}),
}


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_policy_acts_beside_the_envs_whoever_runs_which_slots(kind):
    leaves, actions, net = ALL_KINDS[kind]
    policy = policy_of(leaves, actions, **net)
    rows = rows_of(leaves)
    if "screen" in rows:
        rows["screen"] = np.random.default_rng(2).integers(0, 256, rows["screen"].shape).astype(np.uint8)
    together = choices(policy, rows)
    apart = np.concatenate([choices(policy, rows, slots) for slots in (range(10), range(10, 12), range(12, 21))], 1)
    assert (apart == together).all()
    assert (
        policy.action_space.contains(together[0, 0].astype(policy.action_space.dtype)) or np.ndim(together[0, 0]) == 0
    )
    likeliest = choices(policy, rows, deterministic=True)
    assert (likeliest == likeliest[0]).all()


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_it_acts_on_the_parameters_and_values_of_the_network(kind):
    leaves, actions, net = ALL_KINDS[kind]
    policy = policy_of(leaves, actions, **net)
    rows, actor = rows_of(leaves), actor_for(policy)
    if policy.log_std is not None:
        torch.nn.init.normal_(policy.log_std, std=0.3)
    shown = actor_rows(actor, rows)
    shown.memory[:] = 7.0  # of an episode that is over: forgotten at the start of the next
    actor.prepare(actor_weights(policy), 3, range(SLOTS))(shown)
    with torch.no_grad():
        tensors = {name: torch.from_numpy(array) for name, array in rows.items()}
        params, values, after = policy.step(tensors, policy.initial_state(SLOTS))
    # The network sees 21 rows at once, the actor sees them in groups: the CPU's kernels may add in another order, and
    # a deep network shows it in the sixth digit on some CPUs.
    assert np.allclose(shown.params, params.numpy(), atol=2e-5)
    if actor.shape.has_values:
        assert np.allclose(shown.value, values.numpy(), atol=2e-5)
        assert np.allclose(shown.memory_after, after.numpy(), atol=2e-5)


def test_workers_need_torch_for_pictures_and_memory_only():
    code = "import parcade.learn.vector_actor, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    for leaves, actions, net in ALL_KINDS.values():
        policy, needs_torch = policy_of(leaves, actions, **net), "screen" in leaves or "lstm" in net
        assert isinstance(actor_for(policy), TorchActor if needs_torch else VectorActor)
        assert worker_modules(policy) == worker_modules(needs_torch=needs_torch)
    assert worker_modules(needs_torch=True) == ("parcade.learn.torch_actor",)
    assert worker_modules() == ()


def test_the_number_of_weights_is_known_before():
    for leaves, actions, net in ALL_KINDS.values():
        policy = policy_of(leaves, actions, **net)
        assert len(actor_weights(policy)) == actor_for(policy).shape.n_weights
