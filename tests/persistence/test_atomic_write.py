"""A file appears whole or not at all; in all else it is as if it had been opened for writing."""

import errno
import os
import stat
import threading
from contextlib import contextmanager

import numpy as np
import pytest

from full_disk import file_size_limit
from sdgs.persistence._atomic_write import write_atomically


@contextmanager
def umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def permissions(path):
    return stat.S_IMODE(path.stat().st_mode)


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
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002, 0o000])
def test_a_new_file_has_the_permissions_that_the_umask_leaves(mask, tmp_path):
    with umask(mask):
        write_atomically(tmp_path / "new", b"new")
    assert permissions(tmp_path / "new") == 0o666 & ~mask


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755, 0o200])
def test_a_replaced_file_keeps_its_permissions_and_is_never_readable_by_more(mode, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    seen = []

    def parts():
        yield b"new"
        seen.extend(permissions(other) for other in tmp_path.iterdir() if other != path)

    with umask(0o000):
        write_atomically(path, parts())
    assert permissions(path) == mode
    assert seen == [0o600]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_replaced_file_keeps_its_owner(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 12345, 54321)
    path.chmod(0o640)
    write_atomically(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid, permissions(path)) == (12345, 54321, 0o640)


def test_permissions_of_a_group_are_dropped_if_the_group_cannot_be_kept(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o664)
    status = os.stat(path)
    monkeypatch.setattr(os, "fstat", lambda _: os.stat_result((*status[:5], status.st_gid + 1, *status[6:])))

    def refuse(*_):
        raise PermissionError(errno.EPERM, "not permitted")

    monkeypatch.setattr(os, "fchown", refuse)
    write_atomically(path, b"new")
    assert permissions(path) == 0o604


@pytest.mark.parametrize("target", ["there", "not there yet", "in another folder"])
def test_a_symbolic_link_stays_and_its_target_is_written(target, tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    file = folder / "file" if target == "in another folder" else tmp_path / "file"
    if target != "not there yet":
        file.write_bytes(b"old")
        file.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(file.relative_to(tmp_path))
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert permissions(file) == (0o600 if target != "not there yet" else permissions(file))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "link", "other"]


def test_a_link_to_itself_is_an_error(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(OSError, match="link") as caught:
        write_atomically(link, b"new")
    assert (caught.value.errno, caught.value.filename) == (errno.ELOOP, str(link))
    assert list(tmp_path.iterdir()) == [link]


def test_a_pipe_is_written_not_replaced(tmp_path):
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_atomically(pipe, [b"a", b"b"])
    reader.join(timeout=10)
    assert received == [b"ab"]
    assert pipe.is_fifo()


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
        raise OSError("not possible")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="not possible"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("size", [2_000, 2_000_000], ids=["buffered", "more than a buffer"])
@pytest.mark.parametrize("old", [None, b"old"])
def test_a_full_disk_gives_one_error_that_names_the_file(old, size, tmp_path):
    path = tmp_path / "file"
    if old:
        path.write_bytes(old)
    with file_size_limit(1000), pytest.raises(OSError, match="Free space there, or name another folder") as caught:
        write_atomically(path, [bytes(size), bytes(size)])
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))
    assert list(tmp_path.iterdir()) == ([path] if old else [])
    assert not old or path.read_bytes() == old


def test_errors_of_the_content_are_passed_on(tmp_path):
    def parts():
        yield b"a"
        open(tmp_path / "missing", "rb").close()

    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(tmp_path / "file", parts())
    assert caught.value.filename == str(tmp_path / "missing")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "error"),
    [("nowhere/file", FileNotFoundError), ("folder", IsADirectoryError), ("taken/file", NotADirectoryError)],
)
def test_a_path_that_cannot_be_written_is_named(name, error, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "taken").write_bytes(b"")
    with pytest.raises(error) as caught:
        write_atomically(tmp_path / name, b"new")
    assert caught.value.filename == str(tmp_path / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_read_only_files_and_folders_are_left_alone(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o400)
    with pytest.raises(PermissionError, match="file"):
        write_atomically(path, b"new")
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError) as caught:
        write_atomically(tmp_path / "new", b"new")
    tmp_path.chmod(0o700)
    assert caught.value.filename == str(tmp_path / "new")
    assert path.read_bytes() == b"old"
