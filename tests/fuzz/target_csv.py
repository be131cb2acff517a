"""CSV and TSV files: labels in columns of their own, or listed in one."""

import numpy as np

from fuzz import readers
from fuzz.data_files import DataFile, csv_file, label_list_file

_CORPUS = [*readers.corpus_files(".csv", labels=["is_*"]), *readers.corpus_files(".csv", label_column="tags")]


def run_case(rng, folder):
    return readers.run_reader_case(rng, folder, (csv_file, csv_file, label_list_file), _CORPUS)


def check_content(content, folder):
    return readers.check_file(DataFile(content, ".csv", {"labels": ["is_*"]}), np.random.default_rng(0), folder)
