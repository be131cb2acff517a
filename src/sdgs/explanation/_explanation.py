"""The frozen result: samples taken apart, as arrays. Words and pictures of it are made elsewhere."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sdgs._utils._validation import check_int
from sdgs.coding import least_squares_code
from sdgs.explanation import _text as words

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Terms:
    """What all samples are explained in terms of.

    Attributes
    ----------
    label_names : ndarray of shape (k,)
    feature_names : ndarray of shape (p,)
    components : tuple of k ndarrays of shape (r_i, p)
        The subspace of each label, where columns are weighted.
    baseline : ndarray of shape (p,) or None
        The mean that was taken from standardised columns.
    unit : ndarray of shape (p,)
        What 1 is worth, where columns are weighted, in their own units.
    """

    label_names: NDArray[Any]
    feature_names: NDArray[Any]
    components: tuple[Array, ...]
    baseline: NDArray[np.float64] | None
    unit: NDArray[np.float64]


@dataclass(frozen=True)
class ResidualEntry:
    """An entry that the labels do not explain.

    Attributes
    ----------
    feature : int
        Its column.
    name : object
        The name of that.
    value, expected : float
        What stands there, NaN if it is missing, and what the labels say.
    size : float
        ``(value - expected) / unit``: comparable between features.
    corrupted : bool or None
        Whether it looks corrupted; None if the model has no ``huber`` and cannot say.
    """

    feature: int
    name: Any
    value: float
    expected: float
    size: float
    corrupted: bool | None


@dataclass(frozen=True, eq=False)
class SampleExplanation:
    """One sample taken apart: ``baseline + contributions.sum(axis=0) + residual`` is the sample.

    Attributes
    ----------
    name : object
        Of the sample: its place among those that were explained, or what the index of a DataFrame calls it.
    labels : ndarray of shape (m,)
        Numbers of the labels that the sample is taken apart into.
    probabilities : ndarray of shape (m,) or None
        Of those labels; None with ``readout="norm"``.
    coefficients : tuple of m ndarrays of shape (r_i,)
        Of each label's part in its subspace, where columns are weighted.
    shares : ndarray of shape (m,)
        Of each label in the energy of the sample, see the model's ``explain``.
    terms : Terms
        What all samples have in common.
    """

    name: Any
    labels: NDArray[np.intp]
    probabilities: Array | None
    coefficients: tuple[Array, ...]
    shares: NDArray[np.float64]
    terms: Terms
    _stored: Any  # (1, p), dense or CSR
    _corruption: csr_array | None  # (1, p)

    @property
    def sample(self) -> Array:
        """The sample as it came; NaN where an entry is missing."""
        return dense_row(self._stored)

    @property
    def label_names(self) -> NDArray[Any]:
        """Names of the labels that the sample is taken apart into."""
        return self.terms.label_names[self.labels]

    @property
    def baseline(self) -> Array:
        """What is there before any label: the mean of standardised columns, else zeros."""
        baseline = self.terms.baseline
        if baseline is None:
            return np.zeros(self.terms.unit.size, dtype=self._stored.dtype)
        return baseline.astype(self._stored.dtype)

    @property
    def contributions(self) -> Array:
        """What each label contributes, (m, p) in the units of the sample."""
        return np.asarray(self._parts() * self.terms.unit, dtype=self._stored.dtype)

    @property
    def expected(self) -> Array:
        """What the labels say: the baseline and all contributions together."""
        return self._expected().astype(self._stored.dtype)

    @property
    def residual(self) -> Array:
        """What the labels do not explain; 0 where an entry is missing."""
        sample = self.sample
        # Of parts as they are given away, rounded, so that what they lack to the sample is in here.
        residual = sample - self._expected()
        return np.where(np.isnan(sample), 0, residual).astype(sample.dtype)

    @property
    def filled(self) -> Array:
        """The sample with what the labels say in place of missing entries: the sum of all parts."""
        sample = self.sample
        return np.where(np.isnan(sample), self.expected, sample)

    @property
    def missing(self) -> NDArray[np.intp]:
        """Columns that are missing."""
        return np.flatnonzero(np.isnan(self.sample))

    @property
    def corruption(self) -> Array | None:
        """The part of the residual that looks corrupted, most of it zeros; None if the model has no ``huber``."""
        return None if self._corruption is None else dense_row(self._corruption)

    @property
    def corrupted(self) -> NDArray[np.intp] | None:
        """Columns that look corrupted, the worst first; None if the model has no ``huber``."""
        if self._corruption is None:
            return None
        wrong = np.abs(dense_row(self._corruption)) / self.terms.unit
        return np.argsort(-wrong, kind="stable")[: np.count_nonzero(wrong)]

    @property
    def unique_shares(self) -> NDArray[np.float64]:
        """Of each label the share of the sample's energy that no other of its labels could explain, (m,)."""
        z = self._direction()[0]
        components = [self.terms.components[i] for i in self.labels]
        energies = [
            _unexplained(z, [C for other, C in enumerate(components) if other != left])
            for left in [*range(len(components)), None]
        ]
        return np.maximum(np.subtract(energies[:-1], energies[-1]), 0.0)

    def evidence(self) -> NDArray[np.float64]:
        """What each entry adds to the share of each label, (m, p): ``evidence().sum(axis=1)`` is ``shares``.

        An entry speaks for a label where the label's part goes the way that the sample goes.
        """
        z, norm = self._direction()
        return self._parts() / norm * np.nan_to_num(z)

    def reasons(self, label: int, n: int = 5) -> NDArray[np.intp]:
        """The columns that speak most for a label, at most ``n``, the strongest first.

        Parameters
        ----------
        label : int
            Its place in ``labels``.
        n : int, default=5
        """
        evidence = self.evidence()[label]
        order = np.argsort(-evidence, kind="stable")[: check_int(n, "n", minimum=0)]
        return np.asarray(order[evidence[order] > 0])

    def top_residuals(self, n: int = 10) -> tuple[ResidualEntry, ...]:
        """The entries that the labels explain least, those that look corrupted before all others."""
        sample, expected = self.sample.astype(np.float64), self._expected()
        sizes = (sample - expected) / self.terms.unit
        wrong = np.zeros(sizes.size, dtype=bool)
        if self.corrupted is not None:
            wrong[self.corrupted] = True
        order = np.lexsort((-np.abs(np.nan_to_num(sizes)), ~wrong))[: check_int(n, "n", minimum=0)]
        return tuple(
            ResidualEntry(
                int(j),
                self.terms.feature_names[j],
                float(sample[j]),
                float(expected[j]),
                float(sizes[j]),
                None if self._corruption is None else bool(wrong[j]),
            )
            for j in order
            if sizes[j]
        )

    def text(self, *, unit: str = "features", max_names: int = 5) -> str:
        """The same in words.

        Parameters
        ----------
        unit : str, default="features"
            What features are, such as ``"words"``.
        max_names : int, default=5
            Features to name for each label, at most.
        """
        return words.sentences(self, unit, check_int(max_names, "max_names", minimum=1))

    def plot(self, *, shape: tuple[int, ...] | None = None, ax: Any = None, **options: Any) -> Any:
        """A picture: bars, or images where the ``shape`` of a sample is given.

        Returns
        -------
        sdgs.displays.SampleDecompositionDisplay
            Whose ``plot`` takes the options.
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
        return words.page([self], 0)

    def _parts(self) -> NDArray[np.float64]:
        """Where columns are weighted."""
        components = [self.terms.components[i] for i in self.labels]
        parts = np.zeros((len(components), self.terms.unit.size))
        for part, b, C in zip(parts, self.coefficients, components, strict=True):
            part += b @ C
        return parts

    def _expected(self) -> NDArray[np.float64]:
        total = self.contributions.sum(axis=0, dtype=np.float64)
        return np.asarray(self.baseline.astype(np.float64) + total)

    def _direction(self) -> tuple[NDArray[np.float64], float]:
        return direction(cleaned_row(self._stored, self._corruption, self.terms))


@dataclass(frozen=True, eq=False)
class Explanation(Sequence[SampleExplanation]):
    """Samples taken apart into what each of their labels contributes. Made by ``explain`` of a model.

    A sequence with one :class:`~sdgs.explanation.SampleExplanation` a sample; a slice of it is an ``Explanation``. What
    follows is of all samples together.

    Attributes
    ----------
    samples : tuple of SampleExplanation
    terms : Terms
        Names, subspaces, baseline and units.
    """

    samples: tuple[SampleExplanation, ...]
    terms: Terms

    def __len__(self) -> int:
        return len(self.samples)

    @overload
    def __getitem__(self, index: int) -> SampleExplanation: ...

    @overload
    def __getitem__(self, index: slice) -> "Explanation": ...

    def __getitem__(self, index: int | slice) -> "SampleExplanation | Explanation":
        return replace(self, samples=self.samples[index]) if isinstance(index, slice) else self.samples[index]

    def __iter__(self) -> Iterator[SampleExplanation]:
        return iter(self.samples)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(n, k, p): samples, labels, features."""
        return len(self.samples), self.terms.label_names.size, self.terms.unit.size

    def contributions(self) -> Array:
        """What each label contributes to each sample, (n, k, p); zeros for labels that it was not taken into."""
        dtype = self.samples[0]._stored.dtype if self.samples else np.float64
        parts = np.zeros(self.shape, dtype=dtype)
        for part, sample in zip(parts, self.samples, strict=True):
            part[sample.labels] = sample.contributions
        return parts

    def residual(self) -> Array:
        """What no label explains, (n, p); 0 where an entry is missing."""
        return np.reshape([sample.residual for sample in self.samples], self.shape[::2])

    def shares(self) -> NDArray[np.float64]:
        """Of each label in the energy of each sample, (n, k)."""
        shares = np.zeros(self.shape[:2])
        for row, sample in zip(shares, self.samples, strict=True):
            row[sample.labels] = sample.shares
        return shares

    def coefficients(self) -> csr_array:
        """Of all labels, (n, R): those of label i stand where its rows are in all ``components`` stacked."""
        starts = np.cumsum([0, *map(len, self.terms.components)])
        columns = [
            np.concatenate([np.arange(starts[i], starts[i + 1]) for i in sample.labels] or [np.empty(0, dtype=np.intp)])
            for sample in self.samples
        ]
        values = [b for sample in self.samples for b in sample.coefficients]
        indptr = np.cumsum([0, *(place.size for place in columns)])
        indices = np.concatenate([*columns, np.empty(0, dtype=np.intp)])
        data = np.concatenate([*values, np.empty(0)])
        return csr_array((data, indices, indptr), shape=(len(self), starts[-1]))

    def to_frame(self, by: str = "feature", *, max_features: int | None = None) -> Any:
        """The same as a long DataFrame; needs pandas.

        Parameters
        ----------
        by : {"feature", "label"}, default="feature"
            ``"feature"``: a line for each entry of each part, with columns ``sample``, ``part`` (label, baseline or
            residual), ``label``, ``feature`` and ``contribution``: all that has one sample and one feature sums to that
            entry. ``"label"``: a line for each label of each sample, with columns ``sample``, ``label``,
            ``probability``, ``share`` and ``unique_share``.
        max_features : int, optional
            By feature: of each part only so many entries, the largest by magnitude in the units of the sample.

        Returns
        -------
        pandas.DataFrame
        """
        return words.frame(self, by, max_features)

    def text(self, i: int | None = None, *, unit: str = "features", max_names: int = 5) -> str:
        """Sample ``i`` in words, or all of them; see :meth:`~sdgs.explanation.SampleExplanation.text`."""
        if i is not None:
            return self.samples[i].text(unit=unit, max_names=max_names)
        return "\n\n".join(f"{sample.name}:\n{sample.text(unit=unit, max_names=max_names)}" for sample in self.samples)

    def plot(self, i: int = 0, *, shape: tuple[int, ...] | None = None, ax: Any = None, **options: Any) -> Any:
        """A picture of sample ``i``; see :meth:`~sdgs.explanation.SampleExplanation.plot`."""
        return self.samples[i].plot(shape=shape, ax=ax, **options)

    def __repr__(self) -> str:
        n, k, p = self.shape
        return f"<Explanation of {n} samples: {k} labels, {p} features>"

    def __str__(self) -> str:
        more = len(self) - words.SHOWN
        return self[: words.SHOWN].text() + (f"\n\n... and {more} more samples." if more > 0 else "")

    def _repr_html_(self) -> str:
        return words.page(self.samples[: words.SHOWN], max(len(self) - words.SHOWN, 0))


def dense_row(row: Any) -> Array:
    """The only row of a matrix, dense or CSR."""
    values: Array = (row.toarray() if issparse(row) else row)[0]
    return values


def cleaned_row(stored: Any, corruption: csr_array | None, terms: Terms) -> NDArray[np.float64]:
    """A sample where columns are weighted, without what looks corrupted."""
    x = dense_row(stored).astype(np.float64)
    if corruption is not None:
        x = x - dense_row(corruption)
    return np.asarray((x if terms.baseline is None else x - terms.baseline) / terms.unit)


def direction(z: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """``z`` with observed entries of unit norm, and the norm, 1 if there is nothing; at any scale."""
    largest = float(np.abs(np.nan_to_num(z)).max(initial=0.0)) or 1.0
    norm = float(np.linalg.norm(np.nan_to_num(z / largest))) or 1.0
    return z / largest / norm, largest * norm


def _unexplained(z: NDArray[np.float64], components: Sequence[Array]) -> float:
    """Share of the energy of ``z``, of unit norm, that is in none of the subspaces."""
    code = least_squares_code(z, components)
    rest = z - sum((b @ C for b, C in zip(code, components, strict=True)), np.zeros(z.size))
    return float(np.nansum(np.square(rest)))
