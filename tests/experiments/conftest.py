import os
import time

import pytest

from sdgs.experiments import ExperimentError, Protocol, run


@pytest.fixture(scope="session")
def home(small_data_home):
    return small_data_home


@pytest.fixture(scope="session")
def records(home, tmp_path_factory):
    """The records of an uninterrupted run with two seeds. Processes of pytest-xdist share one folder."""
    root = tmp_path_factory.getbasetemp()
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "records"
    folder.mkdir(exist_ok=True)
    while True:
        try:
            run(Protocol(datasets=("one", "two", "three"), seeds=(0, 1)), folder, data_home=home)
            return folder
        except ExperimentError as error:  # another process creates the records
            if "Another run is active" not in str(error):
                raise
            time.sleep(0.2)
