"""Data to start with, and readers of the files in which this field shares data."""

from sdgs.datasets._dataset import Dataset, Statistics
from sdgs.datasets._errors import DataFileError
from sdgs.datasets._synthetic import CompositeDigits, LabelSubspaces, make_composite_digits, make_label_subspaces
from sdgs.datasets.readers._arff import load_arff
from sdgs.datasets.readers._label_lists import LabelGuess
from sdgs.datasets.readers._mulan_meka import load_meka, load_mulan
from sdgs.datasets.readers._read import FORMATS, Block, guess_labels, read, read_blocks
from sdgs.datasets.readers._svmlight import load_svmlight
from sdgs.datasets.registry._paper_datasets import REGISTRY, check, fetch, find, load

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
