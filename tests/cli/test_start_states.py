"""A start state from before the game begins is refused in one sentence, and `parcade play` does not promise it."""

from __future__ import annotations

from pathlib import Path

import pytest

from parcade.cli.main import main
from parcade.cli.play_session import PlaySession
from parcade.console.registry import open_console
from parcade.console.rom import builtin_rom
from parcade.game.lantern import Lantern
from parcade.game.meadow import Meadow

TITLES = {"lantern": Lantern, "meadow": Meadow}
TITLE_SCREEN_FRAMES = 300
TOLD = "before the game begins; save one while you control the hero"


def saved(title: str, folder: Path, in_game: bool) -> tuple[Path, str]:
    """Return a state that `parcade play` saves, and what it says of it."""
    game = TITLES[title]()
    console = open_console(builtin_rom(f"{title}.{game.system}"), "auto", game.system)
    try:
        session = PlaySession(console, game, folder)
        for _ in range(TITLE_SCREEN_FRAMES):
            session.advance(0)
        if in_game:
            session.restart()
        path = session.save()
        return path, session.use_of(path)
    finally:
        console.close()


@pytest.mark.parametrize("title", TITLES)
def test_play_promises_a_start_only_where_the_hero_is_controlled(title: str, tmp_path: Path) -> None:
    assert TOLD in saved(title, tmp_path, in_game=False)[1]
    path, use = saved(title, tmp_path, in_game=True)
    assert use == f"train from it with --state {path}"


@pytest.mark.parametrize(
    ("verb", "title"),
    [
        (["train", "--timesteps", "64"], "meadow"),
        (["eval", "--random"], "lantern"),
        (["record", "--bot", "json:loads", "demo.zip"], "lantern"),
    ],
)
def test_a_state_of_the_title_screen_is_refused(
    verb: list[str],
    title: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    path, _ = saved(title, tmp_path, in_game=False)
    assert main([*verb, "--game", title, "--state", str(path)]) == 2
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("parcade: ")]
    assert len(told) == 1
    assert f"{path}: this state is {TOLD}" in told[0]
