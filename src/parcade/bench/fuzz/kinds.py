"""The kinds of cases: each writes something wrong into a folder and says which command looks at it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from parcade.bench.fuzz.damage import Rng, changed_archive, changed_tree, damaged
from parcade.bench.fuzz.material import CARTPOLE, GUIDE, LANTERN, SCRIPTS, SMALL, Material
from parcade.bench.fuzz.setting_values import chosen_settings
from parcade.console.pyboy_state import pack
from parcade.console.rom import Rom

PARSED_S, PLAYED_S = 30.0, 20.0  # after PLAYED_S a command is asked to stop: it may have been told to work for hours
FORKED = ("--n-workers", "1", "--parallel-start-method", "fork", "--step-deadline-s", "4", "--worker-restarts", "1")
SMALL_SETTINGS = {
    **{"n_envs": 2, "n_steps": 32, "batch_size": 32, "total_timesteps": 128, "save_freq": 64, "n_workers": 0},
    **{"final_eval_episodes": 0, "eval_freq": 0, "video": False},
}


class Case(NamedTuple):
    """One command and what is wrong with what it reads."""

    words: list[str]
    what: str
    deadline_s: float = PARSED_S


Kind = Callable[[Rng, Material, Path], Case]


def damaged_model(rng: Rng, material: Material, folder: Path) -> Case:
    """A model file with wrong bytes: refused, or its weights are those that were written."""
    (folder / "m.zip").write_bytes(damaged(rng, material.model.read_bytes()))
    return Case(["@model", "m.zip", str(material.model)], "wrong bytes")


def wrong_model(rng: Rng, material: Material, folder: Path) -> Case:
    """A model file with wrong contents and right checksums, evaluated or trained on."""
    data, what = changed_archive(rng, material.model.read_bytes())
    (folder / "m.zip").write_bytes(data)
    if rng.random() < 0.6:
        return Case(["eval", "--model", "m.zip", "--episodes", "1", "--n-workers", "0"], what, PLAYED_S)
    return Case(["train", *CARTPOLE, *SMALL, "--model", "m.zip"], what, PLAYED_S)


def damaged_checkpoint(rng: Rng, material: Material, folder: Path) -> Case:
    """Checkpoints with wrong bytes: the one before is used, whole, or none."""
    originals, copies = material.cartpole / "checkpoints", folder / "checkpoints"
    shutil.copytree(originals, copies)
    files = sorted(copies.glob("*.ckpt"))
    for file in files if rng.random() < 0.3 else files[-1:]:
        file.write_bytes(damaged(rng, file.read_bytes()))
    return Case(["@checkpoint", "checkpoints", str(originals)], "wrong bytes")


def wrong_checkpoint(rng: Rng, material: Material, folder: Path) -> Case:
    """A checkpoint with wrong contents and right checksums, resumed."""
    run = _copied(material.lantern if rng.random() < 0.3 else material.cartpole, folder)
    file = sorted((run / "checkpoints").glob("*.ckpt"))[-1]
    data, what = changed_archive(rng, file.read_bytes())
    file.write_bytes(data)
    return Case(["resume", "run", "--timesteps", "192", "--plain"], what, PLAYED_S)


def config(rng: Rng, material: Material, folder: Path) -> Case:
    """A config file with wrong or extreme settings, trained."""
    chosen = chosen_settings(rng)
    base = {"game": "lantern", "max_steps": 20} if rng.random() < 0.3 else {"env_id": "CartPole-v1"}
    given = {**({} if {"game", "env_id"} & chosen.keys() else base), **SMALL_SETTINGS, **chosen}
    if rng.random() < 0.2:
        name, text = "c.json", json.dumps(given)
    else:
        name, text = "c.yaml", yaml.safe_dump(given)
    data = text.encode("utf-8", "surrogatepass")
    what = ", ".join(f"{key}: {str(value)[:40]!r}" for key, value in chosen.items())
    if rng.random() < 0.15:
        data, what = damaged(rng, data), f"wrong bytes, {what}"
    (folder / name).write_bytes(data)
    return Case(["train", "--config", name, "--plain"], what, PLAYED_S)


def flags(rng: Rng, material: Material, folder: Path) -> Case:
    """Flags with wrong or extreme values."""
    words, what = [], []
    for name, value in chosen_settings(rng).items():
        text = str(value).replace("\0", "")
        what.append(f"--{name.replace('_', '-')} {text[:40]!r}")
        words.append(f"--{name.replace('_', '-')}={text}")
    env = () if any(word.startswith(("--game=", "--env-id=")) for word in words) else CARTPOLE
    return Case(["train", *env, *SMALL, *words], " ".join(what), PLAYED_S)


def gb_rom(rng: Rng, material: Material, folder: Path) -> Case:
    """Lantern's ROM with wrong bytes."""
    return _rom(rng, material, folder, "gb")


