"""Why labels of several samples are predicted or not, as a sequence and as joint arrays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sdgs.explanation._reason_formatting import reasons_frame, reasons_html
from sdgs.explanation._sample_reasons import PredictionTerms, SampleReasons
from sdgs.explanation._score_parts import read_samples

Floats = NDArray[np.float64]

_MAX_SHOWN_SAMPLES = 5  # by ``print`` and in notebooks


@dataclass(frozen=True, eq=False)
class PredictionExplanation(Sequence[SampleReasons]):
    """The log-odds of labels split into their reasons, as returned by ``explain_prediction`` of a model.

    It is a sequence with one :class:`~sdgs.explanation.SampleReasons` per sample; a slice is a
    ``PredictionExplanation``. For every sample and explained label

    - ``base + features + components + neighbours`` and
    - ``base + features + features_through_components + neighbours``,

    summed over features, components and neighbours, are the log-odds. Only what the model reads from a sample is
    stored; parts are computed on access. Joint arrays are dense, so take them of few samples.

    Attributes
    ----------
    samples : tuple of SampleReasons
    log_odds : ndarray of shape (n, k)
        The log-odds of all labels, whether they are explained or not. For a 1-D target each class is compared with all
        others.
    probabilities : ndarray of shape (n, k)
    predicted : ndarray of shape (n, k)
    terms : PredictionTerms
        Names, pipelines, calibration and decision.
    """

    samples: tuple[SampleReasons, ...]
    log_odds: Floats
    probabilities: Floats
    predicted: NDArray[np.bool_]
    terms: PredictionTerms

    def __len__(self) -> int:
        return len(self.samples)

    @overload
    def __getitem__(self, index: int) -> SampleReasons: ...

    @overload
    def __getitem__(self, index: slice) -> "PredictionExplanation": ...

    def __getitem__(self, index: int | slice) -> "SampleReasons | PredictionExplanation":
        if not isinstance(index, slice):
            return self.samples[index]
        arrays = self.log_odds[index], self.probabilities[index], self.predicted[index]
        return PredictionExplanation(self.samples[index], *arrays, self.terms)

    def __iter__(self) -> Iterator[SampleReasons]:
        return iter(self.samples)

    @property
    def base(self) -> Floats:
        """The log-odds of each label without any reason, (k,): intercept and calibration offset."""
        return self.terms.base

    def features(self) -> Floats:
        """What each feature adds directly, (n, k, p); zeros for labels that are not explained."""
        return self._joint("features", self.terms.feature_names.size)

    def features_through_components(self) -> Floats:
        """What each feature adds through the code, (n, k, p)."""
        return self._joint("features_through_components", self.terms.feature_names.size)

    def components(self) -> Floats:
        """What the component of label i, found in the sample, adds for label j: entry [sample, j, i], (n, k, k)."""
        return self._joint("components", self.terms.label_names.size)

    def neighbours(self) -> Floats:
        """What the similarity to each of ``terms.training_samples`` adds, (n, k, u)."""
        return self._joint("neighbours", self.terms.training_samples.size)

    def _joint(self, name: str, width: int) -> Floats:
        joint = np.zeros((*self.log_odds.shape, width))
        for target, sample in zip(joint, self.samples, strict=True):
            target[sample.labels] = getattr(sample, name)
        return joint

    def with_names(self, names: Sequence[Any]) -> "PredictionExplanation":
        """The same with other names of the samples."""
        samples = (replace(sample, name=name) for sample, name in zip(self.samples, names, strict=True))
        return replace(self, samples=tuple(samples))

    def to_frame(self, by: str = "feature", *, max_reasons: int | None = None) -> Any:
        """Convert to a long DataFrame; needs pandas.

        Parameters
        ----------
        by : {"feature", "component", "label"}, default="feature"
            ``"feature"``: one row per part of each explained label, with columns ``sample``, ``label``, ``kind``
            (base, feature or neighbour), ``name``, ``direct``, ``through_components`` and ``part``. ``"component"``:
            the same with direct parts of features and with the parts of components, without the two columns about
            them. In both the parts of a sample and label sum to its log-odds. ``"label"``: one row per explained label,
            with its probability, its log-odds, the sum of each kind, and the decision.
        max_reasons : int, optional
            Keep only this number of features, components and neighbours per label, those with the largest magnitude.

        Returns
        -------
        pandas.DataFrame
        """
        return reasons_frame(self, by, max_reasons)

    def text(self, i: int | None = None, *, unit: str = "features", max_names: int = 5) -> str:
        """The reasons of sample ``i``, or of all samples, in sentences; see ``text`` of ``SampleReasons``."""
        if i is not None:
            return self.samples[i].text(unit=unit, max_names=max_names)
        return "\n\n".join(
            f"Sample {sample.name}:\n{sample.text(unit=unit, max_names=max_names)}" for sample in self.samples
        )

    def plot(self, i: int = 0, label: int = 0, *, kind: str = "waterfall", ax: Any = None, **options: Any) -> Any:
        """Draw the label at position ``label`` of sample ``i``; see ``plot`` of ``SampleReasons``."""
        return self.samples[i].plot(label, kind=kind, ax=ax, **options)

    def __repr__(self) -> str:
        n, k = self.log_odds.shape
        return f"<PredictionExplanation of {n} samples: {k} labels, {self.terms.feature_names.size} features>"

    def __str__(self) -> str:
        n_more = len(self) - _MAX_SHOWN_SAMPLES
        return self[:_MAX_SHOWN_SAMPLES].text() + (f"\n\n... and {n_more} more samples." if n_more > 0 else "")

    def _repr_html_(self) -> str:
        return reasons_html(self.samples[:_MAX_SHOWN_SAMPLES], max(len(self) - _MAX_SHOWN_SAMPLES, 0))


def explain_predictions(
    X: Any,
    explained: NDArray[np.bool_],
    terms: PredictionTerms,
    log_odds: Floats,
    probabilities: Floats,
    predicted: NDArray[np.bool_],
    *,
    names: Sequence[Any],
    n_jobs: int | None,
) -> PredictionExplanation:
    """Explain the labels ``explained`` (n, k), boolean, of validated samples X (n, p), dense or CSR."""
    read = zip(*(read_samples(pipeline, X, n_jobs) for pipeline in terms.pipelines), strict=True)
    samples = []
    for row, (name, by_pipeline) in enumerate(zip(names, read, strict=True)):
        labels = np.flatnonzero(explained[row])
        of_labels = labels, log_odds[row, labels], probabilities[row, labels], predicted[row, labels]
        samples.append(
            SampleReasons(name, *of_labels, terms, probabilities[row], predicted[row], X[[row]], tuple(by_pipeline))
        )
    return PredictionExplanation(tuple(samples), log_odds, probabilities, predicted, terms)
