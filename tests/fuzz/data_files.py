"""Small random data sets, and files that hold exactly them, in the many ways in which each format can be written."""

import bz2
import csv
import gzip
import io
import lzma
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.draw import ODD_NAMES, chance, distinct_names, is_number, number, pick


@dataclass(frozen=True, eq=False)
class Example:
    """A data set and what a reader should find: dense X, Y with NaN for missing labels, and names."""

    X: np.ndarray
    Y: np.ndarray
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]


@dataclass(frozen=True)
class DataFile:
    """The content of a file, its suffix, the arguments of ``read`` and, if it is known, what it holds.

    ``beside`` are other files of the same data set: contents by suffix.
    """

    content: bytes
    suffix: str
    arguments: dict
    example: Example | None = None
    beside: tuple[tuple[str, bytes], ...] = ()


def random_example(rng, *, missing=0.1):
    """A few samples; no column has only missing entries."""
    n, p, k = int(rng.integers(1, 7)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
    names = distinct_names(rng, p + k, allowed=lambda name: not is_number(name) and name != "none")
    X = np.array([[number(rng) for _ in range(p)] for _ in range(n)])
    Y = rng.integers(2, size=(n, k)).astype(float)
    X[1:][rng.random((n - 1, p)) < missing] = np.nan
    Y[1:][rng.random((n - 1, k)) < missing / 2] = np.nan
    return Example(X, Y, tuple(names[:p]), tuple(names[p:]))


def _column_order(example, rng):
    """Features and labels, mixed: pairs (is a label, index). The order among features is kept."""
    p, k = len(example.feature_names), len(example.label_names)
    places = iter(rng.permutation(k).tolist())
    features = iter(range(p))
    is_label = rng.permutation([True] * k + [False] * p) if chance(rng, 0.5) else [False] * p + [True] * k
    return [(bool(label), next(places) if label else next(features)) for label in is_label]


def _number_text(value, rng, missing="?"):
    if np.isnan(value):
        return missing
    style = rng.integers(4)
    if style == 0 and value == int(value) and abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.17e}" if style == 1 else repr(float(value))


def _encode(text, rng):
    encoding = pick(rng, ("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16"))
    newline = pick(rng, ("\n", "\n", "\r\n"))
    text = text if chance(rng, 0.8) else text.removesuffix("\n")
    return text.replace("\n", newline).encode(encoding)


# ---- ARFF


def arff_file(rng):
    """Mulan's or MEKA's convention, dense or sparse, or labels given by name."""
    example = random_example(rng)
    sparse = chance(rng, 0.4)
    if sparse and chance(rng, 0.7):
        example = replace(example, X=np.where(rng.random(example.X.shape) < 0.5, 0.0, example.X))
    convention = pick(rng, ("mulan", "meka", "named"))
    p, k = len(example.feature_names), len(example.label_names)
    columns = _column_order(example, rng)
    relation, arguments, beside = "data", {}, ()
    if convention == "meka":
        first = chance(rng, 0.5)
        labels, features = [(True, i) for i in range(k)], [(False, i) for i in range(p)]
        columns = labels + features if first else features + labels
        relation = f"data: -C {k if first else -k}"
    elif convention == "mulan":
        beside = ((".xml", _label_xml(example.label_names, rng)),)
    else:
        arguments = {"labels": list(example.label_names)}
    types = {(True, i): pick(rng, ("{0,1}", "{0, 1}", "{no,yes}", "numeric")) for i in range(k)}
    types |= {(False, i): pick(rng, ("numeric", "real", "INTEGER", "Numeric")) for i in range(p)}
    lines = _arff_header(example, relation, columns, types, rng)
    write_row = _sparse_arff_row if sparse else _dense_arff_row
    for row in range(len(example.X)):
        lines.append(write_row(example, row, columns, types, rng))
        if chance(rng, 0.1):
            lines.append(pick(rng, ("", "% a comment")))
    return DataFile(_encode("\n".join(lines) + "\n", rng), ".arff", arguments, example, beside)


