"""What unobserved labels and labels that are not given cost."""

import numpy as np
import pytest

from sdgs.experiments._case_records import read_rows
from sdgs.experiments._incomplete_labels import COLUMNS, METHODS, case_of, cases, hide, main


def test_what_is_hidden():
    Y = np.random.default_rng(0).integers(0, 2, (2000, 5))
    unobserved, negative, given = (
        hide(Y, labels, 0) for labels in ("unobserved", "taken for negative", "given by half")
    )
    hidden = np.isnan(unobserved)
    assert 0.27 < hidden.mean() < 0.33
    np.testing.assert_array_equal(unobserved[~hidden], Y[~hidden])
    np.testing.assert_array_equal(negative, np.where(hidden, 0, Y))
    assert 0.45 < given.sum() / Y.sum() < 0.55
    assert not given[Y == 0].any()
    np.testing.assert_array_equal(hide(Y, "complete", 0), Y)


@pytest.mark.slow
def test_the_record_of_a_data_set(data_home, tmp_path):
    path = tmp_path / "record.csv"
    main([str(path), "--data-home", str(data_home), "--datasets", "emotions", "--split-training"])
    rows = read_rows(path)
    assert tuple(rows[0]) == COLUMNS
    assert [case_of(row) for row in rows] == cases(["emotions"])
    of = {(row["labels"], row["method"]): row for row in rows}
    assert of.keys() == METHODS.keys()
    corrected, plain = of["given by half", "SDGS, corrected"], of["given by half", "SDGS"]
    assert float(corrected["macro_f1"]) > float(plain["macro_f1"])
    assert 0 < float(corrected["propensity"]) <= 1
