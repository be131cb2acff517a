"""Messages about files quote them, and are nevertheless one printable line of moderate length."""

from sdgs.datasets import DataFileError


def test_a_message_is_one_line():
    assert str(DataFileError("data  file.csv: not a table\n  in \x1b[2J")) == r"data  file.csv: not a table in \x1b[2J"


def test_a_message_that_quotes_long_names_keeps_its_ends():
    message = str(DataFileError(f"data.csv: no column is named {'x' * 10_000}. Similar: 'a'."))
    assert message.startswith("data.csv: no column is named xxx")
    assert message.endswith("xxx. Similar: 'a'.")
    assert len(message) < 2000
