"""Prediction: the group-sparse code of new samples in the label subspaces that training found."""

from sdgs.coding._group_codes import GroupCodes, Norm, cleaned_samples, group_norms, least_squares_code
from sdgs.coding._group_lasso import group_lasso

__all__ = ["GroupCodes", "Norm", "cleaned_samples", "group_lasso", "group_norms", "least_squares_code"]
