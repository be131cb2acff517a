"""Tables with text, categories and dates as samples of a model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone

from sdgs._utils._array_backends import backend_of
from sdgs._utils._validation import canonical_csr, check_choice
from sdgs.estimators._text_in_samples import ADVICE, joined
from sdgs.preprocessing import TableEncoder
from sdgs.preprocessing._input_table import columns_to_encode, is_table, reject_texts
from sdgs.preprocessing._table_encoding import EncodedArray


class EncodingMixin:
    """Mixin of an SDGS model with a parameter ``encode``: encodes tables before everything else sees them."""

    encode: Any
    encoder_: TableEncoder | None

    def _check_X(self: Any, X: Any, *, reset: bool) -> Any:
        X = self._fit_encoder(X) if reset else self._encoded(X)
        if self.encoder_ is None:
            return super()._check_X(X, reset=reset)  # type: ignore[misc]
        if reset:
            self.n_features_in_ = self.encoder_.n_features_in_
            if hasattr(self.encoder_, "feature_names_in_"):
                self.feature_names_in_ = self.encoder_.feature_names_in_
        return canonical_csr(X) if issparse(X) else np.ascontiguousarray(X, dtype=np.float64)

    def _fit_encoder(self: Any, X: Any) -> Any:
        """The samples as they are, or encoded by a new ``encoder_``."""
        self.encoder_ = None
        if isinstance(self.encode, TableEncoder):
            encoder = clone(self.encode)
        else:
            reject_texts(X)
            columns = columns_to_encode(X) if is_table(X) else ()
            if not columns:
                return X
            if self.encode is None:
                raise ValueError(
                    f"X has columns that are not numbers: {joined(tuple(map(repr, columns)))}. Leave "
                    f'encode="auto", which encodes them; or {ADVICE}.'
                )
            encoder = TableEncoder()
        X = encoder.set_output(transform="default").fit_transform(X)
        self.encoder_ = encoder
        return X

    def _encoded(self: Any, X: Any) -> Any:
        """Samples as the model takes them: a table is encoded if that of ``fit`` was, and only once."""
        if self.encoder_ is None or self._is_encoded(X):
            return X
        return self.encoder_.transform(X)

    def _is_encoded(self: Any, X: Any) -> bool:
        """Whether samples have been encoded already, by ``encoder_.transform`` or by steps that encode a table once.

        Dense arrays that are not marked are so by their number of columns, but not if the table of ``fit`` has as many.
        """
        shape: tuple[int, ...] = getattr(X, "shape", ())
        n_encoded = len(self.encoder_.get_feature_names_out())
        if is_table(X) or len(shape) != 2 or shape[1] != n_encoded:
            return False
        is_marked = issparse(X) or isinstance(X, EncodedArray)
        return is_marked or (hasattr(self.encoder_, "feature_names_in_") and n_encoded != self.n_features_in_)

    @property
    def _encoded_feature_names(self) -> NDArray[Any] | None:
        """The names of the features that the model learns from, if it has encoded a table."""
        encoder = getattr(self, "encoder_", None)
        return None if encoder is None else encoder.get_feature_names_out()

    def get_feature_names_out(self: Any, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that ``transform`` returns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Default: the names of the columns of ``X`` in ``fit``, or x0, x1, ... If ``fit`` has encoded a table they
            are ``encoder_.get_feature_names_out()``.

        Returns
        -------
        ndarray of str
        """
        names = self._encoded_feature_names
        if names is None:
            names = super().get_feature_names_out(input_features)  # type: ignore[misc]
        return np.asarray(names, dtype=object)

    def _check_encode(self) -> None:
        if not isinstance(self.encode, TableEncoder):
            check_choice(self.encode, "encode", ("auto", None))

    def _check_encode_of(self, X: Any) -> None:
        if isinstance(self.encode, TableEncoder) and backend_of(X) is not None:
            raise ValueError('encode must be "auto" or None for a Dask array, which has numbers only.')
