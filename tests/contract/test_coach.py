"""A coach beside a training: what it changes, when, and that the run repeats without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from coach_support import COACH, GUIDE, KEY, SMALL, SPLIT, assert_same, coached, lines_of, numbers_of, waits_for_answers  # noqa: F401
from llm_support import llm_server, text
from pool_support import no_leaks  # noqa: F401

from parcade import evaluate, train
from parcade.cli.main import main
from parcade.errors import SettingsError
from parcade.run.model_file import load_model
from parcade.train.guide_test import recorded_episodes
from parcade.train.replay import check_episode

pytestmark = pytest.mark.usefixtures("waits_for_answers")


def test_a_revision_takes_effect_later_in_new_episodes_and_is_told(tmp_path: Path) -> None:
    told: list[Any] = []
    with llm_server(text(SPLIT), text({"reason": "fine", "add": []})) as server:
        run = coached(tmp_path, server, on_event=told.append)
    first, *_ = lines_of(run)
    assert (first["update"], first["what"]) == (6, "revised")
    assert "adds turned" in first["words"]
    assert "because: the key is <b>far</b>" in first["words"]
    assert set(first["shares"]) == {"moved", "key"}
    kinds = [(event.update, event.what) for event in told if type(event).__name__ == "Coached"]
    assert kinds[0] == (6, "revised")
    shares = [row["game"].get("guide_place_1") for row in numbers_of(run)]
    assert set(shares[:6]) <= {0.0, None}  # nobody could reach it before
    question = server.requests[0]["body"]["messages"][1]["content"]
    for part in (
        "moved",
        "share",
        "last moments of the newest episodes",
        "the hero",
        "What the parts of the reward paid",
    ):
        assert part in question
    env = load_model(run / "models" / "final_model.zip").meta["env"]
    assert [one["name"] for one in env["guide"]["milestones"]][:2] == ["moved", "key"]
    names = [one["name"] for one in json.loads((run / "manifest.json").read_text())["milestones"]]
    assert ("guide_turned" in names) == (len(env["guide"]["milestones"]) == 3)
    report = (run / "report.html").read_text()
    assert "<h2>Coach" in report
    assert "adds turned (changed(facing))" in report
    assert "&lt;b&gt;far&lt;/b&gt;" in report
    conversation = json.loads((run / "coach" / "update_000000004.json").read_text())
    assert conversation["messages"][1]["content"] == question
    for path in run.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()
    assert evaluate(str(run / "models" / "final_model.zip"), episodes=1).episodes


def test_a_repeat_with_the_recorded_answers_needs_no_server(tmp_path: Path) -> None:
    with llm_server(text(SPLIT)) as server:
        run = coached(tmp_path / "a", server)
        asked = len(server.requests)
    again = coached(tmp_path / "b", None, coach_replay=str(run), n_workers=2)
    assert asked
    assert_same(run, again)
    assert [line["what"] for line in lines_of(again)] == [line["what"] for line in lines_of(run)]
    third = coached(tmp_path / "c", None, coach_replay=str(again), n_workers=1, overlap=False)
    assert_same(run, third)


def test_a_revision_that_lets_shares_fall_is_rolled_back(tmp_path: Path) -> None:
    block = {"add": [{"name": "never", "when": "floors_cleared >= 9", "after": [], "before": ["moved"]}]}
    with llm_server(text(block)) as server:
        run = coached(tmp_path, server, coach={**COACH, "fall": 0.0}, guide=EASY, total_timesteps=128 * 9)
    assert [(line["update"], line["what"]) for line in lines_of(run)] == [(6, "revised"), (8, "rolled back")]
    last = lines_of(run)[-1]
    assert last["shares_before"]["moved"] > last["shares"]["moved"] == 0
    env = load_model(run / "models" / "final_model.zip").meta["env"]
    assert [one["name"] for one in env["guide"]["milestones"]] == ["moved"]


EASY = {"milestones": [{"name": "moved", "when": "changed(x) or changed(y) or changed(facing)", "reward": 1}]}


@pytest.mark.parametrize(
    ("reply", "what", "words"),
    [
        (text("import os"), "failed", "no JSON object"),
        (text({"add": [{"name": "x", "when": "gold > 1"}]}), "failed", "there is no field 'gold'"),
        (lambda handler, _: handler.say(500, KEY.encode()), "failed", "refused"),
        (text({"reason": "all is well"}), "unchanged", "all is well"),
    ],
)
def test_a_server_that_talks_nonsense_changes_nothing(reply: Any, what: str, words: str, tmp_path: Path) -> None:
    with llm_server(reply) as server:
        run = coached(tmp_path / "a", server, total_timesteps=128 * 7)
    (line,) = lines_of(run)
    assert (line["what"], words in line["words"]) == (what, True), line
    assert KEY not in json.dumps(line)


def test_a_server_that_is_gone_is_said_and_the_training_goes_on(tmp_path: Path) -> None:
    run = coached(tmp_path, None, llm="http://127.0.0.1:9/v1", llm_model="m", total_timesteps=128 * 7)
    (line,) = lines_of(run)
    assert line["what"] == "failed"
    assert "cannot be reached" in line["words"]


def test_kept_episodes_replay_with_the_guide_they_were_played_with(tmp_path: Path) -> None:
    with llm_server(text(SPLIT)) as server:
        run = coached(tmp_path, server)
    records = recorded_episodes(run)
    guides = {len(record.origin.env["guide"]["milestones"]) for record in records}
    assert guides == {2, 3}
    for record in records:
        assert check_episode(record, str(run), {}).differences == ()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"guide": None}, "coach revises a guide"),
        ({"coach": {"every": 1}}, "every to be a whole number from 2"),
        ({"coach": {"evry": 4}}, "did you mean 'every'"),
        ({"coach": {"every": 4, "effect": 4}}, "effect 4 to be less than every 4"),
        ({"coach": {}, "llm": "http://127.0.0.1:9/v1", "llm_model": "m"}, "llm is for a coach"),
        ({"llm": "http://127.0.0.1:9/v1"}, "llm needs the model's name"),
        ({"llm": f"http://x:{KEY}@127.0.0.1:9/v1", "llm_model": "m"}, "llm holds more than an address"),
        ({"llm_key_env": KEY}, "llm_key_env is no name"),
        ({"coach_replay": "nowhere"}, "nowhere has no coach.jsonl"),
        (
            {"coach": {"every": 4, "effect": 2, "places": 48}, "guide": {"milestones": GUIDE["milestones"] * 10}},
            "more than",
        ),
    ],
)
def test_bad_settings_are_one_sentence(given: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=words) as told:
        train(**{**SMALL, "coach": COACH, "log_root": str(tmp_path), **given})
    assert KEY not in str(told.value)
    assert not list(tmp_path.rglob("config.json"))


FOREIGN = {
    "another machine": ({"llm": "http://192.0.2.1/v1"}, "add --llm http://192.0.2.1/v1 if you trust it"),
    "another secret": ({"llm": "http://127.0.0.1:9/v1", "llm_key_env": "HOME"}, "--llm-key-env HOME if you trust it"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_file_alone_sends_nothing_to_a_server(kind: str, tmp_path: Path, capsys: Any) -> None:
    named, words = FOREIGN[kind]
    given = {**SMALL, "coach": COACH, "llm_model": "m", **named, "log_root": str(tmp_path), "total_timesteps": 128}
    (tmp_path / "c.json").write_text(json.dumps(given))
    assert main(["train", "--config", str(tmp_path / "c.json"), "--plain"]) == 2
    assert words in capsys.readouterr().err
    run = coached(tmp_path, None, total_timesteps=128, llm="http://127.0.0.1:9/v1", llm_model="m")
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, **named}))
    assert main(["resume", str(run), "--timesteps", "256", "--plain"]) == 2
    assert words in capsys.readouterr().err
    assert main(["resume", str(run), "--timesteps", "256", "--plain", "--coach-replay", str(run)]) == 2
    assert "has no coach.jsonl" in capsys.readouterr().err
    again = [f"--{name.replace('_', '-')}={value}" for name, value in named.items()]
    assert main(["resume", str(run), "--timesteps", "256", "--plain", *again]) == 0
