"""Downloading one file, which is written only if it is complete and has the right checksum."""

import hashlib
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

from sdgs.datasets._errors import DataFileError
from sdgs.persistence._atomic_write import write_atomically

_MAX_BYTES = 256 << 20  # more than any file of the paper's data sets
_TIMEOUT = 30  # seconds without data


def download(url: str, path: Path, sha256: str, progress: Callable[[str, int, int | None], None] | None = None) -> None:
    """Download ``url`` and write it to ``path`` if it has this checksum."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise DataFileError(f"{url}: the address must start with http:// or https://.")

    def verified_parts() -> Iterator[bytes]:
        digest, size = hashlib.sha256(), 0
        with urlopen(url, timeout=_TIMEOUT) as response:
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() else None
            while block := response.read(1 << 16):
                size += len(block)
                if size > _MAX_BYTES:
                    raise DataFileError(f"{url}: the file has over {_MAX_BYTES} bytes, so it is not the requested one.")
                digest.update(block)
                yield block
                if progress is not None:
                    progress(path.name, size, total)
        if digest.hexdigest() != sha256:
            raise DataFileError(f"{url}: the checksum of the file is wrong, so it was not kept. Try another mirror.")

    try:
        write_atomically(path, verified_parts())
    except (OSError, HTTPException) as error:
        raise DataFileError(f"{url}: could not be downloaded ({error}).") from None
