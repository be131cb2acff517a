"""Prediction: group-sparse codes of new samples in the label subspaces that were learnt in training."""

from sdgs.coding._group_codes import GroupCodes, cleaned_samples, group_norms, least_squares_code
from sdgs.coding._group_lasso import group_lasso

__all__ = ["GroupCodes", "cleaned_samples", "group_lasso", "group_norms", "least_squares_code"]
