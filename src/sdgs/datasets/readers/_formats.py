"""The format of a file, by its name."""

from pathlib import Path

from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._open import COMPRESSION_SUFFIXES, STDIN, display_name

FORMATS = ("arff", "csv", "tsv", "parquet", "xlsx", "jsonl", "svmlight")
TABLE_FORMATS = ("csv", "tsv", "parquet", "xlsx", "jsonl")
_FORMAT_OF_SUFFIX = {
    **{f".{name}": name for name in FORMATS},
    **dict.fromkeys((".svm", ".libsvm", ".txt"), "svmlight"),
    ".pq": "parquet",
    ".ndjson": "jsonl",
}


def detect_format(path: str | Path, given: str | None) -> str:
    """The format that was given, or that of the name; an error if there is no such file."""
    if str(path) != STDIN and not Path(path).exists():
        raise DataFileError(f"{path}: there is no such file.")
    if Path(path).is_dir():
        raise DataFileError(f"{path}: this is a folder. Name a file.")
    if given is not None:
        if given not in FORMATS:
            raise DataFileError(f"format must be one of {', '.join(FORMATS)}; got {given!r}.")
        return given
    suffixes = [suffix for suffix in map(str.lower, Path(path).suffixes) if suffix not in COMPRESSION_SUFFIXES]
    format_ = _FORMAT_OF_SUFFIX.get(suffixes[-1] if suffixes else "")
    if format_ is None:
        raise DataFileError(
            f"{display_name(path)}: the format is not known from the name. Give it (format=..., on the command line "
            f"--format): {', '.join(FORMATS)}."
        )
    return format_


def check_is_table(format_: str, path: str | Path, purpose: str) -> None:
    """Raise an error if the format has no named columns of text."""
    if format_ not in TABLE_FORMATS:
        raise DataFileError(
            f"{display_name(path)}: {purpose} needs a table: CSV, Parquet, Excel (.xlsx) or JSON lines."
        )


def check_not_stdin(path: str | Path) -> Path:
    """Raise an error for ARFF on standard input, because it is read twice."""
    if str(path) == STDIN:
        raise DataFileError("ARFF cannot be read from standard input. Name a file.")
    return Path(path)
