"""The paper's data sets on this machine: finding, checking, downloading and loading their files."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from sdgs._utils._validation import check_choice
from sdgs.datasets._dataset import Dataset
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._mulan_meka import load_mulan
from sdgs.datasets.registry._download import download
from sdgs.datasets.registry._paper_datasets import REGISTRY


def load(
    name: str,
    split: Literal["train", "test"] = "train",
    *,
    data_home: str | Path | None = None,
    verify: bool = True,
) -> Dataset:
    """Load one split of one of the paper's eleven data sets from files on this machine.

    Parameters
    ----------
    name : str
        One of ``sdgs.datasets.REGISTRY``.
    split : {"train", "test"}, default="train"
        The paper's own split.
    data_home : str, Path or None, default=None
        Folder with ``NAME/NAME-train.arff`` and so on. Default: the folder in the environment variable ``SDGS_DATA``,
        then the user's cache, ``~/.cache/sdgs``.
    verify : bool, default=True
        Whether to reject files that do not have the expected checksum.

    Returns
    -------
    Dataset
    """
    check_choice(name, "name", tuple(REGISTRY))
    check_choice(split, "split", ("train", "test"))
    entry = REGISTRY[name]
    files = [entry.file(split), entry.file("xml")]
    folder = _find_folder(name, files, data_home)
    if verify:
        for file in files:
            if _sha256(folder / file) != entry.files[file]:
                raise DataFileError(
                    f"{folder / file}: the checksum is not that of the paper's data set {name}. Download the file "
                    "again, or pass verify=False to read it all the same."
                )
    return load_mulan(folder / files[0], folder / files[1])


def find(name: str, *, data_home: str | Path | None = None) -> Path:
    """Find the folder with all files of one of the paper's data sets.

    Parameters
    ----------
    name : str
        One of ``sdgs.datasets.REGISTRY``.
    data_home : str, Path or None, default=None
        As for :func:`load`.

    Returns
    -------
    Path

    Raises
    ------
    FileNotFoundError
        If there is no such folder. The message says where to get the files.
    """
    check_choice(name, "name", tuple(REGISTRY))
    return _find_folder(name, list(REGISTRY[name].files), data_home)


def check(name: str, *, data_home: str | Path | None = None) -> dict[str, str]:
    """Compare the files of one of the paper's data sets with their checksums.

    Parameters
    ----------
    name : str
        One of ``sdgs.datasets.REGISTRY``.
    data_home : str, Path or None, default=None
        As for :func:`load`.

    Returns
    -------
    dict
        "right", "missing" or "different" for each file.
    """
    check_choice(name, "name", tuple(REGISTRY))
    states = {}
    for file, checksum in REGISTRY[name].files.items():
        paths = (home / name / file for home in _data_homes(data_home))
        path = next((path for path in paths if path.is_file()), None)
        states[file] = "missing" if path is None else "right" if _sha256(path) == checksum else "different"
    return states


def fetch(
    name: str,
    *,
    mirror: str,
    data_home: str | Path | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Path:
    """Download the files of one of the paper's data sets that are missing or different, and verify them.

    Parameters
    ----------
    name : str
        One of ``sdgs.datasets.REGISTRY``.
    mirror : str
        Address under which ``NAME/NAME-train.arff`` and so on are served. There is no default, because no public server
        has all eleven in this form.
    data_home : str, Path or None, default=None
        Folder to write to; as for :func:`load`.
    progress : callable, optional
        Called with the name of the file, the bytes so far and the total bytes (None if the server does not send them).

    Returns
    -------
    Path
        The folder with the files. A file is written only if it is complete and has the right checksum.
    """
    check_choice(name, "name", tuple(REGISTRY))
    folder = _data_homes(data_home)[0] / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, checksum in REGISTRY[name].files.items():
        if not (folder / file).is_file() or _sha256(folder / file) != checksum:
            download(f"{mirror.rstrip('/')}/{name}/{file}", folder / file, checksum, progress)
    return folder


def _find_folder(name: str, files: list[str], data_home: str | Path | None) -> Path:
    homes = _data_homes(data_home)
    for home in homes:
        if all((home / name / file).is_file() for file in files):
            return home / name
    raise FileNotFoundError(
        f"{name} is not on this machine. Get {', '.join(files)} from {REGISTRY[name].source}, and put them into "
        f"{homes[0] / name}. Folders searched: {', '.join(str(home / name) for home in homes)}."
    )


def _data_homes(data_home: str | Path | None) -> list[Path]:
    if data_home is not None:
        return [Path(data_home)]
    from_environment = os.environ.get("SDGS_DATA")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sdgs"
    return [Path(from_environment), cache] if from_environment else [cache]


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
