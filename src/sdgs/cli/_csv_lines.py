"""CSV for other programs."""

import csv
import io
from typing import Any


def csv_writer(text: io.StringIO, separator: str = ",") -> Any:
    r"""A writer of rows that end with ``\n``."""
    return csv.writer(_Lines(text), delimiter=separator, lineterminator=_Lines.END)


class _Lines:
    """The lines of a CSV writer, ended in such a way that it quotes every cell with a line break of any kind."""

    END = "\r\n"

    def __init__(self, text: io.StringIO) -> None:
        self._text = text

    def write(self, line: str) -> None:
        self._text.write(line.removesuffix(self.END) + "\n")
