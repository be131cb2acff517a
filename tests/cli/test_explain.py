"""`sdgs explain`: text, JSON and a picture."""

import json

import numpy as np
import pytest


def test_explain(run, songs, expected, tmp_path):
    result = run("explain", songs / "songs.sdgs", songs / "test.csv", "-n", "3,1", "-o", "parts.svg")
    assert result.exit_code == 0, result.output
    assert result.stdout.index("Sample 3") < result.stdout.index("Sample 1")
    assert "explains" in result.stdout
    assert "<svg" in (tmp_path / "parts.svg").read_text()
    (content,) = json.loads(run("explain", songs / "songs.sdgs", songs / "test.arff", "--json", "-n", "50").stdout)
    test, labels, P = expected
    assert content["sample"] == 50
    assert {label["label"] for label in content["labels"]} == set(np.array(test.label_names)[labels[49] == 1])
    label = content["labels"][0]
    assert label["probability"] == pytest.approx(P[49, test.label_names.index(label["label"])])
    assert label["features"][0]["feature"] in test.feature_names
    result = run("explain", songs / "songs.sdgs", songs / "test.csv", "-n", "51")
    assert "there is no sample 51; the file has 50" in result.stderr
    result = run("explain", songs / "songs.sdgs", songs / "test.csv", "--shape", "2x2")
    assert result.exit_code == 2
