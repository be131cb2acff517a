"""Parquet files."""

import numpy as np

from fuzz import readers
from fuzz.data_files import DataFile, parquet_file
from fuzz.mutate import damage_bytes


def run_case(rng, folder):
    return readers.run_reader_case(rng, folder, (parquet_file,), (), damage_plain=damage_bytes)


def check_content(content, folder):
    return readers.check_file(DataFile(content, ".parquet", {"labels": ["is_*"]}), np.random.default_rng(0), folder)
