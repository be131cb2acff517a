"""The paper's eleven data sets, from ``paper_datasets.toml``: sizes, sources, citations, and checksums of files."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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
    registry = {}
    for name, table in tomllib.loads(Path(__file__).with_name("paper_datasets.toml").read_text("utf-8")).items():
        size, source = table.pop("size"), _SOURCES[table.pop("source")]
        registry[name] = Entry(name, source=source, **size, **table)
    return registry


REGISTRY = _read_registry()
