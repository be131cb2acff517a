"""Explanations: samples decomposed into one contribution per label, as arrays, DataFrames and text."""

from sdgs.explanation._explain_samples import explain_samples
from sdgs.explanation._explanation import Explanation
from sdgs.explanation._sample_explanation import ResidualEntry, SampleExplanation, Terms

__all__ = ["Explanation", "ResidualEntry", "SampleExplanation", "Terms", "explain_samples"]
