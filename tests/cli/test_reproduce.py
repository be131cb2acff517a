"""`sdgs reproduce`."""

import pytest
from typer.testing import CliRunner

from sdgs.cli import app


@pytest.fixture
def cli(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SDGS_DATA", raising=False)
    return lambda *arguments: CliRunner().invoke(app, ["reproduce", *arguments])


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 1, "corel5k is not on this machine. Get corel5k-train.arff"),
        (["--all-methods", "--beyond", "--beyond-methods", "lp,br"], 1, "corel5k is not on this machine."),
        (["--datasets", "nothing"], 1, "nothing is none of the paper's data sets"),
        (["--datasets", "nothing", "--data-home", "nowhere"], 1, "nowhere/nothing does not contain nothing.xml"),
        (["--methods", "svm"], 2, "method must be one of"),
        (["--methods", ","], 2, "methods must hold at least one value"),
        (["--datasets", "emotions,emotions"], 2, "no duplicates"),
        (["--seeds", "one"], 2, "invalid literal"),
        (["--seeds", "-1"], 2, "seeds must be integers from 0"),
        (["--seeds", str(2**32)], 2, "seeds must be integers from 0"),
        (["--datasets", "planted"], 2, "Rename your data set"),
        (["--beyond", "--beyond-methods", "svm"], 2, "method must be one of"),
        (["--only", "beauty"], 2, "only must be"),
        (["--only", "faithfulness"], 1, "medical is not on this machine"),
        (["--jobs", "0"], 2, "--jobs"),
    ],
)
def test_invalid_arguments_give_one_error(cli, tmp_path, arguments, status, message):
    result = cli(*arguments)
    assert result.exit_code == status
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["file/out", "out"])
def test_a_folder_that_cannot_be_written_gives_one_error(cli, small_data_home, tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "trials").write_text("")
    result = cli("--data-home", str(small_data_home), "--datasets", "two", "--methods", "mlknn", "-o", place)
    assert result.exit_code == 1
    assert place in result.output
    assert "Traceback" not in result.output


@pytest.mark.slow
def test_data_sets_and_methods_can_be_selected(cli, small_data_home, tmp_path):
    result = cli("--data-home", str(small_data_home), "--datasets", "two", "--methods", "mlknn,sdgs", "-o", "here")
    assert result.exit_code == 0, result.output
    assert "here/report.html" in result.output
    runs = {path.name.split("--")[1] for path in (tmp_path / "here" / "runs").iterdir()}
    assert runs == {"mlknn", "sdgs", "floor"}
    # The page can be written again from the records, without the data.
    (tmp_path / "here" / "report.html").unlink()
    assert cli("--datasets", "two", "--methods", "mlknn,sdgs", "-o", "here").exit_code == 0
    assert (tmp_path / "here" / "report.html").exists()


@pytest.mark.slow
def test_only_a_measurement_of_explanations(cli, small_data_home, tmp_path):
    arguments = ("--data-home", str(small_data_home), "--datasets", "one", "--only", "faithfulness", "-o", "here")
    result = cli(*arguments)
    assert result.exit_code == 0, result.output
    assert "one: reasons " in result.output
    assert "here/studies has the records" in result.output
    assert not (tmp_path / "here" / "report.html").exists()
    assert [path.name for path in (tmp_path / "here" / "studies").iterdir()] == ["faithfulness--one--seed0.json"]
