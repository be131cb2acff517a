"""TableEncoder: the transformer."""

import warnings
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from sdgs._utils._validation import check_choice, check_int
from sdgs.preprocessing._column_kinds import KINDS
from sdgs.preprocessing._encoded_column import EncodedColumn, columns_as_html, columns_as_text
from sdgs.preprocessing._input_table import InputTable, read_table
from sdgs.preprocessing._table_encoding import ColumnOptions, TableEncoding, fit_encoding
from sdgs.selection._defaults import MAX_CATEGORIES

_MAX_LISTED = 8  # names of columns in an error
TEXT_ANALYZERS = {"words": ("word",), "characters": ("char_wb",), "both": ("word", "char_wb")}


def encoder_of(estimator: Any) -> "TableEncoder | None":
    """The encoder that a fitted estimator applies to tables: its ``encoder_``, or the first step of a pipeline."""
    first = estimator.steps[0][1] if isinstance(estimator, Pipeline) else getattr(estimator, "encoder_", None)
    return first if isinstance(first, TableEncoder) else None


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a table with text, categories, dates and numbers into the matrix that estimators take.

    Each column is encoded by its kind, which is found from its values or given in ``kinds``:

    - ``"number"``: minus its mean, in standard deviations; ordered categories by their positions;
    - ``"boolean"`` and ``"category"``: one column for each value that at least two samples have, and one for all rare
      values together;
    - ``"date"``: the days since the first date, and those of year, month, weekday (Monday is 1) and hour that vary;
    - ``"text"``: counts of words, as 1 + log of the count, and rows of unit norm. Words that occur in a single text are
      left out. Groups of two to four characters are counted too where most texts are single words or are written
      without spaces between words;
    - ``"list"``: lists of strings, with one column for each string in at least two lists;
    - ``"drop"``: left out. Empty and constant columns are, and identifiers: text in which every value is different and
      none has spaces.

    :attr:`columns_` says what was done with each column and why, as does the view in notebooks.

    Parameters
    ----------
    kinds : dict from column names to kinds, or None, default=None
        Kinds of some columns in place of those that are found. Instead of ``"text"`` it may be a function, see
        ``text``.
    text : {"auto", "words", "characters", "both"} or callable, default="auto"
        What is counted in columns of text. A function takes a list of n strings and returns an array of shape (n, d),
        such as the embeddings of a language model; it must not depend on the other strings. Model files cannot hold
        functions.
    max_categories : int, default=40
        Maximum number of columns for the values of a category, the most frequent ones. Repeated text with more
        different values and spaces is encoded as text.
    sparse_output : bool or "auto", default="auto"
        Whether ``transform`` returns a sparse matrix. ``"auto"``: if less than 30 % of its entries in ``fit`` are not
        zero, and no DataFrame is set as output.

    Attributes
    ----------
    columns_ : tuple of EncodedColumn
        What was done with each column: its name, kind, the reason, the number of features and a note.
    sparse_output_ : bool
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if it had any.

    Notes
    -----
    Missing entries (None, NaN, NaT, pandas.NA) of a category are a category of their own if there were any in ``fit``;
    a missing text or list is empty. Missing numbers and dates are NaN in a dense matrix, which SDGS takes. In a sparse
    one they are 0, which is the mean, and a column shows where they were missing.

    A category that was not seen in ``fit`` is a rare one; if there were no rare ones, it is zero in all columns. An
    unknown word is ignored. A text that is no number or date, in a column that is of this kind, is missing. In a column
    that had True and False, 1 and 0 are the same.

    ``transform`` finds the columns of a table by their names: their order does not matter, and others are ignored. Each
    row is encoded on its own, so that blocks of a table give the same as the whole.

    Each column of numbers has a variance of 1, a category adds 1 to the squared norm of a row, and so does a text: none
    dominates by its unit. Text is not weighted by document frequency, because ``scaling="auto"`` of
    :class:`sdgs.SDGSClassifier` tries that.

    Examples
    --------
    >>> from sdgs.preprocessing import TableEncoder
    >>> table = {
    ...     "message": ["the parcel is late", "the parcel is damaged", "a refund, please", "my refund is late"],
    ...     "channel": ["mail", "chat", "mail", "chat"],
    ...     "amount": [20.0, 35.0, None, 12.5],
    ... }
    >>> encoder = TableEncoder(kinds={"message": "text"}).fit(table)
    >>> print(encoder.summary())
    column   kind      why                 features  note
    message  text      chosen by the user  5         5 words
    channel  category  2 different values  2
    amount   number    numbers             1         1 missing
    >>> encoder.get_feature_names_out().tolist()[4:]
    ['message: the', 'channel = chat', 'channel = mail', 'amount']
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        kinds: Mapping[str, Any] | None = None,
        *,
        text: str | Callable[[list[str]], Any] = "auto",
        max_categories: int = MAX_CATEGORIES,
        sparse_output: bool | str = "auto",
    ) -> None:
        self.kinds = kinds
        self.text = text
        self.max_categories = max_categories
        self.sparse_output = sparse_output

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Choose kinds, and learn categories, words and scales.

        Parameters
        ----------
        X : DataFrame (pandas, Polars), Arrow table, mapping from names to columns, or 2-D array, of n rows
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: ARG002
        """Fit, and encode the same table: texts are read once.

        Parameters
        ----------
        X : as for :meth:`fit`
        y : None
            Ignored.

        Returns
        -------
        ndarray or csr_array of shape (n, n_features)
        """
        return self._fit(X)

    def _fit(self, X: Any) -> Any:
        options = self._options()
        table = read_table(X)
        encoding, matrix = fit_encoding(table, self._chosen_kinds(table), options)
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = len(table.columns)
        if table.is_named:
            self.feature_names_in_ = np.array([column.name for column in table.columns], dtype=object)
        self._encoding = encoding
        return matrix

    def transform(self, X: Any) -> Any:
        """Encode a table.

        Parameters
        ----------
        X : as for :meth:`fit`
            A table with at least the columns that were not left out in ``fit``; an array with as many columns.

        Returns
        -------
        ndarray or csr_array of shape (n, n_features)
        """
        check_is_fitted(self)
        return self._encoding.transform(self._read(X))

    def _read(self, X: Any) -> InputTable:
        """The table with the columns that are used, by their names or else by their positions."""
        has_names = hasattr(self, "feature_names_in_")
        table = read_table(X, self._encoding.used_names if has_names else None)
        if has_names and table.is_named:
            return table
        name = type(self).__name__
        if len(table.columns) != self.n_features_in_:
            raise ValueError(
                f"X has {len(table.columns)} features, but {name} is expecting {self.n_features_in_} features as input."
            )
        if has_names:
            warnings.warn(
                f"X does not have valid feature names, but {name} was fitted with feature names", stacklevel=3
            )
        elif table.is_named:
            warnings.warn(f"X has feature names, but {name} was fitted without feature names", stacklevel=3)
        return self._encoding.renamed(table)

    @property
    def columns_(self) -> tuple[EncodedColumn, ...]:
        """What was done with each column."""
        return self._fitted_encoding().records

    @property
    def sparse_output_(self) -> bool:
        """Whether the encoded table is sparse."""
        return self._fitted_encoding().is_sparse

    @property
    def _n_features_out(self) -> int:
        return len(self._fitted_encoding().names)

    def _fitted_encoding(self) -> TableEncoding:
        if not hasattr(self, "_encoding"):  # so that there is no such attribute before fit
            raise AttributeError(f"this {type(self).__name__} is not fitted.")
        return self._encoding

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_encoding")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features, such as "message: damaged", "channel = mail" and "created: weekday".

        Parameters
        ----------
        input_features : array-like of str, optional
            Must be ``feature_names_in_`` if there is one; else it is ignored.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array(self._encoding.names, dtype=object)

    def summary(self) -> str:
        """What was done with each column, as a table in plain text."""
        check_is_fitted(self)
        return columns_as_text(self.columns_)

    def _repr_html_(self) -> str:
        """For notebooks: the table of columns; before ``fit`` the parameters, as for every estimator."""
        if not hasattr(self, "_encoding"):
            return str(super()._repr_html_())
        what = f"{self.n_features_in_} columns become {len(self._encoding.names)} features"
        return columns_as_html(f"{type(self).__name__}: {what}", self.columns_)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _options(self) -> ColumnOptions:
        """The parameters, checked."""
        text = self.text
        if not callable(text):
            check_choice(text, "text", ("auto", *TEXT_ANALYZERS))
            text = TEXT_ANALYZERS.get(text)  # type: ignore[assignment]
        is_sparse: bool | None = None
        if isinstance(self.sparse_output, bool | np.bool_):
            is_sparse = bool(self.sparse_output)
        else:
            check_choice(self.sparse_output, "sparse_output", (True, False, "auto"))
            if _get_output_config("transform", self)["dense"] != "default":  # a DataFrame
                is_sparse = False
        return ColumnOptions(
            text,  # type: ignore[arg-type]
            check_int(self.max_categories, "max_categories", minimum=1),
            is_sparse,
        )

    def _chosen_kinds(self, table: InputTable) -> dict[str, Any]:
        """The kinds that the user chose, checked."""
        if self.kinds is None:
            return {}
        if not isinstance(self.kinds, Mapping):
            raise ValueError(f"kinds must be a dict from names of columns to kinds, or None; got {self.kinds!r}.")
        names = [column.name for column in table.columns]
        for name, kind in self.kinds.items():
            if name not in names:
                raise ValueError(
                    f"kinds has a column {name!r}, and X has none of this name. {_known_columns(name, names)}"
                )
            if not callable(kind):
                check_choice(kind, f"kinds[{name!r}]", KINDS)
        return dict(self.kinds)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _known_columns(name: Any, names: list[str]) -> str:
    """The columns of a table for an error about a column that it has not, with similar names first."""
    similar = get_close_matches(str(name), names, n=3)
    ordered = [known for known in names if known in similar] + [known for known in names if known not in similar]
    listed = ", ".join(map(repr, ordered[:_MAX_LISTED]))
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return (f"Did you mean {similar[0]!r}? " if similar else "") + f"Its columns are {listed}{more}."
