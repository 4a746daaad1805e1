"""Files that name what they should not: nothing is imported, called or opened, and one sentence says what to do."""

import json
import os
import re
import sys
from pathlib import Path

import gymnasium
import pytest
from gymnasium import spaces

from parcade import evaluate, resume
from parcade.cli.main import main
from parcade.config.settings import TrainSettings
from parcade.env.slot import WHOLE
from parcade.env.space_json import space_to_json
from parcade.env.spec import EnvSpec
from parcade.errors import UserError
from parcade.learn.policy import NetSettings, Policy
from parcade.run.model_file import save_model

PARK = Path(__file__).parents[1] / "roms" / "park.gb"
MARK = "mark.txt"
SHELL = f"pass\rimport os\ros.system('touch {MARK}')"  # Timer compiles it, and a carriage return leaves its function
TRAP = f"""
from pathlib import Path
Path({MARK!r}).touch()
import gymnasium
from parcade.game.lantern import Lantern
class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (4,))
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), {{}}
    def step(self, action):
        return self.observation_space.sample(), 0.0, True, False, {{}}
class Mine(Lantern):
    pass
def spawn(**options):
    return None
gymnasium.register("Trap-v0", entry_point=Env)
"""
# What a file says of its env -> a word of the sentence that answers it.
NAMES = {
    "a timer that runs a shell": ({"game": "timeit:Timer", "game_options": {"stmt": SHELL}}, "timeit"),
    "a process": ({"game": "subprocess:Popen", "game_options": {"args": ["touch", MARK]}}, "subprocess"),
    "a shell": ({"game": "os:system", "game_options": {"command": f"touch {MARK}"}}, "'os'"),
    "exec": ({"game": "builtins:exec", "game_options": {"source": f"open({MARK!r}, 'w')"}}, "builtins"),
    "open": ({"game": "builtins:open", "game_options": {"file": MARK, "mode": "w"}}, "builtins"),
    "a terminal": ({"game": "pty:spawn", "game_options": {"argv": ["touch", MARK]}}, "pty"),
    "a file handler": ({"game": "logging:FileHandler", "game_options": {"filename": MARK}}, "logging"),
    "a code interpreter": ({"game": "code:InteractiveConsole"}, "code"),
    "a module that acts when imported": ({"game": "antigravity:fly"}, "antigravity"),
    "our trap": ({"game": "trap:Mine"}, "trap"),
    "a function of our trap": ({"game": "trap:spawn"}, "trap"),
    "an env of our trap": ({"game": "trap:Env"}, "trap"),
    "a built-in by its module": ({"game": "parcade.game.lantern:Lantern"}, "parcade.game.lantern"),
    "imports": ({"env_id": "CartPole-v1", "imports": ["trap"]}, "trap"),
    "imports that print": ({"env_id": "CartPole-v1", "imports": ["this"]}, "this"),
    "imports for a game": ({"game": "lantern", "imports": ["trap"]}, "trap"),
    "module:Id": ({"env_id": "trap:Trap-v0"}, "trap"),
    "module:Id of a known one": ({"env_id": "trap:CartPole-v1"}, "trap"),
    "module:Id below a package": ({"env_id": "os.path:CartPole-v1"}, "os.path"),
}
ARGUMENTS = {
    "our own id with another class": (
        {"env_id": "parcade/Lantern-v0", "env_kwargs": {"game": "timeit:Timer", "game_options": {"stmt": SHELL}}},
        "game",
    ),
    "our own id with imports": ({"env_id": "parcade/Lantern-v0", "env_kwargs": {"imports": ["trap"]}}, "imports"),
    "our own id with a factory": ({"env_id": "parcade/Lantern-v0", "env_kwargs": {"factory": "gASVJw=="}}, "factory"),
    "an undeclared argument": ({"env_id": "CartPole-v1", "env_kwargs": {"entry_point": "trap:Env"}}, "entry_point"),
    "a vector's mode": ({"env_id": "CartPole-v1", "env_kwargs": {"vectorization_mode": "async"}}, "vectorization_mode"),
    "wrappers": ({"env_id": "CartPole-v1", "env_kwargs": {"additional_wrappers": ["trap:spawn"]}}, "wrappers"),
    "an undeclared option": ({"game": "lantern", "game_options": {"floor": 2}}, "did you mean 'floors'"),
    "a hidden option": ({"game": "lantern", "game_options": {"__class__": "trap:Mine"}}, "__class__"),
    "an option of another kind": ({"game": "lantern", "game_options": {"floors": "1"}}, "floors is '1'"),
    "an option that is a list": ({"game": "meadow", "game_options": {"goal": ["x"]}}, r"goal is \['x'\]"),
    "an option of a title without": ({"game": "pokemon-red", "game_options": {"file": MARK}}, "no options"),
}
FOREIGN = {
    "a window": ({"env_id": "CartPole-v1", "env_kwargs": {"render_mode": "human"}}, "render_mode"),
    "no checker": ({"env_id": "CartPole-v1", "env_kwargs": {"disable_env_checker": True}}, "disable_env_checker"),
    "a path among the arguments": ({"env_id": "FrozenLake-v1", "env_kwargs": {"desc": ["/etc/passwd"]}}, "desc"),
    "a mapping among the arguments": ({"env_id": "FrozenLake-v1", "env_kwargs": {"desc": {"a": 1}}}, "desc"),
    "a picture without end": (
        {"env_id": "parcade/CarRacing-v3", "env_kwargs": {"size": [10**7, 10**7]}},
        "cannot be made|needs Box2D",
    ),
    "steps that are a word": ({"env_id": "CartPole-v1", "env_kwargs": {"max_episode_steps": "x"}}, "cannot be made"),
    "a ROM": ({"game": "lantern", "rom": str(PARK)}, "give it with --rom"),
    "a ROM that is a pipe": ({"game": "lantern", "rom": "pipe"}, "give it with --rom"),
    "a ROM that is an address": ({"game": "lantern", "rom": "http://example.com/x.gb"}, "give it with --rom"),
    "a ROM that is a device": ({"game": "pokemon-red", "rom": "/dev/zero"}, "give it with --rom"),
    "a ROM for a title that needs one": ({"game": "pokemon-red"}, "--rom"),
    "a save state": ({"game": "lantern", "state": "/etc/passwd"}, "give it with --state"),
    "a save state that is a pipe": ({"game": "lantern", "state": "pipe"}, "give it with --state"),
    "a folder of save states": ({"game": "lantern", "state": "/"}, "give it with --state"),
}
KINDS = {
    "a game that is a number": ({"game": 3}, "game is 3, wanted text"),
    "a game that is a list": ({"game": ["trap:Mine"]}, "game is .*wanted text"),
    "an id with a NUL": ({"env_id": "CartPole\0-v1"}, "env_id"),
    "imports that are text": ({"env_id": "CartPole-v1", "imports": "trap"}, "imports is 'trap', wanted a list"),
    "steps that are text": ({"env_id": "CartPole-v1", "max_steps": "9"}, "max_steps is '9', wanted a whole number"),
    "steps that are true": ({"env_id": "CartPole-v1", "frames_stack": True}, "frames_stack is True, wanted a whole"),
    "arguments that are a list": ({"env_id": "CartPole-v1", "env_kwargs": ["render_mode"]}, "env_kwargs is"),
    "weights that are text": ({"game": "lantern", "reward_weights": {"key": "1"}}, "reward_weights is"),
    "deep arguments": ({"env_id": "CartPole-v1", "env_kwargs": {"a": [[[[[[[[[[[]]]]]]]]]]]}}, "env_kwargs is"),
    "a factory": ({"factory": "gASVJw=="}, "unknown keys: factory"),
    "a file to watch": ({"game": "lantern", "watch": {"folder": "/tmp"}}, "unknown keys: watch"),
    "nothing": ({}, "made by a function in Python"),
    "two envs": ({"game": "lantern", "env_id": "CartPole-v1"}, "needs one of"),
}


