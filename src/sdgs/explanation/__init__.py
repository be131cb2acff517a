"""Explanations: samples taken apart into what each label contributes, as arrays, tables and words."""

from sdgs.explanation._explain_samples import explain_samples
from sdgs.explanation._explanation import Explanation, ResidualEntry, SampleExplanation, Terms

__all__ = ["Explanation", "ResidualEntry", "SampleExplanation", "Terms", "explain_samples"]
