"""Every reader opens every compression, by the content of the file and not by its name."""

import bz2
import gzip
import io
import lzma
import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file

from sdgs.datasets import (
    DataFileError,
    guess_labels,
    load_arff,
    load_meka,
    load_mulan,
    load_svmlight,
    read,
    read_blocks,
)

X = np.array([[1.5, 0.0], [0.25, 3.0], [0.0, 7.0]])
Y = np.array([[1, 0], [0, 1], [1, 1]])
COMPRESSORS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda content: pa.compress(content, codec="zstd", asbytes=True),
}
SUFFIXES = {"plain": "", "gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}


def csv_content(delimiter=","):
    rows = [["x", "y", "a", "b"], *np.column_stack([X, Y]).tolist()]
    return "".join(delimiter.join(map(str, row)) + "\n" for row in rows).encode()


def arff_content(relation="r"):
    head = "@attribute x numeric\n@attribute y numeric\n@attribute a {0,1}\n@attribute b {0,1}\n"
    rows = "".join(f"{x},{y},{a},{b}\n" for (x, y), (a, b) in zip(X, Y, strict=True))
    return f"@relation '{relation}'\n{head}@data\n{rows}".encode()


def parquet_content():
    file = io.BytesIO()
    pq.write_table(pa.table({"x": X[:, 0], "y": X[:, 1], "a": Y[:, 0], "b": Y[:, 1]}), file)
    return file.getvalue()


def svmlight_content():
    file = io.BytesIO()
    dump_svmlight_file(X, Y, file, multilabel=True, zero_based=False)
    return file.getvalue()


XML = b'<labels><label name="a"/><label name="b"/></labels>'
CONTENTS = {
    "arff": arff_content("r: -C -2"),
    "csv": csv_content(),
    "tsv": csv_content("\t"),
    "parquet": parquet_content(),
    "svmlight": svmlight_content(),
}


def check(data):
    np.testing.assert_array_equal(data.X.toarray() if hasattr(data.X, "toarray") else data.X, X)
    np.testing.assert_array_equal(data.Y, Y)


@pytest.mark.parametrize("compression", COMPRESSORS)
@pytest.mark.parametrize("kind", CONTENTS)
def test_read(write_file, kind, compression):
    content = COMPRESSORS[compression](CONTENTS[kind])
    labels = ["a", "b"] if kind in ("csv", "tsv", "parquet") else None
    for name in (f"data.{kind}{SUFFIXES[compression]}", f"data.{kind}", f"data.{kind}.gz"):
        check(read(write_file(content, name), labels=labels))


@pytest.mark.parametrize("compression", COMPRESSORS)
@pytest.mark.parametrize("kind", CONTENTS)
def test_read_blocks(write_file, kind, compression):
    path = write_file(COMPRESSORS[compression](CONTENTS[kind]), f"data.{kind}{SUFFIXES[compression]}")
    features, labels = (["1", "2"], ["0", "1"]) if kind == "svmlight" else (["x", "y"], ["a", "b"])
    (block,) = read_blocks(path, features=features, labels=labels, with_labels=True)
    np.testing.assert_array_equal(block.X.toarray() if kind == "svmlight" else block.X, X)
    np.testing.assert_array_equal(block.Y.toarray() if kind == "svmlight" else block.Y, Y)
    assert block.position == path.stat().st_size


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_the_readers_of_one_format(write_file, compression):
    compress = COMPRESSORS[compression]
    arff, xml = write_file(compress(CONTENTS["arff"]), "data.arff"), write_file(compress(XML), "labels.xml")
    check(load_arff(arff, labels=["a", "b"]))
    check(load_meka(arff))
    check(load_mulan(arff, xml))
    check(load_svmlight(write_file(compress(CONTENTS["svmlight"]), "data.svm")))


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_a_compressed_file_of_labels_beside_an_arff_file_is_used(write_file, compression):
    suffix = SUFFIXES[compression]
    write_file(COMPRESSORS[compression](XML), f"music.xml{suffix}")
    check(read(write_file(COMPRESSORS[compression](arff_content()), f"music-train.arff{suffix}")))


def test_standard_input_may_be_compressed(monkeypatch):
    for compress in COMPRESSORS.values():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(compress(CONTENTS["csv"]))))
        check(read("-", labels=["a", "b"], format="csv"))


