"""A guide on recorded episodes of Lantern: where its milestones fire, and what going back in a replay knows of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parcade.cli.main import main
from parcade.env.replay import open_replay
from parcade.env.spec import EnvSpec
from parcade.game.lantern import Lantern
from parcade.run.episodes import read_episodes
from parcade.train.demonstrations import load_demos, observations_of
from parcade.train.recording import record_bot

FIRST_WAY = Lantern.feature_names.index("way_up")
GUIDE = {
    "milestones": [
        {"name": "room", "when": "rooms_seen_total >= 2"},
        {"name": "key", "when": "keys_taken >= 1"},
        {"name": "rich", "when": "coins >= 5000"},
    ]
}


def wayfarer(env: Any) -> Any:
    """Go the way on the map; the sword now and then."""
    rng = np.random.default_rng(3)

    def act(observation: Any) -> int:
        ways = np.flatnonzero(observation[FIRST_WAY : FIRST_WAY + 4] > 0)
        return 1 + int(rng.choice(ways)) if len(ways) and rng.random() < 0.8 else int(rng.integers(1, 6))

    return act


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("episodes") / "bot.zip"
    record_bot(wayfarer, EnvSpec(game="lantern", max_steps=200), path, episodes=2)
    return path


@pytest.fixture
def guide(tmp_path: Path) -> Path:
    path = tmp_path / "guide.json"
    path.write_text(json.dumps(GUIDE))
    return path


def test_it_tells_where_each_milestone_fires(recording: Path, guide: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guide", "test", str(guide), "--episodes", str(recording), "--json"]) == 0
    told = {one["name"]: one for one in json.loads(capsys.readouterr().out)["milestones"]}
    records = read_episodes(recording)
    for metric, name in (("milestone_second_room", "room"), ("milestone_key", "key")):
        assert told[name]["episodes"] == sum(record.metrics[metric] for record in records)
    assert told["room"]["episodes"] == 2
    assert told["rich"] == {"name": "rich", "episodes": 0, "median_step": None, "fired": []}
    fired = told["room"]["fired"][0]
    with open_replay(records[0], str(recording), {}, render=False) as played:
        played.seek(fired["step"])
        assert (played.fields()["rooms_seen_total"], played.words()) == (2, fired["words"])
        played.seek(fired["step"] - 1)
        assert played.fields()["rooms_seen_total"] == 1
    assert main(["guide", "test", str(guide), "--episodes", str(recording)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{guide} in 2 episodes of {recording}:"
    assert "2 of 2, after " in lines[1]
    assert "Floor 1, room" in lines[1]
    assert lines[3].split() == ["rich", "never"]


@pytest.mark.parametrize("recorded_with", [False, True], ids=["without", "with"])
def test_a_demonstration_is_seen_with_the_guide_of_the_training(
    recorded_with: bool, recording: Path, tmp_path: Path
) -> None:
    """One that was recorded without a guide serves a training with one, and the other way round."""
    if recorded_with:
        recording = tmp_path / "guided.zip"
        record_bot(wayfarer, EnvSpec(game="lantern", max_steps=200, guide=GUIDE), recording, episodes=1)
    (first, *_), n_guide = load_demos(recording), len(GUIDE["milestones"])
    plain = observations_of(first, EnvSpec(game="lantern"))["obs"]
    guided = observations_of(first, EnvSpec(game="lantern", guide=GUIDE))["obs"]
    assert np.array_equal(guided[:, :-n_guide], plain)
    assert guided[0, -n_guide] == 1  # the first milestone may come next


def test_a_replay_that_goes_back_knows_the_milestones_of_that_moment(recording: Path) -> None:
    record = read_episodes(recording)[0]
    with open_replay(record, str(recording), {"guide": GUIDE}) as played:
        first = {name: row.copy() for name, row in played.rows.items()}
        played.seek(played.length)
        at_end, seen = played.metrics(), played.rows["obs"].copy()
        assert at_end["guide_room"] == at_end["milestone_second_room"] == 1
        assert at_end["raw_return"] == pytest.approx(record.total_reward)
        played.seek(0)
        assert (played.metrics()["guide_room"], played.metrics()["milestone_second_room"]) == (0, 0)
        assert played.metrics()["raw_return"] == 0
        np.testing.assert_array_equal(played.rows["obs"], first["obs"])
        played.seek(played.length)
        assert played.metrics() == at_end
        np.testing.assert_array_equal(played.rows["obs"], seen)


@pytest.mark.parametrize(
    ("guide_text", "flags", "words"),
    [
        ('{"milestones": [{"name": "a", "when": "kyes"}]}', [], "the guide cannot be used for lantern: milestone 'a'"),
        ('{"milestones": 3}', [], "milestones is 3"),
        (json.dumps(GUIDE), ["--game", "meadow"], "the guide cannot be used for meadow"),
        (json.dumps(GUIDE), ["--episodes", "nowhere.zip"], "nowhere.zip"),
    ],
)
def test_bad_input_is_one_sentence(
    guide_text: str,
    flags: list[str],
    words: str,
    recording: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "g.json").write_text(guide_text)
    assert main(["guide", "test", str(tmp_path / "g.json"), "--episodes", str(recording), *flags]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.splitlines()) == 1
