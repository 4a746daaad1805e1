"""What Parcade relies on in a game, checked on the game named by --parcade-game."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import pytest

from parcade.console.registry import open_console
from parcade.env.make import find_rom, make_game, read_save_states
from parcade.env.spec import EnvSpec
from parcade.game.base import Game
from parcade.game.milestone import milestone_faults
from parcade.testing.episode import CountingMemory, Examiner, Moment

SEED, OTHER_SEED = 7, 8
MOST_READS, MOST_BYTES = 64, 16_384  # of one read(): about 60 us on the slowest console


@pytest.fixture(scope="module")
def spec(request: pytest.FixtureRequest) -> EnvSpec:
    """What the options name."""
    option = request.config.getoption
    try:
        name = option("--parcade-game")
    except ValueError:
        pytest.fail("the options of these tests are not there; add -p parcade.testing.plugin to the command")
    if not name:
        pytest.skip("no game was named; add --parcade-game my_game:MyGame --parcade-rom rom.gb")
    rom, state, console = option("--parcade-rom"), option("--parcade-state"), option("--parcade-console")
    return EnvSpec(game=name, rom=rom, state=state, console=console)


@pytest.fixture(scope="module")
def game(spec: EnvSpec) -> Game[Any, Any]:
    """The game under test."""
    return make_game(spec)


@pytest.fixture(scope="module")
def examiner(request: pytest.FixtureRequest, spec: EnvSpec, game: Game[Any, Any]) -> Iterator[Examiner]:
    """The game on its console."""
    console = open_console(find_rom(spec, game), spec.console)
    yield Examiner(console, game, read_save_states(spec.state), request.config.getoption("--parcade-steps"))
    console.close()


@pytest.fixture(scope="module")
def moments(examiner: Examiner, game: Game[Any, Any]) -> list[Moment]:
    """One episode, from its start on."""
    missing = [name for action in game.actions for name in action.buttons if name not in examiner.console.buttons]
    if missing:
        pytest.fail(f"no episode can be played: the console has no button {missing[0]!r}")
    return examiner.episode(SEED)


def test_the_class_says_what_the_game_is(game: Game[Any, Any]) -> None:
    """Every class attribute a title must fill is filled, without doubles."""
    assert isinstance(game, Game), f"{type(game).__name__} is no parcade.game.base.Game"
    for name in ("name", "title", "system", "actions", "feature_names", "metric_names", "reward_weights"):
        assert getattr(game, name, None), f"{type(game).__name__}.{name} is missing or empty"
    assert game.system in ("gb", "gba"), f"system is {game.system!r}, wanted gb or gba"
    assert game.frame_skip >= 1, f"frame_skip is {game.frame_skip}, wanted 1 or more"
    assert game.max_steps >= 1, f"max_steps is {game.max_steps}, wanted 1 or more"
    action_names = [action.name for action in game.actions]
    for what, names in (("action", action_names), ("feature", game.feature_names), ("metric", game.metric_names)):
        doubles = sorted({name for name in names if list(names).count(name) > 1})
        assert not doubles, f"{what} names stand twice: {', '.join(doubles)}"


def test_the_console_has_the_buttons_of_all_actions(game: Game[Any, Any], examiner: Examiner) -> None:
    """No action names a button that is not there."""
    buttons = examiner.console.buttons
    for action in game.actions:
        for name in action.buttons:
            assert name in buttons, f"action {action.name!r} holds {name!r}; the console has {', '.join(buttons)}"


def test_a_seed_alone_decides_an_episode(examiner: Examiner, moments: list[Moment]) -> None:
    """The same seed and actions give the same episode, whatever was played before."""
    examiner.episode(OTHER_SEED)
    again = examiner.episode(SEED)
    assert len(again) == len(moments), f"seed {SEED} took {len(moments) - 1} steps, then {len(again) - 1}"
    for step, (first, second) in enumerate(zip(moments, again, strict=True)):
        different = np.flatnonzero(~np.isclose(first.features, second.features, rtol=0, atol=0, equal_nan=True))
        names = [examiner.game.feature_names[index] for index in different]
        assert not names, f"step {step} of seed {SEED} differs the second time in {', '.join(names)}"
        assert first.parts == second.parts, f"step {step} of seed {SEED} has other rewards the second time"
        assert first.metrics == second.metrics, f"step {step} of seed {SEED} has other metrics the second time"


def test_features_fill_the_vector_with_finite_numbers(game: Game[Any, Any], moments: list[Moment]) -> None:
    """Every feature is written at every step, as float32 in place."""
    for step, moment in enumerate(moments):
        assert moment.features.dtype == np.float32
        bad = [game.feature_names[index] for index in np.flatnonzero(~np.isfinite(moment.features))]
        assert not bad, f"step {step}: features not written, or not finite: {', '.join(bad)}"


def test_features_are_about_one(game: Game[Any, Any], moments: list[Moment]) -> None:
    """A network learns badly from a feature in the hundreds; scale it."""
    largest = np.abs([moment.features for moment in moments]).max(axis=0)
    big = [f"{name} reaches {value:.0f}" for name, value in zip(game.feature_names, largest, strict=True) if value > 20]
    assert not big, f"scale to about -1 to 1: {', '.join(big)}"


def test_something_is_seen_to_move(moments: list[Moment]) -> None:
    """If no feature ever changes, the addresses are wrong or the game waits in a title screen."""
    first = moments[0].features
    assert any(not np.array_equal(moment.features, first, equal_nan=True) for moment in moments), (
        f"no feature changed in {len(moments) - 1} steps of random play; are the addresses right, does start() "
        "reach the first moment of control?"
    )


def test_reward_parts_are_known(game: Game[Any, Any], moments: list[Moment]) -> None:
    """Each part has a weight and is a finite number."""
    for step, moment in enumerate(moments):
        for name, value in moment.parts.items():
            assert name in game.reward_weights, f"step {step}: reward part {name!r} has no weight in reward_weights"
            assert np.isfinite(value), f"step {step}: reward part {name!r} is {value}"


def test_reward_depends_on_its_arguments_only(game: Game[Any, Any], moments: list[Moment]) -> None:
    """The same progress and states give the same parts and the same record."""
    for step, moment in enumerate(moments[1:], 1):
        progress = _copy(moment.progress_before)
        assert game.reward(progress, moment.before, moment.state) == moment.parts, f"step {step}: other parts"
        assert progress == moment.progress, f"step {step}: reward left another record the second time"


def test_progress_is_plain_data(moments: list[Moment]) -> None:
    """The record is a dict of numbers, strings and lists; JSON has no sets, tuples or numpy numbers."""
    for step, moment in enumerate(moments):
        try:
            back = _copy(moment.progress)
        except TypeError as error:
            pytest.fail(f"step {step}: progress cannot be written as JSON: {error}")
        assert back == moment.progress, f"step {step}: progress comes back from JSON as {back}, was {moment.progress}"


def test_over_is_a_bool_and_an_episode_lasts(moments: list[Moment]) -> None:
    """over() answers with True or False, and False at the start."""
    for step, moment in enumerate(moments):
        assert isinstance(moment.over, bool), f"step {step}: over() returned {type(moment.over).__name__}, wanted bool"
    assert not moments[0].over, "the episode is over before its first step"


def test_metrics_have_the_names_they_promise(game: Game[Any, Any], moments: list[Moment]) -> None:
    """metrics() returns exactly metric_names, all finite; success is 0 or 1."""
    for step, moment in enumerate(moments):
        assert set(moment.metrics) == set(game.metric_names), (
            f"step {step}: {sorted(moment.metrics)} are not metric_names"
        )
        for name, value in moment.metrics.items():
            assert np.isfinite(value), f"step {step}: metric {name!r} is {value}"
        assert moment.metrics.get("success", 0) in (0, 1), f"step {step}: success is {moment.metrics['success']}"


def test_place_cell_and_words_are_plain(game: Game[Any, Any], moments: list[Moment]) -> None:
    """place() is a map's name, a column and a row; cell() is hashable; describe() is text; each may be None."""
    for step, moment in enumerate(moments):
        place, cell, words = game.place(moment.state), game.cell(moment.state), game.describe(moment.state)
        assert place is None or [type(part) for part in place] == [str, int, int], f"step {step}: place is {place!r}"
        assert isinstance(cell, Hashable), f"step {step}: cell is {cell!r}, which cannot be a key"
        assert words is None or (isinstance(words, str) and words), f"step {step}: describe returned {words!r}"


