"""The record of what tuned decisions and averages gain."""

import csv

import pytest

from sdgs.experiments._decided_methods import COLUMNS, cases, main


def test_what_is_measured():
    measured = cases(())
    assert len(measured) == 9 * 3 + 2 + 4 * 6
    assert ("linear", "mediamill", 0) in measured
    assert ("linear", "scene", 0) not in measured
    assert {case[0] for case in cases(["emotions"])} == {"linear", "average"}


@pytest.mark.slow
def test_the_record_is_completed(data_home, tmp_path):
    path = tmp_path / "record.csv"
    arguments = [str(path), "--data-home", str(data_home), "--datasets", "emotions"]
    main(arguments)
    complete = path.read_bytes()
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 9 * 4
    mean = {}
    for row in rows:
        mean.setdefault(row["method"], []).append(float(row["f1"]))
    mean = {method: sum(values) / len(values) for method, values in mean.items()}
    assert mean["logistic regression, decided"] > mean["logistic regression"] + 1
    assert mean["average of both"] > mean["ExtraTreesClassifier, decided"]
    path.write_bytes(b"\n".join(complete.split(b"\n")[:-5]) + b"\n")  # without the last case
    main(arguments)
    assert path.read_bytes() == complete
