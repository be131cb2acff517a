"""Why labels of one sample are predicted or not: a frozen result that computes its arrays on access."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit

from sdgs._utils._threads import blas_on_one_thread
from sdgs._utils._validation import check_int
from sdgs.explanation._label_decision import LabelDecision, explain_decision, is_predicted_at
from sdgs.explanation._ranked_reasons import (
    ComponentReason,
    FeatureReason,
    NeighbourReason,
    top_components,
    top_features,
    top_neighbours,
)
from sdgs.explanation._reason_formatting import describe_reasons, reasons_html
from sdgs.explanation._score_parts import ReadSample, ScoreParts, mean_parts, split_scores, sum_by_group
from sdgs.readout._calibration import Calibration
from sdgs.readout._decision import Decision
from sdgs.readout._pipeline import FittedPipeline

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PredictionTerms:
    """What the explanations of the predictions of all samples share.

    Attributes
    ----------
    label_names : ndarray of shape (k,)
    feature_names : ndarray of shape (p,)
    pipelines : tuple of FittedPipeline
        Their scores are averaged.
    calibration : Calibration
    decision : Decision
    is_multiclass : bool
        Whether a sample has exactly one label.
    baseline : ndarray of shape (p,) or None
        The column means, if the columns are standardised: the values without any effect. None means zeros.
    """

    label_names: NDArray[Any]
    feature_names: NDArray[Any]
    pipelines: tuple[FittedPipeline, ...]
    calibration: Calibration
    decision: Decision
    is_multiclass: bool
    baseline: Floats | None

    @cached_property
    def base(self) -> Floats:
        """The log-odds of each label if no feature, component and landmark adds anything, (k,)."""
        intercept = np.mean([pipeline.ridge.intercept for pipeline in self.pipelines if pipeline.ridge], axis=0)
        return np.asarray(self.calibration.log_odds(intercept), dtype=np.float64)

    @cached_property
    def landmark_rows(self) -> NDArray[np.intp]:
        """The training sample of each landmark of all kernels side by side."""
        kernels = [pipeline.features.kernel for pipeline in self.pipelines]
        rows = [kernel.rows for kernel in kernels if kernel is not None]
        return np.concatenate([*rows, np.empty(0, dtype=np.intp)])

    @cached_property
    def training_samples(self) -> NDArray[np.intp]:
        """The training samples that are landmarks, ascending, (u,)."""
        return np.unique(self.landmark_rows)

    @cached_property
    def training_labels(self) -> NDArray[np.bool_]:
        """The labels of these training samples, (u, k)."""
        return self.pipelines[0].features.decomposition.labels_of(self.training_samples)


@dataclass(frozen=True, eq=False)
class LogOddsParts:
    """The log-odds of m labels of a sample, split exactly.

    ``base + features + components + neighbours`` and ``base + features + features_through_components + neighbours``,
    each summed over columns, are the log-odds.

    Attributes
    ----------
    base : ndarray of shape (m,)
        Intercept and calibration offset. Where columns are standardised they contain the effect of the mean of each.
    columns : ndarray of shape (q,)
        The features with parts: those whose cleaned value is observed and not zero, or not the mean.
    features, features_through_components : ndarray of shape (m, q)
        What each of these features adds directly, and through the code.
    components : ndarray of shape (m, k)
        What the component of each label, found in the sample, adds.
    neighbours : ndarray of shape (m, u)
        What the similarity to each of the ``training_samples`` that are landmarks adds.
    similarities : ndarray of shape (u,)
    """

    base: Floats
    columns: NDArray[np.intp]
    features: Floats
    features_through_components: Floats
    components: Floats
    neighbours: Floats
    similarities: Floats


@dataclass(frozen=True, eq=False)
class SampleReasons:
    """Why labels of one sample are predicted or not, as an element of a ``PredictionExplanation``.

    Arrays are computed on access: keep :meth:`parts` if you need several.

    Attributes
    ----------
    name : object
        The position of the sample among the explained ones, or its name in the index of a DataFrame.
    labels : ndarray of shape (m,)
        Indices of the labels that are explained.
    log_odds, probabilities : ndarray of shape (m,)
        The log-odds and probabilities of these labels. For a 1-D target the log-odds are those of one class against the
        others, and the probabilities of all classes are normalised to sum to 1.
    predicted : ndarray of shape (m,)
        Whether each of them is predicted.
    terms : PredictionTerms
        What the explanations of all samples share.
    """

    name: Any
    labels: NDArray[np.intp]
    log_odds: Floats
    probabilities: Floats
    predicted: NDArray[np.bool_]
    terms: PredictionTerms
    _all_probabilities: Floats  # (k,), that labels are decided by
    _all_predicted: NDArray[np.bool_]  # (k,)
    _stored_row: Any  # (1, p), dense or CSR
    _read: tuple[ReadSample, ...]  # by each pipeline

    @property
    def label_names(self) -> NDArray[Any]:
        """Names of the labels that are explained."""
        return self.terms.label_names[self.labels]

    @blas_on_one_thread()
    def parts(self) -> LogOddsParts:
        """All parts of the log-odds, only for features that have any."""
        pairs = zip(self.terms.pipelines, self._read, strict=True)
        mean = mean_parts([split_scores(pipeline, sample, self.labels) for pipeline, sample in pairs])
        slope = self.terms.calibration.slope[self.labels][:, None]
        neighbours, similarities = self._by_training_sample(slope * mean.landmarks, mean)
        return LogOddsParts(
            self.terms.base[self.labels],
            mean.columns,
            slope * mean.features,
            slope * mean.through_components,
            slope * mean.components,
            neighbours,
            similarities,
        )

    def _by_training_sample(self, landmarks: Floats, mean: ScoreParts) -> tuple[Floats, Floats]:
        """Parts of landmarks summed, and their similarities averaged, by training sample."""
        samples = self.terms.training_samples
        positions = np.searchsorted(samples, self.terms.landmark_rows)
        parts = sum_by_group(landmarks, positions, samples.size)
        counts = np.bincount(positions, minlength=samples.size)
        return parts, np.bincount(positions, weights=mean.similarities, minlength=samples.size) / counts

    @property
    def base(self) -> Floats:
        """The log-odds without any reason, (m,): intercept and calibration offset."""
        return self.terms.base[self.labels]

    @property
    def features(self) -> Floats:
        """What each feature adds directly, (m, p)."""
        parts = self.parts()
        return self._dense(parts, parts.features)

    @property
    def features_through_components(self) -> Floats:
        """What each feature adds through the code, (m, p); summed over features this is ``components``, summed."""
        parts = self.parts()
        return self._dense(parts, parts.features_through_components)

    @property
    def components(self) -> Floats:
        """What finding the component of label i in the sample adds, (m, k)."""
        return self.parts().components

    @property
    def neighbours(self) -> Floats:
        """What the similarity to each of ``terms.training_samples`` adds, (m, u); u is 0 without a kernel."""
        return self.parts().neighbours

    @property
    def sample(self) -> NDArray[Any]:
        """The sample; NaN where an entry is missing."""
        row = self._stored_row
        return np.asarray(row.toarray()[0] if issparse(row) else row[0])

    @property
    def is_any_predicted(self) -> bool:
        """Whether any label is predicted for the sample, explained or not."""
        return bool(self._all_predicted.any())

    def decision(self, i: int) -> LabelDecision:
        """Why the label at position ``i`` is predicted or not, given the probabilities of all labels."""
        return explain_decision(self.terms.decision, self._all_probabilities, self._all_predicted, int(self.labels[i]))

    def is_predicted_without(self, i: int, part: float) -> bool:
        """Whether the label at position ``i`` would be predicted if its log-odds were smaller by ``part``.

        The probabilities of the other labels stay as they are.
        """
        log_odds, label = float(self.log_odds[i]), int(self.labels[i])
        probability = float(expit(log_odds - part))
        if self.terms.is_multiclass:  # probabilities of classes are normalised
            probability *= float(self.probabilities[i]) / max(float(expit(log_odds)), np.finfo(np.float64).tiny)
        return is_predicted_at(self.terms.decision, self._all_probabilities, label, probability)

    def top_features(self, i: int, n: int = 5, *, against: bool = False) -> tuple[FeatureReason, ...]:
        """The features that add most to the log-odds of the label at position ``i``, at most ``n``, largest first.

        Only positive parts; with ``against`` only negative ones.
        """
        return top_features(self, self.parts(), i, n, against=against)

    def top_components(self, i: int, n: int = 5) -> tuple[ComponentReason, ...]:
        """The components with the largest parts in the log-odds of the label at position ``i``, of either sign."""
        return top_components(self, self.parts(), i, n)

    def top_neighbours(self, i: int, n: int = 5, *, against: bool | None = None) -> tuple[NeighbourReason, ...]:
        """The training samples with the largest parts in the log-odds of the label at position ``i``.

        Parts of both signs by default; with ``against=False`` only positive ones, with ``against=True`` only negative
        ones.
        """
        return top_neighbours(self, self.parts(), i, n, against=against)

    def value_word(self, feature: int) -> str:
        """The word for the value of a feature relative to the baseline; empty for a positive value without baseline."""
        value, baseline = self.sample[feature], self.terms.baseline
        if baseline is None:
            return "negative" if value < 0 else ""
        return "low" if value < baseline[feature] else "high"

    def feature_title(self, feature: int) -> str:
        """The name of a feature, with a word for its value."""
        word, name = self.value_word(feature), str(self.terms.feature_names[feature])
        return f"{word} {name}" if word else name

    def text(self, *, unit: str = "features", max_names: int = 5, first_sample: int = 0) -> str:
        """The reasons of each label in sentences.

        What adds less than a tenth of the strongest reason of its kind is left out.

        Parameters
        ----------
        unit : str, default="features"
            What to call the features, such as ``"words"``.
        max_names : int, default=5
            The maximum number of features, components and training samples to name per label.
        first_sample : int, default=0
            The number of the first training sample, such as 1 for numbers of rows in a file.
        """
        return describe_reasons(self, unit, check_int(max_names, "max_names", minimum=1), first_sample)

    def plot(self, i: int = 0, *, kind: str = "waterfall", ax: Any = None, **options: Any) -> Any:
        """Draw the parts of the log-odds of the label at position ``i``.

        Returns
        -------
        sdgs.displays.PredictionReasonsDisplay
            Its ``plot`` documents the options.
        """
        from sdgs.displays import PredictionReasonsDisplay

        return PredictionReasonsDisplay.from_explanation(self, i).plot(kind=kind, ax=ax, **options)

    def __repr__(self) -> str:
        names = ", ".join(f"{name} {p:.2f}" for name, p in zip(self.label_names, self.probabilities, strict=True))
        return f"<SampleReasons of {self.name!r}: {names or 'no labels'}>"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return reasons_html([self], 0)

    def _dense(self, parts: LogOddsParts, values: Floats) -> Floats:
        dense = np.zeros((self.labels.size, self.terms.feature_names.size))
        dense[:, parts.columns] = values
        return dense
