"""Data to start with."""

from sdgs.datasets._synthetic import CompositeDigits, LabelSubspaces, make_composite_digits, make_label_subspaces

__all__ = ["CompositeDigits", "LabelSubspaces", "make_composite_digits", "make_label_subspaces"]
