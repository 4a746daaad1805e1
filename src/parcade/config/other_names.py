"""Names that other trainers use for what Parcade has under another name: an unknown word is answered with ours."""

from __future__ import annotations

from collections.abc import Iterable

from parcade.errors import did_you_mean

_SETTINGS = {
    "rom_path": "rom",
    "rom_file": "rom",
    "state_path": "state",
    "save_state": "state",
    "state_file": "state",
    "env": "env_id",
    "env_name": "env_id",
    "num_envs": "n_envs",
    "parallel_envs": "n_envs",
    "parallel": "n_envs",
    "envs": "n_envs",
    "num_workers": "n_workers",
    "steps": "total_timesteps",
    "num_steps": "total_timesteps",
    "num_timesteps": "total_timesteps",
    "episodes": "num_episodes",
    "episode_length": "max_steps",
    "max_episode_steps": "max_steps",
    "update_epochs": "n_epochs",
    "epochs": "n_epochs",
    "lr": "learning_rate",
    "frameskip": "frame_skip",
    "frame_stack": "frames_stack",
    "model_path": "model",
    "load_model": "model",
    "output_dir": "log_root",
    "log_dir": "log_root",
    "save_dir": "log_root",
    "checkpoint_dir": "log_root",
    "checkpoint_freq": "save_freq",
    "checkpoint_interval": "save_freq",
}
_FLAGS = {"visualize": "--visual", "render": "--visual", "watch": "--visual"}
_ON_CUDA = ("cuda", "gpu", "use_cuda", "use_gpu")
_NO_WINDOW = ("headless", "no_render", "no_window", "no_gui")
_VERBS = {
    **{"test": "eval", "evaluate": "eval", "enjoy": "eval", "benchmark": "bench"},
    **{"continue": "resume", "list": "games"},
}
_WHERE = " Checkpoints lie in <log_root>/<run_name>/<time>/checkpoints"
_NOTES = {"log_root": _WHERE, "--log-root": _WHERE, "--visual": " It opens a window"}


def our_name(word: str, known: Iterable[str]) -> str:
    """Return a hint at our name for a setting or flag, among those that are ``known``, or at the nearest one.

    >>> our_name("rom_path", ["rom", "state"])
    " (did you mean 'rom'?)"
    >>> our_name("--visualize", ["--visual"])
    " (did you mean '--visual'? It opens a window)"
    """
    names, plain = list(known), word.lstrip("-").replace("-", "_")
    is_flag = word.startswith("-")
    if is_flag and plain == "mode":
        return " (the job is the first word: `parcade train`, `parcade eval`, `parcade bench`)"
    if is_flag and plain in _NO_WINDOW and "--visual" in names:
        return " (no window opens unless you give --visual; leave it out)"
    if is_flag and plain in _ON_CUDA and "--device" in names:
        return " (did you mean '--device cuda'?)"
    ours = _FLAGS.get(plain) if is_flag else None
    if ours is None and plain in _SETTINGS:
        ours = f"--{_SETTINGS[plain].replace('_', '-')}" if is_flag else _SETTINGS[plain]
    if ours in names:
        return f" (did you mean '{ours}'?{_NOTES.get(str(ours), '')})"
    return did_you_mean(word, names)


def our_verb(word: str, verbs: Iterable[str]) -> str:
    """Return a hint at our verb for a job.

    >>> our_verb("test", ["train", "eval"])
    " (did you mean 'eval'?)"
    """
    return f" (did you mean '{_VERBS[word]}'?)" if word in _VERBS else did_you_mean(word, verbs)
