"""What a person plays is recorded in the title's own actions, and replays exactly."""

import json
import os

import pytest

from parcade.cli.main import main
from parcade.cli.play_recording import RecordingSession
from parcade.console.base import button_mask
from parcade.env.make import make
from parcade.env.replay import differences, open_replay
from parcade.env.spec import EnvSpec
from parcade.errors import EpisodeFileError, UserError
from parcade.run.episodes import read_episodes
from parcade.train.origin import origin_of


@pytest.fixture
def recording(tmp_path):
    """Open sessions that record into demo.zip."""
    opened = []

    def start(game="lantern", file="demo.zip", seed=5, **options):
        spec = EnvSpec(game=game, **options)
        env = make(spec.with_(render=True))
        opened.append(env)
        origin = origin_of(spec.with_(holds_all_states=True), "person")
        return RecordingSession(env, origin, tmp_path / file, tmp_path / "states", seed)

    yield start
    for env in opened:
        env.close()


def play(session, frames, *buttons):
    for _ in range(frames):
        session.advance(button_mask(session.console.buttons, *buttons))


def names(record, session):
    return [session.game.actions[action].name for action in record.actions["obs"]]


@pytest.mark.parametrize("game", ["lantern", "meadow"])
def test_episodes_replay_exactly_and_the_file_goes_on(recording, game, tmp_path):
    session = recording(game, max_steps=8)
    skip = session.game.frame_skip
    play(session, skip * 5, "right")
    play(session, skip * 3, "a", "down")
    assert session.note.startswith("the episode is at its limit of steps: return")
    play(session, skip * 4 + 2, "up")
    assert "2 episodes (12 steps) are in" in session.close()
    again = recording(game, max_steps=8)
    play(again, skip, "left")
    assert "1 episode (1 step)" in again.close()
    records = read_episodes(tmp_path / "demo.zip")
    assert [(r.seed, r.length, r.terminated, r.truncated) for r in records] == [
        (5, 8, False, True),
        (6, 4, False, False),
        (7, 1, False, False),
    ]
    for record in records:
        with open_replay(record, "demo.zip", render=False) as replay:
            assert differences(replay) == []
            assert replay.total_reward != 0.0 or game == "meadow"


def test_a_short_press_counts_and_two_directions_are_one(recording):
    session = recording()
    play(session, 1, "up")  # the step begins: up for six frames
    play(session, 2, "right")
    play(session, 3)
    play(session, 6)  # nothing is held, but right was pressed
    play(session, 6)
    play(session, 6, "start")  # no action of the title has it
    session.close()
    assert names(session.records[0], session) == ["up", "right", "wait", "wait"]


def test_beginning_again_drops_the_attempt(recording, tmp_path):
    session = recording()
    assert session.close().startswith("nothing was played")
    assert not (tmp_path / "demo.zip").exists()
    play(session, 12, "right")
    assert session.restart() == "the attempt is dropped, the episode begins again"
    play(session, 6, "left")
    session.close()
    assert [names(record, session) for record in session.records] == [["left"]]
    with pytest.raises(UserError, match="cannot be loaded while an episode is recorded"):
        session.load()


def test_facts_count_what_is_recorded(recording):
    session = recording()
    play(session, 60, "right")
    sentences, fields = session.facts()
    assert sentences[0] == "held: right (action right)"
    assert "after 10 steps" in sentences[3]
    assert "hearts 6" in fields


def test_other_games_are_not_mixed(recording, tmp_path):
    session = recording()
    play(session, 6)
    session.close()
    for other in ({"game": "meadow"}, {"max_steps": 9}):
        with pytest.raises(EpisodeFileError, match="holds episodes of another game"):
            recording(**other)
    (tmp_path / "torn.zip").write_bytes(b"torn")
    with pytest.raises(EpisodeFileError, match="is not a Parcade recording file"):
        recording(file="torn.zip")


def test_recording_from_a_start_state(recording, tmp_path):
    session = recording(max_steps=9)
    play(session, 30, "right")
    state = session.save()
    other = recording(file="b.zip", state=str(state), max_steps=9)
    play(other, 6 * 4, "left")
    other.close()
    with open_replay(read_episodes(tmp_path / "b.zip")[0], "b.zip", render=False) as replay:
        assert differences(replay) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--record", "/no/such/folder/demo.zip"], "the folder of /no/such/folder/demo.zip does not exist"),
        (["--max-steps", "5"], "--max-steps is for --record"),
        (["--record", "demo.zip", "--rom", "token.gb"], "belongs to no title that Parcade knows"),
        (["--pad", "fire=3", "--record", "demo.zip"], "--pad has fire=3, wanted one of right"),
    ],
)
def test_bad_input_is_one_sentence(words, told, tmp_path, monkeypatch, capsys):
    from pathlib import Path

    pytest.importorskip("pygame", reason="the window needs the extra `view`")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    token = str(Path(__file__).parents[1] / "roms" / "token.gb")
    monkeypatch.chdir(tmp_path)
    assert main(["play", *(token if word == "token.gb" else word for word in words)]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert told in last


def test_a_gamepad_plays(tmp_path, monkeypatch, capsys):
    pygame = pytest.importorskip("pygame", reason="the window needs the extra `view`")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.chdir(tmp_path)
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    plan = {
        1: pygame.event.Event(pygame.JOYHATMOTION, instance_id=0, hat=0, value=(1, 0)),
        6: pygame.event.Event(pygame.JOYHATMOTION, instance_id=0, hat=0, value=(0, 0)),
        7: pygame.event.Event(pygame.JOYBUTTONDOWN, instance_id=0, button=3),
        12: pygame.event.Event(pygame.JOYBUTTONUP, instance_id=0, button=3),
        13: pygame.event.Event(pygame.JOYAXISMOTION, instance_id=0, axis=1, value=-0.9),
        18: pygame.event.Event(pygame.JOYAXISMOTION, instance_id=0, axis=1, value=0.1),
    }
    real, calls = pygame.event.get, iter(range(100))

    def get():
        number = next(calls)
        if number in plan:
            pygame.event.post(plan[number])
        return real()

    monkeypatch.setattr(pygame.event, "get", get)
    words = ["--record", "demo.zip", "--pad", "a=3", "--frames", "24", "--speed", "0", "--json"]
    assert main(["play", "--game", "lantern", *words]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out.splitlines()[-1])["episodes"] == 1
    assert "learn from them with `parcade train --algorithm cloning --demos demo.zip`" in err
    (record,) = read_episodes("demo.zip")
    assert [make_name(action) for action in record.actions["obs"]] == ["wait", "right", "sword", "up"]


def make_name(action):
    from parcade.game.lantern import Lantern

    return Lantern.actions[action].name
