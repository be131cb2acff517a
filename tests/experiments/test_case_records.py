"""Records that are measured case by case."""

import csv

import pytest

from sdgs.experiments._case_records import complete_record, read_rows

CASES = [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def case_of(row):
    return row["name"], int(row["number"])


def rows_of(case):
    if case == ("b", 1):
        raise ValueError("no such sample")
    return [{"name": case[0], "number": str(case[1]), "value": "new"}]


def complete(path, selected, n_jobs=1, measure=rows_of):
    complete_record(path, ("name", "number", "value"), CASES, case_of, measure, selected=selected, n_jobs=n_jobs)


def test_finished_cases_are_not_measured_again_and_the_order_is_that_of_all_cases(tmp_path):
    path = tmp_path / "record.csv"
    complete(path, [("b", 2)])
    path.write_text(path.read_text().replace("new", "old"))
    complete(path, [("b", 2), ("a", 2), ("a", 1)])
    with open(path, newline="") as file:
        assert [tuple(row.values()) for row in csv.DictReader(file)] == [
            ("a", "1", "new"),
            ("a", "2", "new"),
            ("b", "2", "old"),
        ]


def test_rows_of_unknown_cases_stay(tmp_path):
    path = tmp_path / "record.csv"
    path.write_text("name,number,value\nz,9,old\n")
    complete(path, [("a", 1)])
    assert [case_of(row) for row in read_rows(path)] == [("a", 1), ("z", 9)]


def test_a_failure_does_not_stop_other_cases(tmp_path):
    path = tmp_path / "record.csv"
    with pytest.raises(RuntimeError, match=r"\('b', 1\): ValueError: no such sample"):
        complete(path, CASES)
    assert [case_of(row) for row in read_rows(path)] == [("a", 1), ("a", 2), ("b", 2)]


@pytest.mark.slow
def test_processes_write_the_same_record(tmp_path):
    for n_jobs in (1, 2):
        with pytest.raises(RuntimeError, match="no such sample"):
            complete(tmp_path / f"{n_jobs}.csv", CASES, n_jobs)
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
