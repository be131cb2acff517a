"""The explanations of several samples, as a sequence and as joint arrays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdgs.explanation._formatting import html_table, to_frame
from sdgs.explanation._sample_explanation import Array, SampleExplanation, Terms

_MAX_SHOWN_SAMPLES = 5  # by ``print`` and in notebooks


@dataclass(frozen=True, eq=False)
class Explanation(Sequence[SampleExplanation]):
    """Samples decomposed into one contribution per label, as returned by ``explain`` of a model.

    It is a sequence with one :class:`~sdgs.explanation.SampleExplanation` per sample; a slice is an ``Explanation``.
    Its methods return joint arrays of all samples.

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
        """The contribution of each label to each sample, (n, k, p); zeros for labels that the sample does not have."""
        dtype = self.samples[0]._stored_row.dtype if self.samples else np.float64
        parts = np.zeros(self.shape, dtype=dtype)
        for part, sample in zip(parts, self.samples, strict=True):
            part[sample.labels] = sample.contributions
        return parts

    def residual(self) -> Array:
        """What no label explains, (n, p); 0 where an entry is missing."""
        return np.reshape([sample.residual for sample in self.samples], self.shape[::2])

    def shares(self) -> NDArray[np.float64]:
        """The share of each sample's energy explained by each label, (n, k)."""
        shares = np.zeros(self.shape[:2])
        for row, sample in zip(shares, self.samples, strict=True):
            row[sample.labels] = sample.shares
        return shares

    def coefficients(self) -> csr_array:
        """The coefficients of all labels, (n, R), in the order of the rows of all ``components`` stacked."""
        starts = np.cumsum([0, *map(len, self.terms.components)])
        columns = [
            np.concatenate([np.arange(starts[i], starts[i + 1]) for i in sample.labels] or [np.empty(0, dtype=np.intp)])
            for sample in self.samples
        ]
        values = [b for sample in self.samples for b in sample.coefficients]
        indptr = np.cumsum([0, *(row.size for row in columns)])
        indices = np.concatenate([*columns, np.empty(0, dtype=np.intp)])
        data = np.concatenate([*values, np.empty(0)])
        return csr_array((data, indices, indptr), shape=(len(self), starts[-1]))

    def to_frame(self, by: str = "feature", *, max_features: int | None = None) -> Any:
        """Convert to a long DataFrame; needs pandas.

        Parameters
        ----------
        by : {"feature", "label"}, default="feature"
            ``"feature"``: one row per entry of each part, with columns ``sample``, ``part`` (label, baseline or
            residual), ``label``, ``feature`` and ``contribution``. The contributions of one sample and feature sum to
            that entry of the sample. ``"label"``: one row per label of each sample, with columns ``sample``,
            ``label``, ``probability``, ``share`` and ``unique_share``.
        max_features : int, optional
            With ``by="feature"``: keep only this number of entries per part, those with the largest magnitude.

        Returns
        -------
        pandas.DataFrame
        """
        return to_frame(self, by, max_features)

    def text(self, i: int | None = None, *, unit: str = "features", max_names: int = 5) -> str:
        """Describe sample ``i``, or all samples, in sentences; see :meth:`~sdgs.explanation.SampleExplanation.text`."""
        if i is not None:
            return self.samples[i].text(unit=unit, max_names=max_names)
        return "\n\n".join(
            f"Sample {sample.name}:\n{sample.text(unit=unit, max_names=max_names)}" for sample in self.samples
        )

    def plot(self, i: int = 0, *, shape: tuple[int, ...] | None = None, ax: Any = None, **options: Any) -> Any:
        """Draw sample ``i``; see :meth:`~sdgs.explanation.SampleExplanation.plot`."""
        return self.samples[i].plot(shape=shape, ax=ax, **options)

    def __repr__(self) -> str:
        n, k, p = self.shape
        return f"<Explanation of {n} samples: {k} labels, {p} features>"

    def __str__(self) -> str:
        n_more = len(self) - _MAX_SHOWN_SAMPLES
        return self[:_MAX_SHOWN_SAMPLES].text() + (f"\n\n... and {n_more} more samples." if n_more > 0 else "")

    def _repr_html_(self) -> str:
        return html_table(self.samples[:_MAX_SHOWN_SAMPLES], max(len(self) - _MAX_SHOWN_SAMPLES, 0))
