"""Files from strangers: anything but what we write is refused in one sentence, and nothing in it is run."""

import io
import json
import pickle
import struct
import zipfile
from hashlib import sha256

import numpy as np
import pytest

from parcade.errors import ModelFileError
from parcade.run.archive import read_archive, write_archive

META = {"env_steps": 7, "name": "a"}
GROUPS = {"weights": {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones((), np.int64)}}


@pytest.fixture
def path(tmp_path):
    write_archive(tmp_path / "good.zip", "model", META, GROUPS)
    return tmp_path / "good.zip"


def entries(path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_zip(path, parts, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in parts:
            archive.writestr(name, data)
    return path


def with_weights(path, raw: bytes):
    """Write an archive whose checksums fit ``raw``, as a stranger with our source would."""
    head = json.loads(entries(path)["meta.json"])
    head["sha256"]["weights.safetensors"] = sha256(raw).hexdigest()
    return write_zip(path, [("meta.json", json.dumps(head)), ("weights.safetensors", raw)])


def safetensors(header: dict, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def test_what_was_written_is_read(path):
    meta, groups = read_archive(path, "model")
    assert meta == META
    assert groups["weights"]["a"].tolist() == GROUPS["weights"]["a"].tolist()
    assert groups["weights"]["b"].dtype == np.int64
    assert groups["weights"]["b"].shape == ()


def test_the_same_content_gives_the_same_bytes(path, tmp_path):
    write_archive(tmp_path / "again.zip", "model", META, GROUPS)
    assert (tmp_path / "again.zip").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "name", ["../evil.safetensors", "/etc/x.safetensors", "a/../../x.safetensors", "weights.pt", "c:\\x", "data.pkl"]
)
def test_foreign_names_are_refused(path, name):
    write_zip(path, [*entries(path).items(), (name, b"x")])
    with pytest.raises(ModelFileError, match="entries that no Parcade file has"):
        read_archive(path, "model")
    assert sorted(p.name for p in path.parent.iterdir()) == ["good.zip"]


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compressed_bomb_is_not_unpacked(path, compression):
    write_zip(path, [*entries(path).items(), ("bomb.safetensors", bytes(50_000_000))], compression)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(ModelFileError, match="entries that no Parcade file has"):
        read_archive(path, "model")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_given_twice_is_refused(path):
    parts = list(entries(path).items())
    write_zip(path, [*parts, parts[-1]])
    with pytest.raises(ModelFileError, match="entries that no Parcade file has"):
        read_archive(path, "model")


def test_entries_that_claim_more_than_the_file_holds_are_refused(path):
    """The bomb without compression: many entries of the directory point at the same bytes."""
    body = bytes(10_000)
    write_zip(path, [("a.safetensors", body), ("b.safetensors", b"")])
    raw = bytearray(path.read_bytes())
    first, second = (raw.index(b"PK\x01\x02", at) for at in (0, raw.index(b"PK\x01\x02") + 4))
    size = struct.pack("<LLL", *struct.unpack_from("<LLL", raw, first + 16))
    raw[second + 16 : second + 28] = size  # checksum and both sizes of a, for b
    raw[second + 42 : second + 46] = raw[first + 42 : first + 46]  # and its place
    path.write_bytes(raw)
    with pytest.raises(ModelFileError):
        read_archive(path, "model")


def test_an_encrypted_archive_is_refused(path):
    raw = bytearray(path.read_bytes())
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = raw.index(magic)
        while at >= 0:
            raw[at + offset] |= 1
            at = raw.find(magic, at + 4)
    path.write_bytes(raw)
    with pytest.raises(ModelFileError):
        read_archive(path, "model")


def test_every_truncation_is_told(path):
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            read_archive(path, "model")


def test_no_flipped_bit_changes_what_is_read(path):
    """Either it is told, or it hit a byte that carries nothing, such as a date."""
    whole, wanted = path.read_bytes(), GROUPS["weights"]["a"].tolist()
    told = 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :])
        try:
            meta, groups = read_archive(path, "model")
        except ModelFileError:
            told += 1
        else:
            assert meta == META, at
            assert groups["weights"]["a"].tolist() == wanted, at
    assert told > 0.8 * len(whole)


