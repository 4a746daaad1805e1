"""What is made wrong: a small run of CartPole, one of Lantern with kept episodes, demonstrations, save states, ROMs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from parcade.bench.fuzz.server import FuzzServer
from parcade.console.rom import builtin_rom

SMALL = (
    *("--n-envs", "2", "--n-steps", "32", "--batch-size", "32", "--timesteps", "128", "--save-freq", "64"),
    *("--n-workers", "0", "--final-eval-episodes", "0", "--eval-freq", "0", "--no-video", "--plain"),
)
CARTPOLE = ("--env-id", "CartPole-v1")
LANTERN = ("--game", "lantern", "--max-steps", "20")
SCRIPTS = {
    system: f"wait 60\nhex {address} 16\nnew\nwait 30\nchanged\n"
    for system, address in (("gb", "C000"), ("gba", "02000000"))
}
GUIDE = {
    "game": "lantern",
    "milestones": [
        {"name": "key", "when": "key_here or keys_taken >= 1", "reward": 0.5, "hint": "Look into every room."},
        {"name": "door", "when": "doors_opened >= 1", "reward": 2, "hint": "Walk into the locked door."},
        {"name": "fight", "when": "increased(kills) and hearts > 0", "reward": 0.2, "after": []},
    ],
}
DEADLINE_S = 120.0


@dataclass(frozen=True, slots=True)
class Material:
    """Where the whole files are."""

    folder: Path
    cartpole: Path  # run folders
    lantern: Path
    demos: Path
    roms: dict[str, bytes]  # gb and gba
    states: dict[str, bytes]  # the emulators' own bytes, without our checksum

    @property
    def model(self) -> Path:
        """A model file."""
        return self.cartpole / "models" / "final_model.zip"


def make_material(server: FuzzServer, folder: Path) -> Material:
    """Play and train what is made wrong later; takes some seconds."""
    _do(server, folder, "train", *CARTPOLE, *SMALL, "--run-name", "cartpole")
    _do(server, folder, "train", *LANTERN, *SMALL, "--run-name", "lantern", "--archive-share", "0.5")
    (cartpole,), (lantern,) = (list((folder / "results" / name).iterdir()) for name in ("cartpole", "lantern"))
    model = str(lantern / "models" / "final_model.zip")
    _do(server, folder, "record", "--model", model, "--episodes", "2", "--n-workers", "0", "demos.zip")
    roms = {system: builtin_rom(name).data for system, name in (("gb", "lantern.gb"), ("gba", "meadow.gba"))}
    _do(server, folder, "@states", "lantern.gb", "gb.state", "meadow.gba", "gba.state")
    states = {system: (folder / f"{system}.state").read_bytes() for system in roms}
    return Material(folder, cartpole, lantern, folder / "demos.zip", roms, states)


def _do(server: FuzzServer, folder: Path, *words: str) -> None:
    outcome = server.run(words, folder, DEADLINE_S)
    if outcome.code:
        raise RuntimeError(f"parcade {' '.join(words)} ended with {outcome.code}: {outcome.told}")
