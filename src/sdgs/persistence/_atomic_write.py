"""Atomic writes: a file appears whole or not at all."""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write_atomically(path: Path, content: str | bytes | Iterable[Any]) -> None:
    """Write to a temporary file, then rename it: a reader finds the old file, the new one or none, never part of one.

    ``content`` may be an iterable of parts, each bytes or an array of bytes.
    """
    content = content.encode() if isinstance(content, str) else content
    parts: Iterable[Any] = [content] if isinstance(content, bytes) else content
    # The name is known before the file exists, because a signal may arrive at any point.
    temporary = path.parent / f".{path.name}-{secrets.token_hex(4)}"
    try:
        with open(temporary, "xb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
