"""A guide in an env, a pool, a training and an evaluation: what it pays, what it shows, what it leaves alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from actors import Wayfarer
from pool_support import no_leaks  # noqa: F401

from parcade import evaluate, train
from parcade.api import make_env, make_pool
from parcade.cli.main import main
from parcade.config.settings import make_settings
from parcade.env.judged import evaluated_as
from parcade.env.spec import EnvSpec
from parcade.errors import ModelFileError, SettingsError
from parcade.game.lantern import Lantern
from parcade.run.model_file import load_model, save_model

BLOCK = 0xC100
GUIDE = {
    "milestones": [
        {"name": "room", "when": "rooms_seen_total >= 2", "reward": 0.5},
        {"name": "key", "when": "keys_taken >= 1", "reward": 2, "hint": "take the key"},
        {"name": "door", "when": "doors_opened >= 1", "reward": 3},
        {"name": "coin", "when": "increased(coins)", "reward": 0.25, "after": []},
    ]
}
N_FEATURES = len(Lantern.feature_names)
SMALL = {"n_envs": 2, "n_workers": 0, "n_steps": 32, "batch_size": 32, "hidden": (8,), "video": False, "max_steps": 40}


def poke(env: Any, **changes: int) -> None:
    """Have the game remember something that did not happen."""
    places = {"rooms_seen_total": 27, "keys_taken": 29, "doors_opened": 30, "coins": 18}
    for name, value in changes.items():
        env.console.write(BLOCK + places[name], bytes([value]))


def test_each_milestone_pays_once_in_its_order_and_the_features_tell_the_next() -> None:
    env, plain = make_env("lantern", guide=GUIDE), make_env("lantern")
    first = env.reset(seed=3)[0]
    assert first.shape == (N_FEATURES + 4,)
    np.testing.assert_array_equal(first[:N_FEATURES], plain.reset(seed=3)[0])
    assert first[N_FEATURES:].tolist() == [1, 0, 0, 1]
    paid = []
    for changes in (
        {},
        {"doors_opened": 1},
        {"rooms_seen_total": 2},
        {"keys_taken": 1},
        {"coins": 1},
        {"keys_taken": 2},
    ):
        poke(env, **changes)
        poke(plain, **changes)
        (seen, reward, *_, info), (own, own_reward, *_) = env.step(0), plain.step(0)
        np.testing.assert_array_equal(seen[:N_FEATURES], own)
        paid.append(info["reward_parts"].get("guide", 0.0))
        assert reward == own_reward + paid[-1]
    assert paid == [0, 0, 0.5, 2 + 3, 0.25, 0]  # the door was open already when the key came
    assert seen[N_FEATURES:].tolist() == [-1, -1, -1, -1]
    assert [info["metrics"][f"guide_{name}"] for name in ("room", "key", "door", "coin")] == [1, 1, 1, 1]
    again = env.reset(seed=3)[0]
    np.testing.assert_array_equal(again, first)
    env.close()
    plain.close()


def test_the_return_without_the_guide_is_a_metric() -> None:
    env = make_env("lantern", guide=GUIDE, reward_weights={"guide": 2.0, "step": -0.5})
    env.reset(seed=3)
    poke(env, rooms_seen_total=2)
    _, reward, *_, info = env.step(0)
    assert info["reward_parts"]["guide"] == 1.0
    assert info["metrics"]["raw_return"] == pytest.approx(reward - 1.0)
    assert env.metric_names[-5:] == ("guide_room", "guide_key", "guide_door", "guide_coin", "raw_return")
    env.close()


def test_what_a_start_state_has_is_reached_and_pays_nothing(tmp_path: Path) -> None:
    env = make_env("lantern")
    env.reset(seed=1)
    poke(env, rooms_seen_total=2, keys_taken=1)
    (tmp_path / "key.state").write_bytes(env.console.save())
    env.close()
    later = make_env("lantern", guide=GUIDE, state=str(tmp_path / "key.state"))
    assert later.reset(seed=1)[0][N_FEATURES:].tolist() == [-1, -1, 1, 1]
    assert "guide" not in later.step(0)[4]["reward_parts"]
    later.close()


def test_beside_pixels_the_guide_is_a_leaf_of_its_own() -> None:
    env = make_env("lantern", guide=GUIDE, observation="pixels")
    seen, _ = env.reset(seed=3)
    assert sorted(seen) == ["guide", "pixels"]
    assert seen["guide"].tolist() == [1, 0, 0, 1]
    assert env.observation_space.contains(seen)
    poke(env, rooms_seen_total=2)
    assert env.step(0)[0]["guide"].tolist() == [-1, 1, 0, 1]
    env.close()
    both = make_env("lantern", guide=GUIDE, observation="both")
    assert both.reset(seed=3)[0]["features"].shape == (N_FEATURES + 4,)
    both.close()


def test_pools_count_it_the_same_for_any_number_of_workers() -> None:
    told = []
    for n_workers in (0, 2):
        with make_pool("lantern", 3, n_workers=n_workers, seed=4, max_steps=100, guide=GUIDE) as pool:
            pool.reset()
            actor = Wayfarer(Lantern.feature_names.index("way_up"))
            block = pool.play(actor, np.zeros(0, np.float32), 1, 120)
            told.append((block.episodes(), block.reward.tobytes(), pool.status["guide"].tolist()))
    assert told[0] == told[1]
    assert sum(episode.metrics["guide_room"] for episode in told[0][0]) >= 1


def test_the_spec_carries_the_guide_as_plain_data() -> None:
    spec = EnvSpec(game="lantern", guide=GUIDE)
    assert EnvSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    judged = evaluated_as(spec)
    assert [milestone["reward"] for milestone in judged.guide["milestones"]] == [0] * 4
    with pytest.raises(SettingsError, match="guide is for games, not for the Gymnasium env CartPole-v1"):
        EnvSpec(env_id="CartPole-v1", guide=GUIDE)
    with pytest.raises(SettingsError, match="the env spec's guide is 3"):
        EnvSpec.from_dict({"game": "lantern", "guide": 3})


def test_a_training_keeps_its_guide_and_its_model_plays_with_it(tmp_path: Path) -> None:
    file = tmp_path / "guide.json"
    file.write_text(json.dumps(GUIDE))
    done = train(
        game="lantern", guide=str(file), total_timesteps=128, log_root=str(tmp_path), final_eval_episodes=2, **SMALL
    )
    file.unlink()
    config = json.loads(Path(done.run_dir, "config.json").read_text())
    assert config["guide"] == GUIDE
    row = json.loads(Path(done.run_dir, "metrics.jsonl").read_text().splitlines()[0])
    assert {"guide_room", "guide_coin", "raw_return"} <= set(row["game"])
    assert "guide_key" in row["running"]
    assert list(done.milestones)[-4:] == ["guide_room", "guide_key", "guide_door", "guide_coin"]
    judged = evaluate(done.model, episodes=2, n_workers=0)
    for episode in judged.episodes:
        assert episode.metrics["raw_return"] == pytest.approx(episode.total_reward)
    assert "guide_key" in judged.shares
    _refuses_a_damaged_guide(Path(done.model))


def _refuses_a_damaged_guide(path: Path) -> None:
    model = load_model(path)
    for guide, words in (({"milestones": 3}, "milestones is 3"), (_other_fields(), "there is no field 'money'")):
        meta = {**model.meta, "env": {**model.meta["env"], "guide": guide}}
        save_model(path, model.weights, meta)
        with pytest.raises((SettingsError, ModelFileError), match=words):
            evaluate(path, episodes=1, n_workers=0)


def _other_fields() -> dict[str, Any]:
    return {"milestones": [{**milestone, "when": "money > 3"} for milestone in GUIDE["milestones"]]}


YAML_BOMB = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("milestones", "must hold `key: value` lines, it holds a str"),
        ("milestones: [", "is not valid"),
        (YAML_BOMB, "more than 64 aliases"),
        ("milestones: " + "[" * 2000 + "]" * 2000, "is not valid"),
        ("milestones: []\nmilestones: []", "milestones is given twice"),
        ("!!python/object/apply:os.system ['true']", "is not valid"),
        ("milestones:\n- {name: a, when: 'kyes > 1'}", r"no field 'kyes' \(did you mean 'keys'\?\)"),
        ("game: meadow\nmilestones:\n- {name: a, when: badge}", "it is for the game 'meadow'"),
    ],
)
def test_bad_files_are_one_sentence(text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "guide.yaml").write_text(text)
    flags = ["--guide", str(tmp_path / "guide.yaml"), "--log-root", str(tmp_path / "runs")]
    assert main(["train", "--game", "lantern", *flags]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert re.search(words, said), said
    assert not (tmp_path / "runs").exists()


def test_a_guide_is_read_when_settings_are_made(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"guide is '.*none.yaml': the guide file .* cannot be read: No such file"):
        make_settings({"game": "lantern", "guide": str(tmp_path / "none.yaml")})
    assert make_settings({"game": "lantern", "guide": GUIDE}).guide == GUIDE


def test_guide_verbs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(json.dumps({**GUIDE, "game": "lantern"}))
    bad.write_text("milestones:\n- {name: a, when: kyes > 1}\n- {name: b, when: keys > 7}\n")
    assert main(["guide", "check", str(good)]) == 0
    assert "key: keys_taken >= 1  (pays 2, after room)" in capsys.readouterr().out
    assert main(["guide", "check", str(bad), "--game", "lantern"]) == 2
    assert capsys.readouterr().out.splitlines() == [
        f"{bad}: milestone 'a': column 1: there is no field 'kyes' (did you mean 'keys'?)",
        f"{bad}: milestone 'b': it never holds (keys is 0 to 1)",
    ]
    assert main(["guide", "check", str(bad), "--game", "lantern", "--json"]) == 2
    assert len(json.loads(capsys.readouterr().out)["faults"]) == 2
    assert main(["guide", "check", str(bad)]) == 2
    assert "name the game of the guide with --game NAME" in capsys.readouterr().err
    assert main(["guide", "fields", "--game", "meadow", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fields"]["level"]["high"] == 50
    assert main(["guide", "fields", "--game", "lantern"]) == 0
    assert "keys in hand" in " ".join(capsys.readouterr().out.split())
    assert main(["guide"]) == 0
    capsys.readouterr()
    assert main(["eval", "--model", "m.zip", "--guide", str(good)]) == 2
    assert "a model plays with the guide it was trained with; --guide is for --random" in capsys.readouterr().err
