"""The explanation of one sample: a frozen result that computes its arrays on access."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._validation import check_int
from sdgs.coding import least_squares_code
from sdgs.explanation._formatting import describe_sample, html_table

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Terms:
    """What the explanations of all samples share: names, subspaces, baseline and units.

    Attributes
    ----------
    label_names : ndarray of shape (k,)
    feature_names : ndarray of shape (p,)
    components : tuple of k ndarrays of shape (r_i, p)
        A basis of each label's subspace, in scaled columns.
    baseline : ndarray of shape (p,) or None
        The column means, if the columns are standardised.
    unit : ndarray of shape (p,)
        The scale of each column: scaled value = (value - baseline) / unit.
    """

    label_names: NDArray[Any]
    feature_names: NDArray[Any]
    components: tuple[Array, ...]
    baseline: NDArray[np.float64] | None
    unit: NDArray[np.float64]


@dataclass(frozen=True)
class ResidualEntry:
    """An entry of the sample with a large residual.

    Attributes
    ----------
    feature : int
        Index of the column.
    name : object
        Name of the column.
    value, expected : float
        The value in the sample, NaN if it is missing, and its reconstruction from the labels.
    size : float
        ``(value - expected) / unit``: comparable between features.
    corrupted : bool or None
        Whether the entry looks corrupted; None if the model has no ``huber``, which is needed to decide it.
    """

    feature: int
    name: Any
    value: float
    expected: float
    size: float
    corrupted: bool | None


@dataclass(frozen=True, eq=False)
class SampleExplanation:
    """The decomposition of one sample: ``baseline + contributions.sum(axis=0) + residual`` is the sample.

    Attributes
    ----------
    name : object
        The position of the sample among the explained ones, or its name in the index of a DataFrame.
    labels : ndarray of shape (m,)
        Indices of the labels into which the sample is decomposed.
    probabilities : ndarray of shape (m,) or None
        The probability of each of these labels; None with ``readout="norm"``.
    coefficients : tuple of m ndarrays of shape (r_i,)
        The coefficients of each label's part in its subspace, in scaled columns.
    shares : ndarray of shape (m,)
        The share of the sample's energy explained by each label; see the model's ``explain``.
    terms : Terms
        What the explanations of all samples share.
    """

    name: Any
    labels: NDArray[np.intp]
    probabilities: Array | None
    coefficients: tuple[Array, ...]
    shares: NDArray[np.float64]
    terms: Terms
    _stored_row: Any  # (1, p), dense or CSR
    _corruption_row: csr_array | None  # (1, p)

    @property
    def sample(self) -> Array:
        """The sample; NaN where an entry is missing."""
        return _dense_row(self._stored_row)

    @property
    def label_names(self) -> NDArray[Any]:
        """Names of the labels into which the sample is decomposed."""
        return self.terms.label_names[self.labels]

    @property
    def baseline(self) -> Array:
        """The part that belongs to no label: the column means if columns are standardised, else zeros."""
        baseline = self.terms.baseline
        if baseline is None:
            return np.zeros(self.terms.unit.size, dtype=self._stored_row.dtype)
        return baseline.astype(self._stored_row.dtype)

    @property
    def contributions(self) -> Array:
        """The contribution of each label, (m, p), in the units of the sample."""
        return np.asarray(self._scaled_parts() * self.terms.unit, dtype=self._stored_row.dtype)

    @property
    def expected(self) -> Array:
        """The reconstruction: the sum of the baseline and all contributions."""
        return self._expected().astype(self._stored_row.dtype)

    @property
    def residual(self) -> Array:
        """What the labels do not explain; 0 where an entry is missing."""
        sample = self.sample
        # From the contributions as returned, in their precision, so that all parts sum to the sample exactly.
        residual = sample - self._expected()
        return np.where(np.isnan(sample), 0, residual).astype(sample.dtype)

    @property
    def filled(self) -> Array:
        """The sample with missing entries replaced by their reconstruction: the sum of all parts."""
        sample = self.sample
        return np.where(np.isnan(sample), self.expected, sample)

    @property
    def missing(self) -> NDArray[np.intp]:
        """Indices of the missing columns."""
        return np.flatnonzero(np.isnan(self.sample))

    @property
    def corruption(self) -> Array | None:
        """The sparse part of the residual that looks corrupted; None if the model has no ``huber``."""
        return None if self._corruption_row is None else _dense_row(self._corruption_row)

    @property
    def corrupted(self) -> NDArray[np.intp] | None:
        """Columns that look corrupted, largest corruption first; None if the model has no ``huber``."""
        if self._corruption_row is None:
            return None
        sizes = np.abs(_dense_row(self._corruption_row)) / self.terms.unit
        return np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]

    @property
    def unique_shares(self) -> NDArray[np.float64]:
        """The share of the sample's energy that each label explains and its other labels cannot, (m,)."""
        direction = self._normalized()[0]
        components = self._components()
        unexplained = [
            _unexplained_share(direction, [C for i, C in enumerate(components) if i != left_out])
            for left_out in [*range(len(components)), None]
        ]
        return np.maximum(np.subtract(unexplained[:-1], unexplained[-1]), 0.0)

    def evidence(self) -> NDArray[np.float64]:
        """The amount that each entry adds to the share of each label, (m, p): ``evidence().sum(axis=1)`` is ``shares``.

        An entry is positive where the label's contribution and the sample have the same sign.
        """
        direction, norm = self._normalized()
        return self._scaled_parts() / norm * np.nan_to_num(direction)

    def reasons(self, label: int, n: int = 5) -> NDArray[np.intp]:
        """The columns with the largest positive :meth:`evidence` for a label, at most ``n``, largest first.

        Parameters
        ----------
        label : int
            The position of the label in ``labels``.
        n : int, default=5
        """
        evidence = self.evidence()[label]
        order = np.argsort(-evidence, kind="stable")[: check_int(n, "n", minimum=0)]
        return np.asarray(order[evidence[order] > 0])

    def top_residuals(self, n: int = 10) -> tuple[ResidualEntry, ...]:
        """The ``n`` entries with the largest residuals; entries that look corrupted come first."""
        sample, expected = self.sample.astype(np.float64), self._expected()
        sizes, names = (sample - expected) / self.terms.unit, self.terms.feature_names
        is_corrupted = np.zeros(sizes.size, dtype=bool)
        if self.corrupted is not None:
            is_corrupted[self.corrupted] = True
        flags = [None] * sizes.size if self.corrupted is None else is_corrupted.tolist()
        order = np.lexsort((-np.abs(np.nan_to_num(sizes)), ~is_corrupted))[: check_int(n, "n", minimum=0)]
        return tuple(
            ResidualEntry(int(j), names[j], float(sample[j]), float(expected[j]), float(sizes[j]), flags[j])
            for j in order
            if sizes[j]
        )

    def text(self, *, unit: str = "features", max_names: int = 5) -> str:
        """Describe the decomposition in sentences.

        Parameters
        ----------
        unit : str, default="features"
            What to call the features, such as ``"words"``.
        max_names : int, default=5
            The maximum number of features to name per label.
        """
        return describe_sample(self, unit, check_int(max_names, "max_names", minimum=1))

    def plot(self, *, shape: tuple[int, ...] | None = None, ax: Any = None, **options: Any) -> Any:
        """Draw the decomposition as bars, or as images if the ``shape`` of a sample is given.

        Returns
        -------
        sdgs.displays.SampleDecompositionDisplay
            Its ``plot`` documents the options.
        """
        from sdgs.displays import SampleDecompositionDisplay

        return SampleDecompositionDisplay.from_explanation(self).plot(ax=ax, shape=shape, **options)

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name} {100 * share:.0f} %" for name, share in zip(self.label_names, self.shares, strict=True)
        )
        return f"<SampleExplanation of {self.name!r}: {parts or 'no labels'}>"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return html_table([self], 0)

    def _components(self) -> list[Array]:
        return [self.terms.components[i] for i in self.labels]

    def _scaled_parts(self) -> NDArray[np.float64]:
        """The contributions in scaled columns."""
        components = self._components()
        parts = np.zeros((len(components), self.terms.unit.size))
        for part, b, C in zip(parts, self.coefficients, components, strict=True):
            part += b @ C
        return parts

    def _expected(self) -> NDArray[np.float64]:
        total = self.contributions.sum(axis=0, dtype=np.float64)
        return np.asarray(self.baseline.astype(np.float64) + total)

    def _normalized(self) -> tuple[NDArray[np.float64], float]:
        return normalize(scaled_row(self._stored_row, self._corruption_row, self.terms))


