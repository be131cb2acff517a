"""Atomic writes: a file appears whole or not at all."""

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_atomically(path: Path, content: str | bytes | Iterable[Any]) -> None:
    """Write to a temporary file, then rename it: a reader finds the old file, the new one or none, never part of one.

    In all else it does what ``open(path, "wb")`` does: a new file gets the permissions that the umask leaves, a file
    that is replaced keeps its permissions, a read-only file is not replaced, and a symbolic link stays and its target
    is written. Devices and pipes cannot be replaced, so they are written directly.

    ``content`` may be an iterable of parts, each bytes or an array of bytes. Errors while writing name ``path``.
    """
    content = content.encode() if isinstance(content, str) else content
    parts: Iterable[Any] = [content] if isinstance(content, bytes) else content
    with naming_errors(path):
        replaced = _stat_writable_file(path)
    if replaced is not None and not stat.S_ISREG(replaced.st_mode):
        with _opened(path, path, "wb", 0o666) as file:
            _write_parts(file, parts, path)
        return
    target = Path(os.path.realpath(path))
    # The name is known before the file exists, because a signal may arrive at any point.
    temporary = target.parent / f".{target.name}-{secrets.token_hex(4)}"
    # What replaces a private file is private from the start.
    mode = 0o666 if replaced is None else 0o600
    try:
        with _opened(temporary, path, "xb", mode) as file:
            _write_parts(file, parts, path)
            with naming_errors(path):
                os.fsync(file.fileno())
                if replaced is not None:
                    _copy_permissions(file.fileno(), temporary, replaced)
        with naming_errors(path):
            os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def naming_errors(path: Path) -> Iterator[None]:
    """Errors of the system name ``path`` instead of a temporary file or nothing, and say what to do."""
    try:
        yield
    except OSError as error:
        if error.filename == str(path):  # it has been named
            raise
        reason = error.strerror or str(error)
        if error.errno in DISK_IS_FULL:
            reason += ". Free space there, or name another folder"
        raise OSError(error.errno, reason, str(path)) from None


def _stat_writable_file(path: Path) -> os.stat_result | None:
    """The status of what is there already, None if nothing is; raises an error if it cannot be written."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return status


@contextmanager
def _opened(file_path: Path, path: Path, flags: str, mode: int) -> Iterator[BinaryIO]:
    """The open file ``file_path``. An error names ``path``."""
    with naming_errors(path):
        file = open(file_path, flags, opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115
    try:
        yield file  # type: ignore[misc]
    finally:
        with suppress(OSError):  # of writing once more what could not be written, which has been reported
            file.close()


def _write_parts(file: BinaryIO, parts: Iterable[Any], path: Path) -> None:
    """Write and flush. Errors of the iterable itself, which may read other files, are passed on as they are."""
    for part in parts:
        with naming_errors(path):
            file.write(part)
    with naming_errors(path):
        file.flush()


def _copy_permissions(descriptor: int, temporary: Path, replaced: os.stat_result) -> None:
    """Give a file the permissions of the file that it replaces, and its owner and group as far as the system allows."""
    mode = replaced.st_mode & 0o777
    own = os.fstat(descriptor)
    if hasattr(os, "fchown") and (own.st_uid, own.st_gid) != (replaced.st_uid, replaced.st_gid):
        try:
            os.fchown(descriptor, replaced.st_uid, replaced.st_gid)
        except PermissionError:
            mode &= 0o707  # these permissions were for the members of another group
    os.chmod(temporary, mode)
