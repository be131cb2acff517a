"""Free text as counts of words and of groups of characters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from sdgs.preprocessing._input_table import InputColumn, as_strings
from sdgs.selection._defaults import CHARACTER_NGRAMS

ANALYZERS = ("word", "char_wb")  # words, and groups of characters within words, as scikit-learn names them


@dataclass(frozen=True, eq=False)
class TermCounts:
    """One analyzer of ``ANALYZERS`` and its terms: 1 + log of the count of each, rows of unit norm."""

    analyzer: str
    terms: tuple[str, ...]

    @classmethod
    def fit(cls, texts: Sequence[str], analyzer: str, min_count: int, max_terms: int) -> tuple[Self, Any] | None:
        """The terms in at least ``min_count`` texts and their matrix; if there are none, all terms; None without any.

        If there are more than ``max_terms`` terms, the most frequent ones.
        """
        for min_df in sorted({min_count, 1}, reverse=True):
            vectorizer = _vectorizer(analyzer, min_df=min_df, max_features=max_terms)
            try:
                counts = vectorizer.fit_transform(texts)
            except ValueError:  # no terms
                continue
            return cls(analyzer, tuple(vectorizer.get_feature_names_out())), _dampened(counts)
        return None

    @cached_property
    def _vectorizer(self) -> CountVectorizer:
        vectorizer = _vectorizer(self.analyzer)
        vectorizer.vocabulary_ = {term: j for j, term in enumerate(self.terms)}
        vectorizer.fixed_vocabulary_ = True
        return vectorizer

    def transform(self, texts: Sequence[str]) -> Any:
        """The matrix of texts, CSR."""
        return _dampened(self._vectorizer.transform(texts))

    @property
    def names(self) -> tuple[str, ...]:
        """A word as it is, and a group of characters in quotes, in which a space is the edge of a word."""
        return self.terms if self.analyzer == "word" else tuple(f'"{term}"' for term in self.terms)


def _vectorizer(analyzer: str, **options: Any) -> CountVectorizer:
    ngrams = (1, 1) if analyzer == "word" else CHARACTER_NGRAMS
    return CountVectorizer(analyzer=analyzer, ngram_range=ngrams, dtype=np.float64, **options)


def _dampened(counts: Any) -> Any:
    counts.sort_indices()  # so that sums over a row do not depend on the order in which its words were found
    counts.data = np.log(counts.data) + 1
    return csr_array(normalize(counts, copy=False))


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of texts; rows have unit norm, or are zero without any known term. A missing text is empty."""

    name: str
    parts: tuple[TermCounts, ...]

    @classmethod
    def fit(
        cls, column: InputColumn, analyzers: Sequence[str], min_count: int, max_terms: int
    ) -> tuple[Self, Any] | None:
        """The encoder, and the encoded column; None if there are no terms in it."""
        texts = _texts(column)
        fitted = [TermCounts.fit(texts, analyzer, min_count, max_terms) for analyzer in analyzers]
        found = [part for part in fitted if part is not None]
        if not found:
            return None
        return cls(column.name, tuple(part for part, _ in found)), _side_by_side([matrix for _, matrix in found])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(f"{self.name}: {name}" for part in self.parts for name in part.names)

    def transform(self, column: InputColumn) -> Any:
        """The encoded column, CSR."""
        texts = _texts(column)
        return _side_by_side([part.transform(texts) for part in self.parts])


def _texts(column: InputColumn) -> list[str]:
    return ["" if text is None else text for text in as_strings(column)]


def _side_by_side(matrices: list[Any]) -> Any:
    """The matrices joined, each with the same share of a row's squared norm."""
    if len(matrices) == 1:
        return matrices[0]
    return csr_array(hstack(matrices, format="csr") * (1 / np.sqrt(len(matrices))))


@dataclass(frozen=True, eq=False)
class EmbeddedColumn:
    """A column of texts that a function turns into vectors, which are brought to unit norm."""

    name: str
    embed: Callable[[list[str]], Any]
    n_dimensions: int

    @classmethod
    def fit(cls, column: InputColumn, embed: Callable[[list[str]], Any]) -> tuple[Self, NDArray[Any]]:
        """The encoder, and the encoded column."""
        vectors = _embedded(column, embed)
        return cls(column.name, embed, vectors.shape[1]), vectors

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(f"{self.name}: {j}" for j in range(self.n_dimensions))

    def transform(self, column: InputColumn) -> NDArray[Any]:
        """The vectors, (n, n_dimensions)."""
        vectors = _embedded(column, self.embed)
        if vectors.shape[1] != self.n_dimensions:
            raise ValueError(
                f"the function for column {self.name!r} returned {vectors.shape[1]} numbers per text, and "
                f"{self.n_dimensions} in fit."
            )
        return vectors


def _embedded(column: InputColumn, embed: Callable[[list[str]], Any]) -> NDArray[Any]:
    texts = _texts(column)
    vectors = np.asarray(embed(texts), dtype=np.float64)
    if vectors.ndim != 2 or vectors.shape[0] != len(texts) or not np.isfinite(vectors).all():
        raise ValueError(
            f"the function for column {column.name!r} must return one vector of finite numbers for each of the "
            f"{len(texts)} texts; it returned an array of shape {vectors.shape}."
        )
    return np.asarray(normalize(vectors)) if vectors.shape[1] else vectors
