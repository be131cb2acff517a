"""The format of a file, by its suffix or as given."""

import pytest

from sdgs.datasets import FORMATS, DataFileError, load_svmlight, read
from sdgs.datasets.readers._formats import detect_format


@pytest.mark.parametrize("compression", ["", ".gz", ".bz2", ".xz", ".zst", ".GZ"])
@pytest.mark.parametrize(
    ("suffix", "expected"),
    [
        *((f".{name}", name) for name in FORMATS),
        (".pq", "parquet"),
        (".svm", "svmlight"),
        (".libsvm", "svmlight"),
        (".txt", "svmlight"),
        (".CSV", "csv"),
    ],
)
def test_the_format_is_known_from_the_suffix(write_file, suffix, expected, compression):
    assert detect_format(write_file("", f"some.data{suffix}{compression}"), None) == expected


def test_a_given_format_is_used_whatever_the_name(write_file):
    assert detect_format(write_file("", "data.csv"), "arff") == "arff"
    with pytest.raises(DataFileError, match="must be one of arff, csv, tsv, parquet, xlsx, jsonl, svmlight; got 'xls'"):
        detect_format(write_file("", "data.csv"), "xls")
    with pytest.raises(DataFileError, match=r"data\.xls: the format is not known from the name"):
        detect_format(write_file("", "data.xls"), None)


def test_no_such_file(tmp_path):
    with pytest.raises(DataFileError, match=r"data\.csv: there is no such file"):
        read(tmp_path / "data.csv")
    with pytest.raises(DataFileError, match="this is a folder"):
        read(tmp_path)
    with pytest.raises(DataFileError, match="cannot be read"):
        load_svmlight(tmp_path / "data.svm")
