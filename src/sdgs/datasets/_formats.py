"""The files in which this field shares data: Mulan's, MEKA's and svmlight's."""

import re
from pathlib import Path
from xml.etree.ElementTree import ParseError

import numpy as np
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from sdgs.datasets._arff import MAX_BYTES, DataFileError, dataset_from, read_table
from sdgs.datasets._dataset import Dataset


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
    labels = _mulan_labels(Path(xml))
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
    option = re.search(r"-[cC]\s+(-?\d{1,9})\b", table.relation)
    if option is None:
        raise DataFileError(
            f"{path}: the relation {table.relation[:60]!r} does not say how many labels there are (as in '-C 6'). "
            "If an XML file names them use load_mulan; if you know their names, load_arff."
        )
    count = int(option[1])
    if not 0 < abs(count) <= len(table.names):
        raise DataFileError(
            f"{path}: the relation speaks of {abs(count)} labels, but has {len(table.names)} attributes."
        )
    labels = table.names[:count] if count > 0 else table.names[count:]
    dataset = dataset_from(table, list(labels), path)
    name = table.relation[: option.start()].strip().rstrip(":")
    return Dataset(dataset.X, dataset.Y, dataset.feature_names, dataset.label_names, name, dataset.dropped)


def load_svmlight(path: str | Path, *, n_features: int | None = None, n_labels: int | None = None) -> Dataset:
    """Read a multi-label svmlight file: labels as comma-separated whole numbers, then index:value pairs.

    Parameters
    ----------
    path : str or Path
        Plain, or compressed with gzip or bzip2.
    n_features, n_labels : int or None
        Sizes, where the file may not show the last feature or label, as in a test file. Default: what the file shows.

    Returns
    -------
    Dataset
        Features and labels are named by their numbers as they stand in the file. Labels count from 0.
    """
    try:
        X, targets = load_svmlight_file(str(path), n_features=n_features, multilabel=True)
    except (OSError, EOFError, ValueError, OverflowError) as error:
        raise DataFileError(f"{path}: cannot be read as multi-label svmlight ({error}).") from None
    rows = np.repeat(np.arange(len(targets)), [len(labels) for labels in targets])
    columns = np.asarray([label for labels in targets for label in labels], dtype=np.float64)
    if columns.size and (columns.min() < 0 or (columns % 1).any()):
        raise DataFileError(f"{path}: labels must be whole numbers from 0.")
    shown = int(columns.max()) + 1 if columns.size else 0
    k = shown if n_labels is None else n_labels
    if shown > k or k == 0 or k > 10_000_000:
        raise DataFileError(f"{path}: the file shows labels up to {shown - 1}, which does not fit n_labels={n_labels}.")
    Y = np.zeros((len(targets), k), dtype=np.int8)
    Y[rows, columns.astype(np.intp)] = 1
    return Dataset(
        X=csr_array(X),
        Y=Y,
        feature_names=tuple(map(str, range(X.shape[1]))),
        label_names=tuple(map(str, range(k))),
        name=Path(path).name,
    )


def _mulan_labels(path: Path) -> list[str]:
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
