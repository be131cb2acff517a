"""The paper's eleven data sets, with the paper's split into training and test samples.

``paper_datasets.csv`` has sizes, sources and citations; ``paper_datasets.sha256`` has the checksums of the files, as
``sha256sum`` writes them.
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

_SOURCES = {
    "mulan": "Mulan's repository, github.com/tsoumakas/mulan at commit 43f6389, byte for byte",
    "scikit-multilearn": "the source distribution of scikit-multilearn 0.0.1, rewritten in Mulan's format",
    "matlab": "MATLAB files in github.com/Cappaso/enCorrLog at commit 569abbb and in github.com/SaltedPerson/MLMF at "
    "commit 17de6c6, rewritten in Mulan's format with labels named Label1, Label2, ...",
}


@dataclass(frozen=True)
class Entry:
    """One of the paper's data sets. ``files`` has the SHA-256 checksum of each file."""

    name: str
    domain: str
    n_train: int
    n_test: int
    n_features: int
    n_labels: int
    files: dict[str, str]
    source: str
    citation: str

    def file(self, part: Literal["train", "test", "xml"]) -> str:
        """Name of the file of a split, or of the XML file of labels."""
        return next(name for name in self.files if (f"-{part}." in name) or (part == "xml" and name.endswith(".xml")))


def _read_registry() -> dict[str, Entry]:
    folder = Path(__file__).parent
    checksums = [line.split() for line in (folder / "paper_datasets.sha256").read_text("utf-8").splitlines()]
    registry = {}
    for row in csv.DictReader((folder / "paper_datasets.csv").read_text("utf-8").splitlines()):
        fields: dict[str, Any] = {key: int(value) if key.startswith("n_") else value for key, value in row.items()}
        fields["source"], prefix = _SOURCES[row["source"]], f"{row['name']}/"
        files = {path.removeprefix(prefix): checksum for checksum, path in checksums if path.startswith(prefix)}
        registry[row["name"]] = Entry(**fields, files=files)
    return registry


REGISTRY = _read_registry()
