"""Meadow on a real mGBA: episodes are pure, the block is read right, rewards fire where things happen."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parcade.console.gba import GameBoyAdvance
from parcade.console.rom import builtin_rom
from parcade.env.console_env import ConsoleEnv
from parcade.env.make import make
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.game.base import FIRST_HELD_OUT_SEED
from parcade.game.meadow.state import BLOCK, FLAGS, FOE, PARTY, MeadowState
from parcade.game.meadow.title import Meadow, MeadowWithStart, game_seed

ACTIONS = [action.name for action in Meadow.actions]
WALK, TEXT, BATTLE = 2, 3, 4
HOME, MOSSWICK, NURSE, ROUTE1, ROUTE2, CRAGHAVEN = 0, 1, 2, 5, 6, 7
ATTACK, SPEED, HP = 10, 12, 2  # offsets in a monster


class Player:
    """Plays by steps of the env and remembers what they were worth."""

    def __init__(self, goal: str = "first_victory") -> None:
        self.console = GameBoyAdvance(builtin_rom("meadow.gba"))
        self.env = ConsoleEnv(self.console, Meadow(goal))
        self.start(1)

    def start(self, seed: int) -> None:
        self.observation, self.info = self.env.reset(seed=seed)
        self.parts: dict[str, float] = {}
        self.terminated = False

    @property
    def state(self) -> MeadowState:
        return self.env.game.read(self.console)

    @property
    def features(self) -> dict[str, float]:
        return dict(zip(Meadow.feature_names, self.observation.tolist(), strict=True))

    def step(self, *names: str) -> None:
        for name in names:
            self.observation, _, self.terminated, _, self.info = self.env.step(ACTIONS.index(name))
            for part, value in self.env.last_parts.items():
                self.parts[part] = self.parts.get(part, 0) + value

    def settle(self) -> None:
        """Confirm everything until the hero is in control: the first monster, FIGHT and the first move."""
        for _ in range(500):
            if self.state.mode == WALK:
                return
            self.step("a", "wait")
        raise AssertionError(f"stuck in mode {self.state.mode}")

    def walk(self, name: str, until: Callable[[MeadowState], bool]) -> None:
        for _ in range(100):
            self.settle()
            if until(self.state):
                return
            self.step(name)
        raise AssertionError(f"walking {name} ended at map {self.state.map} {self.state.x},{self.state.y}")

    def leave_house(self) -> None:
        self.step(*["down"] * 4, *["left"] * 3, "down", "wait", "wait")

    def go_to_route1(self) -> None:
        self.leave_house()
        self.walk("right", lambda s: s.x == 11)
        self.walk("up", lambda s: s.map == ROUTE1)

    def meet_wild_monster(self) -> None:
        self.go_to_route1()
        self.walk("up", lambda s: s.y == 21)
        for _ in range(100):
            if self.state.mode == BATTLE:
                return
            self.step("left" if self.state.x > 9 else "right", "wait", "wait")
        raise AssertionError("nothing lives in the tall grass")

    def poke(self, offset: int, *values: int) -> None:
        self.console.write(BLOCK + offset, bytes(values))


@pytest.fixture
def player() -> Iterator[Player]:
    player = Player()
    yield player
    player.env.close()


@pytest.fixture
def traveller() -> Iterator[Player]:
    """One whose episode does not end with a victory."""
    player = Player("town")
    yield player
    player.env.close()


def random_play(env: ConsoleEnv, seed: int, steps: int) -> tuple[list[bytes], list[float]]:
    rng = np.random.default_rng(seed)
    observations, rewards = [env.reset(seed=seed)[0].tobytes()], []
    for action in rng.integers(len(ACTIONS), size=steps):
        observation, reward, *_ = env.step(action)
        observations.append(observation.tobytes())
        rewards.append(float(reward))
    return observations, rewards


def test_an_episode_depends_on_its_seed_alone(player: Player) -> None:
    first = random_play(player.env, 7, 200)
    player.start(3)
    player.meet_wild_monster()
    player.step("a")  # ends in a battle with a button down
    assert random_play(player.env, 7, 200) == first
    fresh = Player()
    assert random_play(fresh.env, 7, 200) == first
    fresh.env.close()


def test_games_of_two_seeds_differ(player: Player) -> None:
    blocks = []
    for seed in (1, 2, FIRST_HELD_OUT_SEED + 1):
        player.start(seed)
        player.meet_wild_monster()
        blocks.append(player.state.block[FOE : FOE + 32] + player.state.steps.to_bytes(4, "little"))
    assert len(set(blocks)) == 3


def test_the_first_picture_is_of_the_new_game(player: Player) -> None:
    first = player.console.screen()[..., :3].copy()
    player.leave_house()
    player.start(1)
    assert np.array_equal(player.console.screen()[..., :3], first)
    assert first.std() > 10


def test_held_out_games_are_never_trained_on() -> None:
    seeds = [0, 1, 12345, FIRST_HELD_OUT_SEED - 1]
    trained = {game_seed(seed) for seed in seeds}
    held_out = {game_seed(FIRST_HELD_OUT_SEED + seed) for seed in seeds}
    assert len(trained) == len(held_out) == 4
    assert max(trained) < 1 << 31 <= min(held_out) <= max(held_out) < 1 << 32
    assert 1 << 31 <= game_seed(1 << 40) < 1 << 32


def test_the_game_gets_its_seed(player: Player) -> None:
    player.start(FIRST_HELD_OUT_SEED + 9)
    assert player.state.seed == 0x80000009


def test_a_step_of_walking_is_one_cell(player: Player) -> None:
    places = []
    for name in ("down", "down", "left", "left", "up", "right"):
        player.step(name)
        state = player.state
        places.append((state.x, state.y, state.facing, state.moving))
    assert places == [(10, 4, 0, 0), (10, 5, 0, 0), (9, 5, 2, 0), (8, 5, 2, 0), (8, 4, 1, 0), (9, 4, 3, 0)]
    assert player.state.steps == 6


def test_fields_and_features_at_the_start(player: Player) -> None:
    state, features = player.state, player.features
    assert (state.magic, state.version, state.mode, state.map, state.seed) == (b"MDW1", 1, WALK, HOME, 1)
    assert (state.x, state.y, state.map_w, state.map_h, state.money, state.nurse_map) == (10, 3, 15, 10, 100, NURSE)
    assert (state.flags, state.party_size, state.visited, len(state.around)) == (0, 0, 1, 25)
    assert features["mode_walk"] == features["on_home"] == features["facing_down"] == features["seen_home"] == 1
    assert features["x"] == pytest.approx(2 * 10 / 14 - 1)
    assert features["solid_1_2"] == features["solid_2_3"] == 1  # the bed's side and the wall
    assert (features["new_down"], features["new_up"], features["new_left"], features["new_right"]) == (1, 0, 1, 0)
    assert features["level"] == features["in_battle"] == 0
    assert player.info["metrics"]["maps_seen"] == player.info["metrics"]["cells_seen"] == 1


def test_the_cells_around_are_seen(player: Player) -> None:
    player.step(*["down"] * 4, *["left"] * 3)
    assert (player.state.x, player.state.y) == (7, 7)
    features = player.features
    assert features["door_3_2"] == 1
    assert features["solid_3_2"] == features["grass_3_2"] == features["talk_3_2"] == 0
    assert features["new_down"] == 1
    assert features["new_right"] == 0  # the way it came


def test_leaving_the_house_and_choosing_a_monster(player: Player) -> None:
    player.leave_house()
    assert (player.state.map, player.state.mode) == (MOSSWICK, TEXT)
    assert player.parts["new_map"] == 1
    assert player.parts["new_cell"] == player.info["metrics"]["cells_seen"] - 1 == 9
    assert player.info["metrics"]["left_house"] == 1
    assert "first_monster" not in player.parts
    assert player.features["talk_2_1"] == 1  # the Elder
    player.settle()
    own = player.state.monster(0)
    assert (own.species, own.level, own.element, own.status) == (1, 5, 1, 0)
    assert own.hp == own.max_hp > 0
    assert list(own.moves) == [2, 30, 3, 20, 0, 0, 0, 0]
    assert (player.state.party_size, player.state.orbs, player.state.potions) == (1, 5, 1)
    assert player.parts["first_monster"] == 1
    assert not {"level", "caught", "victory", "goal"} & set(player.parts)
    assert player.features["hp"] == player.features["party_hp"] == player.features["flag_first_monster"] == 1


def test_only_the_first_ten_victories_are_paid(traveller: Player) -> None:
    game, state = traveller.env.game, traveller.state
    paid = [
        game.reward(game.begin(state), state._replace(won=won), state._replace(won=won + 1)).get("victory", 0)
        for won in range(12)
    ]
    assert paid == [1] * 10 + [0] * 2


def test_the_first_victory_ends_the_episode(player: Player) -> None:
    player.start(2)  # whose first wild monster waits until the hero walks to and fro
    player.meet_wild_monster()
    assert not player.terminated
    features, state = player.features, player.state
    assert features["mode_battle"] == features["in_battle"] == features["wild"] == features["foe_hp"] == 1
    assert features["level_lead"] == pytest.approx((5 - state.foe.level) / 5)
    assert features["move_0"] == pytest.approx(40 * 2 / 240)
    assert features["move_1"] > 0
    assert features["move_2"] == features["move_3"] == 0
    for _ in range(200):
        if player.terminated:
            break
        assert player.info["metrics"]["success"] == 0
        player.step("a", "wait")
    metrics = player.info["metrics"]
    assert player.terminated
    assert metrics["success"] == metrics["first_victory"] == metrics["battles_won"] == 1
    assert (metrics["town"], metrics["badge"], metrics["maps_seen"]) == (0, 0, 3)
    assert player.parts["victory"] == player.parts["goal"] == player.parts["first_monster"] == 1
    assert player.parts["new_map"] == 2


def test_the_way_to_town(traveller: Player) -> None:
    traveller.go_to_route1()
    traveller.poke(PARTY + ATTACK, 255, 255, 255)  # attack, defense, speed
    traveller.walk("up", lambda s: s.y == 15)
    traveller.walk("right", lambda s: s.x == 11)
    traveller.walk("up", lambda s: s.y == 6)
    traveller.walk("left", lambda s: s.x == 9)
    traveller.walk("up", lambda s: s.map == ROUTE2)
    traveller.walk("up", lambda s: s.y == 9)
    assert not traveller.terminated
    traveller.walk("right", lambda s: s.map == CRAGHAVEN)
    assert traveller.terminated
    metrics = traveller.info["metrics"]
    assert metrics["town"] == metrics["success"] == 1
    assert metrics["maps_seen"] == 5
    assert metrics["level"] > 5
    assert traveller.parts["town"] == traveller.parts["goal"] == traveller.parts["trainer"] == 1  # TARO
    assert traveller.parts["level"] == metrics["level"] - 5
    assert "blackout" not in traveller.parts


def test_a_nurse_is_worth_it_only_for_the_hurt(traveller: Player) -> None:
    traveller.leave_house()
    traveller.walk("right", lambda s: s.x == 18)
    traveller.walk("up", lambda s: s.map == NURSE)
    traveller.walk("up", lambda s: s.y == 5)
    for hp, worth in ((20, False), (3, True)):
        traveller.poke(PARTY + HP, hp)
        traveller.step("wait", "a")
        traveller.settle()
        own = traveller.state.monster(0)
        assert own.hp == own.max_hp
        assert ("heal" in traveller.parts) == worth
    assert traveller.parts["heal"] == pytest.approx(1 - 3 / own.max_hp)


def test_a_blackout_is_no_journey_and_no_cure(traveller: Player) -> None:
    traveller.meet_wild_monster()
    seen = dict(traveller.parts)
    for _ in range(100):
        if traveller.state.blackouts:
            break
        if traveller.state.phase == 0:  # at the mercy of the foe's next hit
            traveller.poke(PARTY + HP, 1)
            traveller.poke(PARTY + SPEED, 0)
        traveller.step("a", "wait")
    assert traveller.state.map == NURSE
    assert traveller.parts["blackout"] == 1
    assert traveller.parts["new_map"] == seen["new_map"]
    assert traveller.parts["new_cell"] == seen["new_cell"]
    assert "heal" not in traveller.parts


def changed(state: MeadowState, party: bytes = b"", **fields: Any) -> MeadowState:
    block = state.block[:PARTY] + party + state.block[PARTY + len(party) :]
    return state._replace(block=block, **fields)


def test_parts_of_rare_events(player: Player) -> None:
    player.leave_house()
    player.settle()
    game, state = Meadow("badge"), player.state
    progress = game.begin(state)
    assert game.reward(progress, state, state) == {"step": 1}
    badge = changed(state, flags=state.flags | 1 << FLAGS["badge"])
    assert game.reward(progress, state, badge) == {"step": 1, "badge": 1, "goal": 1}
    assert game.reward(progress, badge, badge._replace(badges=1)) == {"step": 1}
    assert game.over(badge, progress)
    assert not game.over(state, progress)
    pia = changed(state, flags=state.flags | 1 << FLAGS["pia"])
    assert game.reward(progress, state, pia) == {"step": 1, "trainer": 1}
    dandel = state.block[PARTY : PARTY + 32] + bytes([4, 3, 9, 0, 9])
    caught = changed(state, dandel, party_size=2, caught=1, species_caught=state.species_caught | 1 << 4)
    assert game.reward(progress, state, caught) == {"step": 1, "caught": 1}  # its levels were not gained
    again = changed(caught, dandel + bytes(27) + dandel[32:], party_size=3, caught=2)
    assert game.reward(progress, caught, again) == {"step": 1}
    assert game.metrics(progress, again)["caught"] == 2


def test_features_are_finite_small_and_of_fixed_length(traveller: Player) -> None:
    names = Meadow.feature_names
    assert len(set(names)) == len(names) == traveller.observation.shape[0]
    rng = np.random.default_rng(0)
    traveller.meet_wild_monster()
    for action in rng.integers(len(ACTIONS), size=300):
        traveller.step(ACTIONS[action])
        assert traveller.observation.dtype == np.float32
        assert np.abs(traveller.observation).max() <= 2
        assert set(traveller.env.last_parts) <= set(Meadow.reward_weights)
        assert set(traveller.info["metrics"]) == set(traveller.env.metric_names)


def test_progress_is_plain_data(player: Player) -> None:
    player.leave_house()
    progress = player.env._progress
    assert json.loads(json.dumps(progress)) == progress


def test_an_unknown_goal_is_refused() -> None:
    with pytest.raises(SettingsError, match="did you mean 'town'"):
        Meadow("twon")


def test_with_start_the_game_is_saved_to_flash_and_saves_are_counted() -> None:
    console = GameBoyAdvance(builtin_rom("meadow.gba"))
    env, game = ConsoleEnv(console, MeadowWithStart()), MeadowWithStart()
    names = [action.name for action in game.actions]
    env.reset(seed=1)
    rng, written, flash = np.random.default_rng(4), 0, console.save_memory()
    for _ in range(12):
        for name in (*game.save_script, *rng.choice(names, 20)):  # saves, and whatever random play opens and closes
            _, _, _, _, info = env.step(names.index(name))
            if console.save_memory() != flash:
                written, flash = written + 1, console.save_memory()
    assert info["metrics"]["saves"] == written >= 6
    assert flash[:4] == b"MDWS"
    env.reset(seed=1)
    for name in game.save_script:
        env.step(names.index(name))
    flash = console.save_memory()
    for name in (*game.save_script[:9], "down", "a", "wait"):  # NO
        _, _, _, _, info = env.step(names.index(name))
    assert info["metrics"]["saves"] == 1
    assert console.save_memory() == flash
    env.close()


def test_start_is_no_action_of_the_default() -> None:
    assert "start" not in ACTIONS
    assert [action.name for action in MeadowWithStart.actions] == [*ACTIONS, "start"]
    assert MeadowWithStart.feature_names == Meadow.feature_names


def test_place_cell_and_words(player: Player) -> None:
    game, home = player.env.game, player.state
    assert game.place(home) == ("home", home.x, home.y)
    assert "In home at column" in game.describe(home)
    assert "party of 0" in game.describe(home)
    player.go_to_route1()
    route = player.state
    assert game.place(route) == ("route1", route.x, route.y)
    assert game.cell(route) != game.cell(home)
    assert "done: left house" in game.describe(route)
    assert "party of 1, best level" in game.describe(route)
    title = route._replace(mode=1)
    assert game.place(title) is game.cell(title) is None
    assert game.describe(title) == "At the title screen."


def test_a_state_that_is_given_is_where_episodes_start(player: Player, tmp_path: Path) -> None:
    player.go_to_route1()
    (tmp_path / "route1.state").write_bytes(player.console.save())
    there = player.state
    env = make(EnvSpec(game="meadow", state=str(tmp_path / "route1.state"), game_options={"goal": "town"}))
    assert isinstance(env, ConsoleEnv)
    starts = []
    for seed in (3, 4, 3):
        env.reset(seed=seed)
        state = env.game.read(env.console)
        assert (state.map, state.x, state.y, state.party_size) == (there.map, there.x, there.y, there.party_size)
        starts.append(state)
    assert starts[0] == starts[2] != starts[1]  # the seed alone decides, and tells how long to wait
    env.close()