def test_fields_and_milestones_fit(game: Game[Any, Any], moments: list[Moment]) -> None:
    """Every field is a number within its range at every step; every milestone has a condition on these fields."""
    faults = list(milestone_faults(game.milestones, game.fields))
    assert not faults, "; ".join(faults)
    names = [milestone.name for milestone in game.milestones]
    assert game.success_milestone in (None, *names), f"success_milestone is {game.success_milestone!r}, not in {names}"
    for step, moment in enumerate(moments):
        for name, meaning in game.fields.items():
            value = meaning.reader(name)(moment.progress if meaning.count is not None else moment.state)
            assert meaning.low <= value <= meaning.high, f"step {step}: field {name} is {value}, not {meaning.range}"


def test_reading_changes_nothing_and_asks_for_little(game: Game[Any, Any], examiner: Examiner) -> None:
    """read() gives the same twice, and asks the console few times: it runs at every step of every game."""
    examiner.start(SEED)
    memory = CountingMemory(examiner.console)
    assert game.read(memory) == game.read(examiner.console), "two reads of the same memory differ"
    assert memory.calls <= MOST_READS, f"read() asks memory {memory.calls} times; read neighbours as one range"
    assert memory.n_bytes <= MOST_BYTES, f"read() asks for {memory.n_bytes} bytes; read less"


def _copy(progress: Any) -> Any:
    return json.loads(json.dumps(progress))
