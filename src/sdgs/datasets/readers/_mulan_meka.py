"""ARFF files in the conventions of Mulan and MEKA, which say which attributes are labels."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from sdgs.datasets._dataset import Dataset
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._arff import ArffTable, arff_dataset, read_arff
from sdgs.datasets.readers._open import MAX_BYTES, open_stream

_LABEL_COUNT = re.compile(r"-[cC]\s+(-?\d{1,9})\b")


def load_mulan(arff: str | Path, xml: str | Path, *, max_bytes: int | None = MAX_BYTES) -> Dataset:
    """Read a data set in Mulan's format: an ARFF file, and an XML file with the names of its labels.

    Labels are matched by name, wherever they are in the ARFF file; ``Y`` has them in the order of the XML file.
    Hierarchies of labels are flattened. See :func:`load_arff` for how attributes are read.

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
    labels = read_label_names(Path(xml))
    return arff_dataset(read_arff(Path(arff), max_bytes), labels, Path(arff))


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
    return meka_dataset(table, path)


def has_label_count(table: ArffTable) -> bool:
    """Whether the relation has the number of labels, and no later filter has moved attributes."""
    option = _LABEL_COUNT.search(table.relation)
    return option is not None and "filters.unsupervised.attribute" not in table.relation[option.end() :]


def meka_dataset(table: ArffTable, path: Path) -> Dataset:
    """Features and labels of a table whose relation has the number of labels."""
    option = _LABEL_COUNT.search(table.relation)
    assert option is not None
    count = int(option[1])
    if not 0 < abs(count) <= len(table.names):
        raise DataFileError(
            f"{path}: the relation says that there are {abs(count)} labels, but there are {len(table.names)} "
            "attributes. Correct the number after -C."
        )
    labels = table.names[:count] if count > 0 else table.names[count:]
    name = table.relation[: option.start()].strip().rstrip(":")
    return replace(arff_dataset(table, list(labels), path), name=name)


def read_label_names(path: Path) -> list[str]:
    """The names in Mulan's XML file of labels, in their order."""
    with open_stream(path) as stream:
        try:
            nodes = [node for _, node in iterparse(stream.file, events=("start",), forbid_dtd=True)]
        except (ParseError, DefusedXmlException, ValueError) as error:
            raise DataFileError(f"{path}: not an XML file of labels ({error}).") from None
    labels = [node.get("name") for node in nodes if node.tag.rsplit("}", 1)[-1] == "label"]
    if not labels:
        raise DataFileError(f"{path}: there are no labels in it. Expected <label name=...> in <labels>.")
    if not all(labels):
        raise DataFileError(f"{path}: a label has no name.")
    return labels
