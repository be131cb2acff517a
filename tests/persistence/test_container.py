"""Arrays come back exactly; foreign, damaged and harmful files give one clear error, and nothing else happens."""

import io
import json
import os
import pickle
import tracemalloc
import zipfile
from hashlib import sha256

import numpy as np
import pytest
from model_file_helpers import assert_same

import sdgs
from sdgs import ModelFileError
from sdgs.persistence._container import CheckedArrays, read, write
from sdgs.persistence.codecs._model_codec import VERSION


def load(folder, content):
    path = folder / "bad.sdgs"
    path.write_bytes(content)
    return sdgs.load(path)


def split_file(content):
    """The header, and the bytes of the arrays without the checksum."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length : -32]


def make_file(header, arrays):
    """A file with a correct checksum."""
    text = json.dumps(header).encode()
    start = len(text).to_bytes(8, "little") + text + arrays
    return start + sha256(start).digest()


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("harm",)


def zip_file(name, content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


def npz_with_objects():
    file = io.BytesIO()
    np.savez(file, a=np.array([Harmful()], dtype=object))
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        b"\0" * 4096,
        b"\xff" * 4096,
        (2).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (4).to_bytes(8, "little") + b'"\xff"x',
        (200_000).to_bytes(8, "little") + b"[" * 200_000,
        pickle.dumps(Harmful()),
        npz_with_objects(),
        zip_file("../../escaped", b"x"),
        zip_file("bomb.npy", b"\0" * (1 << 24)),
        b"%PDF-1.7 " + bytes(range(256)),
    ],
    ids=lambda content: f"{len(content)} bytes from {content[:4]!r}",
)
def test_foreign_files_are_rejected(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelFileError, match=r"bad.sdgs cannot be read as sdgs-model"):
        load(tmp_path, content)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.sdgs"]


def test_paths_that_are_not_files_are_rejected(tmp_path):
    with pytest.raises(FileNotFoundError):
        sdgs.load(tmp_path / "none.sdgs")
    os.mkfifo(tmp_path / "pipe")  # reading would never end
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(ModelFileError, match="is not a file"):
            sdgs.load(path)


@pytest.mark.slow
def test_truncated_files_and_changed_bytes_are_detected(ridge_file, tmp_path):
    content = ridge_file.read_bytes()
    rng = np.random.default_rng(0)
    for size in [*range(0, 40), *rng.integers(40, len(content), 200), len(content) - 1]:
        with pytest.raises(ModelFileError):
            load(tmp_path, content[:size])
    for position in [*range(0, 40), *rng.integers(40, len(content), 400), len(content) - 1]:
        changed = bytearray(content)
        changed[position] ^= 0x11
        with pytest.raises(ModelFileError):
            load(tmp_path, bytes(changed))
    with pytest.raises(ModelFileError, match="data after its end"):
        load(tmp_path, content + b"\0")


def test_the_error_for_a_newer_version_says_what_to_do(ridge_file, tmp_path):
    header, arrays = split_file(ridge_file.read_bytes())
    header["__metadata__"] |= {"version": str(VERSION + 1), "library": "9.1"}
    with pytest.raises(
        ModelFileError, match=rf"format version {VERSION + 1}, written by sdgs '9.1'.*install a newer one"
    ):
        load(tmp_path, make_file(header, arrays))


def test_sizes_that_a_header_only_claims_take_no_memory(ridge_file, tmp_path):
    header, arrays = split_file(ridge_file.read_bytes())
    claims = []
    for size in (1 << 40, 1 << 48, 1 << 62):
        big = json.loads(json.dumps(header))
        end = big["sha256"]["data_offsets"][0]
        big["claimed"] = {"dtype": "F64", "shape": [size // 8], "data_offsets": [end, end + size]}
        big["sha256"] = big.pop("sha256") | {"data_offsets": [end + size, end + size + 32]}
        claims.append(make_file(big, arrays))
        claims.append(size.to_bytes(8, "little") + b"{" * 100)
    tracemalloc.start()
    for claim in claims:
        with pytest.raises(ModelFileError):
            load(tmp_path, claim)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_repeated_names_are_rejected(ridge_file, tmp_path):
    content = ridge_file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    text = content[8 : 8 + length].rstrip()[:-1] + b', "sha256": 1}'
    with pytest.raises(ModelFileError, match="repeats a name"):
        load(tmp_path, len(text).to_bytes(8, "little") + text + content[8 + length :])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header["a"].update(dtype="BOOL"), "header is damaged"),
        (lambda header: header["a"].update(dtype=["F64"]), "header is damaged"),
        (lambda header: header["a"].update(shape=[2, 1, 1]), "header is damaged"),
        (lambda header: header["a"].update(shape=[True, 2]), "header is damaged"),
        (lambda header: header["a"].update(shape=[1 << 49, 0]), "header is damaged"),
        (lambda header: header["a"].update(more=1), "header is damaged"),
        (lambda header: header["a"].update(shape=[3]), "not contiguous"),
        (lambda header: header.pop("a"), "not contiguous"),
        (lambda header: header.update(sha256=header["sha256"] | {"dtype": "F32", "shape": [8]}), "no checksum"),
        (lambda header: header["__metadata__"].update(version="0"), "header is damaged"),
        (lambda header: header["__metadata__"].update(version=1), "header is damaged"),
        (lambda header: header["__metadata__"].update(library=1), "header is damaged"),
        (lambda header: header["__metadata__"].update(document="{"), "JSON is damaged"),
        (lambda header: header["__metadata__"].update(document="NaN"), "not a finite number"),
        (lambda header: header["__metadata__"].update(document="[-1e999]"), "-1e999, which is not a finite number"),
        (lambda header: header["__metadata__"].update(transposed='["b"]'), "'b'"),
        (lambda header: header["__metadata__"].update(format="other"), "another format"),
        (lambda header: header.pop("__metadata__"), "another format"),
    ],
)
def test_inconsistent_headers_are_rejected(change, message, tmp_path):
    path = tmp_path / "file"
    write(path, "numbers", 1, "0.1", {}, {"a": np.arange(2.0)})
    header, arrays = split_file(path.read_bytes())
    change(header)
    path.write_bytes(make_file(header, arrays))
    with pytest.raises(ModelFileError, match=f"cannot be read as numbers: .*{message}"):
        read(path, "numbers", (1,))


@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<i8", "<i4", "|u1", ">f8", ">i4"])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 4), (0, 5)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_come_back_with_their_memory_order(dtype, shape, order, tmp_path):
    array = np.asarray(np.random.default_rng(0).integers(0, 99, shape), dtype=dtype, order=order)
    write(tmp_path / "file", "numbers", 3, "0.1", {"ć": [1, None]}, {"a": array, "b": np.arange(3.0)})
    content = read(tmp_path / "file", "numbers", (2, 3))
    assert (content.version, content.written_by, content.document) == (3, "0.1", {"ć": [1, None]})
    assert_same(content.arrays["a"], array.astype(array.dtype.newbyteorder("=")))
    assert_same(content.arrays["b"], np.arange(3.0))


def test_each_array_is_checked_and_taken_once():
    arrays = CheckedArrays({"x": np.ones((2, 3)), "i": np.array([0, 4]), "nan": np.array([np.nan])})
    for arguments, message in [
        (("y", "f", 2, 3), "y is missing"),
        (("i", "f", 2), "i has dtype int64"),
    ]:
        with pytest.raises(ValueError, match=message):
            arrays.take(*arguments)
    assert arrays.has("x")
    assert arrays.shape("x") == (2, 3)
    assert arrays.take("x", "fi", None, 3).shape == (2, 3)
    assert not arrays.has("x")
    assert arrays.shape("x") == ()
    with pytest.raises(ValueError, match="unexpected array 'nan'"):
        arrays.check_all_taken()
    with pytest.raises(ValueError, match="not finite"):
        arrays.take("nan", "f", 1)
    arrays.check_all_taken()
    with pytest.raises(ValueError, match=r"has shape \(2, 3\)"):
        CheckedArrays({"x": np.ones((2, 3))}).take("x", "f", 3, 3)
    with pytest.raises(ValueError, match="out of range"):
        CheckedArrays({"i": np.array([0, 4])}).indices("i", 4)
