"""Every file of `src/parcade` imports only what the import table allows; `import parcade` stays light."""

import ast
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from import_table import (
    ANY,
    BELOW_TRAIN,
    CLI_AT_MODULE_LEVEL,
    CLOCKS,
    EXCEPTIONS,
    FILES,
    ONLY_IN,
    ROOMS,
    TORCH_ONLY_IN,
)

ROOT = Path(__file__).parents[2]
SOURCE, ARCHITECTURE = ROOT / "src" / "parcade", ROOT / "docs" / "architecture.md"
DRAWERS = {"utils", "util", "common", "misc", "helpers", "helper"}
OUTSIDE_A_ROOM = {"errors.py", "api.py", "__init__.py"}


def all_files():
    return sorted(SOURCE.rglob("*.py"))


def place_of(path):
    return path.relative_to(SOURCE).as_posix()


def room_of(place):
    return place.split("/")[0].removesuffix(".py")


def imports_of(nodes):
    """Give (ours, name) for every import: our modules as `env.make`, packages of others by their first name."""
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: an import relative to its file hides its room; write it out"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            top, *rest = name.split(".")
            if top == "parcade":
                yield True, ".".join(rest) if rest else "__init__"
            else:
                yield False, top


def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def module_of(name):
    """`env.make.check_spec` is something in the module `env.make`."""
    return ".".join(name.split(".")[:2])


def may_import_ours(room, name):
    parts = name.split(".")
    allowed = (room, "__version__", "host", *ROOMS[room].ours)  # facts of the machine are everybody's
    return "*" in allowed or parts[0] in allowed or ".".join(parts[:2]) in allowed


def may_import_outside(place, room, package):
    if room in ("bench", "cli"):
        return True
    if package in sys.stdlib_module_names:
        return package not in ROOMS[room].never
    if package in ONLY_IN:
        return place in ONLY_IN[package]
    if package == "torch" and room in TORCH_ONLY_IN:
        return place in TORCH_ONLY_IN[room]
    return package in ROOMS[room].outside


def breaches(path):
    """Give what this file imports and may not, each once: (file, module)."""
    place, tree = place_of(path), tree_of(path)
    room = room_of(place)
    found = set()
    for ours, name in imports_of(ast.walk(tree)):
        if ours and not may_import_ours(room, name):
            found.add((place, module_of(name)))
        if not ours and not may_import_outside(place, room, name):
            found.add((place, name))
    if room == "cli":
        found |= {(place, name) for name in heavy_imports(tree)}
    return found


def heavy_imports(tree):
    for ours, name in imports_of(tree.body):
        first = name.split(".")[0]
        if first not in CLI_AT_MODULE_LEVEL and (ours or first not in sys.stdlib_module_names):
            yield module_of(name)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_the_table_allows(room):
    found = {breach for path in all_files() if room_of(place_of(path)) == room for breach in breaches(path)}
    assert sorted(found - EXCEPTIONS.keys()) == []


def test_every_file_belongs_to_a_room_of_the_table():
    assert [place_of(path) for path in all_files() if room_of(place_of(path)) not in ROOMS] == []


def test_only_the_face_and_the_errors_stand_outside_a_folder():
    single = {path.name for path in SOURCE.glob("*.py")} - OUTSIDE_A_ROOM
    assert not single


def test_no_exception_is_left_over():
    broken = {breach for path in all_files() for breach in breaches(path)}
    assert sorted(EXCEPTIONS.keys() - broken) == []


def test_the_rule_sees_what_it_should():
    tree = ast.parse("import torch\nfrom parcade.pool.process_pool import ProcessPool\nfrom parcade import train")
    assert list(imports_of(tree.body)) == [(False, "torch"), (True, "pool.process_pool.ProcessPool"), (True, "train")]
    assert may_import_ours("env", "game.base.Game")
    assert may_import_ours("learn", "pool.block.Block")
    assert not may_import_ours("learn", "pool.process_pool.ProcessPool")
    assert not may_import_ours("run", "env.spec.EnvSpec")
    assert not may_import_ours("train", "view.window")
    assert may_import_outside("console/gameboy.py", "console", "pyboy")
    assert not may_import_outside("console/rom.py", "console", "pyboy")
    assert not may_import_outside("run/report.py", "run", "torch")
    assert not may_import_outside("game/lantern.py", "game", "random")
    assert list(heavy_imports(ast.parse("import json, torch\nfrom parcade.view.window import open_window"))) == [
        "torch",
        "view.window",
    ]


def test_there_is_no_drawer():
    assert not [path for path in all_files() if path.stem in DRAWERS or path.parent.name in DRAWERS]


def test_import_parcade_pulls_in_neither_torch_nor_an_emulator():
    code = (
        "import sys, parcade; print([m for m in ('torch', 'pyboy', 'mgba', 'gymnasium', 'numpy') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_a_training_starts_without_torchs_compiler():
    """Importing it takes a second, and sympy half of one; ``torch.optim.Adam`` and some gradients do so unasked."""
    code = (
        "import sys, parcade\n"
        "parcade.train(env_id='CartPole-v1', n_envs=2, n_steps=8, total_timesteps=16, n_workers=0,"
        " log_root=sys.argv[1], final_eval_episodes=0, video=False)\n"
        "print(sorted({'torch._dynamo', 'sympy'} & set(sys.modules)))"
    )
    with tempfile.TemporaryDirectory() as folder:
        answer = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1] == "[]"


def test_public_names_are_there():
    code = (
        "import parcade; from parcade import train, evaluate, make_env, make_pool, resume, EnvSpec\n"
        "assert callable(train) and callable(evaluate) and callable(make_env) and callable(make_pool)\n"
        "import parcade.train.loop, parcade.train.evaluation; from parcade import train as again; assert again is train"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def cell_names(cell):
    return set(re.findall(r"`([\w.]+)`", cell))


def table_rows(heading):
    section = ARCHITECTURE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:3] == "| `"]
    return {row[0].strip("`"): row[1:] for row in rows}


def test_the_architecture_page_names_every_room():
    assert list(table_rows("Rooms")) == list(ROOMS)


@pytest.mark.parametrize("name", ROOMS)
def test_the_architecture_page_shows_the_table(name):
    room, (ours, packages, never) = ROOMS[name], table_rows("What each room may import")[name]
    rooms = cell_names(ours) | (set(BELOW_TRAIN) if "above" in ours else set())
    assert (set(ANY) if ours == "anything" else rooms) == set(room.ours)
    assert (set(ANY) if packages == "anything" else cell_names(packages)) == set(room.outside)
    kinds = {"files": FILES, "clocks": CLOCKS}
    plain = cell_names(never) | {module for kind, modules in kinds.items() if kind in never for module in modules}
    assert plain == set(room.never)
