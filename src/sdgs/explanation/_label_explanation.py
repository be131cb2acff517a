"""What marks each label, over many samples: features, components of other labels, and typical samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdgs._utils._validation import check_int
from sdgs.explanation._prediction_explanation import PredictionExplanation
from sdgs.explanation._reason_formatting import signed, strongest
from sdgs.explanation._sample_reasons import PredictionTerms

Floats = NDArray[np.float64]

_MAX_TYPICAL_SAMPLES = 10  # per label


@dataclass(frozen=True)
class MeanReason:
    """What a feature, a component or a training sample adds to the log-odds of a label on average.

    Attributes
    ----------
    index : int
        Index of the feature or of the label, or row of the training sample.
    name : object
        Its name; the row of a training sample.
    part : float
    """

    index: int
    name: Any
    part: float


@dataclass(frozen=True, eq=False)
class LabelExplanation:
    """What marks each label, as returned by ``explain_labels`` of a model: mean parts of log-odds over samples.

    Attributes
    ----------
    features : ndarray of shape (k, p)
        What each feature adds to the log-odds of a label, directly and through components: the mean over samples with
        the label (weighted by its probability) minus the mean over all samples. So it is large for features that set
        samples with this label apart, and small for those that are common everywhere.
    influence : ndarray of shape (k, k)
        Entry [j, i]: what the component of label i adds to the log-odds of label j, the mean over the samples in which
        the component is found. Positive: label i speaks for label j. Zero if it is found in none, or if the
        model does not read labels from codes (see ``read_from_``).
    found : ndarray of shape (k,)
        The share of the samples in which the component of each label is found and read.
    neighbours : ndarray of shape (k, u)
        The same for the similarity to each of ``training_samples``; u is 0 without a kernel.
    training_samples : ndarray of shape (u,)
        Rows of the training samples that are landmarks.
    typical : ndarray of shape (k, t)
        The samples in which each label is most probable, most probable first, as positions among the given ones.
    terms : PredictionTerms
        Names, among others.
    """

    features: Floats
    influence: Floats
    found: Floats
    neighbours: Floats
    training_samples: NDArray[np.intp]
    typical: NDArray[np.intp]
    terms: PredictionTerms

    def top_features(self, label: int, n: int = 10, *, against: bool = False) -> tuple[MeanReason, ...]:
        """The ``n`` features that add most to the log-odds of a label, or with ``against`` those that lower it most."""
        sign = -1 if against else 1
        reasons = _largest(sign * self.features[label], self.terms.feature_names, n)
        return tuple(MeanReason(reason.index, reason.name, sign * reason.part) for reason in reasons)

    def top_labels(self, label: int, n: int = 5, *, against: bool = False) -> tuple[MeanReason, ...]:
        """The other labels whose components raise the log-odds of a label most, or with ``against`` lower them most."""
        sign = -1 if against else 1
        parts = sign * self.influence[label]
        parts[label] = 0.0
        reasons = _largest(parts, self.terms.label_names, n)
        return tuple(MeanReason(reason.index, reason.name, sign * reason.part) for reason in reasons)

    def top_neighbours(self, label: int, n: int = 5) -> tuple[MeanReason, ...]:
        """The training samples whose similarity adds most to the log-odds of a label."""
        return _largest(self.neighbours[label], self.training_samples.astype(object), n)

    def text(self, label: int | None = None, *, unit: str = "features", max_names: int = 5) -> str:
        """What marks a label, or each label, in sentences; what adds less than a tenth of the largest is left out."""
        check_int(max_names, "max_names", minimum=1)
        labels = range(len(self.features)) if label is None else [label]
        return "\n".join(" ".join(self._sentences(i, unit, max_names)) for i in labels)

    def _sentences(self, label: int, unit: str, n: int) -> list[str]:
        name = self.terms.label_names[label]
        features = strongest(self.top_features(label, n))
        if not features:
            return [f"{name}: no {unit} add to its log-odds."]
        sentences = [f"{name} is marked by the {unit} {_enumerate(features)}."]
        for against, verb in ((False, "for"), (True, "against")):
            others = strongest(self.top_labels(label, n, against=against))
            if others:
                plural = len(others) > 1
                noun = "The components of" if plural else "The component of"
                sentences.append(f"{noun} {_enumerate(others)} speak{'' if plural else 's'} {verb} it.")
        return sentences

    def to_frame(self, max_features: int = 10) -> Any:
        """One row per label and named feature or label, with columns ``label``, ``kind``, ``name`` and ``part``."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_frame needs pandas: pip install pandas.") from None
        rows = []
        for label, name in enumerate(self.terms.label_names):
            for kind, top in (("feature", self.top_features), ("component", self.top_labels)):
                for against in (False, True):
                    reasons: Sequence[MeanReason] = top(label, max_features, against=against)
                    rows += [(name, kind, reason.name, reason.part) for reason in reasons]
        return pd.DataFrame(rows, columns=["label", "kind", "name", "part"])

    def plot(self, *, ax: Any = None, **options: Any) -> Any:
        """Draw ``influence`` as a map.

        Returns
        -------
        sdgs.displays.LabelInfluenceDisplay
        """
        from sdgs.displays import LabelInfluenceDisplay

        return LabelInfluenceDisplay.from_explanation(self).plot(ax=ax, **options)

    def __repr__(self) -> str:
        k, p = self.features.shape
        return f"<LabelExplanation: {k} labels, {p} features>"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{title}</th>" for title in ("label", "features", "labels for it", "labels against it"))
        rows = []
        for label, name in enumerate(self.terms.label_names):
            reasons = self.top_features(label, 5), self.top_labels(label, 3), self.top_labels(label, 3, against=True)
            cells = (name, *(_enumerate(strongest(reason)) for reason in reasons))
            rows.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def explain_labels(explanation: PredictionExplanation) -> LabelExplanation:
    """Average the parts of an explanation of all labels of some samples."""
    (n, k), terms = explanation.log_odds.shape, explanation.terms
    features = np.zeros((k, terms.feature_names.size))
    influence, found = np.zeros((k, k)), np.zeros(k)
    neighbours = np.zeros((k, terms.training_samples.size))
    total = np.maximum(explanation.probabilities.sum(axis=0), np.finfo(np.float64).tiny)
    weights = explanation.probabilities / total - 1 / max(n, 1)  # mean over samples with the label minus that over all
    for sample, weight in zip(explanation, weights[:, :, None], strict=True):
        parts = sample.parts()
        features[:, parts.columns] += weight * (parts.features + parts.features_through_components)
        neighbours += weight * parts.neighbours
        influence += parts.components
        found += parts.components.any(axis=0)
    order = np.argsort(-explanation.probabilities, axis=0, kind="stable")[:_MAX_TYPICAL_SAMPLES]
    return LabelExplanation(
        features,
        influence / np.maximum(found, 1),
        found / max(n, 1),
        neighbours,
        terms.training_samples,
        order.T,
        terms,
    )


def _largest(parts: Floats, names: NDArray[Any], n: int) -> tuple[MeanReason, ...]:
    """The largest positive parts, at most ``n``."""
    order = np.argsort(-parts, kind="stable")[: check_int(n, "n", minimum=0)]
    return tuple(MeanReason(int(i), names[i], float(parts[i])) for i in order if parts[i] > 0)


def _enumerate(reasons: Sequence[MeanReason]) -> str:
    return ", ".join(f"{reason.name} ({signed(reason.part)})" for reason in reasons)
