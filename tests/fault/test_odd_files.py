"""Bombs, pipes, devices and texts without end: one sentence each, soon, and without filling the memory."""

import gzip
import json
import os
import resource
import struct
import time
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from parcade.cli.main import main
from parcade.config.file import read_config
from parcade.console.mgba_state import gunzip, unpack
from parcade.errors import ModelFileError, SaveStateError, SettingsError, UserError
from parcade.game.map_file import load_map
from parcade.host.input_file import short
from parcade.run.archive import read_archive, write_archive
from parcade.run.video import VideoFile

SOON_S = 20.0
ALIASES = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefg", "bcdefgh", strict=True)
)
DOUBLING = "a: &a {x: 1}\n" + "".join(
    f"{'abcdefghijklmnopqrstuvwxyz'[n]}: &{'abcdefghijklmnopqrstuvwxyz'[n]}\n"
    f"  {{<<: [*{'abcdefghijklmnopqrstuvwxyz'[n - 1]}, *{'abcdefghijklmnopqrstuvwxyz'[n - 1]}]}}\n"
    for n in range(1, 26)
)
TEXTS = {
    "an alias bomb": (ALIASES, "aliases|values"),
    "a bomb of merges": (DOUBLING, "values|unknown key"),
    "an alias of itself": ("a: &a [*a]\n", "nested more than"),
    "60,000 keys": ("".join(f"k{n}: 1\n" for n in range(12_000)), "values"),
    "9,000 unknown keys": ("".join(f"k{n}: 1\n" for n in range(9_000)), "8,990 more unknown keys"),
    "deep lists": ("a: " + "[" * 5_000 + "]" * 5_000, "not valid"),
    "deep mappings": ("a: " + "{b: " * 2_000 + "}" * 2_000, "not valid"),
    "an int of nothing": ('seed: !!int ""\n', "not valid"),
    "a float of nothing": ('gamma: !!float ""\n', "not valid"),
    "a bool of nothing": ('video: !!bool ""\n', "not valid"),
    "a date of nothing": ('seed: !!timestamp ""\n', "not valid"),
    "an object": ("seed: !!python/object/apply:os.system [touch mark]\n", "not valid"),
    "a long number": (f"seed: {'9' * 5_000}\n", "seed|not valid"),
    "a long text": (f"game: {'x' * 100_000}\n", "4,096 characters at most"),
    "a NUL in a path": ('rom: "a\\0b"\n', "without NUL"),
    "a NUL in the run's name": ('run_name: "a\\0b"\n', "without NUL"),
    "a text without bytes": ('log_root: "\\ud800"\n', "can be written|not valid"),
    "a key twice": ("seed: 1\nseed: 2\n", "seed is given twice"),
    "no text": ("\x00\x01", "not valid"),
}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _soon_and_small():
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert time.monotonic() - started < SOON_S
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 512 << 10


def refused(capsys, arguments, most=2_000):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert len(error) < most
    (line,) = (line for line in error.splitlines() if line.startswith("parcade: "))
    return line


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_config_is_one_sentence(name, capsys):
    text, wanted = TEXTS[name]
    Path("c.yaml").write_text(text)
    line = refused(capsys, ["train", "--config", "c.yaml"])
    assert any(word in line for word in wanted.split("|")), line
    assert not Path("mark").exists()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [('{"seed": 1, "seed": 2}', "'seed' is given twice"), ("[" * 100_000, "nested too deep"), ('{"a": 1e400}', "'a'")],
)
def test_json_has_each_key_once_and_ends(text, wanted, capsys):
    Path("c.json").write_text(text)
    assert wanted in refused(capsys, ["config", "--config", "c.json"])


def test_few_aliases_stay_allowed():
    Path("c.yaml").write_text("a: &a {seed: 1}\nb:\n  <<: *a\n  gamma: 0.9\n")
    assert read_config("c.yaml")["b"] == {"seed": 1, "gamma": 0.9}


@pytest.mark.parametrize("file", ["pipe", "/dev/zero", "/dev/null", "/dev/full", "."])
@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--config", "{}"],
        ["train", "--rom", "{}"],
        ["train", "--state", "{}/x"],
        ["train", "--n-envs", "1", "--n-workers", "0", "--model", "{}"],
        ["eval", "--model", "{}"],
        ["eval", "--random", "--game", "lantern", "--rom", "{}"],
        ["eval", "--random", "--game", "lantern", "--episodes", "1", "--video", "{}"],
        ["resume", "{}"],
        ["inspect", "--rom", "{}"],
        ["inspect", "--game", "lantern", "--script", "{}"],
    ],
    ids=lambda words: " ".join(words),
)
def test_pipes_devices_and_folders_are_no_input(file, arguments, capsys):
    os.mkfifo("pipe")
    refused(capsys, [word.format(file) for word in arguments])
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("file", ["pipe", "/dev/zero"])
def test_a_save_state_is_a_file(file, capsys):
    os.mkfifo("pipe")
    assert "pipe or a device" in refused(capsys, ["train", "--state", file])


