"""Multi-label svmlight files."""

import numpy as np

from fuzz import readers
from fuzz.data_files import DataFile, svmlight_file

_CORPUS = readers.corpus_files(".svm")


def run_case(rng, folder):
    return readers.run_reader_case(rng, folder, (svmlight_file,), _CORPUS)


def check_content(content, folder):
    return readers.check_file(DataFile(content, ".svm", {}), np.random.default_rng(0), folder)