@pytest.fixture(autouse=True)
def _trap(tmp_path, monkeypatch):
    """Lay a module that marks its import, where Python finds it; a pipe would hold up whoever opens it."""
    elsewhere, here = tmp_path / "elsewhere", tmp_path / "here"
    elsewhere.mkdir(), here.mkdir()
    (elsewhere / "trap.py").write_text(TRAP)
    os.mkfifo(here / "pipe")
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend(str(elsewhere))
    yield
    for name in ("trap", "this", "antigravity", "mine"):
        sys.modules.pop(name, None)
    gymnasium.registry.pop("Trap-v0", None)


def model_of(env, path=Path("m.zip")):
    shapes = {WHOLE: ((4,), "float32")}
    actions = spaces.Discrete(2)
    meta = {
        "env": {**EnvSpec(game="lantern").to_dict(), "game": None, **env} if "factory" not in env else env,
        "leaves": {name: [list(shape), dtype] for name, (shape, dtype) in shapes.items()},
        "action_space": space_to_json(actions),
        "net": NetSettings().to_dict(),
    }
    save_model(path, Policy(shapes, actions, NetSettings()).state_dict(), meta)
    return str(path)


def run_of(env, manifest=None):
    folder = Path("run")
    for part in ("logs", "monitor", "checkpoints", "models", "videos"):
        (folder / part).mkdir(parents=True)
    small = {
        "n_envs": 2,
        "n_steps": 8,
        "batch_size": 8,
        "total_timesteps": 16,
        "n_workers": 0,
        "final_eval_episodes": 0,
    }
    written = TrainSettings(game="lantern", **small).model_dump(mode="json")
    (folder / "config.json").write_text(json.dumps({**written, "game": None, **env}))
    (folder / "manifest.json").write_text(json.dumps(manifest or {}))
    return str(folder)