@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize("compression", [name for name in COMPRESSORS if name != "plain"])
def test_a_truncated_file_gives_one_error(write_file, kind, compression):
    content = COMPRESSORS[compression](CONTENTS[kind])
    with pytest.raises(DataFileError, match=rf"data\.{kind}: cannot be read"):
        read(write_file(content[: len(content) - 9], f"data.{kind}"), labels=None if kind == "svmlight" else ["a", "b"])


def test_compressed_parquet_is_bounded(write_file):
    path = write_file(gzip.compress(CONTENTS["parquet"]), "data.parquet")
    with pytest.raises(DataFileError, match=r"larger than 100 bytes .* pass max_bytes=None"):
        read(path, labels=["a", "b"], max_bytes=100)


def test_compressed_parquet_takes_memory_for_its_content_only(write_file):
    path = write_file(bz2.compress(CONTENTS["parquet"]), "data.parquet")
    tracemalloc.start()
    try:
        check(read(path, labels=["a", "b"]))
        assert tracemalloc.get_traced_memory()[1] < 64 << 20  # less than what max_bytes allows
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("old", [b"name of a column", b"text in a cell"])
def test_parquet_with_text_that_is_not_utf_8(write_file, old):
    file = io.BytesIO()
    table = pa.table({"name of a column": ["text in a cell", "b"], "x": [1.0, 2.0], "a": [0, 1]})
    pq.write_table(table, file, compression="none", use_dictionary=False, store_schema=False, write_statistics=False)
    content = file.getvalue()
    assert old in content
    path = write_file(content.replace(old, b"\xff" + old[1:]), "data.parquet")
    for use in (lambda: read(path, labels=["a"]), lambda: guess_labels(path)):
        with pytest.raises(DataFileError, match="cannot be read as Parquet"):
            use()


DATES = [
    pa.array([2**62, None], pa.timestamp("us")),
    pa.array([2**62, None], pa.timestamp("us", "Nowhere/City")),
    pa.array([2**31 - 1, None], pa.date32()),
    pa.array([2**62, None], pa.duration("s")),
]


@pytest.mark.parametrize("dates", DATES, ids=lambda dates: str(dates.type))
def test_dates_that_python_cannot_represent(tmp_path, dates):
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0], "a": [0, 1], "date": dates}), path)
    data = read(path, labels=["a"])
    assert (data.feature_names, [name for name, _ in data.dropped]) == (("x",), ["date"])
    assert guess_labels(path).columns == ("a",)
    (block,) = read_blocks(path, features=["x"], labels=["a"], keep=["date"])
    number = 2**31 - 1 if dates.type == pa.date32() else 2**62
    assert block.kept["date"] == [f"{number} ({dates.type})", ""]


@pytest.mark.parametrize("end", [4, 100])
def test_a_damaged_parquet_file_gives_an_error_of_one_line(write_file, end):
    content = CONTENTS["parquet"]
    footer = content[-8 - end :]
    path = write_file(content[: -len(footer)] + b"\xff" * end + footer[-8:], "data.parquet")
    with pytest.raises(DataFileError, match="cannot be read as Parquet") as caught:
        read(path, labels=["a", "b"])
    assert str(caught.value).isprintable()


class ZstdError(Exception):
    pass


class ZstdFile(io.BufferedReader):
    """Stands for Python 3.14's class: reads what follows the four magic bytes."""

    def __init__(self, file):
        super().__init__(io.BytesIO(file.read()[4:]))

    def read(self, *arguments):
        if self.peek(1)[:1] == b"!":
            raise ZstdError("bad frame")
        return super().read(*arguments)


def test_zstd_by_the_standard_library(write_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "compression", SimpleNamespace(__path__=[]))
    monkeypatch.setitem(sys.modules, "compression.zstd", SimpleNamespace(ZstdFile=ZstdFile))
    check(read(write_file(b"\x28\xb5\x2f\xfd" + CONTENTS["svmlight"], "data.svm")))
    with pytest.raises(DataFileError, match=r"data\.svm: cannot be read \(bad frame\)"):
        read(write_file(b"\x28\xb5\x2f\xfd!", "data.svm"))


def test_zstd_without_a_module_that_reads_it(write_file, monkeypatch):
    for module in ("compression.zstd", "backports.zstd", "pyarrow"):
        monkeypatch.setitem(sys.modules, module, None)  # so that importing it fails
    with pytest.raises(
        DataFileError, match=r"data\.csv: .*zstd, which needs Python 3\.14 or pyarrow\. Run: pip install"
    ):
        read(write_file(COMPRESSORS["zstd"](CONTENTS["csv"])), labels=["a", "b"])
