"""ARFF files in the conventions of Mulan and MEKA, which say which attributes are labels."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from sdgs.datasets._dataset import Dataset
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._arff import ArffTable, arff_dataset, read_arff
from sdgs.datasets.readers._open import MAX_BYTES, open_stream

_MAX_XML_BYTES = 1 << 26  # after decompression: a million labels
_LABEL_COUNT = re.compile(r"-[cC]\s+(-?\d{1,9})\b")


def load_mulan(arff: str | Path, xml: str | Path, *, max_bytes: int | None = MAX_BYTES) -> Dataset:
    """Read a data set in Mulan's format: an ARFF file, and an XML file with the names of its labels.

    Labels are matched by name, wherever they are in the ARFF file; ``Y`` has them in the order of the XML file.
    Hierarchies of labels are flattened; :func:`read_label_hierarchy` reads them. See :func:`load_arff` for how
    attributes are read.

    Parameters
    ----------
    arff, xml : str or Path
        Plain, or compressed with gzip, bzip2, xz or zstd.
    max_bytes : int or None
        Maximum number of bytes of text after decompression; None for no limit.

    Returns
    -------
    Dataset
    """
    table = read_arff(Path(arff), max_bytes)
    return arff_dataset(table, match_label_names(read_label_names(Path(xml)), table.names), Path(arff))


def load_meka(arff: str | Path, *, max_bytes: int | None = MAX_BYTES) -> Dataset:
    """Read a data set in MEKA's format: an ARFF file whose relation has the number of labels.

    ``-C 6`` means that the first six attributes are labels, ``-C -6`` the last six. A file whose labels are all missing
    (``?``) gives ``Y = None``: a data set to predict on.

    Parameters
    ----------
    arff : str or Path
        Plain, or compressed with gzip, bzip2, xz or zstd.
    max_bytes : int or None
        Maximum number of bytes of text after decompression; None for no limit.

    Returns
    -------
    Dataset
    """
    path = Path(arff)
    table = read_arff(path, max_bytes)
    if _LABEL_COUNT.search(table.relation) is None:
        raise DataFileError(
            f"{path}: the relation {table.relation[:60]!r} does not have the number of labels (as in '-C 6'). "
            "If an XML file names the labels, use load_mulan; if you know their names, load_arff."
        )
    return arff_dataset(*meka_labels(table, path), path)


def has_label_count(table: ArffTable) -> bool:
    """Whether the relation has the number of labels, and no later filter has moved attributes."""
    option = _LABEL_COUNT.search(table.relation)
    return option is not None and "filters.unsupervised.attribute" not in table.relation[option.end() :]


def meka_labels(table: ArffTable, path: Path) -> tuple[ArffTable, list[str]]:
    """The labels of a table whose relation has their number, and the table with the rest of the relation."""
    option = _LABEL_COUNT.search(table.relation)
    assert option is not None
    count = int(option[1])
    if not 0 < abs(count) <= len(table.names):
        raise DataFileError(
            f"{path}: the relation says that there are {abs(count)} labels, but there are {len(table.names)} "
            "attributes. Correct the number after -C."
        )
    labels = table.names[:count] if count > 0 else table.names[count:]
    return replace(table, relation=table.relation[: option.start()].strip().rstrip(":")), list(labels)


def match_label_names(labels: Sequence[str], attributes: Sequence[str]) -> list[str]:
    """The attribute of each label: the one of the same name, or else the only one of the same name without escapes.

    Some XML files have names as they are in the ARFF file, with quotes and backslashes. A label without an attribute
    stays as it is.
    """
    existing = set(attributes)
    if existing.issuperset(labels):
        return list(labels)
    attributes_of: dict[str, list[str]] = {}
    for name in attributes:
        attributes_of.setdefault(_plain(name), []).append(name)
    candidates = (attributes_of.get(_plain(label), []) for label in labels)
    return [
        names[0] if label not in existing and len(names) == 1 else label
        for label, names in zip(labels, candidates, strict=True)
    ]


def _plain(name: str) -> str:
    """A name without quotes around it, escapes and surrounding spaces."""
    return re.sub(r"\\(.)", r"\1", re.sub(r"""^(['"])(.*)\1$""", r"\2", name.strip()))


def read_label_names(path: Path) -> list[str]:
    """The names in Mulan's XML file of labels, in their order."""
    return [name for name, _ in _read_labels(path)]


def read_label_hierarchy(xml: str | Path) -> tuple[int, ...]:
    """Read the hierarchy in Mulan's XML file of labels, where a label may have others inside it.

    Parameters
    ----------
    xml : str or Path
        Plain, or compressed with gzip, bzip2, xz or zstd.

    Returns
    -------
    tuple of int
        The index of each label's parent, -1 for labels at the top; in the order of the file, which is that of ``Y`` and
        ``label_names`` of :func:`load_mulan`. See :class:`sdgs.methods.HierarchicalRelevance`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sdgs.datasets import read_label_hierarchy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pets.xml"
    ...     _ = path.write_text('<labels><label name="pet"><label name="cat"/></label><label name="owl"/></labels>')
    ...     read_label_hierarchy(path)
    (-1, 0, -1)
    """
    return tuple(parent for _, parent in _read_labels(Path(xml)))


def _read_labels(path: Path) -> list[tuple[str, int]]:
    """The name of each label, and the index of the label that it is inside of, or -1."""
    labels: list[tuple[str, int]] = []
    inside = [-1]
    with open_stream(path) as stream:
        try:
            content = io.BytesIO(stream.read_all(_MAX_XML_BYTES))
            for event, node in iterparse(content, events=("start", "end"), forbid_dtd=True):
                if node.tag.rsplit("}", 1)[-1] != "label":
                    continue
                if event == "start":
                    labels.append((node.get("name"), inside[-1]))
                    inside.append(len(labels) - 1)
                else:
                    inside.pop()
        except (ParseError, DefusedXmlException, LookupError, ValueError) as error:
            raise DataFileError(f"{path}: not an XML file of labels ({error}).") from None
    if not labels:
        raise DataFileError(f"{path}: there are no labels in it. Expected <label name=...> in <labels>.")
    if not all(name for name, _ in labels):
        raise DataFileError(f"{path}: a label has no name.")
    return labels