def gba_rom(rng: Rng, material: Material, folder: Path) -> Case:
    """Meadow's ROM with wrong bytes."""
    return _rom(rng, material, folder, "gba")


def _rom(rng: Rng, material: Material, folder: Path, system: str) -> Case:
    data = bytearray(damaged(rng, material.roms[system]))
    if system == "gb" and len(data) > 0x150 and rng.random() < 0.7:  # a header that fits: it is started
        data[0x134:0x150] = material.roms[system][0x134:0x150]
    (folder / f"r.{system}").write_bytes(data)
    (folder / "s.txt").write_text(SCRIPTS[system])
    if rng.random() < 0.8:
        return Case(["inspect", "--rom", f"r.{system}", "--script", "s.txt"], "wrong bytes", PLAYED_S)
    game = "lantern" if system == "gb" else "meadow"
    played = ["--game", game, "--rom", f"r.{system}", "--max-steps", "20", *SMALL, *FORKED]
    return Case(["train", *played], "wrong bytes, trained", PLAYED_S)


def gb_state(rng: Rng, material: Material, folder: Path) -> Case:
    """A save state of Lantern with wrong bytes."""
    return _state(rng, material, folder, "gb")


def gba_state(rng: Rng, material: Material, folder: Path) -> Case:
    """A save state of Meadow with wrong bytes."""
    return _state(rng, material, folder, "gba")


def _state(rng: Rng, material: Material, folder: Path, system: str) -> Case:
    game = "lantern" if system == "gb" else "meadow"
    state = damaged(rng, material.states[system])
    if system == "gb" and rng.random() < 0.5:
        state = pack(0, state, Rom(material.roms["gb"], "lantern.gb").sha1)  # with the checksum of our own states
    (folder / "s.state").write_bytes(state)
    (folder / "s.txt").write_text(SCRIPTS[system])
    given = ["--game", game, "--state", "s.state"]
    if rng.random() < 0.6:
        return Case(["inspect", *given, "--script", "s.txt"], "wrong bytes", PLAYED_S)
    return Case(["train", *given, "--max-steps", "20", *SMALL, *FORKED], "wrong bytes, trained", PLAYED_S)


def demonstrations(rng: Rng, material: Material, folder: Path) -> Case:
    """A file of demonstrations with wrong bytes or contents."""
    data, what = _wrong_archive(rng, material.demos.read_bytes())
    (folder / "d.zip").write_bytes(data)
    if rng.random() < 0.6:
        return Case(["demos", "d.zip", *(["--check"] if rng.random() < 0.6 else [])], what, PLAYED_S)
    learned = ["--algorithm", "cloning"] if rng.random() < 0.5 else []
    return Case(["train", *LANTERN, *SMALL, *learned, "--demos", "d.zip"], what, PLAYED_S)


def kept_episodes(rng: Rng, material: Material, folder: Path) -> Case:
    """Kept episodes of a run with wrong bytes or contents."""
    run = _copied(material.lantern, folder)
    file = _one(rng, sorted(path for path in (run / "episodes").rglob("*") if path.is_file()))
    what = f"{file.name}: {_spoil(rng, file)}"
    asked = _one(rng, (["--list"], ["--episode", "best", "--check"], ["--episode", "all", "--check"], []))
    return Case(["replay", "run", *asked], what, PLAYED_S)