def _arff_header(example, relation, columns, types, rng):
    def keyword(word):
        return pick(rng, (word, word.upper(), word.capitalize()))

    lines = ["% a comment", ""] if chance(rng, 0.3) else []
    lines.append(f"{keyword('@relation')} '{relation}'")
    for column in columns:
        name = (example.label_names if column[0] else example.feature_names)[column[1]]
        space = pick(rng, (" ", "\t", "  "))
        lines.append(f"{keyword('@attribute')}{space}{_arff_name(name, rng)}{space}{types[column]}")
        if chance(rng, 0.1):
            lines.append(pick(rng, ("", "% a comment")))
    return [*lines, keyword("@data")]


def _arff_name(name, rng):
    if not set(name) & set(" \t'\"{}%,") and chance(rng, 0.6):
        return name
    quote = pick(rng, "'\"")
    return quote + name.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote


def _arff_cell(example, row, column, types, rng):
    is_label, i = column
    if not is_label:
        return _number_text(example.X[row, i], rng)
    value = example.Y[row, i]
    if np.isnan(value):
        return "?"
    return ("no", "yes")[int(value)] if types[column] == "{no,yes}" else str(int(value))


def _dense_arff_row(example, row, columns, types, rng):
    separator = pick(rng, (",", ",", ", "))
    return separator.join(_arff_cell(example, row, column, types, rng) for column in columns)


def _sparse_arff_row(example, row, columns, types, rng):
    cells = []
    for place, (is_label, i) in enumerate(columns):
        value = (example.Y if is_label else example.X)[row, i]
        if value != 0 or (not is_label and chance(rng, 0.1)):
            cells.append(f"{place} {_arff_cell(example, row, (is_label, i), types, rng)}")
    return "{" + pick(rng, (",", ", ")).join(cells) + "}"


def _label_xml(names, rng):
    from xml.sax.saxutils import quoteattr

    labels = "".join(f"<label name={quoteattr(name)}></label>\n" for name in names)
    namespace = ' xmlns="http://mulan.sourceforge.net/labels"' if chance(rng, 0.7) else ""
    return f'<?xml version="1.0" encoding="utf-8"?>\n<labels{namespace}>\n{labels}</labels>\n'.encode()


# ---- svmlight


def svmlight_file(rng):
    """Numbered features and labels; the last of both occurs, so that the sizes are known."""
    n, base = int(rng.integers(1, 7)), int(rng.integers(2))
    p, k = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    X = np.array([[number(rng) if chance(rng, 0.4) else 0.0 for _ in range(p)] for _ in range(n)])
    Y = rng.integers(2, size=(n, k)).astype(float)
    X[0, [0, -1]], Y[0, -1] = 1.5, 1.0
    lines = ["# a comment"] if chance(rng, 0.2) else []
    for x, y in zip(X, Y, strict=True):
        cells = [",".join(map(str, np.flatnonzero(y)))] if y.any() else []
        cells += [f"{j + base}:{_number_text(x[j], rng)}" for j in range(p) if x[j] or chance(rng, 0.05)]
        if not cells:
            cells = [f"{base}:0"]
        lines.append(" ".join(cells) + pick(rng, ("", "", " ", " # note")))
    names = tuple(map(str, range(base, base + p))), tuple(map(str, range(k)))
    content = "\n".join(lines) + ("\n" if chance(rng, 0.8) else "")
    return DataFile(content.encode(), pick(rng, (".svm", ".txt", ".libsvm")), {}, Example(X, Y, *names))


# ---- tables


def csv_file(rng):
    """Labels in columns of their own, or one column that lists them."""
    example = random_example(rng)
    delimiter = pick(rng, (",", ",", ";", "\t", "|"))
    columns = _column_order(example, rng)
    header = [(example.label_names if is_label else example.feature_names)[i] for is_label, i in columns]
    words = pick(rng, (("0", "1"), ("no", "yes"), ("False", "TRUE"), ("0.0", "1")))
    missing = pick(rng, ("", "", "NA", "?", "nan", "null"))
    rows = [
        [_csv_label(example.Y[row, i], words, missing) if is_label else _number_text(example.X[row, i], rng, missing)
         for is_label, i in columns]
        for row in range(len(example.X))
    ]  # fmt: skip
    if chance(rng, 0.2):  # a column of text, which is dropped
        header = ["free text", *header]
        rows = [[pick(rng, ODD_NAMES[:12]) + " words", *row] for row in rows]
    text = io.StringIO()
    quoting = pick(rng, (csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    if any(other in name for name in header for other in ",;\t|"):  # otherwise it would be ambiguous
        quoting = csv.QUOTE_ALL
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=quoting)
    writer.writerow(header)
    writer.writerows(rows)
    suffix = ".tsv" if delimiter == "\t" and chance(rng, 0.5) else ".csv"
    return DataFile(_encode(text.getvalue(), rng), suffix, {"labels": list(example.label_names)}, example)


def _csv_label(value, words, missing):
    return missing if np.isnan(value) else words[int(value)]


def label_list_file(rng):
    """A CSV file with one column that lists labels; what a reader finds is not known in advance."""
    names = distinct_names(rng, int(rng.integers(1, 5)), odd=0.3)
    separator = pick(rng, (";", "|", ",", ", "))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["x", "y", "tags"])
    for _ in range(rng.integers(1, 7)):
        tags = separator.join(name for name in names if chance(rng, 0.5))
        writer.writerow([number(rng), number(rng), tags])
    return DataFile(_encode(text.getvalue(), rng), ".csv", {"label_column": "tags"})


