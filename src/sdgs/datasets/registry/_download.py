"""Downloading one file: whole and with the right checksum, or not at all."""

import hashlib
import os
import secrets
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

from sdgs.datasets._errors import DataFileError

_MAX_BYTES = 256 << 20  # no file of the paper's comes near
_TIMEOUT = 30  # seconds without a byte


def download(url: str, path: Path, sha256: str, progress: Callable[[str, int, int | None], None] | None = None) -> None:
    """Fetch ``url`` into ``path``, by way of a file beside it that is renamed when it is whole and right."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise DataFileError(f"{url}: not an address that starts with http:// or https://.")
    scratch = path.parent / f".{path.name}-{secrets.token_hex(4)}"
    try:
        digest, size = hashlib.sha256(), 0
        with open(scratch, "xb") as file, urlopen(url, timeout=_TIMEOUT) as response:
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() else None
            while block := response.read(1 << 16):
                size += len(block)
                if size > _MAX_BYTES:
                    raise DataFileError(f"{url}: longer than {_MAX_BYTES} bytes, so not the file that was asked for.")
                digest.update(block)
                file.write(block)
                if progress is not None:
                    progress(path.name, size, total)
        if digest.hexdigest() != sha256:
            raise DataFileError(f"{url}: what came is not the expected file, by its checksum. Nothing was kept.")
        os.chmod(scratch, 0o644)
        os.replace(scratch, path)
    except (OSError, HTTPException) as error:
        raise DataFileError(f"{url}: could not be fetched ({error}).") from None
    finally:
        scratch.unlink(missing_ok=True)