def guide(rng: Rng, material: Material, folder: Path) -> Case:
    """A guide with wrong bytes, values or conditions."""
    text = yaml.safe_dump(GUIDE)
    if rng.random() < 0.3:
        data, what = damaged(rng, text.encode()), "wrong bytes"
    else:
        tree, what = changed_tree(rng, yaml.safe_load(text))
        if rng.random() < 0.4 and isinstance(tree, dict) and isinstance(tree.get("milestones"), list):
            what = _wrong_condition(rng, tree["milestones"])
        data = yaml.safe_dump(tree).encode("utf-8", "surrogatepass")
    (folder / "g.yaml").write_bytes(data)
    if rng.random() < 0.7:
        return Case(["guide", "check", "g.yaml", "--game", "lantern"], what)
    return Case(["train", *LANTERN, *SMALL, "--guide", "g.yaml"], what, PLAYED_S)


_WORDS = (
    *("hearts", "keys_taken", "rooms_seen", "map", "increased(", "(", ")", "and", "or", "not", ">=", "<", "==", "!="),
    *(
        "1",
        "-3",
        "1e400",
        "0.5",
        "'cave'",
        "evil",
        "+",
        "*",
        "/",
        "%",
        "__class__",
        ".",
        "[",
        "]",
        "in",
        "if",
        "=",
        "9" * 80,
    ),
)


def _wrong_condition(rng: Rng, milestones: list[Any]) -> str:
    words = " ".join(_one(rng, _WORDS) for _ in range(int(rng.integers(1, 40))))
    for milestone in milestones[:1]:
        if isinstance(milestone, dict):
            milestone["when"] = words
    return f"when: {words[:60]}"


def run_folder(rng: Rng, material: Material, folder: Path) -> Case:
    """A run's folder with a file that is wrong, missing or something else."""
    run = _copied(material.lantern if rng.random() < 0.5 else material.cartpole, folder)
    file = _one(rng, sorted(path for path in run.rglob("*") if path.is_file()))
    way = float(rng.random())
    what = f"{file.relative_to(run)}: "
    if way < 0.1:
        file.unlink()
        what += "missing"
    elif way < 0.2:
        file.unlink()
        file.mkdir()
        what += "a folder"
    else:
        what += _spoil(rng, file)
    asked = (
        *(["resume", "run", "--timesteps", "192", "--plain"], ["resume", "run", "--timesteps", "192", "--plain"]),
        *(["runs", "run"], ["compare", "run"], ["replay", "run"], ["starts", "run"]),
    )
    return Case(_one(rng, asked), what, PLAYED_S)


def _spoil(rng: Rng, file: Path) -> str:
    """Make a file wrong in place: its bytes, or what its JSON or archive says; return what in words."""
    data = file.read_bytes()
    if data[:2] == b"PK":
        data, what = _wrong_archive(rng, data)
    elif file.suffix == ".json" and rng.random() < 0.6:
        tree, what = changed_tree(rng, json.loads(data))
        data = json.dumps(tree).encode()
    else:
        data, what = damaged(rng, data), "wrong bytes"
    file.write_bytes(data)
    return what


def _wrong_archive(rng: Rng, data: bytes) -> tuple[bytes, str]:
    return (damaged(rng, data), "wrong bytes") if rng.random() < 0.3 else changed_archive(rng, data)


def _copied(run: Path, folder: Path) -> Path:
    return Path(shutil.copytree(run, folder / "run"))


def _one(rng: Rng, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


KINDS: dict[str, Kind] = {
    "model, wrong bytes": damaged_model,
    "model, wrong contents": wrong_model,
    "checkpoint, wrong bytes": damaged_checkpoint,
    "checkpoint, wrong contents": wrong_checkpoint,
    "config file": config,
    "flags": flags,
    "Game Boy ROM": gb_rom,
    "Game Boy Advance ROM": gba_rom,
    "Game Boy state": gb_state,
    "Game Boy Advance state": gba_state,
    "demonstrations": demonstrations,
    "kept episodes": kept_episodes,
    "guide": guide,
    "run folder": run_folder,
}
