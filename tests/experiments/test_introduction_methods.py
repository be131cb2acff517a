"""The methods that the paper's introduction names."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from sdgs import metrics
from sdgs.datasets import make_composite_digits
from sdgs.experiments import Protocol, run, write_report
from sdgs.experiments._introduction_methods import (
    DECIDED,
    INTRODUCTION_METHODS,
    OWN,
    C,
    Sizes,
    left_out,
    measure_introduction_method,
)
from sdgs.experiments._tasks import measured_seconds


@pytest.fixture(scope="module")
def data():
    train = make_composite_digits(200, max_labels=2, subset="train", random_state=0)
    test = make_composite_digits(100, max_labels=2, subset="test", random_state=1)
    return train.X / 16, train.Y, test.X / 16, test.Y


def test_sizes():
    X, Y = csr_array(np.array([[1.0, 0, 2], [0, 0, 3]])), np.array([[1, 0], [1, 0]])
    assert Sizes.of(X, Y, (-1, -1)) == Sizes(2, 1.5, 2, 1, (-1, -1))
    assert Sizes.of(X.toarray(), Y, ()).nonzero == 3


def test_what_is_too_expensive_is_left_out_with_a_reason():
    mediamill = Sizes(30993, 120, 101, 6555, (-1,) * 101)
    assert left_out("lp", mediamill) == "6,555 label sets of 30,993 samples"
    assert left_out("ecc", mediamill) == "101 labels of 30,993 samples with 120 nonzero features each"
    assert [name for name in INTRODUCTION_METHODS if not left_out(name, mediamill)] == [
        *("logistic", "cc", "curds", "sparse-low-rank", "shared", "reduced-rank", "compressed")
    ]
    yahoo = Sizes(2000, 50, 33, 500, (-1,) * 33)
    assert [name for name in INTRODUCTION_METHODS if left_out(name, yahoo)] == ["hbr"]
    assert "no hierarchy" in left_out("hbr", yahoo)
    assert not left_out("hbr", replace(yahoo, parents=(-1, 0) + (-1,) * 31))


@pytest.mark.slow
def test_a_method_is_measured_with_both_decisions(data):
    result = measure_introduction_method("logistic", data, (-1,) * 10, 0, measured_seconds)
    X, Y, X_test, Y_test = data
    reference = OneVsRestClassifier(LogisticRegression(C=C, max_iter=1000)).fit(X, Y)
    assert result["test_by_decision"][OWN] == metrics.evaluate(Y_test, reference.predict(X_test))
    assert result["test_by_decision"][DECIDED]["f1"] > result["test_by_decision"][OWN]["f1"]
    assert result["seconds"]["fit"]["cpu"] > 0
    assert measure_introduction_method("hbr", data, (-1,) * 10, 0, measured_seconds).keys() == {"left_out"}


@pytest.mark.slow
def test_records_and_page(tmp_path, write_mulan):
    write_mulan(tmp_path / "home", "mine")
    protocol = Protocol(datasets=("mine",), methods=("floor",), all_methods=True)
    run(protocol, tmp_path / "out", data_home=tmp_path / "home", n_jobs=1)
    records = {path.name: json.loads(path.read_text()) for path in (tmp_path / "out" / "introduction").iterdir()}
    assert {record["method"] for record in records.values()} == set(INTRODUCTION_METHODS)
    assert [record["method"] for record in records.values() if record["left_out"]] == ["hbr"]
    page = write_report(tmp_path / "out").read_text()
    assert "Methods of the paper&#39;s introduction" in page or "Methods of the paper's introduction" in page
    assert "HBR on mine is left out: the labels have no hierarchy in the XML file." in page
    markdown = (tmp_path / "out" / "introduction.md").read_text()
    assert "- HBR on mine is left out" in markdown
    assert "| Data set | BR, logistic regression | LP |" in markdown
    f1 = records["mine--lp--seed0.json"]["test_by_decision"][DECIDED]["f1"]
    assert "mine,lp,decided," in (tmp_path / "out" / "introduction.csv").read_text()
    assert f"{100 * f1:.1f}" in page

    without = Protocol(datasets=("mine",), methods=("floor",))
    run(without, tmp_path / "out", data_home=tmp_path / "home", n_jobs=1)
    assert "Left out" not in write_report(tmp_path / "out").read_text()
