"""The ARFF files in which this field shares data: Mulan's and MEKA's."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from sdgs.datasets._dataset import Dataset
from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._arff import MAX_BYTES, Table, dataset_from, read_table

_COUNT = re.compile(r"-[cC]\s+(-?\d{1,9})\b")


def load_mulan(arff: str | Path, xml: str | Path, *, max_bytes: int | None = MAX_BYTES) -> Dataset:
    """Read a data set in Mulan's format: an ARFF file, and an XML file that names its labels.

    Labels are matched by name, wherever they stand in the ARFF file; ``Y`` has them in the order of the XML file.
    Nested labels, a hierarchy, are taken one after the other. See :func:`load_arff` for how attributes are read.

    Parameters
    ----------
    arff, xml : str or Path
    max_bytes : int or None
        Most bytes of text to read after decompression; None for no limit.

    Returns
    -------
    Dataset
    """
    labels = mulan_labels(Path(xml))
    return dataset_from(read_table(Path(arff), max_bytes), labels, Path(arff))


def load_meka(arff: str | Path, *, max_bytes: int | None = MAX_BYTES) -> Dataset:
    """Read a data set in MEKA's format: an ARFF file that says in its relation how many of its attributes are labels.

    ``-C 6`` means that the first six attributes are labels, ``-C -6`` the last six. A file whose labels are all missing
    (``?``) gives ``Y = None``: a data set to predict on.

    Parameters
    ----------
    arff : str or Path
    max_bytes : int or None
        Most bytes of text to read after decompression; None for no limit.

    Returns
    -------
    Dataset
    """
    path = Path(arff)
    table = read_table(path, max_bytes)
    if _COUNT.search(table.relation) is None:
        raise DataFileError(
            f"{path}: the relation {table.relation[:60]!r} does not say how many labels there are (as in '-C 6'). "
            "If an XML file names them use load_mulan; if you know their names, load_arff."
        )
    return meka_dataset(table, path)


def says_labels(table: Table) -> bool:
    """Whether the relation says, as MEKA's do, how many attributes are labels; and not of attributes moved since."""
    option = _COUNT.search(table.relation)
    return option is not None and "filters.unsupervised.attribute" not in table.relation[option.end() :]


def meka_dataset(table: Table, path: Path) -> Dataset:
    """Features and labels of a table whose relation says how many labels there are."""
    option = _COUNT.search(table.relation)
    assert option is not None
    count = int(option[1])
    if not 0 < abs(count) <= len(table.names):
        raise DataFileError(
            f"{path}: the relation speaks of {abs(count)} labels, but has {len(table.names)} attributes."
        )
    labels = table.names[:count] if count > 0 else table.names[count:]
    name = table.relation[: option.start()].strip().rstrip(":")
    return replace(dataset_from(table, list(labels), path), name=name)


def mulan_labels(path: Path) -> list[str]:
    """Names in Mulan's XML, in their order."""
    labels = []
    try:
        for _, node in iterparse(str(path), events=("start",), forbid_dtd=True):
            if node.tag.rsplit("}", 1)[-1] == "label":
                if not node.get("name"):
                    raise DataFileError(f"{path}: a label has no name.")
                labels.append(node.get("name"))
    except (ParseError, DefusedXmlException, ValueError) as error:
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(f"{path}: not an XML file of labels ({error}).") from None
    except OSError as error:
        raise DataFileError(f"{path}: cannot be read ({error}).") from None
    if not labels:
        raise DataFileError(f"{path}: names no labels: expected <label name=...> in <labels>.")
    return labels
