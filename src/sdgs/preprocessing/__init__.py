"""Tables with text, categories, dates and numbers as the matrix that estimators take."""

from sdgs.preprocessing._encoded_column import EncodedColumn
from sdgs.preprocessing._table_encoder import TableEncoder

__all__ = ["EncodedColumn", "TableEncoder"]
