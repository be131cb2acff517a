"""`sdgs data`: the paper's data sets."""

import json


def test_data(run, tmp_path, data_home):
    listed = json.loads(run("data", "list", "--json", "--data-home", data_home).stdout)
    assert {entry["name"]: entry["folder"] for entry in listed}["emotions"] == str(data_home / "emotions")
    assert "emotions" in run("data", "list").stdout
    assert run("data", "check", "emotions", "--data-home", data_home).exit_code == 0
    folder = tmp_path / "emotions"
    folder.mkdir()
    (folder / "emotions.xml").write_bytes((data_home / "emotions" / "emotions.xml").read_bytes())
    (folder / "emotions-test.arff").write_text("something else")
    result = run("data", "check", "emotions", "--data-home", tmp_path)
    assert result.exit_code == 1
    assert "emotions-train.arff is missing" in result.stdout
    assert "emotions-test.arff is different" in result.stdout
    assert "emotions.xml" not in result.stdout
    result = run("data", "get", "emotions", "--mirror", "ftp://example.org", "--data-home", tmp_path)
    assert result.exit_code == 1
    assert "the address must start with http" in result.stderr