def test_another_kind_is_named(path):
    with pytest.raises(ModelFileError, match="is a model file, wanted a checkpoint"):
        read_archive(path, "checkpoint")


def test_another_format_is_named(path):
    parts = entries(path)
    head = {**json.loads(parts["meta.json"]), "format": 99}
    write_zip(path, [*{**parts, "meta.json": json.dumps(head)}.items()])
    with pytest.raises(ModelFileError, match="has format 99, this Parcade reads 1"):
        read_archive(path, "model")


class Trap:
    def __reduce__(self):
        return (open, ("trapped", "w"))


def test_pickles_are_never_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trap = pickle.dumps(Trap())
    path.write_bytes(trap)
    with pytest.raises(ModelFileError, match="is not a Parcade model file"):
        read_archive(path, "model")
    with pytest.raises(ModelFileError, match="holds an array that cannot be read"):
        read_archive(with_weights_again(path, trap), "model")
    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(ModelFileError, match="holds an array that cannot be read"):
        read_archive(with_weights_again(path, buffer.getvalue()), "model")
    assert not (tmp_path / "trapped").exists()


def with_weights_again(path, raw):
    write_archive(path, "model", META, GROUPS)
    return with_weights(path, raw)


@pytest.mark.parametrize(
    "raw",
    [
        safetensors({"a": {"dtype": "F32", "shape": [1000, 1000], "data_offsets": [0, 4]}}, bytes(4)),
        safetensors({"a": {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 4]}}, bytes(4)),
        safetensors({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, bytes(4)),
        safetensors({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}, bytes(4)),
        safetensors({"a": {"dtype": "OBJECT", "shape": [1], "data_offsets": [0, 8]}}, bytes(8)),
        safetensors({"a": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}}, bytes(4)),
        safetensors({"a": {"dtype": "F4", "shape": [8], "data_offsets": [0, 4]}}, bytes(4)),
        struct.pack("<Q", 1 << 60) + b"{}",
        b"",
    ],
    ids=["shape", "huge", "negative", "backwards", "object", "float8", "float4", "header", "empty"],
)
def test_arrays_that_do_not_add_up_are_refused(path, raw):
    with pytest.raises(ModelFileError, match="holds an array that cannot be read"):
        read_archive(with_weights(path, raw), "model")


@pytest.mark.parametrize(
    "head", [b"[" * 100_000, b"null", b"{}", b"\xff\xfe", b'{"meta": [], "sha256": {}}', b'{"meta": {}, "sha256": 3}']
)
def test_a_head_that_is_none_is_refused(path, head):
    write_zip(path, [*{**entries(path), "meta.json": head}.items()])
    with pytest.raises(ModelFileError, match="is not a Parcade model file, or it is damaged"):
        read_archive(path, "model")


def test_missing_files_and_folders_are_told(tmp_path):
    with pytest.raises(ModelFileError, match="there is no model at"):
        read_archive(tmp_path / "none.zip", "model")
    with pytest.raises(ModelFileError, match="is a folder"):
        read_archive(tmp_path, "model")


def test_a_model_of_stable_baselines3_is_named_as_one(tmp_path):
    names = ("data", "pytorch_variables.pth", "policy.pth", "_stable_baselines3_version", "system_info.txt")
    theirs = write_zip(tmp_path / "theirs.zip", [(name, b"x") for name in names])
    with pytest.raises(ModelFileError, match=r"theirs\.zip is a model of Stable-Baselines3"):
        read_archive(theirs, "model")


@pytest.mark.parametrize("key", ["kind", "format"])
def test_a_head_of_long_words_is_told_briefly(tmp_path, key):
    path = tmp_path / "m.zip"
    head = {"format": 1, "kind": "model", "sha256": {}, "meta": {}, key: "x" * 5000}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("meta.json", json.dumps(head))
    with pytest.raises(ModelFileError) as told:
        read_archive(path, "model")
    assert len(str(told.value)) < 400