def _dense_row(row: Any) -> Array:
    """The only row of a matrix, dense or CSR."""
    values: Array = (row.toarray() if issparse(row) else row)[0]
    return values


def scaled_row(stored_row: Any, corruption_row: csr_array | None, terms: Terms) -> NDArray[np.float64]:
    """A sample in scaled columns, without the part that looks corrupted."""
    x = _dense_row(stored_row).astype(np.float64)
    if corruption_row is not None:
        x = x - _dense_row(corruption_row)
    return np.asarray((x if terms.baseline is None else x - terms.baseline) / terms.unit)


def normalize(z: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Divide ``z`` by the norm of its observed entries, without overflow; the norm is 1 if they are all zero."""
    largest = float(np.abs(np.nan_to_num(z)).max(initial=0.0)) or 1.0
    norm = float(np.linalg.norm(np.nan_to_num(z / largest))) or 1.0
    return z / largest / norm, largest * norm


def _unexplained_share(direction: NDArray[np.float64], components: Sequence[Array]) -> float:
    """Share of the energy of ``direction``, of unit norm, outside the sum of the subspaces."""
    code = least_squares_code(direction, components)
    residual = direction - sum((b @ C for b, C in zip(code, components, strict=True)), np.zeros(direction.size))
    return float(np.nansum(np.square(residual)))
