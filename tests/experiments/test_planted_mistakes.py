"""Planted mistakes, and the record of how well they are found."""

import csv

import numpy as np
import pytest

from sdgs.experiments._planted_mistakes import COLUMNS, main, plant_mistakes


def test_a_share_of_the_labels_is_flipped():
    Y = np.random.default_rng(1).random((500, 20)) < 0.1
    labels, flipped = plant_mistakes(Y, 0.05, seed=0)
    np.testing.assert_array_equal(labels != Y, flipped)
    assert 0.04 < flipped.mean() < 0.06
    np.testing.assert_array_equal(plant_mistakes(Y, 0.05, seed=0)[1], flipped)
    assert not plant_mistakes(Y, 0.0, seed=0)[1].any()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:May not flag all label issues")
def test_the_record(data_home, tmp_path):
    pytest.importorskip("cleanlab")
    path = tmp_path / "record.csv"
    main([str(path), "--data-home", str(data_home), "--datasets", "emotions", "--seeds", "0", "1"])
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    cells = {(row["percent"], row["method"], row["quantity"]): float(row["mean"]) for row in rows}
    assert cells["0", "", "planted"] == 0
    assert cells["5", "", "planted"] > 80
    ours, theirs = (cells["5", method, "average precision"] for method in ("sdgs", "cleanlab"))
    assert ours >= theirs - 0.1
    assert {row["seeds"] for row in rows} == {"2"}
    assert ("0", "sdgs", "precision") not in cells
