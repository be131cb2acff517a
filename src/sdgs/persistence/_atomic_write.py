"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write_whole(path: Path, content: str | bytes | Iterable[Any]) -> None:
    """Write aside, then rename: whoever looks finds the old file, the new one, or none; never a part of one.

    ``content`` may also come in parts, each bytes or an array of bytes.
    """
    content = content.encode() if isinstance(content, str) else content
    parts: Iterable[Any] = [content] if isinstance(content, bytes) else content
    # The name is known before there is a file by it: a signal may come at any point.
    scratch = path.parent / f".{path.name}-{secrets.token_hex(4)}"
    try:
        with open(scratch, "xb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
