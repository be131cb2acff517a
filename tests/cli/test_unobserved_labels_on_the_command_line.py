"""Files in which some labels are missing, from every reader to every command; weights and intervals."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from openpyxl import Workbook
from scipy.sparse import csr_array

import sdgs
from sdgs import metrics
from sdgs.datasets import make_label_subspaces, mask_labels, read, read_blocks, read_table

NAMES = ["x0", "x1", "x2", "x3", "x4", "x5", "a", "b", "c"]
LABELS = ["a", "b", "c"]
OPTIONS = ("--labels", "a,b,c", "--jobs", 1)


@pytest.fixture(scope="module")
def case():
    """X, Y with NaN, of which row 4 has no observed label, and the cells of a table with weights."""
    data = make_label_subspaces(90, 6, 3, noise=0.3, random_state=0)
    mask = np.random.default_rng(0).random((90, 3)) < 0.2
    mask[4] = True
    X, Y = np.round(data.X, 6), mask_labels(data.Y, mask)
    weights = np.random.default_rng(1).integers(0, 3, 90)
    return X, Y, weights


def write_csv(path, X, Y, weights=None, empty=""):
    cells = [empty if value != value else str(int(value)) for row in Y for value in row]
    columns = NAMES if weights is None else [*NAMES, "weight"]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for i, x in enumerate(X):
            row = [*map(repr, map(float, x)), *cells[3 * i : 3 * i + 3]]
            writer.writerow(row if weights is None else [*row, weights[i]])


@pytest.fixture
def folder(case, tmp_path):
    X, Y, weights = case
    write_csv(tmp_path / "data.csv", X, Y)
    write_csv(tmp_path / "weighted.csv", X, Y, weights)
    write_csv(tmp_path / "marks.csv", X, Y, empty="?")
    frame = pd.DataFrame(X, columns=NAMES[:6]).join(pd.DataFrame(Y, columns=LABELS).astype("Int64"))
    frame.to_parquet(tmp_path / "data.parquet")
    rows = [
        {name: None if value is pd.NA else value for name, value in row.items()} for row in frame.to_dict("records")
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    workbook = Workbook()
    workbook.active.append(NAMES)
    for row in rows:
        workbook.active.append(list(row.values()))
    workbook.save(tmp_path / "data.xlsx")
    header = ["@relation r", *(f"@attribute {name} numeric" for name in NAMES[:6])]
    header += [*(f"@attribute {name} {{0,1}}" for name in LABELS), "@data"]
    lines = [",".join("?" if value is None else str(value) for value in row.values()) for row in rows]
    (tmp_path / "data.arff").write_text("\n".join([*header, *lines]))
    return tmp_path


@pytest.mark.parametrize("name", ["data.csv", "marks.csv", "data.parquet", "data.jsonl", "data.xlsx", "data.arff"])
def test_all_readers_return_nan_for_missing_labels(case, folder, name):
    X, Y, _ = case
    data = read(folder / name, labels=LABELS)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.Y, Y)
    assert data.statistics().n_unobserved_labels == np.isnan(Y).sum()
    blocks = list(read_blocks(folder / name, features=NAMES[:6], labels=LABELS, with_labels=True, block_bytes=2000))
    np.testing.assert_array_equal(np.concatenate([block.Y for block in blocks]), Y)
    if name != "data.arff":
        table = read_table(folder / name, labels=LABELS)
        np.testing.assert_array_equal(table.Y, Y)
        assert f"unobserved: {100 * np.isnan(Y).mean():.1f} % of the labels" in str(table)


def test_a_column_of_lists_has_no_labels_or_missing_ones_for_a_whole_sample(tmp_path):
    (tmp_path / "lists.jsonl").write_text(
        '{"x": 1, "tags": ["a", "b"]}\n{"x": 2, "tags": []}\n{"x": 3, "tags": null}\n{"x": 4, "tags": "?"}\n{"x": 5}\n'
    )
    Y = read(tmp_path / "lists.jsonl", label_column="tags").Y
    np.testing.assert_array_equal(Y, [[1, 1], [0, 0], [0, 0], [np.nan, np.nan], [0, 0]])


@pytest.mark.usefixtures("folder")
def test_fit_evaluate_and_info(run, case):
    X, Y, _ = case
    labelled = ~np.isnan(Y).all(axis=1)
    result = run("fit", "data.csv", *OPTIONS, "-o", "model.sdgs")
    assert result.exit_code == 0, result.output
    assert "samples left out because of missing labels: 1." in result.stderr
    n_unobserved = int(np.isnan(Y[labelled]).sum())
    assert f"{n_unobserved} labels ({100 * np.isnan(Y[labelled]).mean():.1f} %) are unobserved, in" in result.stderr
    model = sdgs.SDGSClassifier(random_state=0).fit(
        X[labelled], mask_labels(csr_array(np.nan_to_num(Y)), np.isnan(Y))[labelled]
    )
    loaded = sdgs.load("model.sdgs")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    content = json.loads(run("evaluate", "model.sdgs", "data.arff", "--json", "--all-measures").stdout)
    P = loaded.predict_proba(X[labelled])
    expected = metrics.evaluate(Y[labelled], model.predict(X[labelled]), P, measures="all")
    assert content["measures"] == pytest.approx(expected)
    assert content["samples"] == labelled.sum()
    assert "intervals" not in content
    evaluated = run("evaluate", "model.sdgs", "data.csv")
    assert f"{n_unobserved} labels ({100 * np.isnan(Y[labelled]).mean():.1f} %) are unobserved" in evaluated.stderr
    info = json.loads(run("info", "data.csv", "--labels", "a,b,c", "--json").stdout)
    assert info["unobserved_labels"] == np.isnan(Y).sum()
    assert info["samples_without_observed_labels"] == 1
    assert list(info["label_counts"].values()) == np.nansum(Y, axis=0).tolist()
    assert list(info["observed_counts"].values()) == (~np.isnan(Y)).sum(axis=0).tolist()
    text = " ".join(run("info", "data.csv", "--labels", "a,b,c").stdout.split())
    assert "1 samples have missing labels." in text
    assert f"{n_unobserved} labels ({100 * np.isnan(Y[labelled]).mean():.1f} %) are unobserved, in" in text


@pytest.mark.slow
def test_audit_compare_and_report(run, case, folder):
    X, Y, _ = case
    labelled = ~np.isnan(Y).all(axis=1)
    result = run("audit", "data.csv", *OPTIONS, "--json", "--pairs", 500)
    assert result.exit_code == 0, result.output
    pairs = json.loads(result.stdout)["suspicious"]
    assert len(pairs) == (~np.isnan(Y)).sum()
    assert all(Y[pair["sample"] - 1, LABELS.index(pair["label"])] == pair["given"] for pair in pairs)
    assert run("audit", "data.csv", *OPTIONS, "-o", "page.html").exit_code == 0
    result = run("compare", "data.csv", *OPTIONS, "--methods", "sdgs,mlknn", "--folds", 2)
    assert result.exit_code == 0, result.output
    assert "MLkNN is left out: it takes no unobserved labels." in result.stderr
    assert run("fit", "data.csv", *OPTIONS, "-o", "model.sdgs", "--holdout", 0.3).exit_code == 0
    result = run("report", "model.sdgs", "data.csv", "--compare", "data.csv", "-o", "report.html")
    assert result.exit_code == 0, result.output
    complete = (~np.isnan(Y)).all(axis=1).sum()
    assert f"the other methods are fitted to the {complete} samples whose labels are all observed" in result.stderr
    content = json.loads(re.findall(r'id="content">(.*?)</script>', (folder / "report.html").read_text(), re.DOTALL)[0])
    model = sdgs.load("model.sdgs")
    assert content["values"] == pytest.approx(list(metrics.evaluate(Y, model.predict(X)).values()))
    assert content["data"]["n"] == labelled.sum()
    assert content["observed_per_sample"] == pytest.approx((~np.isnan(Y[labelled])).sum() / labelled.sum())
    by_label = metrics.evaluate_labels(Y, model.predict(X))
    np.testing.assert_array_equal([row[0] for row in content["by_label"]], by_label["samples"])
    np.testing.assert_array_equal([row[1] for row in content["by_label"]], by_label["predicted"])
    assert sum(bin_[2] for bin_ in content["calibration"]) == (~np.isnan(Y)).sum()


@pytest.mark.usefixtures("folder")
def test_weights_from_a_column(run, case):
    X, Y, weights = case
    labelled = ~np.isnan(Y).all(axis=1)
    arguments = ("--weight-column", "weight", *OPTIONS, "-o", "model.sdgs")
    result = run("fit", "weighted.csv", *arguments, "--test", "weighted.csv", "--json")
    assert result.exit_code == 0, result.output
    model = sdgs.load("model.sdgs")
    stored = mask_labels(csr_array(np.nan_to_num(Y)), np.isnan(Y))[labelled]
    expected = sdgs.SDGSClassifier(random_state=0).fit(X[labelled], stored, sample_weight=weights[labelled])
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    predicted = model.predict(X[labelled]).toarray()
    measures = metrics.evaluate(Y[labelled], predicted, sample_weight=weights[labelled])
    assert json.loads(result.stdout)["test"]["measures"] == pytest.approx(measures)
    arguments = ("--weight-column", "weight", "--intervals", "--resamples", 50, "--seed", 3)
    content = json.loads(run("evaluate", "model.sdgs", "weighted.csv", *arguments, "--json").stdout)
    assert content["measures"] == pytest.approx(measures)
    intervals = metrics.bootstrap_intervals(
        csr_array(stored), csr_array(predicted), n_resamples=50, random_state=3, sample_weight=weights[labelled]
    )
    assert content["intervals"] == {name: [interval.low, interval.high] for name, interval in intervals.items()}
    text = run("evaluate", "model.sdgs", "weighted.csv", *arguments, "--measures", "ndcg@2").stdout
    assert "95 % interval" in text
    low, high = (100 * end for end in content["intervals"]["f1"])
    assert f"{low:.1f} to {high:.1f}" in text
    assert "samples, weighted, in percent" in text
    assert "samples and predicted are sums of weights" in text.replace("\n", " ")
    assert "weighted" not in run("evaluate", "model.sdgs", "data.csv").stdout
    text = run("fit", "weighted.csv", "--weight-column", "weight", *OPTIONS, "--holdout", 0.3).stdout
    assert "Not a feature: weight: weights of the samples." in text


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["info", "fit"])
def test_labels_that_no_sample_is_known_not_to_have(run, case, command):
    X, Y, _ = case
    write_csv("positive.csv", X, np.where(Y == 1, 1, np.nan))
    warning = "positive.csv: no sample is known not to have these labels, so that all samples will get them: a, b, c."
    assert warning in run(command, "positive.csv", "--labels", "a,b,c").stderr
    assert "no sample is known" not in run(command, "data.csv", "--labels", "a,b,c").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["fit", "bad.csv", "--labels", "a,b,c", "--weight-column", "weight"],
            "sample 3, column 'weight': '-1' is not",
        ),
        (["fit", "data.arff", "--labels", "a,b,c", "--weight-column", "w"], "A column of weights needs a table"),
        (["fit", "data.csv", "--labels", "a,b,c", "--weight-column", "w"], "which should be a column of weights"),
        (["fit", "data.csv", "--labels", "a,b,c", "--weight-column", "x[01]"], "matches 2 columns"),
        (["fit", "zero.csv", "--labels", "a,b,c", "--weight-column", "weight"], "sample_weight"),
        (["fit", "-", "--format", "csv", "--labels", "a", "--weight-column", "w"], "standard input is read once"),
        (["evaluate", "model.sdgs", "data.csv", "--weight-column", "w"], "no column is named 'w'"),
        (["evaluate", "model.sdgs", "data.arff", "--weight-column", "w"], "A column of weights needs a table"),
        (["evaluate", "model.sdgs", "zero.csv", "--weight-column", "weight"], "not only zeros"),
    ],
)
def test_errors_about_weights(run, case, folder, arguments, message):
    X, Y, weights = case
    write_csv(folder / "bad.csv", X, Y, [*weights[:2], -1, *weights[3:]])
    write_csv(folder / "zero.csv", X, Y, np.zeros(90, dtype=int))
    if arguments[0] == "evaluate":
        sdgs.SDGSClassifier(random_state=0).fit(X, Y).save("model.sdgs", feature_names=NAMES[:6], label_names=LABELS)
    result = run(*arguments)
    assert result.exit_code != 0
    assert message in " ".join(result.output.replace("│", " ").split())
