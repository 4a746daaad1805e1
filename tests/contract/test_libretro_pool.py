"""Games on libretro in a real pool: one worker each, the same game as on mGBA; another console's game too."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import numpy as np
import pytest

from parcade.api import make_pool
from parcade.cli.main import main

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("stable_retro") is None, reason="stable-retro is not installed: pip install parcade[retro]"
)


def features_after_each_step(**options: Any) -> list[bytes]:
    rng, seen = np.random.default_rng(5), []
    with make_pool("meadow", 3, seed=2, observation="features", **options) as pool:
        assert options.get("console") != "libretro" or pool.n_workers == 3
        pool.reset()
        for _ in range(150):
            pool.send(rng.integers(pool.action_space.n, size=3))
            seen.append(pool.recv().obs["obs"].tobytes())
    return seen


def test_the_same_game_as_on_mgba_one_worker_for_each() -> None:
    assert features_after_each_step(console="libretro") == features_after_each_step(console="mgba")


@pytest.mark.long
def test_a_game_of_another_console_is_trained(
    tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ["--timesteps", "256", "--n-envs", "2", "--n-steps", "64", "--max-steps", "60", "--no-video"]
    assert main(["train", "--game", "airstriker", *flags, "--final-eval-episodes", "1", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "each of 2 games gets a worker" in err
    result = json.loads(out.splitlines()[-1])
    assert result["env_steps"] == 256
    assert result["episodes"] == 4
