"""Synthetic data, readers of multi-label data files, and the paper's data sets."""

from sdgs.datasets._dataset import Dataset
from sdgs.datasets._errors import DataFileError
from sdgs.datasets._hierarchy_names import label_hierarchy_from_names
from sdgs.datasets._label_texts import split_labels
from sdgs.datasets._mask_labels import mask_labels
from sdgs.datasets._statistics import Statistics
from sdgs.datasets._synthetic import CompositeDigits, LabelSubspaces, make_composite_digits, make_label_subspaces
from sdgs.datasets._tickets import Tickets, make_tickets, tickets_path
from sdgs.datasets.readers._arff import load_arff
from sdgs.datasets.readers._column_format import ColumnFormat
from sdgs.datasets.readers._formats import FORMATS
from sdgs.datasets.readers._label_lists import LabelGuess
from sdgs.datasets.readers._mulan_meka import load_meka, load_mulan, read_label_hierarchy
from sdgs.datasets.readers._raw_table import Table, read_table
from sdgs.datasets.readers._read import guess_labels, read
from sdgs.datasets.readers._read_blocks import Block, read_blocks, read_table_blocks
from sdgs.datasets.readers._svmlight import load_svmlight
from sdgs.datasets.registry._local_files import check, fetch, find, load
from sdgs.datasets.registry._paper_datasets import REGISTRY

__all__ = [
    "FORMATS",
    "REGISTRY",
    "Block",
    "ColumnFormat",
    "CompositeDigits",
    "DataFileError",
    "Dataset",
    "LabelGuess",
    "LabelSubspaces",
    "Statistics",
    "Table",
    "Tickets",
    "check",
    "fetch",
    "find",
    "guess_labels",
    "label_hierarchy_from_names",
    "load",
    "load_arff",
    "load_meka",
    "load_mulan",
    "load_svmlight",
    "make_composite_digits",
    "make_label_subspaces",
    "make_tickets",
    "mask_labels",
    "read",
    "read_blocks",
    "read_label_hierarchy",
    "read_table",
    "read_table_blocks",
    "split_labels",
    "tickets_path",
]
