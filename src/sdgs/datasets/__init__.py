"""Data to start with, and readers of the files in which this field shares data."""

from sdgs.datasets._arff import load_arff
from sdgs.datasets._dataset import Dataset, Statistics
from sdgs.datasets._errors import DataFileError
from sdgs.datasets._formats import load_meka, load_mulan
from sdgs.datasets._label_lists import LabelGuess
from sdgs.datasets._reading import FORMATS, Block, guess_labels, read, read_blocks
from sdgs.datasets._registry import REGISTRY, check, fetch, find, load
from sdgs.datasets._svmlight import load_svmlight
from sdgs.datasets._synthetic import CompositeDigits, LabelSubspaces, make_composite_digits, make_label_subspaces

__all__ = [
    "FORMATS",
    "REGISTRY",
    "Block",
    "CompositeDigits",
    "DataFileError",
    "Dataset",
    "LabelGuess",
    "LabelSubspaces",
    "Statistics",
    "check",
    "fetch",
    "find",
    "guess_labels",
    "load",
    "load_arff",
    "load_meka",
    "load_mulan",
    "load_svmlight",
    "make_composite_digits",
    "make_label_subspaces",
    "read",
    "read_blocks",
]