def test_a_memory_map_is_small_and_valid():
    os.mkfifo("pipe")
    Path("map.yaml").write_text('fields: {a: {address: !!int ""}}')
    for name in ("pipe", "/dev/zero", "map.yaml"):
        with pytest.raises(SettingsError, match="memory map"):
            load_map(name)


def test_a_video_replaces_no_device(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path, Path("/dev/null")):
        with pytest.raises(UserError, match="name of a file"):
            VideoFile(place, (4, 4), 10)
    assert Path("/dev/null").is_char_device()


def test_entries_that_share_bytes_are_refused(tmp_path):
    path = tmp_path / "bomb.zip"
    write_archive(path, "model", {}, {"weights": {"a": np.zeros(1_000_000, np.float32)}})
    with zipfile.ZipFile(path, "a") as archive:
        first = archive.getinfo("weights.safetensors")
        for n in range(26):  # the directory names the same bytes again and again
            twin = zipfile.ZipInfo("w" + "x" * n + ".safetensors")
            twin.header_offset, twin.file_size, twin.compress_size = (
                first.header_offset,
                first.file_size,
                first.file_size,
            )
            twin.CRC = first.CRC
            archive.filelist.append(twin)
            archive.NameToInfo[twin.filename] = twin
        archive._didModify = True
    with pytest.raises(ModelFileError, match="entries that no Parcade file has"):
        read_archive(path, "model")


def test_a_head_with_a_key_twice_is_refused(tmp_path):
    path = tmp_path / "m.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("meta.json", '{"format": 1, "kind": "model", "kind": "checkpoint", "meta": {}, "sha256": {}}')
    with pytest.raises(ModelFileError, match="damaged"):
        read_archive(path, "model")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_a_picture_state_unpacks_no_bomb():
    bomb = zlib.compress(bytes(200_000_000), 9)
    extra = [chunk(b"gbAx", struct.pack("<II", tag, 0xFFFFFFFF) + bomb) for tag in (1, 2, 3, 4)]
    picture = b"\x89PNG\r\n\x1a\n" + chunk(b"gbAs", bomb) + b"".join(extra)
    raw, save_memory = unpack(picture, 1000)
    assert len(raw) == 1000
    assert len(save_memory) <= (128 << 10) + 16
    with pytest.raises(SaveStateError, match="only a picture"):
        unpack(b"\x89PNG\r\n\x1a\n" + chunk(b"gbAx", b""), 1000)


def test_a_gzipped_state_unpacks_no_bomb():
    assert gunzip(gzip.compress(b"abc"), 3) == b"abc"
    with pytest.raises(SaveStateError, match="more than 1,000 bytes"):
        gunzip(gzip.compress(bytes(200_000_000)), 1000)
    with pytest.raises(SaveStateError, match="ends too soon"):
        gunzip(gzip.compress(b"abc" * 99)[:-9], 1000)
    with pytest.raises(SaveStateError, match="damaged"):
        gunzip(b"\x1f\x8b" + bytes(50), 1000)


def test_messages_show_the_beginning_of_what_is_long():
    deep = []
    deep.append(deep)
    wide = {str(n): ["x" * 1000] * 1000 for n in range(1000)}
    for value in (deep, wide, "x" * 10**6, 10**10_000, [[[[[[1]]]]]]):
        assert len(short(value)) <= 100
    assert short({"a": (1,), "b": None}) == "{'a': (1,), 'b': None}"


EXTREMES = {
    "hidden": (["--hidden", "3000000,3000000"], "GiB"),
    "more hidden": (["--hidden", "1e12,1e12"], "network"),
    "lstm": (["--lstm", "1e9"], "network"),
    "deadline": (["--step-deadline-s", "1e19"], "step_deadline_s is 1e"),
    "threads": (["--num-threads", "3000000000"], "num_threads is 3000000000, wanted 1024 or less"),
    "memory": (["--worker-memory-mb", "1e19"], "worker_memory_mb is"),
    "frames": (["--frame-skip", "1e19"], "frame_skip is"),
    "workers": (["--n-workers", "1e9"], "n_workers is"),
    "steps": (["--n-steps", "1e18"], "rollout"),
    "picture": (["--env-id", "CartPole-v1", "--resize", "1000000"], "wanted 1 to 4,096 pixels a side"),
    "layers": (["--hidden", ",".join(["8"] * 1000)], "wanted 64 layers or fewer"),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_settings_are_refused(name, capsys):
    flags, wanted = EXTREMES[name]
    line = refused(capsys, ["train", "--n-envs", "2", *flags, "--plain"])
    assert wanted in line
    assert not list(Path().glob("results/*/*"))


def test_a_run_name_is_no_markup(capsys, monkeypatch):
    from rich.console import Console

    monkeypatch.setattr(Console, "is_terminal", True)
    small = ["--n-envs", "1", "--n-workers", "0", "--timesteps", "128", "--final-eval-episodes", "0", "--no-video"]
    assert main(["train", "--env-id", "CartPole-v1", "--run-name", "exp[/v2]", *small]) == 0
    assert "exp[/v2]" in capsys.readouterr().err.replace("\n", "")
    assert json.loads(next(Path("results/exp[").glob("v2]/*/config.json")).read_text())["run_name"] == "exp[/v2]"
