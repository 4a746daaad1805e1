"""Episodes in files: everything comes back, and nothing else is read."""

import json
import zipfile

import numpy as np
import pytest

from parcade.errors import EpisodeFileError
from parcade.run.archive import write_archive
from parcade.run.episodes import EpisodeOrigin, EpisodeRecord, compact, read_episodes, write_episodes

ORIGIN = EpisodeOrigin(env={"game": "lantern", "crop": [1, 2]}, parcade="0.1.0", rom_sha1="a" * 40)


def record(length=3, **changes):
    taken = {"obs": np.arange(length, dtype=np.int64)}
    facts = {"total_reward": 0.1 + 0.2, "terminated": True, "truncated": False, "metrics": {"depth": 2.5}}
    return EpisodeRecord(ORIGIN, **{"seed": 7, "actions": taken, "length": length, **facts, **changes})


def same(left, right):
    assert left.origin == right.origin
    assert left.facts() == right.facts()
    for name in ("actions", "prefix"):
        ours, theirs = getattr(left, name), getattr(right, name)
        assert {leaf: rows.tolist() for leaf, rows in ours.items()} == {
            leaf: rows.tolist() for leaf, rows in theirs.items()
        }


def test_what_is_written_comes_back(tmp_path):
    prefix = {"obs": np.array([1, 1])}
    place = {"number": 12, "slot": 3, "slot_episode": 4, "env_steps": 99}
    written = [record(), record(0, actions={}), record(5, prefix=prefix, **place)]
    write_episodes(tmp_path / "e.zip", written)
    for left, right in zip(written, read_episodes(tmp_path / "e.zip"), strict=True):
        same(left, right)


def test_any_kind_of_action_comes_back_and_takes_few_bytes(tmp_path):
    leaves = {
        "choice": np.array([0, 255, 3]),
        "signed": np.array([-1, 2, 100]),
        "wide": np.array([0, 70_000, 1]),
        "axes": np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32),
        "switches": np.array([[0, 1], [1, 1], [0, 0]], np.int8),
    }
    write_episodes(tmp_path / "e.zip", [record(actions=leaves)])
    found = read_episodes(tmp_path / "e.zip")[0].actions
    assert all((found[leaf] == rows).all() for leaf, rows in leaves.items())
    kinds = {leaf: str(rows.dtype) for leaf, rows in compact(leaves).items()}
    assert kinds == {"choice": "uint8", "signed": "int8", "wide": "uint32", "axes": "float32", "switches": "uint8"}


def written_with(tmp_path, change):
    """Return a file whose meta data are changed, with checksums that fit."""
    facts = {"origin": ORIGIN.to_dict(), "episodes": [record().facts()]}
    groups = {"actions": {"obs": np.zeros(3, np.uint8)}, "prefix": {}}
    change(facts, groups)
    write_archive(tmp_path / "e.zip", "recording", facts, groups)
    return tmp_path / "e.zip"


@pytest.mark.parametrize(
    "change",
    [
        lambda facts, groups: facts.pop("origin"),
        lambda facts, groups: facts["origin"].update(rom_sha1="../x"),
        lambda facts, groups: facts["origin"].update(env=[]),
        lambda facts, groups: facts.update(episodes=[]),
        lambda facts, groups: facts.update(episodes={"a": 1}),
        lambda facts, groups: facts["episodes"][0].update(length=-3),
        lambda facts, groups: facts["episodes"][0].update(length=4),
        lambda facts, groups: facts["episodes"][0].update(seed=1 << 80),
        lambda facts, groups: facts["episodes"][0].update(seed=True),
        lambda facts, groups: facts["episodes"][0].update(total_reward="many"),
        lambda facts, groups: facts["episodes"][0].update(metrics={"depth": None}),
        lambda facts, groups: facts["episodes"][0].update(metrics=[1]),
        lambda facts, groups: facts["episodes"][0].pop("slot"),
        lambda facts, groups: facts["episodes"][0].update(prefix=1),
        lambda facts, groups: groups.pop("actions"),
        lambda facts, groups: groups.update(actions={}),
        lambda facts, groups: groups.update(actions={"obs": np.array(3.0)}),
        lambda facts, groups: groups.update(actions={"obs": np.full(3, np.nan)}),
    ],
)
def test_nonsense_is_refused_in_one_sentence(tmp_path, change):
    with pytest.raises(EpisodeFileError, match=r"e\.zip is no file of episodes that can be played") as told:
        read_episodes(written_with(tmp_path, change))
    assert "\n" not in str(told.value)


def test_keys_of_a_later_parcade_are_left_out(tmp_path):
    path = written_with(tmp_path, lambda facts, groups: facts["episodes"][0].update(mood="good"))
    assert read_episodes(path)[0].seed == 7


def test_files_that_are_something_else_are_named(tmp_path):
    path = tmp_path / "e.zip"
    with pytest.raises(EpisodeFileError, match="there is no recording at"):
        read_episodes(path)
    path.write_bytes(b"no zip")
    with pytest.raises(EpisodeFileError, match="is not a Parcade recording file, or it is damaged"):
        read_episodes(path)
    write_archive(path, "model", {}, {})
    with pytest.raises(EpisodeFileError, match="is a model file, wanted a recording"):
        read_episodes(path)
    write_archive(path, "demonstrations", {}, {})
    with pytest.raises(EpisodeFileError, match="before Parcade kept seeds and actions: record it again"):
        read_episodes(path)


def test_one_changed_byte_is_seen(tmp_path):
    path = tmp_path / "e.zip"
    write_episodes(path, [record()])
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        head = json.loads(archive.read("meta.json"))
    at = whole.index(json.dumps(head["meta"]["episodes"][0]["seed"]).encode() + b",\n")
    path.write_bytes(whole[:at] + b"8" + whole[at + 1 :])
    with pytest.raises(EpisodeFileError, match="damaged"):
        read_episodes(path)
