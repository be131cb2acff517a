"""`sdgs report`: one page."""

import json
import re

import pytest

import sdgs
from sdgs.datasets import read
from sdgs.metrics import evaluate


def test_report(run, songs, tmp_path):
    result = run(
        "report", songs / "songs.sdgs", songs / "test.csv", "-o", "page.html", "--compare", songs / "train.csv"
    )
    assert result.exit_code == 0, result.output
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    (text,) = re.findall(r'id="content">(.*?)</script>', (tmp_path / "page.html").read_text(), re.DOTALL)
    content = json.loads(text)
    data, model = read(songs / "test.csv", labels=["is_*"], drop=["id", "title"]), sdgs.load(songs / "songs.sdgs")
    assert content["values"] == list(evaluate(data.Y, model.predict(data.X)).values())
    assert content["labels"] == ["is_calm", "is_sad", "is_[odd]"]
    assert content["names"][:2] == ["1", "2"]
    assert content["title"] == "test.csv"
    assert [method["name"] for method in content["compared_methods"]] == ["Binary relevance", "ML-kNN"]
    assert set(content["features"]) <= set(data.feature_names)
    result = run("report", songs / "svm.sdgs", songs / "test.svm", "--shape", "2x3", "--explained", 7)
    assert result.exit_code == 0, result.output
    assert '"shape":[2,3]' in (tmp_path / "report.html").read_text()


def test_report_leaves_out_samples_without_labels(run, songs, tmp_path):
    lines = (songs / "test.csv").read_text().splitlines()
    lines[2] = lines[2].rsplit(",", 3)[0] + ",,,"
    (tmp_path / "gap.csv").write_text("\n".join(lines) + "\n")
    result = run("report", songs / "songs.sdgs", "gap.csv")
    assert "samples left out because of missing labels: 1." in result.output
    page = (tmp_path / "report.html").read_text()
    assert '"names":["1","3",' in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "nowhere/page.html"], "the folder nowhere does not exist"),
        (["-o", "."], "is a folder or one of the input files"),
        (["--shape", "8x8"], "samples have 6 features, not 8x8"),
        (["--shape", "8"], "must be HEIGHTxWIDTH"),
    ],
)
def test_report_rejects_wrong_options(run, songs, tmp_path, options, message):
    result = run("report", songs / "songs.sdgs", songs / "test.csv", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not list(tmp_path.iterdir())
