"""Downloading one file, which is written only if it is complete and has the right checksum."""

import hashlib
import os
import secrets
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

from sdgs.datasets._errors import DataFileError

_MAX_BYTES = 256 << 20  # more than any file of the paper's data sets
_TIMEOUT = 30  # seconds without data


def download(url: str, path: Path, sha256: str, progress: Callable[[str, int, int | None], None] | None = None) -> None:
    """Download ``url`` to a temporary file beside ``path``, verify it, and rename it to ``path``."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise DataFileError(f"{url}: the address must start with http:// or https://.")
    temporary = path.parent / f".{path.name}-{secrets.token_hex(4)}"
    try:
        digest, size = hashlib.sha256(), 0
        with open(temporary, "xb") as file, urlopen(url, timeout=_TIMEOUT) as response:
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() else None
            while block := response.read(1 << 16):
                size += len(block)
                if size > _MAX_BYTES:
                    raise DataFileError(f"{url}: the file has over {_MAX_BYTES} bytes, so it is not the requested one.")
                digest.update(block)
                file.write(block)
                if progress is not None:
                    progress(path.name, size, total)
        if digest.hexdigest() != sha256:
            raise DataFileError(f"{url}: the checksum of the file is wrong, so it was not kept. Try another mirror.")
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except (OSError, HTTPException) as error:
        raise DataFileError(f"{url}: could not be downloaded ({error}).") from None
    finally:
        temporary.unlink(missing_ok=True)
