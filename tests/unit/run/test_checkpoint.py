import logging
import resource

import numpy as np
import pytest
import torch

from parcade.errors import ModelFileError
from parcade.run.archive import read_archive, write_archive
from parcade.run.checkpoint import Checkpoint, list_checkpoints, load_checkpoint, load_newest, save_checkpoint


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    return tmp_path / "checkpoints"


def checkpoint(step: int, size: int = 4) -> Checkpoint:
    weights = {"w": torch.full((size,), float(step))}
    algorithm = {"adam_exp_avg": torch.arange(size) / 7, "shuffle": torch.Generator().manual_seed(step).get_state()}
    return Checkpoint({"env_steps": step}, weights, algorithm, {"episode": np.array([step, step + 1])})


def test_everything_comes_back_to_the_bit(folder):
    saved = checkpoint(8)
    loaded = load_checkpoint(save_checkpoint(folder, 8, saved, keep=3))
    assert loaded.meta == saved.meta
    assert torch.equal(loaded.weights["w"], saved.weights["w"])
    assert loaded.pool["episode"].tolist() == [8, 9]
    assert set(loaded.algorithm) == set(saved.algorithm)
    for name, tensor in saved.algorithm.items():
        assert torch.equal(loaded.algorithm[name], tensor)


def test_only_the_newest_are_kept(folder):
    (folder / "step_notes.txt").write_text("mine")
    for step in range(8, 8 * 13, 8):  # 8 to 96: also across a change of digits
        save_checkpoint(folder, step, checkpoint(step), keep=3)
    assert [path.name for path in list_checkpoints(folder)] == [f"step_{n:012d}.ckpt" for n in (80, 88, 96)]
    assert load_newest(folder).meta == {"env_steps": 96}
    assert (folder / "step_notes.txt").exists()


@pytest.mark.parametrize("damage", ["torn", "flipped", "empty", "foreign", "kind"])
def test_a_damaged_one_is_named_and_the_one_before_it_used(folder, caplog, damage):
    save_checkpoint(folder, 8, checkpoint(8), keep=3)
    path = save_checkpoint(folder, 16, checkpoint(16), keep=3)
    raw = path.read_bytes()
    if damage == "torn":
        path.write_bytes(raw[: len(raw) // 2])
    elif damage == "flipped":
        middle = raw.index(np.float32(16).tobytes())
        path.write_bytes(raw[:middle] + bytes([raw[middle] ^ 4]) + raw[middle + 1 :])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "foreign":
        path.write_bytes(b"not a zip at all")
    else:
        write_archive(path, "model", {}, {})
    with caplog.at_level(logging.WARNING):
        assert load_newest(folder).meta == {"env_steps": 8}
    assert "step_000000000016.ckpt" in caplog.text
    assert "the one before it is used" in caplog.text


def test_a_run_without_a_whole_checkpoint_says_so(folder):
    with pytest.raises(ModelFileError, match="it has no checkpoint yet"):
        load_newest(folder)
    save_checkpoint(folder, 8, checkpoint(8), keep=3).write_bytes(b"")
    with pytest.raises(ModelFileError, match="none of its 1 checkpoints can be read"):
        load_newest(folder)


def test_a_full_disk_stops_only_the_write(folder, caplog):
    save_checkpoint(folder, 8, checkpoint(8), keep=1)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))  # files end here, as on a disk without room
        with caplog.at_level(logging.WARNING):
            assert save_checkpoint(folder, 16, checkpoint(16, size=100_000), keep=1) is None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "step_000000000016.ckpt could not be written" in caplog.text
    assert [path.name for path in folder.iterdir()] == ["step_000000000008.ckpt"]  # and no torn rest
    assert load_newest(folder).meta == {"env_steps": 8}


@pytest.mark.parametrize("name", ["weights", "algorithm", "pool"])
def test_one_without_a_part_of_it_is_refused(folder, name):
    path = save_checkpoint(folder, 8, checkpoint(8), keep=1)
    meta, groups = read_archive(path, "checkpoint")
    del groups[name]
    write_archive(path, "checkpoint", meta, groups)
    with pytest.raises(ModelFileError, match=rf"step_000000000008\.ckpt lacks {name}"):
        load_checkpoint(path)
