"""The import table of the design as data: what each room of `src/parcade` may import.

A room is a folder or a file directly below `src/parcade`. `docs/architecture.md` shows the same table to readers.
"""

from dataclasses import dataclass

ANY = ("*",)
FILES = ("io", "os", "pathlib", "shutil", "tempfile")
CLOCKS = ("datetime", "time")


@dataclass(frozen=True)
class Room:
    """What one room may import; `never` names modules of the standard library, everything else of it is allowed."""

    ours: tuple[str, ...]  # rooms, or modules of rooms; a room may always import itself
    outside: tuple[str, ...]  # packages
    never: tuple[str, ...] = ()


BELOW_TRAIN = ("errors", "console", "game", "env", "pool", "learn", "explore", "run", "config")

# "also" marks packages that the design's table does not name.
ROOMS = {
    "errors": Room((), ()),
    # also this room: processors and input files are facts of the machine that every other room needs
    "host": Room(("errors",), ()),
    # also cv2: a console writes its own pictures (console/picture.py)
    "console": Room(("errors",), ("numpy", "cv2")),
    "game": Room(("errors", "console.base"), ("numpy",), never=(*FILES, *CLOCKS, "random")),
    # also cloudpickle: a user's factory is part of an EnvSpec, pickled by value
    "env": Room(
        ("errors", "console", "game"), ("gymnasium", "numpy", "cv2", "cloudpickle"), never=("multiprocessing",)
    ),
    # also gymnasium: the pool's spaces and its VectorEnv adapter; cloudpickle: specs and actors reach spawned workers
    "pool": Room(("errors", "env"), ("numpy", "gymnasium", "cloudpickle")),
    "learn": Room(
        ("errors", "pool.block", "pool.actor"),
        ("torch", "numpy", "gymnasium"),
        never=(*FILES, "logging", "multiprocessing"),
    ),
    "explore": Room(("errors", "env.spec", "pool"), ("numpy", "torch"), never=FILES),
    # also numpy: videos, curves and archives are arrays
    "run": Room(("errors",), ("safetensors", "tensorboard", "numpy")),
    "config": Room(("errors",), ("pydantic", "yaml")),
    # also numpy and gymnasium: a training hands arrays and spaces from room to room; cloudpickle: specs reach learners
    "train": Room(BELOW_TRAIN, ("torch", "numpy", "gymnasium", "cloudpickle")),
    "cluster": Room((*BELOW_TRAIN, "train"), ("ray", "torch", "numpy")),
    "tune": Room((*BELOW_TRAIN, "train"), ("optuna",)),
    # also this room: policies as files of other programs
    "export": Room((*BELOW_TRAIN, "train"), ("torch", "numpy", "gymnasium")),
    # also numpy and cv2: random actions, pictures for a model; yaml: writes guides
    "guide": Room((*BELOW_TRAIN, "train"), ("httpx", "llama_cpp", "numpy", "cv2", "yaml")),
    # also numpy: the view joins pictures
    "view": Room(
        ("errors", "run", "pool.block", "pool.mapped", "pool.showcase", "pool.trails", "env"),
        ("starlette", "uvicorn", "websockets", "pygame", "numpy"),
    ),
    "testing": Room(("errors", "console.base", "console.registry", "game", "env"), ("pytest", "numpy")),
    "bench": Room(ANY, ANY),
    "cli": Room(ANY, ANY),
    "roms": Room((), ()),
    # also view: train(visual=True) opens a window
    # also cluster: train(cluster="auto")
    "api": Room((*BELOW_TRAIN, "train", "view", "cluster"), ("gymnasium", "cloudpickle")),
    "__init__": Room((*BELOW_TRAIN, "train", "api", "export"), ()),
}

# At module level a file of `cli` may import only these: `parcade --help` must be quick.
CLI_AT_MODULE_LEVEL = ("cli", "errors", "host", "config", "rich")

# Packages that only these files, the benches and the commands may import.
ONLY_IN = {
    "pyboy": ("console/gameboy.py",),
    "mgba": ("console/gba.py",),
    "stable_retro": ("console/libretro.py",),
    "Box2D": ("env/racing/env.py", "env/racing/car.py"),
    "ale_py": ("env/by_id.py",),
    "stable_baselines3": ("pool/sb3_adapter.py", "export/sb3_file.py", "export/sb3_features.py"),
    "onnx": ("export/onnx_file.py",),
    "onnxscript": ("export/onnx_file.py",),
    "onnxruntime": ("export/onnx_file.py",),
    "imageio_ffmpeg": ("run/video.py",),
    "wandb": ("run/trackers/wandb_tracker.py",),
    "mlflow": ("run/trackers/mlflow_tracker.py",),
    "trackio": ("run/trackers/trackio_tracker.py",),
    "ray": ("cluster/connection.py", "cluster/crew.py", "cluster/learner.py", "cluster/evaluation_crew.py"),
    "optuna": ("tune/sweep/journal.py",),
    "httpx": ("guide/client.py",),
    "llama_cpp": ("guide/llama_server.py",),
}
# In these rooms torch is for these files only.
TORCH_ONLY_IN = {"run": ("run/checkpoint.py", "run/model_file.py"), "explore": ("explore/prediction.py",)}

# Imports that break the table today, with the reason. The list only gets shorter: a line that nothing breaks any more
# fails the test.
EXCEPTIONS = {
    ("game/map_file.py", "pathlib"): "reads memory map files; the caller should read the file and hand over its text",
    ("game/map_file.py", "yaml"): "as above",
    ("game/titles.py", "os"): "puts the current folder on the import path for titles of users' own",
    ("env/racing/panel.py", "pygame"): "draws the digits of the score as the official env does",
    ("pool/launcher.py", "cv2"): "sets OpenCV's threads before a fork",
    ("pool/worker.py", "cv2"): "sets OpenCV's threads in a worker",
    ("run/report.py", "cv2"): "packs pictures as PNG",
    ("run/video.py", "cv2"): "scales pictures",
    ("cli/inspect_session.py", "numpy"): "imported by the command function of inspect only",
    ("cli/inspect_session.py", "console.base"): "as above",
    ("cli/inspect_session.py", "console.search"): "as above",
    ("cli/inspect_session.py", "game.map_file"): "as above",
    ("cli/inspect_session.py", "game.memory_map"): "as above",
}
