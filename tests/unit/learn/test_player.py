"""The policy beside the envs chooses as the network that learns does."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from gymnasium import spaces

from parcade.errors import EnvError
from parcade.learn.encoders import LeafShape
from parcade.learn.normalise import RunningMoments
from parcade.learn.player import CategoricalPlayer
from parcade.learn.policy import NetSettings, Policy

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


def choices(policy, rows, slots=range(SLOTS), seed=9):
    choose = policy.player().prepare(policy.player_weights(), seed, slots, STEPS)
    part = {name: array[slots.start : slots.stop] for name, array in rows.items()}
    return np.stack([choose(step, part) for step in range(STEPS)])


def noise(seed, n):
    """The Gumbel noise of every slot, drawn as the player must."""
    drawn = [np.random.Generator(np.random.Philox(key=[seed, slot])) for slot in range(SLOTS)]
    return np.stack([-np.log(generator.standard_exponential((STEPS, n))) for generator in drawn], 1)


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
    wanted = (logits + noise(9, 4)).argmax(-1)
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


def test_a_row_alone_gets_the_logits_it_gets_among_others():
    """To the bit: the products are of the same number of rows whoever asks."""
    policy = policy_of({"obs": ((92,), "float32")}, hidden=(128, 128))
    rows = np.random.default_rng(1).normal(size=(16, 92)).astype(np.float32)
    scale, layers = policy.player()._split(policy.player_weights())
    assert scale is None
    weight = layers[0][0]
    for first in range(8):
        moved = np.roll(rows[:8], first, 0)
        assert (np.roll(moved @ weight, -first, 0) == rows[:8] @ weight).all()


def test_another_seed_draws_other_actions_and_the_same_the_same():
    policy, rows = policy_of(), rows_of()
    assert (choices(policy, rows) == choices(policy, rows)).all()
    assert (choices(policy, rows) != choices(policy, rows, seed=10)).any()


def test_choices_come_as_often_as_the_policy_says():
    policy, rows = policy_of(), rows_of()
    first = {name: np.repeat(array[:1], 2000, 0) for name, array in rows.items()}
    choose = policy.player().prepare(policy.player_weights(), 0, range(2000), 1)
    counts = np.bincount(choose(0, first), minlength=4) / 2000
    with torch.no_grad():
        shown = policy({name: torch.from_numpy(array[:1]) for name, array in rows.items()})[0].softmax(-1)[0]
    assert counts == pytest.approx(shown.numpy(), abs=0.05)


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


@pytest.mark.parametrize(
    ("leaves", "actions", "net"),
    [
        ({"screen": ((1, 24, 24), "uint8")}, spaces.Discrete(4), {}),
        (LEAVES, spaces.Discrete(4), {"lstm": 8}),
        (LEAVES, spaces.MultiDiscrete([3, 2]), {}),
        (LEAVES, spaces.Box(-1, 1, (2,)), {}),
    ],
    ids=["pictures", "memory", "several choices", "continuous"],
)
def test_what_is_too_much_for_workers_has_no_player(leaves, actions, net):
    assert policy_of(leaves, actions, **net).player() is None


def test_a_worker_can_run_it_without_torch():
    code = "import parcade.learn.player, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_number_of_weights_is_known_before():
    for net in ({}, {"normalize_obs": True}, {"hidden": ()}):
        policy = policy_of(**net)
        assert isinstance(policy.player(), CategoricalPlayer)
        assert len(policy.player_weights()) == policy.player().n_weights
