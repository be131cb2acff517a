"""The record of what tuned decisions and averages gain."""

import csv

import pytest

from sdgs.experiments._case_records import read_rows
from sdgs.experiments._decided_methods import COLUMNS, LINEAR, POWERSET, case_of, cases, main


def test_what_is_measured():
    measured = cases()
    assert len(measured) == (9 * 3 + 2) * len(LINEAR) + 4 * 6
    assert ("linear", "mediamill", POWERSET, 0) in measured
    assert not [case for case in measured if case[:2] == ("linear", "scene")]
    assert {case[0] for case in cases(["emotions"])} == {"linear", "average"}


def test_the_rows_of_a_case_are_known_by_their_names():
    row = {"study": "linear", "dataset": "Corel5k", "split": "0"}
    for method in (POWERSET, f"{POWERSET} (most probable set)", f"{POWERSET}, decided"):
        assert case_of(row | {"method": method}) == ("linear", "corel5k", POWERSET, 0)
    assert case_of({"study": "average", "dataset": "birds", "split": "3", "method": "SDGSClassifierCV"}) == (
        *("average", "birds", "", 3),
    )


@pytest.mark.slow
def test_a_case_of_a_linear_method(data_home, tmp_path):
    path = tmp_path / "record.csv"
    main([str(path), "--data-home", str(data_home), "--datasets", "emotions", "--methods", POWERSET])
    rows = read_rows(path)
    assert [row["method"] for row in rows] == 3 * [
        *(POWERSET, f"{POWERSET} (most probable set)", f"{POWERSET}, decided")
    ]
    assert {case_of(row) for row in rows} == {("linear", "emotions", POWERSET, fold) for fold in range(3)}
    f1 = {row["method"]: float(row["f1"]) for row in rows if row["split"] == "0"}
    assert len(set(f1.values())) == 3
    assert f1[f"{POWERSET}, decided"] > f1[POWERSET]


@pytest.mark.slow
def test_the_record_is_completed(data_home, tmp_path):
    path = tmp_path / "record.csv"
    arguments = [str(path), "--data-home", str(data_home), "--datasets", "emotions"]
    main(arguments)
    complete = path.read_bytes()
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 3 * (2 * len(LINEAR) + 1) + 6 * 4
    mean = {}
    for row in rows:
        mean.setdefault(row["method"], []).append(float(row["f1"]))
    mean = {method: sum(values) / len(values) for method, values in mean.items()}
    assert mean["logistic regression, decided"] > mean["logistic regression"] + 1
    assert mean["average of both"] > mean["ExtraTreesClassifier, decided"]
    path.write_bytes(b"\n".join(complete.split(b"\n")[:-5]) + b"\n")  # without the last case
    main(arguments)
    assert path.read_bytes() == complete