def check_refused(capsys, arguments, text):
    code = main(arguments)
    captured = capsys.readouterr()
    lines = [line for line in captured.err.splitlines() if line.startswith("parcade: ")]
    assert code == 2, captured.err
    assert len(lines) == 1
    assert "Traceback" not in captured.err
    assert not Path(MARK).exists()
    assert "trap" not in sys.modules
    assert "Zen of Python" not in captured.out
    assert re.search(text, lines[0]), lines[0]


@pytest.mark.parametrize("gadget", [*NAMES, *ARGUMENTS, *FOREIGN, *KINDS])
def test_a_model_file_runs_nothing(gadget, capsys):
    env, text = {**NAMES, **ARGUMENTS, **FOREIGN, **KINDS}[gadget]
    check_refused(capsys, ["eval", "--model", model_of(env), "--episodes", "1"], text)


@pytest.mark.parametrize("gadget", [*NAMES, *ARGUMENTS, *FOREIGN])
def test_a_runs_folder_runs_nothing(gadget, capsys):
    env, text = {**NAMES, **ARGUMENTS, **FOREIGN}[gadget]
    check_refused(capsys, ["resume", run_of(env), "--plain"], text)


@pytest.mark.parametrize("verb", ["train", "config"])
@pytest.mark.parametrize("gadget", NAMES)
def test_a_config_file_imports_nothing_from_elsewhere(gadget, verb, capsys):
    env, text = NAMES[gadget]
    Path("c.json").write_text(json.dumps(env))
    check_refused(capsys, [verb, "--config", "c.json"], text)


@pytest.mark.parametrize("gadget", [name for name in ARGUMENTS if "wrappers" not in name])
def test_options_of_a_config_file_are_checked(gadget, capsys):
    env, text = ARGUMENTS[gadget]
    Path("c.json").write_text(json.dumps({**env, "n_workers": 0, "n_envs": 1}))
    check_refused(capsys, ["train", "--config", "c.json"], text)


@pytest.mark.parametrize("game", ["timeit:Timer", "os:system", "builtins:exec", "subprocess:Popen", "json:dumps"])
def test_what_the_user_names_must_be_a_game_before_it_is_called(game, capsys):
    options = json.dumps(SHELL)
    check_refused(capsys, ["train", "--game", game, "--game-options", f"stmt={options}"], "no subclass of .*Game")
    Path("timeit.py").write_text("")  # a file of that name here does not make the standard library's the user's own
    Path("c.json").write_text(json.dumps({"game": "timeit:Timer", "game_options": {"stmt": SHELL}}))
    check_refused(capsys, ["train", "--config", "c.json"], "does not lie in the current folder")


