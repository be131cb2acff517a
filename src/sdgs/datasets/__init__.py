"""Data to start with, and readers of the files in which this field shares data."""

from sdgs.datasets._arff import DataFileError, load_arff
from sdgs.datasets._dataset import Dataset, Statistics
from sdgs.datasets._formats import load_meka, load_mulan, load_svmlight
from sdgs.datasets._registry import REGISTRY, fetch, find, load
from sdgs.datasets._synthetic import CompositeDigits, LabelSubspaces, make_composite_digits, make_label_subspaces

__all__ = [
    "REGISTRY",
    "CompositeDigits",
    "DataFileError",
    "Dataset",
    "LabelSubspaces",
    "Statistics",
    "fetch",
    "find",
    "load",
    "load_arff",
    "load_meka",
    "load_mulan",
    "load_svmlight",
    "make_composite_digits",
    "make_label_subspaces",
]
