from pathlib import Path

import pytest

from parcade.cluster.files import NodeFiles, packed, sweep_folders
from parcade.env.spec import EnvSpec
from parcade.errors import RunError


def made(tmp_path):
    (tmp_path / "my.gb").write_bytes(b"rom")
    states = tmp_path / "states"
    states.mkdir()
    for name in ("a.state", "b.state"):
        (states / name).write_bytes(name.encode())
    return EnvSpec(game="lantern", rom=str(tmp_path / "my.gb"), state=str(states))


def test_files_arrive_with_their_names_and_are_removed(tmp_path):
    spec = made(tmp_path)
    files = NodeFiles(*packed(spec))
    there = files.unpacked(spec)
    assert there.rom != spec.rom
    assert Path(there.rom).read_bytes() == b"rom"
    assert sorted(path.name for path in Path(there.state).iterdir()) == ["a.state", "b.state"]
    files.close()
    files.close()
    assert not Path(there.rom).exists()


def test_other_content_is_refused(tmp_path):
    sent, contents = packed(made(tmp_path))
    files = NodeFiles(sent, dict.fromkeys(contents, b"other"))
    try:
        with pytest.raises(RunError, match=r"my.gb has SHA-256 [0-9a-f]{12}…, expected"):
            files.unpacked(made_again(tmp_path))
    finally:
        files.close()


def made_again(tmp_path):
    return EnvSpec(game="lantern", rom=str(tmp_path / "my.gb"), state=str(tmp_path / "states"))


def test_an_env_without_files_needs_no_folder():
    files = NodeFiles(*packed(EnvSpec(env_id="CartPole-v1")))
    assert files.folder is None
    files.close()


def test_folders_of_killed_learners_are_swept(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gone, ours = tmp_path / "parcade-node-999999999-x", tmp_path / "parcade-node-1-x"
    gone.mkdir()
    ours.mkdir()
    sweep_folders()
    assert not gone.exists()
    assert ours.exists()