def test_a_model_is_trained_on_without_its_env(capsys):
    model = model_of({"game": "trap:Mine", "rom": "pipe"})
    small = ["--n-envs", "1", "--n-workers", "0", "--timesteps", "128", "--final-eval-episodes", "0", "--plain"]
    assert main(["train", "--env-id", "Acrobot-v1", "--model", model, *small]) == 2
    assert "it was trained in trap:Mine" in capsys.readouterr().err
    assert main(["train", "--env-id", "CartPole-v1", "--model", model, *small]) == 0
    assert not Path(MARK).exists()


@pytest.mark.parametrize("name", [":X", "trap:", "..trap:Mine", "trap:Mine:Mine", "tr ap:Mine", "trap:Mine.__init__"])
def test_a_name_that_is_no_module_and_class_is_refused(name, capsys):
    check_refused(capsys, ["train", "--game", name], "wanted a built-in title or module:Class")


def test_the_user_may_name_the_very_same(capsys):
    model = model_of({"env_id": "Trap-v0", "imports": ["trap"]}, Path("own.zip"))
    with pytest.raises(UserError, match="add --import trap if you trust it"):
        evaluate(model, episodes=1)
    assert not Path(MARK).exists()
    assert evaluate(model, episodes=1, imports=("trap",)).episodes[0].length == 1
    assert Path(MARK).exists()


def test_a_game_of_ones_own_is_resumed_by_name(capsys):
    run = run_of({"game": "trap:Mine"})
    with pytest.raises(UserError, match="add --game trap:Mine if you trust it"):
        resume(run)
    with pytest.raises(UserError, match=r"trains in trap:Mine; it cannot go on in lantern"):
        resume(run, game="lantern")
    assert main(["resume", run, "--game", "trap:Mine", "--plain"]) == 0


def test_a_module_of_the_current_folder_is_a_config_files_to_name(capsys):
    Path("mine.py").write_text("from parcade.game.lantern import Lantern\nclass Mine(Lantern): pass\n")
    Path("c.yaml").write_text("game: mine:Mine\nn_envs: 2\n")
    assert main(["config", "--config", "c.yaml"]) == 0
    assert "mine:Mine" in capsys.readouterr().out


def test_a_run_goes_on_with_the_rom_and_state_it_began_with(tmp_path, capsys):
    small = ["--n-envs", "1", "--n-steps", "8", "--n-workers", "0", "--final-eval-episodes", "0", "--no-video"]
    own = ["--game", "lantern", "--rom", "own.gb", "--state", "states", "--log-root", "r", "--run-name", "x"]
    _lay_rom_and_state()
    assert main(["train", *own, *small, "--timesteps", "8", "--plain"]) == 0
    run = str(next(Path("r/x").iterdir()))
    assert main(["resume", run, "--timesteps", "16", "--plain"]) == 0
    Path("states/a.state").write_bytes(b"another")
    check_refused(capsys, ["resume", run, "--timesteps", "24", "--plain"], "save state 'states'.*with --state")
    Path("own.gb").write_bytes(PARK.read_bytes())
    check_refused(capsys, ["resume", run, "--timesteps", "24"], "not the one this run began with; give it with --rom")
    check_refused(
        capsys, ["resume", run, "--timesteps", "24", "--rom", "own.gb", "--state", "s"], "not the ROM this run"
    )


def _lay_rom_and_state():
    from parcade.console.gameboy import GameBoy
    from parcade.console.rom import builtin_rom
    from parcade.game.lantern import Lantern

    rom = builtin_rom("lantern.gb")
    Path("own.gb").write_bytes(rom.data)
    console = GameBoy(rom)
    Lantern().start(console, 0)
    Path("states").mkdir()
    Path("states/a.state").write_bytes(console.save())
    console.close()
