"""The record of decisions for each measure."""

import pytest

from sdgs.experiments._case_records import read_rows
from sdgs.experiments._decision_metrics import BALANCED, COLUMNS, DECISIONS, MEASURES, case_of, cases, main


def test_what_is_measured():
    assert len(cases()) == 9 * 3 + 2
    assert ("mediamill", 0) in cases()
    assert cases(["emotions"]) == [("emotions", fold) for fold in range(3)]


@pytest.mark.slow
def test_the_record_of_a_data_set(data_home, tmp_path):
    path = tmp_path / "record.csv"
    main([str(path), "--data-home", str(data_home), "--datasets", "emotions"])
    rows = read_rows(path)
    assert tuple(rows[0]) == COLUMNS
    assert [row["decision"] for row in rows] == 3 * list(DECISIONS)
    assert {case_of(row) for row in rows} == set(cases(["emotions"]))
    mean = {
        (name, measure): sum(float(row[measure]) for row in rows if row["decision"] == name) / 3
        for name in DECISIONS
        for measure in MEASURES
    }
    assert mean["subset_accuracy", "subset_accuracy"] > mean["f1", "subset_accuracy"] + 2
    assert mean["hamming_loss", "hamming_loss"] < mean["f1", "hamming_loss"] - 1
    assert mean[BALANCED, "f1"] > mean["f1", "f1"] - 2
