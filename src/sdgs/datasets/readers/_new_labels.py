"""Labels of a file that a model does not know yet."""

from collections.abc import Sequence
from pathlib import Path

from sdgs.datasets._errors import DataFileError
from sdgs.datasets.readers._arff import read_arff
from sdgs.datasets.readers._column_selection import match_columns
from sdgs.datasets.readers._formats import check_is_table, detect_format
from sdgs.datasets.readers._label_lists import split_labels, usable_separators
from sdgs.datasets.readers._open import STDIN, display_name
from sdgs.datasets.readers._open_table import open_table
from sdgs.datasets.readers._table_labels import list_cells, match_list_column


def new_label_names(
    path: str | Path,
    known: Sequence[str],
    *,
    patterns: Sequence[str] = (),
    label_column: str | None = None,
    format: str | None = None,  # noqa: A002
) -> tuple[str, ...]:
    """The columns that match ``patterns``, or the names that ``label_column`` lists, which are not ``known``.

    The names of a column are sorted. The file is read once more for it, but for standard input.
    """
    format_ = detect_format(path, format)
    if not patterns and label_column is None:
        return ()
    if str(path) == STDIN:
        raise DataFileError("new labels cannot be found in standard input, which is read only once. Name a file.")
    if format_ == "arff" and label_column is None:
        names = match_columns(patterns, read_arff(Path(path), None).names, display_name(path))
    else:
        check_is_table(format_, path, "A file with new labels")
        with open_table(path, format_, None) as source:
            names = match_columns(patterns, source.names, source.name)
            if label_column is not None:
                column, separators = match_list_column(source, label_column), usable_separators(known)
                cells = (cell for rows in source.blocks([column]) for cell in list_cells(source, rows, column))
                names += sorted({name for cell in cells for name in split_labels(cell, separators) or []})
    return tuple(name for name in dict.fromkeys(names) if name not in set(known))
