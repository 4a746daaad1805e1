"""The rooms import only what the design's table allows; `import parcade` stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "parcade"
# room -> our rooms it may import, foreign packages it must never import
RULES = {
    "errors": (set(), {"numpy", "torch", "gymnasium"}),
    "console": ({"errors", "console"}, {"gymnasium", "torch"}),
    "game": ({"errors", "console", "game"}, {"gymnasium", "torch", "pyboy", "mgba"}),
    "env": ({"errors", "console", "game", "env"}, {"torch", "multiprocessing", "pyboy", "mgba"}),
    "config_file": ({"errors"}, {"numpy", "torch", "gymnasium"}),
    "cores": (set(), {"numpy", "torch", "gymnasium"}),
    "pool": ({"errors", "cores", "env", "pool"}, {"torch", "pyboy", "mgba"}),
    "learn": ({"errors", "pool", "learn"}, {"logging", "pathlib", "multiprocessing"}),
    "run": ({"errors", "run"}, {"gymnasium", "multiprocessing", "pyboy", "mgba"}),
    "view": ({"errors", "run", "pool", "env", "view"}, {"torch", "pyboy", "mgba"}),
    "settings": ({"errors", "cores"}, {"torch", "gymnasium"}),
}
ONLY_IN = {
    "pyboy": {"console/gameboy.py"},
    "mgba": {"console/gba.py"},
    "stable_retro": {"console/libretro.py"},
    "stable_baselines3": {"pool/sb3_adapter.py"},
}
TORCH_IN_RUN = {"checkpoint.py", "model_file.py"}
DRAWERS = {"utils", "util", "common", "misc", "helpers", "helper"}


def imports_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module == "parcade")


def files_of(room):
    single = SOURCE / f"{room}.py"
    return [single] if single.exists() else sorted((SOURCE / room).rglob("*.py"))


@pytest.mark.parametrize("room", RULES)
def test_a_room_imports_only_what_it_may(room):
    allowed, forbidden = RULES[room]
    files = files_of(room)
    assert files
    wrong = []
    for path in files:
        for name in imports_of(path):
            parts = name.split(".")
            if parts[0] == "parcade" and len(parts) > 1 and parts[1] not in allowed:
                wrong.append(f"{path.relative_to(SOURCE)} imports {name}")
            if parts[0] in forbidden:
                wrong.append(f"{path.relative_to(SOURCE)} imports {name}")
    assert not wrong


def test_emulators_and_peers_are_imported_in_one_place_only():
    wrong = []
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).as_posix()
        for name in imports_of(path):
            top = name.split(".")[0]
            if top in ONLY_IN and place not in ONLY_IN[top] and not place.startswith("bench/"):
                wrong.append(f"{place} imports {name}")
    assert not wrong


def test_in_run_only_model_and_checkpoint_files_know_torch():
    using = {path.name for path in files_of("run") if any(n.split(".")[0] == "torch" for n in imports_of(path))}
    assert using <= TORCH_IN_RUN


def test_there_is_no_drawer():
    assert not [path for path in SOURCE.rglob("*.py") if path.stem in DRAWERS or path.parent.name in DRAWERS]


def test_import_parcade_pulls_in_neither_torch_nor_an_emulator():
    code = (
        "import sys, parcade; print([m for m in ('torch', 'pyboy', 'mgba', 'gymnasium', 'numpy') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_public_names_are_there():
    code = (
        "import parcade; from parcade import train, evaluate, make_env, make_pool, resume, EnvSpec\n"
        "assert callable(train) and callable(evaluate) and callable(make_env) and callable(make_pool)\n"
        "import parcade.training, parcade.evaluation; from parcade import train as again; assert again is train"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
