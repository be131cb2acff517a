"""A file appears whole or not at all."""

import os
import stat

import numpy as np
import pytest

from sdgs.persistence._atomic_write import write_atomically


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("größe", "größe".encode()),
        (b"\0\1", b"\0\1"),
        ([b"a", np.frombuffer(b"bc", dtype=np.uint8).data], b"abc"),
        ([], b""),
    ],
    ids=["text", "bytes", "parts", "nothing"],
)
def test_content_replaces_the_file_that_was_there(content, expected, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    write_atomically(path, content)
    assert path.read_bytes() == expected
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_write_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def parts():
        yield b"part of the new file"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, parts())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_rename_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