_ARROW_FEATURES = (pa.float64(), pa.float64(), pa.float32(), pa.string(), pa.large_string())
_ARROW_LABELS = (pa.int8(), pa.bool_(), pa.float64(), pa.uint64(), pa.string())
_OTHER_COLUMNS = (
    lambda n: pa.array([b"\xff"] * n),
    lambda n: pa.array([[1, 2]] * n),
    lambda n: pa.array([{"a": 1}] * n),
    lambda n: pa.array([10**6] * n, pa.timestamp("us")),
    lambda n: pa.array([None] * n),
    lambda n: pa.array(["1", "b", None, "2"][:n] + ["c"] * (n - 4)).dictionary_encode(),
    lambda n: pa.array([2**63 + 1] * n, pa.uint64()),
    lambda n: pa.array([None] * n, pa.list_(pa.string())),
    lambda n: pa.array([1.5] * n, pa.float16()),
    lambda n: pa.array([1] * n, pa.duration("s")),
)


def parquet_file(rng):
    """Columns of several types."""
    example = random_example(rng)
    columns, names = [], []
    for is_label, i in _column_order(example, rng):
        values = (example.Y if is_label else example.X)[:, i]
        type_ = pick(rng, _ARROW_LABELS if is_label else _ARROW_FEATURES)
        if type_ == pa.float32():
            with np.errstate(all="ignore"):
                values = np.clip(values, -1e30, 1e30).astype(np.float32).astype(float)
            example.X[:, i] = values
        columns.append(_arrow_column(values, type_))
        names.append((example.label_names if is_label else example.feature_names)[i])
    known = True
    if chance(rng, 0.3):
        columns.append(pick(rng, _OTHER_COLUMNS)(len(example.X)))
        names.append("other column")
        known = False
    file = io.BytesIO()
    options = {"compression": pick(rng, ("snappy", "none", "gzip", "zstd")), "version": pick(rng, ("1.0", "2.6"))}
    pq.write_table(pa.Table.from_arrays(columns, names=names), file, **options)
    arguments = {"labels": list(example.label_names)}
    return DataFile(file.getvalue(), pick(rng, (".parquet", ".pq")), arguments, example if known else None)


def _arrow_column(values, type_):
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return pa.array([None if np.isnan(value) else repr(float(value)) for value in values], type_)
    cells = [None if np.isnan(value) else float(value) for value in values]
    if pa.types.is_integer(type_) or pa.types.is_boolean(type_):
        cells = [None if cell is None else bool(cell) if pa.types.is_boolean(type_) else int(cell) for cell in cells]
    return pa.array(cells, type_)


# ---- compression


def _zstd(content):
    stream = pa.BufferOutputStream()
    with pa.CompressedOutputStream(stream, "zstd") as compressed:
        compressed.write(content)
    return stream.getvalue().to_pybytes()


COMPRESSORS = {
    ".gz": lambda content: gzip.compress(content, 1, mtime=0),
    ".bz2": lambda content: bz2.compress(content, 1),
    ".xz": lambda content: lzma.compress(content, preset=0),
    ".zst": _zstd,
}


def compress(file, rng):
    """The same file in a compressed form."""
    suffix = pick(rng, tuple(COMPRESSORS))
    name = file.suffix + suffix if chance(rng, 0.8) else file.suffix
    return replace(file, content=COMPRESSORS[suffix](file.content), suffix=name)
