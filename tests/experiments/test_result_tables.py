"""The tables of results agree with the records."""

import csv
import json
import re

import numpy as np
import pytest

from sdgs.experiments import Protocol, run, write_report
from sdgs.experiments._result_tables import Records, result_rows


@pytest.mark.slow
def test_only_records_of_the_last_protocol_are_read(home, tmp_path):
    run(Protocol(datasets=("one", "two"), methods=("mlknn",)), tmp_path, data_home=home)
    run(Protocol(datasets=("two",), methods=("mddm",)), tmp_path, data_home=home)
    assert {run["dataset"] for run in Records.read(tmp_path).runs} == {"two"}
    assert {run["method"] for run in Records.read(tmp_path).runs} == {"mddm", "floor"}


@pytest.mark.slow
def test_tables_have_means_and_standard_deviations_of_all_runs(records):
    page = write_report(records).read_text()
    with open(records / "tables.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    # BR and SDGS have two rules, the three other methods have no parameters to choose.
    assert len(lines) == 3 * (2 * 2 + 3)
    line = next(x for x in lines if (x["dataset"], x["method"], x["source"]) == ("two", "sdgs", "cv"))
    f1 = [json.loads((records / "runs" / f"two--sdgs--seed{s}--cv.json").read_text())["test"]["f1"] for s in (0, 1)]
    assert float(line["f1"]) == pytest.approx(100 * np.mean(f1), abs=1e-6)
    assert float(line["f1_sd"]) == pytest.approx(100 * np.std(f1, ddof=1), abs=1e-6)
    assert line["seeds"] == "2"
    markdown = (records / "tables.md").read_text()
    assert markdown.count("\n| two |") == 1 + 7
    assert not re.search(r"(src|href)=.?https?:|url\(https?:|<script", page)


@pytest.mark.slow
def test_methods_below_the_most_frequent_labels_are_marked(records):
    rows = result_rows(Records.read(records))
    most_frequent = {row.dataset: row.values["f1"] for row in rows if row.method == "floor"}
    measured = [row for row in rows if row.method != "floor"]
    below = {(row.dataset, row.method) for row in measured if row.values["f1"] < most_frequent[row.dataset]}
    assert {(row.dataset, row.method) for row in measured if row.below_most_frequent} == below
    assert below
