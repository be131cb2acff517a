"""Explanations: samples decomposed into labels, and predictions split into reasons, as arrays, DataFrames and text."""

from sdgs.explanation._counterfactual import Counterfactual, find_removed_features
from sdgs.explanation._explain_samples import explain_samples
from sdgs.explanation._explanation import Explanation
from sdgs.explanation._label_decision import LabelDecision
from sdgs.explanation._label_explanation import LabelExplanation, MeanReason, explain_labels
from sdgs.explanation._prediction_explanation import PredictionExplanation, explain_predictions
from sdgs.explanation._ranked_reasons import ComponentReason, FeatureReason, NeighbourReason
from sdgs.explanation._sample_explanation import ResidualEntry, SampleExplanation, Terms
from sdgs.explanation._sample_reasons import LogOddsParts, PredictionTerms, SampleReasons

__all__ = [
    "ComponentReason",
    "Counterfactual",
    "Explanation",
    "FeatureReason",
    "LabelDecision",
    "LabelExplanation",
    "LogOddsParts",
    "MeanReason",
    "NeighbourReason",
    "PredictionExplanation",
    "PredictionTerms",
    "ResidualEntry",
    "SampleExplanation",
    "SampleReasons",
    "Terms",
    "explain_labels",
    "explain_predictions",
    "explain_samples",
    "find_removed_features",
]
